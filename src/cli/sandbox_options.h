// The options of all commands that start Lisp sessions: what those may reach (docs/security.md).
#pragma once

#include "cli/table/option_reader.h"
#include "session/session.h"

enum { SANDBOX_NAMES_MAX = 32 };

struct sandbox_options {
    const char *read[SANDBOX_NAMES_MAX + 1];
    const char *write[SANDBOX_NAMES_MAX + 1];
    const char *pass[SANDBOX_NAMES_MAX + 1];
};

enum sandbox_option { SANDBOX_OPTION_OTHER, SANDBOX_OPTION_TAKEN, SANDBOX_OPTION_WRONG };

// Takes the present option if it is one of these; `options` must live as long as `sandbox`. WRONG: a
// message was printed.
enum sandbox_option sandbox_option_take(struct sandbox_options *options,
                                        struct session_sandbox *sandbox,
                                        const struct option_reader *reader);
