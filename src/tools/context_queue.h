// The context store on the loop thread, which must not wait for other processes.
//
// Operations run in the order they came. One that finds the store locked by another process is
// tried again from a timer, and those that come after it wait; other work of the server goes on.
// After CONTEXT_BUSY_MS an operation gets its last attempt, which replies store-busy if it fails.
// There are never more operations than calls, which the server bounds.
#pragma once

#include "context/store.h"
#include "mcp/mcp.h"

struct background;
struct event_base;
struct context_queue;

struct context_attempt {
    struct context_store *store;
    struct mcp_call *call;
    void *data;
    bool is_last;
};

// Replies to the call and returns true; or returns false when context_attempt_again() says so.
typedef bool context_attempt_fn(const struct context_attempt *attempt);

// Whether an attempt that failed so is made again.
bool context_attempt_again(const struct context_attempt *attempt,
                           const struct context_error *error);

// From now on the store waits neither for locks nor, for its log, for the disk: that is the
// background's.
struct context_queue *context_queue_new(struct event_base *base, struct background *background,
                                        struct context_store *store);
// Before the background ends: the store waits for the disk again.
void context_queue_leave_background(struct context_queue *queue);
// Operations that still wait get their last attempt.
void context_queue_free(struct context_queue *queue);

// Runs an operation now, or after those that wait. A call cannot be cancelled while it waits: what
// an evaluation stores must not be lost, and the others end soon.
void context_queue_run(struct context_queue *queue, context_attempt_fn *function,
                       struct mcp_call *call, void *data);
