// Calendar dates and instants, read from and written as ISO-8601 text. Proleptic Gregorian calendar,
// years 0001 to 9999. Pure functions, no memory.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/span.h"

enum {
    DATE_TEXT_SIZE = 16,     // "2024-01-02" and the final NUL
    INSTANT_TEXT_SIZE = 48,  // "2024-01-02T03:04:05.123456789Z" and the final NUL
};

enum date_result {
    DATE_OK,
    DATE_UNREADABLE,    // not the expected text, or no real calendar date
    DATE_OUT_OF_RANGE,  // outside the years 0001 to 9999
};

struct calendar {
    int year;
    int month;
    int day;
};

struct instant {
    int64_t seconds;  // since 1970-01-01T00:00:00Z
    int32_t nanos;    // 0 … 999,999,999
};

enum date_result date_parse(struct span text, int64_t *ret_epoch_day);
enum date_result date_add(int64_t epoch_day, int64_t days, int64_t *ret_epoch_day);
int64_t date_from_calendar(struct calendar date);  // a real date
struct calendar date_calendar(int64_t epoch_day);
int date_month_length(int year, int month);
enum { DATE_FARTHEST = 1000000 };  // days, weeks or months that a date may be moved at once
// The day of the month, or its last one.
enum date_result date_add_months(int64_t epoch_day, int64_t months, int64_t *ret_epoch_day);
int64_t date_months_between(int64_t from, int64_t to);  // whole ones, truncated toward zero
void date_write(int64_t epoch_day, char text[DATE_TEXT_SIZE]);

// Date, `T`, `hh:mm[:ss[.digits]]`, then `Z` or an offset `±hh[:mm]`.
enum date_result instant_parse(struct span text, struct instant *ret_instant);
// UTC, with 0, 3, 6 or 9 digits of fraction.
void instant_write(struct instant instant, char text[INSTANT_TEXT_SIZE]);
int64_t instant_milliseconds(struct instant instant);  // since the epoch, rounded down
int64_t instant_difference(struct instant from, struct instant to);  // ms, truncated toward zero
int instant_compare(struct instant a, struct instant b);
