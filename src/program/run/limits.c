// The limits of a run: defaults and options (docs/reference/language.md 16).
#include <stddef.h>

#include "program/run/step.h"

enum { MAX_NESTING = 1000 };  // the analyzer and the evaluator recurse along the source

void run_limits_default(struct run_limits *limits)
{
    *limits = (struct run_limits){
        .timeout_ms = 1000,
        .max_memory = 10000000,
        .max_source = 1000000,
        .max_nesting = 64,
        .max_symbols = 10000,
        .loop_limit = -1,
        .max_tool_calls = -1,
        .max_parallel = 8,
        .max_print_length = 2000,
        .regex_limit = 100000,
        .max_steps = -1,
    };
}

static const struct {
    const char *name;
    size_t offset;
    int64_t least, most;
} options[] = {
    {"timeout", offsetof(struct run_limits, timeout_ms), 0, (int64_t)1 << 40},
    {"max_memory", offsetof(struct run_limits, max_memory), 0, (int64_t)1 << 60},
    {"max_source", offsetof(struct run_limits, max_source), 0, UINT32_MAX - 1},
    {"max_nesting", offsetof(struct run_limits, max_nesting), 0, MAX_NESTING},
    {"max_symbols", offsetof(struct run_limits, max_symbols), 0, UINT32_MAX},
    {"loop_limit", offsetof(struct run_limits, loop_limit), 0, INT64_MAX},
    {"max_tool_calls", offsetof(struct run_limits, max_tool_calls), 0, INT64_MAX},
    {"max_parallel", offsetof(struct run_limits, max_parallel), 1, 256},
    {"max_print_length", offsetof(struct run_limits, max_print_length), 0, UINT32_MAX},
    {"regex_limit", offsetof(struct run_limits, regex_limit), 1, UINT32_MAX},
    {"max_steps", offsetof(struct run_limits, max_steps), 0, INT64_MAX},
};

_Static_assert(sizeof(size_t) == sizeof(int64_t), "every limit is one 64-bit word");

struct limit_option run_limits_find(struct run_limits *limits, struct span name)
{
    for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++) {
        if (span_equal_text(name, options[i].name))
            return (struct limit_option){(char *)limits + options[i].offset, options[i].least,
                                         options[i].most};
    }
    return (struct limit_option){0};
}
