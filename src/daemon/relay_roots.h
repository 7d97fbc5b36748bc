// The first root that the client offers (roots/list) is the workspace when no other was given. The relay
// asks for it before the first request that needs a workspace, and keeps what the client sends
// until the answer is there, for a second at most.
#pragma once

#include "base/buffer.h"

struct relay_roots {
    enum relay_roots_state {
        RELAY_ROOTS_UNKNOWN,   // the client has not said what it can
        RELAY_ROOTS_OFFERED,   // and nothing has needed them yet
        RELAY_ROOTS_ASKED,     // lines are kept
        RELAY_ROOTS_ANSWERED,  // or not in time; lines are kept
        RELAY_ROOTS_DONE,      // there are none, or `root` is used
    } state;
    int64_t until_ms;    // when the present state ends in any case
    struct buffer kept;  // whole lines
    char *root;          // a path; NULL: none
};

// `is_given`: the workspace is, and nobody is asked.
void relay_roots_init(struct relay_roots *roots, bool is_given);
void relay_roots_release(struct relay_roots *roots);
// A line from the client. False: it does not go on to the daemon, now or ever. May append a question to
// `to_client`.
bool relay_roots_pass(struct relay_roots *roots, struct span line, struct buffer *to_client);
bool relay_roots_keeps(const struct relay_roots *roots);
// No answer will come.
void relay_roots_give_up(struct relay_roots *roots);
// Whether the time has come to use the answer: nothing is in flight, or too long.
bool relay_roots_is_ready(struct relay_roots *roots, size_t in_flight);
