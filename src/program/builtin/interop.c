// Java-style names: Math/…, LocalDate/…, methods of strings (docs/reference/language.md 9).
#include <math.h>
#include <strings.h>

#include "base/clock.h"
#include "program/builtin/builtins.h"
#include "program/builtin/interop.h"
#include "program/builtin/numeric.h"
#include "program/builtin/support.h"
#include "program/builtin/text_search.h"
#include "program/run/replay.h"

enum { NUMBER_SHOWN = 100 };  // bytes of a text that is no number

// --- Math, Double, Integer, Long, Boolean, System ------------------------------------------------

static double argument_double(struct run *run, const struct builtin *self, const value *arguments)
{
    if (!value_is_number(arguments[0]))
        run_type_error(run, self, 1, "a number", arguments[0], NULL);
    return numeric_to_double(run, self, arguments[0]);
}

value builtin_math_floor(struct run *run, const struct builtin *self, value *arguments,
                         size_t count)
{
    (void)count;
    return value_float(floor(argument_double(run, self, arguments)));
}

value builtin_math_ceil(struct run *run, const struct builtin *self, value *arguments, size_t count)
{
    (void)count;
    return value_float(ceil(argument_double(run, self, arguments)));
}

value builtin_math_round(struct run *run, const struct builtin *self, value *arguments,
                         size_t count)
{
    (void)count;
    if (value_is_integer(arguments[0]))
        return value_retain(arguments[0]);
    double number = argument_double(run, self, arguments);
    if (isnan(number))
        return value_integer(0);
    if (isinf(number))
        return value_integer(number > 0 ? INT64_MAX : INT64_MIN);
    double down = floor(number);
    return integer_from_double(run->region, number - down >= 0.5 ? down + 1 : down);
}

value builtin_positive_infinity(struct run *run, const struct builtin *self, value *arguments,
                                size_t count)
{
    (void)run;
    (void)self;
    (void)arguments;
    (void)count;
    return value_float((double)INFINITY);
}

value builtin_negative_infinity(struct run *run, const struct builtin *self, value *arguments,
                                size_t count)
{
    (void)run;
    (void)self;
    (void)arguments;
    (void)count;
    return value_float(-(double)INFINITY);
}

value builtin_not_a_number(struct run *run, const struct builtin *self, value *arguments,
                           size_t count)
{
    (void)run;
    (void)self;
    (void)arguments;
    (void)count;
    return value_float((double)NAN);
}

_Noreturn void fail_number_format(struct run *run, const struct builtin *self, value text)
{
    if (value_is_nil(text))
        run_raise(run, RUNTIME_ERROR, self->name, "Cannot parse null string");
    struct span shown = value_text(text);
    run_raise(run, RUNTIME_ERROR, self->name, "For input string: \"%.*s\"",
              shown.length > NUMBER_SHOWN ? NUMBER_SHOWN : (int)shown.length, shown.data);
}

_Noreturn void fail_unreadable(struct run *run, const struct builtin *self, value text)
{
    builtin_fail(run, self, RUNTIME_ERROR, "cannot read %s",
                 value_describe(text, (char[DESCRIBE_SIZE]){0}));
}

struct span argument_readable(struct run *run, const struct builtin *self, const value *arguments,
                              unsigned place)
{
    if (value_is_nil(arguments[place]))
        fail_unreadable(run, self, arguments[place]);
    argument_string(run, self, arguments, place);
    return value_text(arguments[place]);
}

value builtin_double_parse(struct run *run, const struct builtin *self, value *arguments,
                           size_t count)
{
    (void)count;
    struct span text = argument_readable(run, self, arguments, 0);
    size_t start = text_skip_space(run, text), end = text_skip_space_back(run, text);
    double number;
    if (start >= end || !text_read_float((struct span){text.data + start, end - start}, &number))
        fail_number_format(run, self, arguments[0]);
    return value_float(number);
}

value builtin_boolean_parse(struct run *run, const struct builtin *self, value *arguments,
                            size_t count)
{
    (void)count;
    if (value_is_nil(arguments[0]))
        return value_boolean(false);
    argument_string(run, self, arguments, 0);
    struct span text = value_text(arguments[0]);
    return value_boolean(text.length == 4 && strncasecmp(text.data, "true", 4) == 0);
}

value builtin_current_time(struct run *run, const struct builtin *self, value *arguments,
                           size_t count)
{
    (void)self;
    (void)arguments;
    (void)count;
    return value_integer(run_clock_ms(run));
}

// --- methods of strings --------------------------------------------------------------------------

value builtin_method_index_of(struct run *run, const struct builtin *self, value *arguments,
                              size_t count)
{
    value index = builtin_index_of(run, self, arguments, count);
    return value_is_nil(index) ? value_integer(-1) : index;
}

value builtin_method_last_index_of(struct run *run, const struct builtin *self, value *arguments,
                                   size_t count)
{
    value index = builtin_last_index_of(run, self, arguments, count);
    return value_is_nil(index) ? value_integer(-1) : index;
}

value builtin_method_length(struct run *run, const struct builtin *self, value *arguments,
                            size_t count)
{
    (void)count;
    argument_string(run, self, arguments, 0);
    return value_integer((int64_t)string_count(arguments[0]));
}

value builtin_method_substring(struct run *run, const struct builtin *self, value *arguments,
                               size_t count)
{
    value_retain(arguments[0]);  // subs consumes it
    return builtin_subs(run, self, arguments, count);
}
