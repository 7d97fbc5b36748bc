// Java-style names: Math/…, LocalDate/…, methods of strings (docs/reference/language.md 9).
#include <math.h>
#include <strings.h>

#include "base/clock.h"
#include "program/builtin/builtins.h"
#include "program/builtin/date.h"
#include "program/builtin/numeric.h"
#include "program/builtin/support.h"
#include "program/builtin/text_search.h"

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

static _Noreturn void fail_text(struct run *run, const struct builtin *self, value text)
{
    builtin_fail(run, self, RUNTIME_ERROR, "cannot read %s",
                 value_describe(text, (char[DESCRIBE_SIZE]){0}));
}

// The text to be parsed; nil is unreadable, anything else is a wrong kind.
static struct span argument_text(struct run *run, const struct builtin *self,
                                 const value *arguments, unsigned place)
{
    if (value_is_nil(arguments[place]))
        fail_text(run, self, arguments[place]);
    argument_string(run, self, arguments, place);
    return value_text(arguments[place]);
}

value builtin_double_parse(struct run *run, const struct builtin *self, value *arguments,
                           size_t count)
{
    (void)count;
    struct span text = argument_text(run, self, arguments, 0);
    size_t start = text_skip_space(run, text), end = text_skip_space_back(run, text);
    double number;
    if (start >= end || !text_read_float((struct span){text.data + start, end - start}, &number))
        fail_text(run, self, arguments[0]);
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
    (void)run;
    (void)self;
    (void)arguments;
    (void)count;
    return value_integer(clock_unix_ms());
}

// --- dates and instants --------------------------------------------------------------------------

static void check_date(struct run *run, const struct builtin *self, enum date_result result,
                       value text)
{
    if (result == DATE_UNREADABLE)
        fail_text(run, self, text);
    if (result == DATE_OUT_OF_RANGE)
        builtin_fail(run, self, ARITHMETIC_ERROR, "a date outside the years 0001 to 9999");
}

static int64_t argument_date(struct run *run, const struct builtin *self, const value *arguments,
                             unsigned place)
{
    int64_t epoch_day = 0;
    struct span text = argument_text(run, self, arguments, place);
    check_date(run, self, date_parse(text, &epoch_day), arguments[place]);
    return epoch_day;
}

static struct instant argument_instant(struct run *run, const struct builtin *self,
                                       const value *arguments, unsigned place)
{
    struct instant instant = {0, 0};
    struct span text = argument_text(run, self, arguments, place);
    check_date(run, self, instant_parse(text, &instant), arguments[place]);
    return instant;
}

value builtin_date_parse(struct run *run, const struct builtin *self, value *arguments,
                         size_t count)
{
    (void)count;
    argument_date(run, self, arguments, 0);
    return arguments[0];
}

value builtin_instant_parse(struct run *run, const struct builtin *self, value *arguments,
                            size_t count)
{
    (void)count;
    char text[INSTANT_TEXT_SIZE];
    instant_write(argument_instant(run, self, arguments, 0), text);
    return value_string_text(run->region, text);
}

value builtin_duration_between(struct run *run, const struct builtin *self, value *arguments,
                               size_t count)
{
    (void)count;
    struct instant from = argument_instant(run, self, arguments, 0);
    struct instant to = argument_instant(run, self, arguments, 1);
    return value_integer(instant_difference(from, to));
}

static value add_days(struct run *run, const struct builtin *self, const value *arguments,
                      bool backwards)
{
    int64_t date = argument_date(run, self, arguments, 0), sum = 0;
    int64_t days = argument_integer(run, self, arguments, 1);
    enum date_result result = DATE_OUT_OF_RANGE;
    if (!backwards)
        result = date_add(date, days, &sum);
    else if (days != INT64_MIN)
        result = date_add(date, -days, &sum);
    check_date(run, self, result, arguments[0]);
    char text[DATE_TEXT_SIZE];
    date_write(sum, text);
    return value_string_text(run->region, text);
}

value builtin_plus_days(struct run *run, const struct builtin *self, value *arguments, size_t count)
{
    (void)count;
    return add_days(run, self, arguments, false);
}

value builtin_minus_days(struct run *run, const struct builtin *self, value *arguments,
                         size_t count)
{
    (void)count;
    return add_days(run, self, arguments, true);
}

value builtin_to_epoch_day(struct run *run, const struct builtin *self, value *arguments,
                           size_t count)
{
    (void)count;
    return value_integer(argument_date(run, self, arguments, 0));
}

value builtin_to_epoch_milli(struct run *run, const struct builtin *self, value *arguments,
                             size_t count)
{
    (void)count;
    return value_integer(instant_milliseconds(argument_instant(run, self, arguments, 0)));
}

// The order of two dates or two instants.
static int compare_times(struct run *run, const struct builtin *self, const value *arguments)
{
    int64_t first_day, second_day;
    if (date_parse(argument_text(run, self, arguments, 0), &first_day) == DATE_OK) {
        second_day = argument_date(run, self, arguments, 1);
        return (first_day > second_day) - (first_day < second_day);
    }
    struct instant first = argument_instant(run, self, arguments, 0);
    return instant_compare(first, argument_instant(run, self, arguments, 1));
}

value builtin_is_before(struct run *run, const struct builtin *self, value *arguments, size_t count)
{
    (void)count;
    return value_boolean(compare_times(run, self, arguments) < 0);
}

value builtin_is_after(struct run *run, const struct builtin *self, value *arguments, size_t count)
{
    (void)count;
    return value_boolean(compare_times(run, self, arguments) > 0);
}

static value argument_duration(struct run *run, const struct builtin *self, const value *arguments)
{
    if (!value_is_integer(arguments[0]))
        run_type_error(run, self, 1, "a duration (integer milliseconds)", arguments[0], NULL);
    return arguments[0];
}

value builtin_to_millis(struct run *run, const struct builtin *self, value *arguments, size_t count)
{
    (void)count;
    return argument_duration(run, self, arguments);
}

value builtin_to_days(struct run *run, const struct builtin *self, value *arguments, size_t count)
{
    (void)count;
    enum { DAY_MILLISECONDS = 86400000 };
    value duration = argument_duration(run, self, arguments);
    return integer_quotient(run->region, duration, value_integer(DAY_MILLISECONDS));
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
