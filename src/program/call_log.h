// The tool calls of one run, by their keys (run/replay.h), with results of any size: what a host keeps so
// that a run that pauses can be run again without repeating a call. Not for several threads at once.
#pragma once

#include <stdint.h>

#include "base/buffer.h"
#include "value/value.h"

enum { CALL_LOG_BYTES_MAX = 256 << 20 };  // of results; more cannot be kept for a pause

struct call_log;

struct logged_call {
    uint64_t key;
    struct span name;
    struct span arguments;  // JSON
    bool is_write;
    bool is_finished;  // else it was started, and nobody knows more
    bool is_pending;   // unless it said that there is no answer yet
    bool ok;
    struct span text;  // JSON of the result, or why it failed
};

struct call_log *call_log_new(void);
void call_log_free(struct call_log *log);

size_t call_log_count(const struct call_log *log);
const struct logged_call *call_log_at(const struct call_log *log, size_t index);
// NULL: there is none. Valid until the log changes.
const struct logged_call *call_log_find(const struct call_log *log, uint64_t key);
// Before the call is sent. One that is there is started anew.
void call_log_start(struct call_log *log, uint64_t key, struct span name, struct span arguments,
                    bool is_write);
// Without effect for a call that is not there or is finished.
void call_log_finish(struct call_log *log, uint64_t key, bool ok, struct span text);
// It has no answer yet.
void call_log_wait(struct call_log *log, uint64_t key);
bool call_log_is_full(const struct call_log *log);

// As a JSON array, and from one. False: it is no such array.
void call_log_write(const struct call_log *log, struct buffer *buffer);
bool call_log_read(struct call_log *log, value calls);
