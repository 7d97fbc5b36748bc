// The limits and options of a run (docs/reference/language.md 16): defaults, and setting by name.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/span.h"
#include "value/value.h"

struct diagnostic;

struct run_limits {
    int64_t timeout_ms;
    int64_t compute_ms;  // of the processor, for the program itself, -1 = no limit of its own
    size_t max_memory;   // bytes above the inputs
    size_t max_source;   // bytes
    size_t max_nesting;
    size_t max_symbols;
    int64_t loop_limit;      // recur jumps of one activation, -1 = none
    int64_t max_tool_calls;  // -1 = none
    size_t max_parallel;
    size_t max_print_length;  // code points
    size_t regex_limit;       // backtracking steps of one regex call
    int64_t max_steps;        // units of fuel, -1 = none; for tests of the time limit
};

struct run_options {
    struct run_limits limits;
    bool explicit_memory;     // a map result is not merged into the memory
    int64_t seed;             // of random numbers, -1: chosen by the system
    int float_precision;      // decimals, -1: leave floats alone
    bool unoptimised;         // option `plain`, for tests
    int64_t fail_allocation;  // for tests: the n-th allocation of the evaluation fails; 0: none
};

void run_limits_default(struct run_limits *limits);
void run_options_default(struct run_options *options);
// One option by name; the value is an integer, or "merge" or "explicit" for memory.
bool run_option_set(struct run_options *options, struct span name, value v,
                    struct diagnostic *ret_diagnostic);
