#include "program/builtin/date.h"

#include <stdio.h>

enum { MIN_YEAR = 1, MAX_YEAR = 9999, DAY_SECONDS = 86400 };

// Days since 1970-01-01. Years are counted from March so that the leap day comes last.
int64_t date_from_calendar(struct calendar date)
{
    int64_t year = date.month <= 2 ? date.year - 1 : date.year;
    int64_t era = (year >= 0 ? year : year - 399) / 400;
    int64_t year_of_era = year - era * 400;
    int64_t month = date.month > 2 ? date.month - 3 : date.month + 9;
    int64_t day_of_year = (153 * month + 2) / 5 + date.day - 1;
    int64_t day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    return era * 146097 + day_of_era - 719468;
}

struct calendar date_calendar(int64_t epoch_day)
{
    int64_t shifted = epoch_day + 719468;
    int64_t era = (shifted >= 0 ? shifted : shifted - 146096) / 146097;
    int64_t day_of_era = shifted - era * 146097;
    int64_t year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
    int64_t day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    int64_t month = (5 * day_of_year + 2) / 153;
    struct calendar date = {
        .year = (int)(year_of_era + era * 400),
        .month = (int)(month < 10 ? month + 3 : month - 9),
        .day = (int)(day_of_year - (153 * month + 2) / 5 + 1),
    };
    if (date.month <= 2)
        date.year++;
    return date;
}

int date_month_length(int year, int month)
{
    static const int lengths[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    bool leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    return month == 2 && leap ? 29 : lengths[month - 1];
}

// Months since year 0, and back.
static int64_t month_number(struct calendar date)
{
    return (int64_t)date.year * 12 + date.month - 1;
}

enum date_result date_add_months(int64_t epoch_day, int64_t months, int64_t *ret_epoch_day)
{
    struct calendar date = date_calendar(epoch_day);
    int64_t number = month_number(date) + months;
    if (number < month_number((struct calendar){MIN_YEAR, 1, 1}) ||
        number > month_number((struct calendar){MAX_YEAR, 12, 31}))
        return DATE_OUT_OF_RANGE;
    date.year = (int)(number / 12);
    date.month = (int)(number % 12) + 1;
    int length = date_month_length(date.year, date.month);
    date.day = date.day > length ? length : date.day;
    *ret_epoch_day = date_from_calendar(date);
    return DATE_OK;
}

int64_t date_months_between(int64_t from, int64_t to)
{
    struct calendar a = date_calendar(from), b = date_calendar(to);
    int64_t months = month_number(b) - month_number(a);
    if (months > 0 && b.day < a.day)
        months--;
    else if (months < 0 && b.day > a.day)
        months++;
    return months;
}

// --- reading -------------------------------------------------------------------------------------

static bool read_byte(struct span *text, char byte)
{
    if (text->length == 0 || text->data[0] != byte)
        return false;
    text->data++;
    text->length--;
    return true;
}

static bool read_digits(struct span *text, size_t count, int *ret_number)
{
    if (text->length < count)
        return false;
    int number = 0;
    for (size_t i = 0; i < count; i++) {
        char c = text->data[i];
        if (c < '0' || c > '9')
            return false;
        number = number * 10 + (c - '0');
    }
    text->data += count;
    text->length -= count;
    *ret_number = number;
    return true;
}

static bool read_date(struct span *text, int64_t *ret_epoch_day)
{
    struct calendar date;
    if (!read_digits(text, 4, &date.year) || !read_byte(text, '-') ||
        !read_digits(text, 2, &date.month) || !read_byte(text, '-') ||
        !read_digits(text, 2, &date.day))
        return false;
    if (date.year < MIN_YEAR || date.month < 1 || date.month > 12 || date.day < 1 ||
        date.day > date_month_length(date.year, date.month))
        return false;
    *ret_epoch_day = date_from_calendar(date);
    return true;
}

static bool read_fraction(struct span *text, int32_t *ret_nanos)
{
    int32_t nanos = 0;
    int digits = 0;
    for (int digit; digits < 9 && read_digits(text, 1, &digit); digits++)
        nanos = nanos * 10 + digit;
    if (digits == 0)
        return false;
    for (; digits < 9; digits++)
        nanos *= 10;
    *ret_nanos = nanos;
    return true;
}

static bool read_time(struct span *text, int64_t *ret_seconds, int32_t *ret_nanos)
{
    int hour, minute, second = 0;
    *ret_nanos = 0;
    if (!read_digits(text, 2, &hour) || !read_byte(text, ':') || !read_digits(text, 2, &minute))
        return false;
    if (read_byte(text, ':')) {
        if (!read_digits(text, 2, &second))
            return false;
        if (read_byte(text, '.') && !read_fraction(text, ret_nanos))
            return false;
    }
    if (hour > 23 || minute > 59 || second > 59)
        return false;
    *ret_seconds = hour * 3600 + minute * 60 + second;
    return true;
}

static bool read_offset(struct span *text, int64_t *ret_seconds)
{
    if (read_byte(text, 'Z')) {
        *ret_seconds = 0;
        return true;
    }
    int sign = read_byte(text, '+') ? 1 : read_byte(text, '-') ? -1 : 0;
    int hours, minutes = 0;
    if (sign == 0 || !read_digits(text, 2, &hours))
        return false;
    if (read_byte(text, ':') && !read_digits(text, 2, &minutes))
        return false;
    if (hours > 18 || minutes > 59 || (hours == 18 && minutes > 0))
        return false;
    *ret_seconds = (int64_t)sign * (hours * 3600 + minutes * 60);
    return true;
}

static bool epoch_day_in_range(int64_t epoch_day)
{
    return epoch_day >= date_from_calendar((struct calendar){MIN_YEAR, 1, 1}) &&
           epoch_day <= date_from_calendar((struct calendar){MAX_YEAR, 12, 31});
}

static int64_t divide_down(int64_t dividend, int64_t divisor)
{
    int64_t quotient = dividend / divisor;
    return dividend % divisor < 0 ? quotient - 1 : quotient;
}

// --- dates ---------------------------------------------------------------------------------------

enum date_result date_parse(struct span text, int64_t *ret_epoch_day)
{
    int64_t epoch_day;
    if (!read_date(&text, &epoch_day) || text.length > 0)
        return DATE_UNREADABLE;
    *ret_epoch_day = epoch_day;
    return DATE_OK;
}

enum date_result date_add(int64_t epoch_day, int64_t days, int64_t *ret_epoch_day)
{
    int64_t sum;
    if (__builtin_add_overflow(epoch_day, days, &sum) || !epoch_day_in_range(sum))
        return DATE_OUT_OF_RANGE;
    *ret_epoch_day = sum;
    return DATE_OK;
}

void date_write(int64_t epoch_day, char text[DATE_TEXT_SIZE])
{
    struct calendar date = date_calendar(epoch_day);
    snprintf(text, DATE_TEXT_SIZE, "%04u-%02u-%02u", (unsigned)date.year % 10000u,
             (unsigned)date.month % 100u, (unsigned)date.day % 100u);
}

// --- instants ------------------------------------------------------------------------------------

enum date_result instant_parse(struct span text, struct instant *ret_instant)
{
    int64_t epoch_day, time, offset;
    int32_t nanos;
    if (!read_date(&text, &epoch_day) || !read_byte(&text, 'T') ||
        !read_time(&text, &time, &nanos) || !read_offset(&text, &offset) || text.length > 0)
        return DATE_UNREADABLE;
    int64_t seconds = epoch_day * DAY_SECONDS + time - offset;
    if (!epoch_day_in_range(divide_down(seconds, DAY_SECONDS)))
        return DATE_OUT_OF_RANGE;
    *ret_instant = (struct instant){seconds, nanos};
    return DATE_OK;
}

void instant_write(struct instant instant, char text[INSTANT_TEXT_SIZE])
{
    int64_t epoch_day = divide_down(instant.seconds, DAY_SECONDS);
    int time = (int)(instant.seconds - epoch_day * DAY_SECONDS);
    char date[DATE_TEXT_SIZE];
    date_write(epoch_day, date);
    char fraction[16] = "";
    if (instant.nanos % 1000000 == 0 && instant.nanos > 0)
        snprintf(fraction, sizeof(fraction), ".%03d", instant.nanos / 1000000);
    else if (instant.nanos % 1000 == 0 && instant.nanos > 0)
        snprintf(fraction, sizeof(fraction), ".%06d", instant.nanos / 1000);
    else if (instant.nanos > 0)
        snprintf(fraction, sizeof(fraction), ".%09d", instant.nanos);
    snprintf(text, INSTANT_TEXT_SIZE, "%sT%02d:%02d:%02d%sZ", date, time / 3600, time / 60 % 60,
             time % 60, fraction);
}

int64_t instant_milliseconds(struct instant instant)
{
    return instant.seconds * 1000 + instant.nanos / 1000000;
}

int64_t instant_difference(struct instant from, struct instant to)
{
    int64_t seconds = to.seconds - from.seconds;
    int64_t nanos = (int64_t)to.nanos - from.nanos;
    // Both parts get one sign, so that the division below truncates the whole toward zero.
    if (seconds > 0 && nanos < 0) {
        seconds--;
        nanos += 1000000000;
    } else if (seconds < 0 && nanos > 0) {
        seconds++;
        nanos -= 1000000000;
    }
    return seconds * 1000 + nanos / 1000000;
}

int instant_compare(struct instant a, struct instant b)
{
    if (a.seconds != b.seconds)
        return a.seconds < b.seconds ? -1 : 1;
    return (a.nanos > b.nanos) - (a.nanos < b.nanos);
}
