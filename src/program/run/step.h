// A Step: what one run gave (docs/reference/language.md 12). Owns the region with all its values.
#pragma once

#include "base/buffer.h"
#include "program/program.h"
#include "program/run/state.h"

struct step {
    struct region *region;
    struct program *program;  // retained; NULL when it did not compile
    struct span source;       // of the program; borrowed from it, or from the request
    struct failure failure;   // kind FAILURE_NONE: success
    unsigned line, column;    // of the failure; 0: unknown
    char suggestions[DIAGNOSTIC_SUGGESTIONS][DIAGNOSTIC_OP_SIZE];
    unsigned suggestion_count;
    value result;
    value memory;
    value delta;  // map
    value prints;
    value warnings;
    struct span signature;  // text; empty: none
    const struct tool_table *tools;
    struct ledger ledger;
    bool has_usage;
    int64_t duration_ms;
    size_t memory_bytes;
    uint64_t steps;
};

struct run_request {
    struct program *program;
    struct region *region;  // holds the inputs; becomes the step's
    value context;          // map or nil
    value memory;           // map or nil
    value history;          // vector, oldest first, or nil
    struct run_limits limits;
    bool explicit_memory;
    int float_precision;                // decimals, -1: leave floats alone
    const struct signature *signature;  // or NULL
    struct span signature_text;
    enum signature_mode validation;
    size_t fail_allocation;  // for tests: the n-th allocation of the evaluation fails
};

void run_limits_default(struct run_limits *limits);
// A limit by its option name: where it lies, one 64-bit word, and what it may be.
struct limit_option {
    void *place;  // NULL: there is no such option
    int64_t least, most;
};
struct limit_option run_limits_find(struct run_limits *limits, struct span name);

// Runs. The step is filled whatever happens; it owns the request's region and a reference to the
// program from now on.
void program_run(const struct run_request *request, struct step *ret_step);

// A step of a program that could not be run.
void step_fail(struct step *ret_step, struct region *region, value memory, struct span source,
               const struct diagnostic *diagnostic);
void step_release(struct step *step);

// Appends the Step as one line of JSON without a line end. `id` is put first unless its tag is
// VALUE_TAG_COUNT.
void step_write_json(const struct step *step, struct buffer *buffer, const value *id);
// The failure for a person: message, source line, caret. Lines end with LF.
void step_write_failure(const struct step *step, struct buffer *buffer);
// The same of a failure that is known by its parts only.
struct failure_text {
    struct span message, kind, source;
    unsigned line, column;  // line 0: no place
};
void failure_write_text(const struct failure_text *failure, struct buffer *buffer);
// The message of the failure; empty without one.
struct span step_message(const struct step *step);
