// A Step: the result of one run (docs/reference/language.md 12). Owns the region with all its values.
#pragma once

#include "base/buffer.h"
#include "program/program.h"
#include "program/run/run_state.h"

struct step {
    struct region *region;
    struct program *program;  // retained; NULL when it did not compile
    struct span source;       // of the program; borrowed from it, or from the inputs
    struct failure failure;   // kind FAILURE_NONE: success
    unsigned line, column;    // of the failure; 0: unknown
    char suggestions[DIAGNOSTIC_SUGGESTIONS][DIAGNOSTIC_OP_SIZE];
    unsigned suggestion_count;
    struct problem_list problems;  // of the program, when there are several
    value result;
    value memory;
    value delta;  // map
    value prints;
    value warnings;
    struct span signature;  // text; empty: none
    const struct tool_table *tools;
    struct ledger ledger;
    struct paused_call paused;  // when the failure is PAUSED
    struct clock_record clock;
    bool has_seed;  // random numbers were drawn
    uint64_t seed;
    bool has_usage;
    int64_t duration_ms;
    size_t memory_bytes;
    uint64_t steps;
};

// A step of a program that could not be run.
void step_fail(struct step *ret_step, struct region *region, value memory, struct span source,
               const struct diagnostic *diagnostic);
void step_release(struct step *step);

// Appends the Step as one line of JSON without a line end. `id` is put first unless it is NULL.
void step_write_json(const struct step *step, struct buffer *buffer, const value *id);
// Of a paused step, the members of its `paused`: the call it waits for, and what a run needs to come
// there again (replay.h): "call":{…},"key":"…","seed":N,"clock":[…]
void step_write_paused(const struct step *step, struct buffer *buffer);
// The failure for a person: message, source line, caret. Lines end with LF.
void step_write_failure(const struct step *step, struct buffer *buffer);
// The same from the parts of a failure.
struct failure_text {
    struct span message, kind, source;
    unsigned line, column;  // line 0: no place
};
void failure_write_text(const struct failure_text *failure, struct buffer *buffer);
// The message of the failure; empty without one.
struct span step_message(const struct step *step);
