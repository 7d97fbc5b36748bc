// Sessions with an event loop of their own, for the commands that evaluate Lisp: eval, repl,
// doctor, run. One request at a time: the call returns after its reply was handled. Ctrl-C
// interrupts the evaluation.
#pragma once

#include "session/session.h"

// An event loop with timers precise enough for time limits; NULL when there is no memory.
struct event_base *session_loop_new_base(void);

struct session_loop {
    struct event_base *base;
    struct session_manager *sessions;
};

// 0 or negative errno. session_loop_release() ends all processes; it may be called after a failure.
int session_loop_init(struct session_loop *loop, const struct session_config *config);
void session_loop_release(struct session_loop *loop);

// Submits the request (its members reply, progress and data are ignored), waits, and calls `handle`
// with the reply.
typedef void session_loop_reply_fn(void *data, const struct session_reply *reply);
void session_loop_call(struct session_loop *loop, const struct session_request *request,
                       session_loop_reply_fn *handle, void *data);
