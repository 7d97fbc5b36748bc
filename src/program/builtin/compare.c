#include "program/builtin/builtins.h"
#include "program/builtin/support.h"

static bool all_equal(const value *arguments, size_t count)
{
    for (size_t i = 1; i < count; i++) {
        if (!value_equal(arguments[0], arguments[i]))
            return false;
    }
    return true;
}

value builtin_equal(struct run *run, const struct builtin *self, value *arguments, size_t count)
{
    (void)self;
    run_spend(run, count);
    return value_boolean(all_equal(arguments, count));
}

value builtin_not_equal(struct run *run, const struct builtin *self, value *arguments, size_t count)
{
    (void)self;
    run_spend(run, count);
    return value_boolean(!all_equal(arguments, count));
}

// Are all adjacent pairs in one of two orders? Arguments behind the first false pair are not looked at.
static value in_order(struct run *run, const struct builtin *self, const value *arguments,
                      size_t count, enum value_order wanted, enum value_order also)
{
    run_spend(run, count);
    for (size_t i = 0; i + 1 < count; i++) {
        for (size_t j = i; j < i + 2; j++) {
            if (!value_is_number(arguments[j]))
                run_type_error(run, self, (unsigned)j + 1, "a number", arguments[j],
                               "use compare for other values");
        }
        enum value_order order = number_compare(arguments[i], arguments[i + 1]);
        if (order != wanted && order != also)
            return value_boolean(false);
    }
    return value_boolean(true);
}

value builtin_less(struct run *run, const struct builtin *self, value *arguments, size_t count)
{
    return in_order(run, self, arguments, count, VALUE_LESS, VALUE_LESS);
}

value builtin_greater(struct run *run, const struct builtin *self, value *arguments, size_t count)
{
    return in_order(run, self, arguments, count, VALUE_GREATER, VALUE_GREATER);
}

value builtin_less_or_equal(struct run *run, const struct builtin *self, value *arguments,
                            size_t count)
{
    return in_order(run, self, arguments, count, VALUE_LESS, VALUE_SAME);
}

value builtin_greater_or_equal(struct run *run, const struct builtin *self, value *arguments,
                               size_t count)
{
    return in_order(run, self, arguments, count, VALUE_GREATER, VALUE_SAME);
}

value builtin_compare(struct run *run, const struct builtin *self, value *arguments, size_t count)
{
    (void)count;
    enum value_order order = value_compare(arguments[0], arguments[1]);
    if (order == VALUE_INCOMPARABLE) {
        char left[DESCRIBE_SIZE], right[DESCRIBE_SIZE];
        builtin_fail(run, self, TYPE_ERROR, "cannot compare %s with %s",
                     value_describe(arguments[0], left), value_describe(arguments[1], right));
    }
    return value_integer(order);
}

value builtin_not(struct run *run, const struct builtin *self, value *arguments, size_t count)
{
    (void)run;
    (void)self;
    (void)count;
    return value_boolean(!value_is_true(arguments[0]));
}

value builtin_boolean(struct run *run, const struct builtin *self, value *arguments, size_t count)
{
    (void)run;
    (void)self;
    (void)count;
    return value_boolean(value_is_true(arguments[0]));
}

value builtin_identity(struct run *run, const struct builtin *self, value *arguments, size_t count)
{
    (void)run;
    (void)self;
    (void)count;
    return arguments[0];
}
