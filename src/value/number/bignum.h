// Integers of any size: VALUE_INTEGER where the number fits 64 bits, else VALUE_BIGNUM. Ownership as everywhere: with a region they consume their arguments.
//
// Long operations are cut into chunks of at most a few milliseconds that spend fuel (value/fuel.h).
// Their memory comes from the region; GMP, of which only the functions on limb arrays are used,
// allocates only scratch space for one chunk. Without a fuel handler decimal text is converted in one
// step, which is not quadratic.
#pragma once

#include "value/value.h"

static inline bool value_is_integer(value v)
{
    return v.tag == VALUE_INTEGER || v.tag == VALUE_BIGNUM;
}

value integer_add(struct region *region, value a, value b);
value integer_subtract(struct region *region, value a, value b);
value integer_multiply(struct region *region, value a, value b);
value integer_negate(struct region *region, value a);
// b must not be 0. Quotient truncated; remainder with the sign of a; modulo with the sign of b.
value integer_quotient(struct region *region, value a, value b);
value integer_remainder(struct region *region, value a, value b);
value integer_modulo(struct region *region, value a, value b);
void integer_divide(struct region *region, value a, value b, value *ret_quotient,
                    value *ret_remainder);

int integer_compare(value a, value b);  // -1, 0, 1
int integer_sign(value a);              // -1, 0, 1
bool integer_is_odd(value a);
size_t integer_bits(value a);  // bits of the magnitude; 0 for 0

// --- bignum_bits.c: bits and doubles -------------------------------------------------------------
// Two's complement of unlimited width. Shifting right rounds down.
value integer_and(struct region *region, value a, value b);
value integer_or(struct region *region, value a, value b);
value integer_xor(struct region *region, value a, value b);
value integer_not(struct region *region, value a);
value integer_shift_left(struct region *region, value a, uint64_t bits);
value integer_shift_right(struct region *region, value a, uint64_t bits);
bool integer_test_bit(value a, uint64_t bit);

value integer_from_double(struct region *region, double number);  // finite; truncates
double integer_to_double(value a);  // nearest, ties to even; infinite when out of range
// a / b as the nearest double, ties to even; b is not 0. Borrows both.
double integer_ratio(struct region *region, value a, value b);

// --- bignum_text.c: decimal text -----------------------------------------------------------------
// The size is an upper bound; the digits written are without leading zeros.
enum { INTEGER_TEXT_SIZE = 21 };  // enough for any VALUE_INTEGER
size_t integer_text_size(value a);
size_t integer_write(value a, char *text);  // returns the length, no final NUL
