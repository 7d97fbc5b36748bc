// `cadre eval --session NAME`: evaluates in a kept session of the workspace, so that a shell is enough
// for a REPL that remembers.
#pragma once

#include "base/span.h"
#include "session/session.h"

struct eval_kept {
    const char *session;
    const char *package;  // NULL: the session's
    struct span code;
    int64_t timeout;  // negative: the session's
    const char *sbcl;
    const struct session_sandbox *sandbox;
};

// The exit status.
int eval_kept(const struct eval_kept *eval);
