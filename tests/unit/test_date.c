// Calendar dates and instants: reading, writing, arithmetic, the ends of the range.
#include <criterion/criterion.h>

#include "base/array.h"
#include "program/builtin/date.h"

static int64_t day(const char *text)
{
    int64_t epoch_day = INT64_MIN;
    cr_assert_eq(date_parse(span_from(text), &epoch_day), DATE_OK, "%s", text);
    return epoch_day;
}

static void assert_date(int64_t epoch_day, const char *expected)
{
    char text[DATE_TEXT_SIZE];
    date_write(epoch_day, text);
    cr_assert_str_eq(text, expected);
}

Test(date, known_days)
{
    cr_assert_eq(day("1970-01-01"), 0);
    cr_assert_eq(day("1969-12-31"), -1);
    cr_assert_eq(day("2000-03-01"), 11017);
    cr_assert_eq(day("0001-01-01"), -719162);
    cr_assert_eq(day("9999-12-31"), 2932896);
}

Test(date, every_day_of_the_range_reads_back)
{
    for (int64_t i = -719162; i <= 2932896; i++) {
        char text[DATE_TEXT_SIZE];
        int64_t again;
        date_write(i, text);
        cr_assert_eq(date_parse(span_from(text), &again), DATE_OK, "%s", text);
        cr_assert_eq(again, i, "%s", text);
    }
}

Test(date, refuses_what_is_no_date)
{
    static const char *const texts[] = {"",           "2024",        "2024-1-01",  "2024-01-1",
                                        "2024-00-01", "2024-13-01",  "2024-01-00", "2024-01-32",
                                        "2023-02-29", "1900-02-29",  "2024-04-31", "0000-01-01",
                                        "2024/01/01", "2024-01-01 ", "-024-01-01", "２024-01-01"};
    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        int64_t untouched = 42;
        cr_assert_eq(date_parse(span_from(texts[i]), &untouched), DATE_UNREADABLE, "%s", texts[i]);
        cr_assert_eq(untouched, 42);
    }
    cr_assert_eq(day("2000-02-29"), 11016);
}

Test(date, adding_stays_in_the_range)
{
    int64_t sum;
    cr_assert_eq(date_add(day("2024-02-28"), 2, &sum), DATE_OK);
    assert_date(sum, "2024-03-01");
    cr_assert_eq(date_add(day("9999-12-31"), 1, &sum), DATE_OUT_OF_RANGE);
    cr_assert_eq(date_add(day("0001-01-01"), -1, &sum), DATE_OUT_OF_RANGE);
    cr_assert_eq(date_add(1, INT64_MAX, &sum), DATE_OUT_OF_RANGE);
    cr_assert_eq(date_add(-1, INT64_MIN, &sum), DATE_OUT_OF_RANGE);
}

static struct instant instant_of(const char *text)
{
    struct instant instant;
    cr_assert_eq(instant_parse(span_from(text), &instant), DATE_OK, "%s", text);
    return instant;
}

static void assert_instant(const char *text, const char *expected)
{
    char written[INSTANT_TEXT_SIZE];
    instant_write(instant_of(text), written);
    cr_assert_str_eq(written, expected);
}

Test(date, instants_are_written_in_utc)
{
    assert_instant("2024-01-02T03:04Z", "2024-01-02T03:04:00Z");
    assert_instant("2024-01-02T03:04:05.1Z", "2024-01-02T03:04:05.100Z");
    assert_instant("2024-01-02T03:04:05.1234Z", "2024-01-02T03:04:05.123400Z");
    assert_instant("2024-01-02T03:04:05.000000001Z", "2024-01-02T03:04:05.000000001Z");
    assert_instant("2024-01-01T00:30:00+18:00", "2023-12-31T06:30:00Z");
    assert_instant("1969-12-31T23:59:59.5-00:30", "1970-01-01T00:29:59.500Z");
}

Test(date, refuses_what_is_no_instant)
{
    static const char *const texts[] = {"2024-01-02",
                                        "2024-01-02T03:04:05",
                                        "2024-01-02 03:04:05Z",
                                        "2024-01-02T24:00:00Z",
                                        "2024-01-02T03:60:00Z",
                                        "2024-01-02T03:04:60Z",
                                        "2024-01-02T03:04:05.Z",
                                        "2024-01-02T03:04:05+1",
                                        "2024-01-02T03:04:05+19:00",
                                        "2024-01-02T03:04:05z",
                                        "2024-01-02T03Z",
                                        "2024-01-02T03:04:05.1234567890Z"};
    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        struct instant instant;
        cr_assert_eq(instant_parse(span_from(texts[i]), &instant), DATE_UNREADABLE, "%s", texts[i]);
    }
    struct instant instant;
    cr_assert_eq(instant_parse(SPAN("9999-12-31T23:00:00-02:00"), &instant), DATE_OUT_OF_RANGE);
    cr_assert_eq(instant_parse(SPAN("0001-01-01T00:00:00+00:01"), &instant), DATE_OUT_OF_RANGE);
}

Test(date, differences_truncate_toward_zero)
{
    struct instant epoch = instant_of("1970-01-01T00:00:00Z");
    cr_assert_eq(instant_difference(epoch, instant_of("1970-01-01T00:00:00.9999Z")), 999);
    cr_assert_eq(instant_difference(instant_of("1970-01-01T00:00:00.9999Z"), epoch), -999);
    cr_assert_eq(instant_difference(epoch, instant_of("1969-12-31T23:59:58.5Z")), -1500);
    cr_assert_eq(instant_milliseconds(instant_of("1969-12-31T23:59:59.9999Z")), -1);
    cr_assert_lt(instant_compare(epoch, instant_of("1970-01-01T00:00:00.000000001Z")), 0);
    cr_assert_eq(instant_compare(epoch, epoch), 0);
}
