// Sessions with an event loop of their own, for the commands that evaluate Lisp: eval, repl,
// doctor, run. One request at a time: the call returns after its reply was handled. Ctrl-C
// interrupts the evaluation.
#pragma once

#include "cli/line_input.h"
#include "session/session.h"

// Output is shown as it comes; this many characters of a value fit on a terminal well enough, and
// there is no second look at it.
enum { TERMINAL_MAX_OUTPUT = 100000 };

struct session_loop {
    struct event_base *base;
    struct session_manager *sessions;
};

// 0 or negative errno. session_loop_release() ends all processes; it may be called after a failure.
int session_loop_init(struct session_loop *loop, const struct session_config *config);
void session_loop_release(struct session_loop *loop);

// How a request that runs code meets its user.
struct session_console {
    session_output_fn *output;  // with `data`; or NULL
    void *data;
    void (*progress)(void *data, const struct session_progress *progress);  // or NULL
    struct line_input *input;    // what the code reads; NULL: nothing
    void (*echoed)(void *data);  // a line was typed on the terminal: the cursor is below it
};

// Submits the request (its callbacks and `data` are ignored), waits, and calls `handle` with the
// reply. `console` may be NULL.
typedef void session_loop_reply_fn(void *data, const struct session_reply *reply);
void session_loop_call(struct session_loop *loop, const struct session_request *request,
                       const struct session_console *console, session_loop_reply_fn *handle,
                       void *data);
