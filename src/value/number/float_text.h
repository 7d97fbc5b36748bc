// Floats to decimal text and back, exactly, whatever the locale.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/span.h"

enum { FLOAT_DIGITS_MAX = 17, FLOAT_TEXT_SIZE = 32 };

// The shortest digits that read back as `number` (finite, not negative, not 0), closest to it:
// 0.d1d2d3… × 10^exponent. Returns how many.
size_t float_digits(double number, char digits[FLOAT_DIGITS_MAX], int *ret_exponent);

// Canonical text of a finite float (docs/reference/language.md 10), also its JSON form. Returns the
// length, no final NUL.
size_t float_write(double number, char text[FLOAT_TEXT_SIZE]);
// As Java writes it: 1.0E10 from 10^7 on, 1.0E-4 below 10^-3.
size_t float_write_java(double number, char text[FLOAT_TEXT_SIZE]);

// The nearest double to digits / 10^decimals, when that is a single operation on exact operands;
// false: use float_read().
bool float_from_decimal(uint64_t digits, size_t decimals, double *ret_number);

// The nearest double to [-]digits[.digits][e[+-]digits] of any length; the caller has checked the
// grammar. Infinite when out of range.
double float_read(struct span text);

// What printf() writes for "%.*f" (style 'f') or "%.*e" (style 'e') where the decimal point is a
// point. The text must fit, with its final NUL; returns its length.
size_t float_print(char *text, size_t size, char style, int places, double number);
