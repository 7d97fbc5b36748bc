// Dates and instants: ISO-8601 texts; durations: milliseconds (docs/reference/language.md 9).
#include "program/builtin/date.h"

#include <string.h>

#include "base/array.h"
#include "program/builtin/builtins.h"
#include "program/builtin/interop.h"
#include "program/builtin/numeric.h"
#include "program/builtin/support.h"
#include "value/number/number.h"

static void check_date(struct run *run, const struct builtin *self, enum date_result result,
                       value text)
{
    if (result == DATE_UNREADABLE)
        fail_unreadable(run, self, text);
    if (result == DATE_OUT_OF_RANGE)
        builtin_fail(run, self, ARITHMETIC_ERROR, "a date outside the years 0001 to 9999");
}

static int64_t argument_date(struct run *run, const struct builtin *self, const value *arguments,
                             unsigned place)
{
    int64_t epoch_day = 0;
    struct span text = argument_readable(run, self, arguments, place);
    check_date(run, self, date_parse(text, &epoch_day), arguments[place]);
    return epoch_day;
}

static struct instant argument_instant(struct run *run, const struct builtin *self,
                                       const value *arguments, unsigned place)
{
    struct instant instant = {0, 0};
    struct span text = argument_readable(run, self, arguments, place);
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
    if (date_parse(argument_readable(run, self, arguments, 0), &first_day) == DATE_OK) {
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

// --- parts of a date -----------------------------------------------------------------------------

static struct calendar argument_calendar(struct run *run, const struct builtin *self,
                                         const value *arguments)
{
    return date_calendar(argument_date(run, self, arguments, 0));
}

static value date_text(struct run *run, int64_t epoch_day)
{
    char text[DATE_TEXT_SIZE];
    date_write(epoch_day, text);
    return value_string_text(run->region, text);
}

value builtin_date_of(struct run *run, const struct builtin *self, value *arguments, size_t count)
{
    (void)count;
    int64_t parts[3], date = 0;
    for (unsigned i = 0; i < 3; i++)
        parts[i] = argument_integer(run, self, arguments, i);
    bool fits = parts[0] >= 1 && parts[0] <= 9999 && parts[1] >= 1 && parts[1] <= 12 &&
                parts[2] >= 1 && parts[2] <= date_month_length((int)parts[0], (int)parts[1]);
    if (!fits)
        builtin_fail(run, self, RUNTIME_ERROR, "there is no date %lld-%lld-%lld",
                     (long long)parts[0], (long long)parts[1], (long long)parts[2]);
    date = date_from_calendar((struct calendar){(int)parts[0], (int)parts[1], (int)parts[2]});
    return date_text(run, date);
}

value builtin_date_of_epoch_day(struct run *run, const struct builtin *self, value *arguments,
                                size_t count)
{
    (void)count;
    int64_t date = 0;
    check_date(run, self, date_add(0, argument_integer(run, self, arguments, 0), &date),
               arguments[0]);
    return date_text(run, date);
}

value builtin_date_year(struct run *run, const struct builtin *self, value *arguments, size_t count)
{
    (void)count;
    return value_integer(argument_calendar(run, self, arguments).year);
}

value builtin_date_month(struct run *run, const struct builtin *self, value *arguments,
                         size_t count)
{
    (void)count;
    return value_integer(argument_calendar(run, self, arguments).month);
}

value builtin_date_day(struct run *run, const struct builtin *self, value *arguments, size_t count)
{
    (void)count;
    return value_integer(argument_calendar(run, self, arguments).day);
}

value builtin_date_day_of_year(struct run *run, const struct builtin *self, value *arguments,
                               size_t count)
{
    (void)count;
    int64_t date = argument_date(run, self, arguments, 0);
    struct calendar first = {date_calendar(date).year, 1, 1};
    return value_integer(date - date_from_calendar(first) + 1);
}

value builtin_date_day_of_week(struct run *run, const struct builtin *self, value *arguments,
                               size_t count)
{
    static const char *const names[] = {"MONDAY", "TUESDAY",  "WEDNESDAY", "THURSDAY",
                                        "FRIDAY", "SATURDAY", "SUNDAY"};
    (void)count;
    int64_t date = argument_date(run, self, arguments, 0);  // 1970-01-01 was a Thursday
    return value_string_text(run->region, names[((date + 3) % 7 + 7) % 7]);
}

value builtin_date_month_length(struct run *run, const struct builtin *self, value *arguments,
                                size_t count)
{
    (void)count;
    struct calendar date = argument_calendar(run, self, arguments);
    return value_integer(date_month_length(date.year, date.month));
}

value builtin_date_is_leap_year(struct run *run, const struct builtin *self, value *arguments,
                                size_t count)
{
    (void)count;
    return value_boolean(date_month_length(argument_calendar(run, self, arguments).year, 2) == 29);
}

// --- moving a date by units ----------------------------------------------------------------------

// .plusWeeks and the like: the sign and the unit are in the name.
value builtin_date_plus(struct run *run, const struct builtin *self, value *arguments, size_t count)
{
    (void)count;
    static const struct {
        const char *unit;
        int days, months;
    } units[] = {{"Weeks", 7, 0}, {"Months", 0, 1}, {"Years", 0, 12}};
    int64_t date = argument_date(run, self, arguments, 0);
    int64_t number = argument_integer(run, self, arguments, 1), sum = 0;
    bool is_minus = span_starts_with(span_from(self->name), SPAN(".minus"));
    const char *unit = self->name + strlen(is_minus ? ".minus" : ".plus");
    enum date_result result = DATE_OUT_OF_RANGE;
    if (number > -DATE_FARTHEST && number < DATE_FARTHEST) {
        int64_t step = is_minus ? -number : number;
        for (size_t i = 0; i < COUNT_OF(units); i++) {
            if (strcmp(unit, units[i].unit) == 0)
                result = units[i].days ? date_add(date, step * units[i].days, &sum)
                                       : date_add_months(date, step * units[i].months, &sum);
        }
    }
    check_date(run, self, result, arguments[0]);
    return date_text(run, sum);
}

// ChronoUnit/DAYS and the like are their names: "DAYS".
value builtin_chrono_unit(struct run *run, const struct builtin *self, value *arguments,
                          size_t count)
{
    (void)run;
    (void)arguments;
    (void)count;
    return value_string_borrow(NULL, span_from(strchr(self->name, '/') + 1));
}

// Whole units from one date, or instant, to another.
static int64_t units_between(struct run *run, const struct builtin *self, const value *arguments,
                             struct span unit)
{
    static const struct {
        const char *name;
        int64_t milliseconds;
        int months;
    } units[] = {
        {"MILLIS", 1, 0},      {"SECONDS", 1000, 0},  {"MINUTES", 60000, 0},
        {"HOURS", 3600000, 0}, {"DAYS", 86400000, 0}, {"WEEKS", 604800000, 0},
        {"MONTHS", 0, 1},      {"YEARS", 0, 12},
    };
    for (size_t i = 0; i < COUNT_OF(units); i++) {
        int64_t first, second;
        if (!span_equal_text(unit, units[i].name))
            continue;
        bool is_date = date_parse(argument_readable(run, self, arguments, 0), &first) == DATE_OK;
        if (is_date && units[i].milliseconds % 86400000 == 0) {
            second = argument_date(run, self, arguments, 1);
            return units[i].months ? date_months_between(first, second) / units[i].months
                                   : (second - first) / (units[i].milliseconds / 86400000);
        }
        if (!is_date && units[i].milliseconds)
            return instant_difference(argument_instant(run, self, arguments, 0),
                                      argument_instant(run, self, arguments, 1)) /
                   units[i].milliseconds;
    }
    builtin_fail(run, self, RUNTIME_ERROR, "%.*s is no unit between these", (int)unit.length,
                 unit.data);
}

// (.between unit a b)
value builtin_unit_between(struct run *run, const struct builtin *self, value *arguments,
                           size_t count)
{
    (void)count;
    argument_string(run, self, arguments, 0);
    return value_integer(units_between(run, self, arguments + 1, value_text(arguments[0])));
}

// (.until a b unit)
value builtin_date_until(struct run *run, const struct builtin *self, value *arguments,
                         size_t count)
{
    (void)count;
    argument_string(run, self, arguments, 2);
    return value_integer(units_between(run, self, arguments, value_text(arguments[2])));
}
