#include "program/run/run_limits.h"

#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "program/builtin/decimal.h"
#include "program/compile/compilation.h"
#include "program/run/random.h"

enum { MAX_NESTING = 1000 };  // the analyzer and the evaluator recurse along the source

// One row per limit: option, member of struct run_limits, default, least, most.
#define LIMITS(LIMIT)                                                \
    LIMIT("timeout", timeout_ms, 1000, 0, (int64_t)1 << 40)          \
    LIMIT("max_compute", compute_ms, -1, 0, (int64_t)1 << 40)        \
    LIMIT("max_memory", max_memory, 10000000, 0, (int64_t)1 << 60)   \
    LIMIT("max_source", max_source, 1000000, 0, UINT32_MAX - 1)      \
    LIMIT("max_nesting", max_nesting, 64, 0, MAX_NESTING)            \
    LIMIT("max_symbols", max_symbols, 10000, 0, UINT32_MAX)          \
    LIMIT("loop_limit", loop_limit, -1, 0, INT64_MAX)                \
    LIMIT("max_tool_calls", max_tool_calls, -1, 0, INT64_MAX)        \
    LIMIT("max_parallel", max_parallel, 8, 1, 256)                   \
    LIMIT("max_print_length", max_print_length, 2000, 0, UINT32_MAX) \
    LIMIT("regex_limit", regex_limit, 100000, 1, UINT32_MAX)         \
    LIMIT("max_steps", max_steps, -1, 0, INT64_MAX)

void run_limits_default(struct run_limits *limits)
{
    *limits = (struct run_limits){
#define LIMIT(option, member, usual, least, most) .member = usual,
        LIMITS(LIMIT)
#undef LIMIT
    };
}

void run_options_default(struct run_options *options)
{
    *options = (struct run_options){.seed = -1, .float_precision = -1};
    run_limits_default(&options->limits);
}

// --- setting by name -----------------------------------------------------------------------------

static bool refuse(struct diagnostic *diagnostic, const char *why, struct span name,
                   const char *wanted)
{
    *diagnostic = (struct diagnostic){.kind = INVALID_RECORD};
    int length = name.length > 80 ? 80 : (int)name.length;
    if (wanted)
        snprintf(diagnostic->message, sizeof(diagnostic->message), "%s: %.*s (%s is wanted)", why,
                 length, name.data, wanted);
    else
        snprintf(diagnostic->message, sizeof(diagnostic->message), "%s: %.*s", why, length,
                 name.data);
    return false;
}

static bool refuse_value(struct diagnostic *diagnostic, struct span name, const char *wanted)
{
    return refuse(diagnostic, "wrong value of option", name, wanted);
}

static bool read_integer(struct span name, value v, int64_t least, int64_t most,
                         int64_t *ret_number, struct diagnostic *diagnostic)
{
    if (v.tag == VALUE_INTEGER && v.integer >= least && v.integer <= most) {
        *ret_number = v.integer;
        return true;
    }
    char wanted[80];
    snprintf(wanted, sizeof(wanted), "an integer from %lld to %lld", (long long)least,
             (long long)most);
    return refuse_value(diagnostic, name, wanted);
}

// One function per limit keeps the member's type.
typedef void set_limit_fn(struct run_limits *limits, int64_t number);
#define LIMIT(option, member, usual, least, most)                       \
    static void set_##member(struct run_limits *limits, int64_t number) \
    {                                                                   \
        limits->member = (__typeof__(limits->member))number;            \
    }
LIMITS(LIMIT)
#undef LIMIT

static const struct limit {
    const char *option;
    set_limit_fn *set;
    int64_t least, most;
} limit_table[] = {
#define LIMIT(option, member, usual, least, most) {option, set_##member, least, most},
    LIMITS(LIMIT)
#undef LIMIT
};

static const struct limit *limit_find(struct span name)
{
    for (size_t i = 0; i < COUNT_OF(limit_table); i++) {
        if (span_equal_text(name, limit_table[i].option))
            return &limit_table[i];
    }
    return NULL;
}

static bool set_memory_mode(struct run_options *options, struct span name, value v,
                            struct diagnostic *diagnostic)
{
    bool is_name = v.tag == VALUE_STRING || v.tag == VALUE_KEYWORD;
    bool is_explicit = is_name && span_equal_text(value_text(v), "explicit");
    if (!is_explicit && !(is_name && span_equal_text(value_text(v), "merge")))
        return refuse_value(diagnostic, name, "merge or explicit");
    options->explicit_memory = is_explicit;
    return true;
}

static bool set_plain(struct run_options *options, struct span name, value v,
                      struct diagnostic *diagnostic)
{
    if (v.tag != VALUE_BOOLEAN && v.tag != VALUE_INTEGER)
        return refuse_value(diagnostic, name, "true or false");
    options->unoptimised = v.tag == VALUE_BOOLEAN ? v.boolean : v.integer != 0;
    return true;
}

bool run_option_set(struct run_options *options, struct span name, value v,
                    struct diagnostic *ret_diagnostic)
{
    int64_t number;
    const struct limit *limit = limit_find(name);
    if (limit) {
        bool ok = read_integer(name, v, limit->least, limit->most, &number, ret_diagnostic);
        if (ok)
            limit->set(&options->limits, number);
        return ok;
    }
    if (span_equal_text(name, "memory"))
        return set_memory_mode(options, name, v, ret_diagnostic);
    if (span_equal_text(name, "plain"))
        return set_plain(options, name, v, ret_diagnostic);
    if (span_equal_text(name, "float_precision")) {
        bool ok = read_integer(name, v, 0, DECIMAL_MAX_PLACES, &number, ret_diagnostic);
        options->float_precision = ok ? (int)number : options->float_precision;
        return ok;
    }
    if (span_equal_text(name, "seed"))
        return read_integer(name, v, 0, RUN_SEED_MAX, &options->seed, ret_diagnostic);
    if (span_equal_text(name, "fail_allocation"))
        return read_integer(name, v, 0, INT64_MAX, &options->fail_allocation, ret_diagnostic);
    return refuse(ret_diagnostic, "unknown option", name, NULL);
}
