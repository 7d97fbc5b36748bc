// Work that goes on after its call was answered. Clients give up after a minute, some after half of
// one; so a call of a session or a program that takes longer than `yield` answers with what there is so
// far, and the tool `wait` gives the rest, lets the code read input, or interrupts it.
#pragma once

#include "tools/session_call.h"

struct running;

// What evaluations, other calls of sessions and programs do differently.
struct running_kind {
    const char *noun;  // "evaluation"; also the argument of `wait`
    // What has happened so far, as the result of a call.
    void (*render)(void *work, const struct running *running, struct mcp_call *call,
                   struct tool_result *result);
    void (*interrupt)(void *work);
    // The argument `input` of a `wait`. False: the call was refused. NULL: it reads nothing.
    bool (*accept_input)(void *work, struct mcp_call *call);
    bool (*waits_for_input)(const void *work);
};

// --- running.c: those who wait -------------------------------------------------------------------

// Answers the call of the work now; what it replies in the end is for those who wait. `session` is ""
// for work that has none.
struct running *running_begin(struct tools *tools, struct mcp_call *call,
                              const struct running_kind *kind, const char *session, int64_t number,
                              void *work);
// All who wait are answered with what has happened so far.
void running_answer_waiters(struct running *running);
// For the calls that wait.
void running_progress(struct running *running, double seconds, const char *message);
// `wait {"evaluation": 7}`, with `more` before the brace.
void running_append_wait(struct buffer *text, const struct running *running, const char *more);
// Lines about work that nobody waits for, for the next answer of the session ("" = of a program).
void running_append_notices(struct tools *tools, const char *session, struct buffer *text);
void running_free_all(struct tools *tools);

// --- running_evaluation.c: calls of sessions -----------------------------------------------------

// The call is answered now: with its output so far, and with what it does.
void running_yield(struct session_call *run);
// The code reads and there is no input left.
void running_on_input(struct session_call *run);
// Text for the code to read, or its end.
void running_give_input(struct session_call *run);
