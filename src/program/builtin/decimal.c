#include "program/builtin/decimal.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "program/eval/stack.h"
#include "value/number/float_text.h"

// x·10^p lies exactly between two integers only if x = m / 2^(p+1) with m odd.
static bool is_tie(double number, unsigned places)
{
    double scaled = scalbn(fabs(number), (int)places + 1);
    return isfinite(scaled) && scaled == floor(scaled) && fmod(scaled, 2.0) == 1.0;
}

// Adds one unit in the last place of the digits in text[0, length), skipping the point and the sign.
// Returns true when a carry leaves the first digit: every digit is 0 then and a 1 belongs before.
static bool increment_digits(char *text, size_t length)
{
    for (size_t i = length; i-- > 0;) {
        if (text[i] == '.')
            continue;
        if (text[i] == '-')
            break;
        if (text[i] < '9') {
            text[i]++;
            return false;
        }
        text[i] = '0';
    }
    return true;
}

static size_t insert_one(char *text, size_t length)
{
    size_t start = text[0] == '-' ? 1 : 0;
    memmove(text + start + 1, text + start, length - start + 1);
    text[start] = '1';
    return length + 1;
}

size_t decimal_write_fixed(double number, unsigned places, char text[DECIMAL_TEXT_SIZE])
{
    CHECK(isfinite(number) && places <= DECIMAL_MAX_PLACES);
    if (!is_tie(number, places))
        return float_print(text, DECIMAL_TEXT_SIZE, 'f', (int)places, number);
    // One more place is exact and ends in 5: drop it and round the magnitude up.
    size_t length = float_print(text, DECIMAL_TEXT_SIZE, 'f', (int)places + 1, number);
    length -= places == 0 ? 2 : 1;
    text[length] = '\0';
    return increment_digits(text, length) ? insert_one(text, length) : length;
}

size_t decimal_write_exponent(double number, unsigned places, char text[DECIMAL_TEXT_SIZE])
{
    CHECK(isfinite(number) && places <= DECIMAL_MAX_PLACES);
    // All significant digits of any float, so the cut below sees the exact value.
    enum { EXACT_PLACES = 770 };
    char exact[EXACT_PLACES + 32];
    size_t exact_length = float_print(exact, sizeof(exact), 'e', EXACT_PLACES, number);
    char *mark = memchr(exact, 'e', exact_length);
    CHECK(mark);
    int exponent = (int)strtol(mark + 1, NULL, 10);
    size_t digits_end = (size_t)(mark - exact);
    size_t first = number < 0 || signbit(number) ? 1 : 0;
    size_t kept = first + 1 + (places > 0 ? 1 + (size_t)places : 0);
    size_t length = kept < digits_end ? kept : digits_end;
    memcpy(text, exact, length);
    if (kept < digits_end) {
        char next = exact[kept] == '.' ? exact[kept + 1] : exact[kept];
        if (next >= '5' && increment_digits(text, length)) {
            text[first] = '1';  // 9.99 became 0.00: it is 1.00 with the next exponent
            exponent++;
        }
    }
    while (length < kept)
        text[length++] = '0';
    int tail = snprintf(text + length, DECIMAL_TEXT_SIZE - length, "e%c%02d",
                        exponent < 0 ? '-' : '+', abs(exponent));
    return length + (size_t)tail;
}

// --- from the shortest digits --------------------------------------------------------------------

// A number as 0.d1d2d3… × 10^exponent; no digits: zero.
struct digits {
    char digit[FLOAT_DIGITS_MAX + 1];  // one more for a carry
    size_t count;
    int exponent;
};

static struct digits digits_of(double number)
{
    struct digits digits = {.exponent = 0};
    double size = fabs(number);
    if (size > 0)
        digits.count = float_digits(size, digits.digit, &digits.exponent);
    return digits;
}

// Keeps the first `kept` digits; the next one decides about rounding up.
static void digits_round(struct digits *digits, int kept)
{
    if (kept >= (int)digits->count)
        return;
    bool up = kept >= 0 && digits->digit[kept] >= '5';
    digits->count = kept > 0 ? (size_t)kept : 0;
    if (up && increment_digits(digits->digit, digits->count)) {
        memmove(digits->digit + 1, digits->digit, digits->count);
        digits->digit[0] = '1';
        digits->count++;
        digits->exponent++;
    }
}

// Digit number `place` in front of (negative) or behind the point.
static char digit_at(const struct digits *digits, int place)
{
    int index = digits->exponent + place;
    return index >= 0 && index < (int)digits->count ? digits->digit[index] : '0';
}

size_t decimal_format_fixed(double number, unsigned places, char text[DECIMAL_TEXT_SIZE])
{
    CHECK(isfinite(number) && places <= DECIMAL_MAX_PLACES);
    struct digits digits = digits_of(number);
    digits_round(&digits, digits.exponent + (int)places);
    size_t length = 0;
    if (signbit(number))
        text[length++] = '-';
    int whole = digits.exponent > 0 && digits.count > 0 ? digits.exponent : 1;
    for (int place = -whole; place < (int)places; place++) {
        if (place == 0)
            text[length++] = '.';
        text[length++] = digit_at(&digits, place);
    }
    return length;
}

size_t decimal_format_exponent(double number, unsigned places, char text[DECIMAL_TEXT_SIZE])
{
    CHECK(isfinite(number) && places <= DECIMAL_MAX_PLACES);
    struct digits digits = digits_of(number);
    digits_round(&digits, (int)places + 1);
    size_t length = 0;
    if (signbit(number))
        text[length++] = '-';
    for (unsigned i = 0; i <= places; i++) {
        if (i == 1)
            text[length++] = '.';
        text[length++] = i < digits.count ? digits.digit[i] : '0';
    }
    int exponent = digits.count > 0 ? digits.exponent - 1 : 0;
    int tail = snprintf(text + length, DECIMAL_TEXT_SIZE - length, "e%c%02d",
                        exponent < 0 ? '-' : '+', abs(exponent));
    return length + (size_t)tail;
}

double decimal_round(double number, unsigned places)
{
    if (!isfinite(number) || places > DECIMAL_MAX_PLACES)
        return number;
    char text[DECIMAL_TEXT_SIZE];
    size_t length = decimal_write_fixed(number, places, text);
    return float_read((struct span){text, length});
}

// --- whole values --------------------------------------------------------------------------------

struct deferred_rounding {
    struct run *run;
    value v;
    unsigned places;
};

static void round_deferred(void *data)
{
    struct deferred_rounding *deferred = data;
    deferred->v = decimal_round_floats(deferred->run, deferred->v, deferred->places);
}

static value round_map(struct run *run, value map, unsigned places)
{
    value result = map_new(run->region);
    struct map_cursor cursor = map_iterate(map);
    value key, item;
    while (map_next(&cursor, &key, &item))
        result = map_put(run->region, result, decimal_round_floats(run, value_retain(key), places),
                         decimal_round_floats(run, value_retain(item), places));
    value_release(run->region, map);
    return result;
}

static value round_vector(struct run *run, value items, unsigned places)
{
    for (size_t i = 0; i < vector_count(items); i++) {
        value item = vector_at(items, i);
        if (item.tag == VALUE_FLOAT || item.tag >= VALUE_VECTOR)
            items = vector_put(run->region, items, i,
                               decimal_round_floats(run, value_retain(item), places));
    }
    return items;
}

static value round_set(struct run *run, value set, unsigned places)
{
    value result = set_new(run->region);
    struct map_cursor cursor = set_iterate(set);
    value item;
    while (set_next(&cursor, &item))
        result =
            set_add(run->region, result, decimal_round_floats(run, value_retain(item), places));
    value_release(run->region, set);
    return result;
}

value decimal_round_floats(struct run *run, value v, unsigned places)
{
    run_spend(run, 1);
    if (v.tag == VALUE_FLOAT)
        return value_float(decimal_round(v.number, places));
    if (v.tag != VALUE_VECTOR && v.tag != VALUE_MAP && v.tag != VALUE_SET)
        return v;
    if (stack_is_low(run->stack_end, 0)) {
        struct deferred_rounding deferred = {run, v, places};
        stack_call(run, 0, round_deferred, &deferred);
        return deferred.v;
    }
    if (v.tag == VALUE_VECTOR)
        return round_vector(run, v, places);
    return v.tag == VALUE_MAP ? round_map(run, v, places) : round_set(run, v, places);
}
