// A reader of event streams (text/event-stream), a piece at a time: messages are handed over whole.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/buffer.h"

enum { SSE_ID_MAX = 1024 };  // longer ids are no ids: the stream cannot be resumed then

struct sse_reader {
    struct buffer line;  // what there is of the line at hand
    struct buffer data;  // of the event at hand
    struct buffer id;    // of the last event, for Last-Event-ID
    int64_t retry_ms;    // how long to wait before coming back; -1: the server did not say
    bool has_data;
    bool is_other;      // the event at hand is of a type that is no message
    bool after_return;  // a line feed would belong to the line before
};

void sse_init(struct sse_reader *reader, size_t message_max);
void sse_release(struct sse_reader *reader);
void sse_restart(struct sse_reader *reader);  // another stream that continues this one
// False: a message is larger than `message_max`.
bool sse_read(struct sse_reader *reader, struct span bytes,
              void (*message)(void *data, struct span text), void *data);
