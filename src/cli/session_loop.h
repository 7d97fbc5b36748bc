// A session layer of their own for commands that evaluate Lisp: eval, repl, doctor. One request at a
// time; the call returns when its reply was handled. Ctrl-C interrupts the evaluation.
#pragma once

#include "session/session.h"

// An event loop whose timers are exact enough for time limits; NULL when there is no memory.
struct event_base *lisp_new_base(void);

struct lisp {
    struct event_base *base;
    struct session_manager *sessions;
};

// 0 or negative errno. lisp_release() ends all processes; it may be called after a failure.
int lisp_init(struct lisp *lisp, const struct session_config *config);
void lisp_release(struct lisp *lisp);

// Submits the request (its reply, progress and data members do not matter), waits, and calls `handle`
// with the reply.
typedef void lisp_handle_fn(void *data, const struct session_reply *reply);
void lisp_call(struct lisp *lisp, const struct session_request *request, lisp_handle_fn *handle,
               void *data);
