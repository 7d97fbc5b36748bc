// One run of a program: its region, limits, fuel, memory, prints, tools and ledger, and the one way
// out when something fails. program_run() (program.h) is the way in.
//
// All values of a run live in run->region. A failure leaves by run_raise(), which does not return:
// it jumps to the run's end, and the region drops everything; so nothing need be released before it.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/region.h"
#include "base/span.h"
#include "program/run/failure_kind.h"
#include "program/run/run_limits.h"
#include "value/value.h"

struct run;
struct builtin;
struct program;
struct program_inputs;
struct step;

typedef value builtin_fn(struct run *run, const struct builtin *self, value *arguments,
                         size_t count);

struct run {
    // hot: touched by every call
    int64_t fuel;      // units until the clock is read again
    char *stack_end;   // below this address a call moves to a new piece of stack
    const void *site;  // the call being evaluated, for the position of an error
    struct region *region;
    uint64_t work;  // units spent by builtins: fuel that is not a call

    struct run_limits limits;
    struct run_state *state;      // the interpreter's own
    struct regex_cache *regexes;  // NULL until needed; regex_cache_free() at the end
};

// --- leaving -------------------------------------------------------------------------------------
// `op` is the operation, builtin or tool the failure belongs to, or NULL; it is copied. The message
// is one line; it must not hold whole user values (value_describe cuts them).
_Noreturn void run_raise(struct run *run, enum failure_kind kind, const char *op,
                         const char *format, ...) __attribute__((format(printf, 4, 5)));
_Noreturn void run_raise_at(struct run *run, enum failure_kind kind, uint32_t offset,
                            const char *message);  // at another place than the current call
// A limit was reached: the message names the limit, its value and the option, details.limit is filled.
//     run_raise_limit(run, REGEX_LIMIT, "re-find", "regex_limit", value,
//                     "one regex call exceeded 100000 steps")
_Noreturn void run_raise_limit(struct run *run, enum failure_kind kind, const char *op,
                               const char *option, int64_t limit, const char *message);

// (return v) and (fail v). Consume v.
_Noreturn void run_return(struct run *run, value v);
_Noreturn void run_fail_value(struct run *run, value v);
// Leaves the run with state->failure filled in.
_Noreturn void run_leave(struct run *run);

// --- warnings ------------------------------------------------------------------------------------
// A string and a keyword of one name were compared and differ: one warning for each place.
void run_warn_comparison(struct run *run, value a, value b);
// The same when a set lacks the one but has the other.
void run_warn_member(struct run *run, value set, value item);

// --- fuel ----------------------------------------------------------------------------------------
void run_refill(struct run *run);  // reads the clock, raises TIMEOUT

// n units of work inside a builtin.
static inline void run_spend(struct run *run, size_t n)
{
    run->work += n;
    if (__builtin_expect((run->fuel -= (int64_t)n) < 0, 0))
        run_refill(run);
}

// --- the whole run -------------------------------------------------------------------------------
// program_run() without the check of names.
void run_execute(struct program *program, const struct program_inputs *inputs,
                 struct step *ret_step);
