// The interpreter's own part of a run. Builtins see struct run only.
#pragma once

#include "base/buffer.h"
#include "program/compile/compilation.h"
#include "program/eval/expression.h"
#include "program/eval/lookup.h"
#include "program/program.h"
#include "program/run/random.h"
#include "program/run/replay.h"
#include "program/run/run.h"
#include "program/run/tool.h"

struct failure {
    enum failure_kind kind;  // FAILURE_NONE: none
    char op[DIAGNOSTIC_OP_SIZE];
    char message[DIAGNOSTIC_MESSAGE_SIZE];
    value thrown;        // (throw …): the exception
    value kind_text;     // (fail …): string, or nil
    value long_message;  // (fail …): string, or nil
    value details;       // further details: a map, or nil
    bool has_index;      // of the branch of pmap or pcalls that failed
    size_t index;
    bool has_offset;
    uint32_t offset;
    const char *limit_option;  // NULL unless a limit was reached
    int64_t limit_value;
};

struct global_slot {
    value value;
    bool is_bound;
};

struct stack {
    struct stack_piece *current;      // NULL: the caller's stack, or a branch's own
    bool is_fiber;                    // a branch's own, too small for code of the host
    struct stack_piece *first_spare;  // the piece after the caller's stack
    char *caller_end;
    bool is_switching;  // between stack_unwind and stack_landed; the rest is AddressSanitizer's
    void *fake_stack;
    const void *left_bottom;
    size_t left_size;
};

// The part that each branch of pmap has for itself.
struct branch_state {
    uint64_t id;    // of its atoms
    value memory;   // map, keyword keys
    value written;  // set of the names written
    struct global_slot *globals;
    bool globals_shared;  // of an outer branch: to be copied before the first write
    value prints;         // vector of strings
    bool line_open;       // the last one goes on (output.h)
    value captures;       // prints put aside by with-out-str: vector, or nil
    struct run_random random;
    value comparisons;  // vector of [place, warning] (run_warn_comparison)
    struct ledger ledger;
    struct course course;
};

// A branch of pmap or pcalls that runs in order: what is put back when it ends or is left.
struct in_order {
    struct in_order *outer;
    struct branch_state state;
};

// Where run_leave() jumps to: the end of the run or of a branch, or the innermost try.
struct run_exit {
    void **registers;  // of __builtin_setjmp
    struct stack_piece *stack;
    struct in_order *level;  // branches inside of it are left
};

enum { KEYWORD_LOOKUPS = 8 };

struct run_state {
    const struct program *program;
    struct instance instance;
    struct branch_state branch;
    value context;       // map or nil
    value input_memory;  // map or nil
    value history[3];    // newest first
    bool explicit_memory;
    bool has_generators;  // a generator was made, so that values may have to be realized

    int64_t started_ns;
    int64_t deadline_ns;
    int64_t compute_until_ns;  // of this thread's processor time; INT64_MAX: no limit
    uint64_t granted;          // units of fuel given out
    uint64_t value_units;      // units spent inside value/
    int64_t value_portion;     // given to value/ last

    struct failure failure;
    value result;
    bool returned;
    struct run_exit exit;
    struct stack stack;

    enum signature_mode validation;
    void *user;                // for the tools
    const bool *is_cancelled;  // or NULL
    struct tool_call *open_calls;
    struct clock_record clock;
    struct paused_call paused;
    int64_t tool_calls;
    size_t ledger_text;           // bytes of the arguments and results that the ledger keeps
    size_t text_most;             // see output_limit.c; 0: not known yet
    value tool_cache;             // map
    value comparators;            // vector of functions, or nil (comparator.h)
    struct scheduler *scheduler;  // while pmap or pcalls run; NULL otherwise
    struct in_order *in_order;    // innermost branch that runs in order, or NULL
    uint64_t branches;            // that were begun
    unsigned guards;              // try and the like around what is being evaluated
    unsigned depth;               // of programs around this one, whose tool it is
    unsigned branch_depth;        // pmap and pcalls around what is being evaluated
    const char *branch_op;  // of branches that run in order: the outermost pmap or pcalls, or NULL
    size_t branch_index;
    value warnings;                          // vector of strings
    struct lookup lookups[KEYWORD_LOOKUPS];  // of keywords that builtins call, by their address
    struct buffer scratch;  // of writing that a jump may leave behind; released with the run
};
