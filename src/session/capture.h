// What workers write to one of their output descriptors: a pipe that is always drained, of which
// the beginning and the end are kept, counted in characters. A flood costs time, not memory.
//
// The text is made valid UTF-8 on the way in (undecodable bytes become U+FFFD, also across reads).
// Both ends of the pipe stay open here, so that every new worker can be given the write end.
#pragma once

#include <event2/event.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"

enum { CAPTURE_LAST_BYTES = 4096 };

struct capture {
    int fd;         // ours, non-blocking
    int worker_fd;  // given to workers
    struct event *read_event;
    size_t max_characters;
    struct buffer head;  // the first max - max/4 characters
    size_t head_characters;
    struct buffer tail;  // the newest ones, at least the last max/4
    size_t tail_characters;
    uint64_t dropped;  // characters dropped between head and tail
    char partial[4];   // an incomplete character at the end of the last read
    size_t partial_length;
    char last[CAPTURE_LAST_BYTES];  // the last raw bytes, not limited by max_characters
    size_t last_length;
};

int capture_init(struct capture *capture, struct event_base *base, size_t max_characters);
void capture_release(struct capture *capture);
// In force for what arrives from now on.
void capture_set_limit(struct capture *capture, size_t max_characters);

// Adds bytes as if they had been read.
void capture_add(struct capture *capture, const char *data, size_t length);
// Reads what is in the pipe now, but never endlessly.
void capture_drain(struct capture *capture);
// Appends the kept text (with the line about what is missing) to `text`, returns the number of
// missing characters, and starts anew.
uint64_t capture_move(struct capture *capture, struct buffer *text);
// Appends the last CAPTURE_LAST_BYTES bytes, made valid UTF-8.
void capture_last(const struct capture *capture, struct buffer *text);
// The newest line, complete or not, without its newline; at most `max_bytes`, cut at the front.
struct span capture_newest_line(const struct capture *capture, size_t max_bytes);
