// Calls of tools (docs/reference/language.md 14): arguments, validation, cache, ledger.
//
// Each call has its own region: arguments are copied to it, the result from it. So a callback may run
// in another thread, and its memory errors cannot damage the run.
#pragma once

#include "base/buffer.h"
#include "program/run/run.h"
#include "program/run/tool_table.h"

enum {
    TOOL_ERROR_LENGTH = 500,   // code points of an error text that are kept
    TOOL_RESULT_DEPTH = 1000,  // nesting of a result given as JSON
};

struct ledger_entry {
    uint32_t tool;
    bool cached;
    bool failed;
    bool caught;  // by the program, which went on
    value arguments;
    value result;
    value error;             // string, or nil
    size_t arguments_bytes;  // not 0: too long to keep
    size_t result_bytes;     // not 0: too long to keep
    int64_t duration_ms;
};

struct ledger {
    struct ledger_entry *entries;  // in the run's region
    size_t count;
    size_t capacity;
};

// A tool that is itself a program with tools runs inside of the run that calls it (TOOL_PROGRAM): its
// random numbers follow from that run's, its clock stands still, and the calls of its tools belong to
// that run.
struct inner_run {
    // given
    const struct run_limits *limits;
    uint64_t seed;
    int64_t clock_ms;
    unsigned depth;  // of programs around it
    // found
    bool drew_random;
    bool is_paused;  // waits for a call
    uint32_t paused_tool;
    uint64_t paused_key;
    value paused_arguments;  // in the call's region
    struct ledger ledger;    // of its calls; in the call's region
};

struct tool_call {
    struct region *region;  // of this call; over its limit the call fails
    value arguments;        // map with string keys
    value result;
    struct buffer error;
    void *user;                // of the run
    const bool *is_cancelled;  // or NULL
    int64_t deadline_ns;       // monotonic clock; the run is over then
    void *exit[5];             // where an exhausted region jumps to
    bool is_exhausted;         // and that it did
    bool is_late;              // failed because the run is over: that is the run's failure
    bool is_pending;           // failed because there is no answer yet: the run pauses
    uint64_t key;              // the same in every run of the program that goes the same way
    struct inner_run inner;    // of TOOL_PROGRAM
    struct tool_call *next;    // in the run's list of open calls
};

// The call's region has a handler that jumps back to tool_call_run(), which then fails.
bool tool_call_run(tool_fn *function, void *data, struct tool_call *call);
// The run was cancelled by another thread.
static inline bool tool_call_is_cancelled(const struct tool_call *call)
{
    return call->is_cancelled && __atomic_load_n(call->is_cancelled, __ATOMIC_ACQUIRE);
}
// The call cannot be answered now. Always false.
bool tool_call_pause(struct tool_call *call);
// Sets the reason of the failure, replacing an earlier one. Always false.
bool tool_call_fail(struct tool_call *call, struct span text);

#define TOOL_LATE "no answer within the time limit of the run (option timeout)"

// --- in a run ------------------------------------------------------------------------------------
void ledger_add(struct run *run, struct ledger *ledger, struct ledger_entry entry);

const char *tool_name(struct run *run, uint32_t tool);
// Calls a tool with one map, or with nothing; any other count is invalid_tool_args. Consumes.
value tool_apply(struct run *run, uint32_t index, value argument, size_t count);
// Frees the calls that a run left open when it failed.
void tool_calls_release(struct run *run);
void tool_call_free(struct tool_call *call);
