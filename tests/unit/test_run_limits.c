// Limits and options of a run: defaults, ranges, and what is refused.
#include <criterion/criterion.h>
#include <string.h>

#include "base/array.h"
#include "program/compile/compilation.h"
#include "program/run/run_limits.h"

static struct run_options options;
static struct diagnostic diagnostic;

static void set_up(void)
{
    run_options_default(&options);
}

static bool set(const char *name, value v)
{
    return run_option_set(&options, span_from(name), v, &diagnostic);
}

TestSuite(run_limits, .init = set_up);

Test(run_limits, each_option_sets_its_own_member)
{
    static const char *const names[] = {"timeout",        "max_memory",   "max_source",
                                        "max_nesting",    "max_symbols",  "loop_limit",
                                        "max_tool_calls", "max_parallel", "max_print_length",
                                        "regex_limit",    "max_steps",    "max_compute"};
    for (size_t i = 0; i < COUNT_OF(names); i++)
        cr_expect(set(names[i], value_integer((int64_t)i + 10)), "%s", names[i]);
    const struct run_limits *limits = &options.limits;
    cr_expect_eq(limits->timeout_ms, 10);
    cr_expect_eq(limits->max_memory, 11);
    cr_expect_eq(limits->max_source, 12);
    cr_expect_eq(limits->max_nesting, 13);
    cr_expect_eq(limits->max_symbols, 14);
    cr_expect_eq(limits->loop_limit, 15);
    cr_expect_eq(limits->max_tool_calls, 16);
    cr_expect_eq(limits->max_parallel, 17);
    cr_expect_eq(limits->max_print_length, 18);
    cr_expect_eq(limits->regex_limit, 19);
    cr_expect_eq(limits->max_steps, 20);
    cr_expect_eq(limits->compute_ms, 21);
}

Test(run_limits, values_out_of_range_are_refused)
{
    cr_expect_not(set("timeout", value_integer(-1)));
    cr_expect_str_eq(
        diagnostic.message,
        "wrong value of option: timeout (an integer from 0 to 1099511627776 is wanted)");
    cr_expect_eq(diagnostic.kind, INVALID_RECORD);
    cr_expect_not(set("max_parallel", value_integer(0)));
    cr_expect_not(set("max_nesting", value_integer(1001)));
    cr_expect_not(set("timeout", value_float(1.5)));
    cr_expect_not(set("float_precision", value_integer(1075)));
    struct run_options defaults;
    run_options_default(&defaults);
    cr_expect_eq(memcmp(&options.limits, &defaults.limits, sizeof(defaults.limits)), 0);
    cr_expect_eq(options.float_precision, -1);
}

Test(run_limits, options_that_are_no_limits)
{
    cr_expect(set("memory", value_string_borrow(NULL, SPAN("explicit"))));
    cr_expect(options.explicit_memory);
    cr_expect(set("memory", value_string_borrow(NULL, SPAN("merge"))));
    cr_expect_not(options.explicit_memory);
    cr_expect_not(set("memory", value_string_borrow(NULL, SPAN("keep"))));
    cr_expect(set("float_precision", value_integer(2)));
    cr_expect_eq(options.float_precision, 2);
    cr_expect(set("plain", value_boolean(true)));
    cr_expect(options.unoptimised);
    cr_expect_not(set("no_such_option", value_integer(1)));
    cr_expect_str_eq(diagnostic.message, "unknown option: no_such_option");
}
