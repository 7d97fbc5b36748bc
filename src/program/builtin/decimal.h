// Decimal text of finite floats, rounded from the exact binary value, ties away from zero (the C
// library rounds ties to even).
#pragma once

#include <stddef.h>

#include "program/run/run.h"

enum {
    DECIMAL_MAX_PLACES = 1074,  // no binary64 has more decimal places
    DECIMAL_TEXT_SIZE = 1400,   // sign, 309 digits, point, places, exponent, final NUL
};

// `[-]digits[.digits]` with exactly `places` ≤ DECIMAL_MAX_PLACES decimals. Returns the length.
size_t decimal_write_fixed(double number, unsigned places, char text[DECIMAL_TEXT_SIZE]);
// `[-]d[.digits]e±dd` with exactly `places` ≤ DECIMAL_MAX_PLACES decimals. Returns the length.
size_t decimal_write_exponent(double number, unsigned places, char text[DECIMAL_TEXT_SIZE]);
// The same two from the shortest digits that read back equal, halves away from zero: as Java formats, so
// that 1.005 has the two decimals 1.01.
size_t decimal_format_fixed(double number, unsigned places, char text[DECIMAL_TEXT_SIZE]);
size_t decimal_format_exponent(double number, unsigned places, char text[DECIMAL_TEXT_SIZE]);
// The float nearest to `number` rounded to `places` decimals; infinities and NaN are unchanged.
double decimal_round(double number, unsigned places);
// Rounds every float in a value, at any depth; consumes it.
value decimal_round_floats(struct run *run, value v, unsigned places);
