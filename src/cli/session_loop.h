// Sessions with an event loop of their own, for the commands that evaluate Lisp: eval, repl,
// doctor, run; or one session of the daemon, for repl. One request at a time: the call returns after
// its reply was handled. Ctrl-C interrupts the evaluation.
#pragma once

#include "cli/line_input.h"
#include "session/session.h"

// Output is shown as it comes; this many characters of a value fit on a terminal well enough, and
// there is no second look at it.
enum { TERMINAL_MAX_OUTPUT = 100000 };

struct session_link;
struct settings;

// What another client of a shared session did: docs/daemon-protocol.md, "Sessions".
typedef void session_loop_news_fn(void *data, value news);

struct session_loop {
    struct event_base *base;
    struct session_manager *sessions;
    // Of a shared session:
    struct session_link *link;  // NULL: it is not shared
    const char *session;
    struct session_advice advice;
    session_loop_news_fn *on_news;  // with `news_data`; or NULL
    void *news_data;
};

// 0 or negative errno. session_loop_release() ends all processes; it may be called after a failure.
int session_loop_init(struct session_loop *loop, const struct session_config *config);
void session_loop_release(struct session_loop *loop);
// Joins the session of the workspace. False with a message.
bool session_loop_join(struct session_loop *loop, const char *session,
                       const struct settings *settings, struct error *error);

// How a request that runs code meets its user.
struct session_console {
    session_output_fn *output;  // with `data`; or NULL
    void *data;
    void (*progress)(void *data, const struct session_progress *progress);  // or NULL
    struct line_input *input;    // what the code reads; NULL: nothing
    void (*echoed)(void *data);  // a line was typed on the terminal: the cursor is below it
};

// The next line for code that waits for input; an empty one is the end of the input. False: there is
// no line yet.
bool session_console_take(const struct session_console *console, struct buffer *line);

// Submits the request (its callbacks and `data` are ignored), waits, and calls `handle` with the
// reply. `console` may be NULL.
typedef void session_loop_reply_fn(void *data, const struct session_reply *reply);
void session_loop_call(struct session_loop *loop, const struct session_request *request,
                       const struct session_console *console, session_loop_reply_fn *handle,
                       void *data);

// What is known of the session, which is "main" where it is not shared; as those of session.h.
value session_loop_info(struct session_loop *loop, struct region *region);
value session_loop_errors(struct session_loop *loop, struct region *region);
value session_loop_error(struct session_loop *loop, int64_t id, struct region *region);
struct session_limits session_loop_limits(struct session_loop *loop);
bool session_loop_set_limits(struct session_loop *loop, const struct session_limits *limits,
                             struct error *error);
