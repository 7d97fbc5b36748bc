// A command run for a program: bytes on its standard input, bounded output, a deadline.
//
// It has a kernel session of its own and a mark in its environment. When it finishes, times out or
// exceeds its output limit, or when this process ends in any way, every process in that session
// or with that mark is killed. The caller must be a child subreaper (session_manager_new() makes it
// one).
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/span.h"

enum {
    COMMAND_ERROR_TEXT = 512,  // bytes of standard error kept for a message
    COMMAND_OUTPUT_DEFAULT = 1 << 20,
    COMMAND_OUTPUT_MAX = 64 << 20,
    COMMAND_NO_ANSWER_YET = 75,  // its exit status, EX_TEMPFAIL of sysexits.h
};

struct command_result {
    bool ok;             // it ended by itself with status 0
    bool is_pending;     // with COMMAND_NO_ANSWER_YET
    struct span output;  // valid during the callback
    char reason[1024];   // why it is not ok, one line
};

typedef void command_done_fn(void *data, const struct command_result *result);

struct command_request {
    const char *const *argv;  // ends in NULL; argv[0] is looked up in PATH
    const char *const *pass;  // variables it gets though they look like secrets; NULL: none
    struct span input;        // copied
    int64_t timeout_ms;
    size_t max_output;
    command_done_fn *done;  // called once from the loop, unless cancelled
    void *data;
};

struct command;
struct reaper;

// 0 or negative errno: nothing was started. The command runs on the reaper's event_base, frees
// itself after the callback and leaves the processes it kills to the reaper.
int command_start(struct reaper *reaper, const struct command_request *request,
                  struct command **ret_command);
// Kills it; no callback comes.
void command_cancel(struct command *command);
