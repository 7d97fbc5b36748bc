#include "value/number/number.h"

#include <math.h>

#include "value/number/limbs.h"

// The order of a bignum and a finite float. Magnitudes are compared by their number of bits, then
// by their first 53 bits, then by what the bignum has beyond them.
static int compare_bignum_float(value a, double number)
{
    struct limbs limbs;
    limbs_borrow(a, &limbs);
    int sign = limbs.negative ? -1 : 1;
    if ((number < 0) != limbs.negative || number == 0)
        return sign;
    int exponent;
    double fraction = frexp(fabs(number), &exponent);
    size_t bits = integer_bits(a);
    if (exponent < 0 || bits != (size_t)exponent)
        return exponent < 0 || bits > (size_t)exponent ? sign : -sign;
    uint64_t mantissa = (uint64_t)ldexp(fraction, 64);  // same alignment as the top 64 bits
    size_t shift = limbs.count * 64 - bits;
    uint64_t top = limbs.data[limbs.count - 1] << shift;
    if (shift && limbs.count > 1)
        top |= limbs.data[limbs.count - 2] >> (64 - shift);
    if (top != mantissa)
        return top > mantissa ? sign : -sign;
    for (size_t i = 0; i + 1 < limbs.count; i++) {
        uint64_t rest = limbs.data[i];
        if (i + 2 == limbs.count && shift)
            rest <<= shift;
        if (rest)
            return sign;
    }
    return 0;
}

static int compare_integer_float(value a, double number)
{
    if (isinf(number))
        return number > 0 ? -1 : 1;
    if (a.tag == VALUE_BIGNUM)
        return compare_bignum_float(a, number);
    if (number >= 0x1p63)
        return -1;
    if (number < -0x1p63)
        return 1;
    int64_t whole = (int64_t)number;
    if (a.integer != whole)
        return a.integer > whole ? 1 : -1;
    double rest = number - (double)whole;
    return (rest < 0) - (rest > 0);
}

enum value_order number_compare(value a, value b)
{
    if (a.tag == VALUE_FLOAT && b.tag == VALUE_FLOAT) {
        if (isnan(a.number) || isnan(b.number))
            return VALUE_INCOMPARABLE;
        return (enum value_order)((a.number > b.number) - (a.number < b.number));
    }
    if (a.tag == VALUE_FLOAT)
        return isnan(a.number) ? VALUE_INCOMPARABLE
                               : (enum value_order) - compare_integer_float(b, a.number);
    if (b.tag == VALUE_FLOAT)
        return isnan(b.number) ? VALUE_INCOMPARABLE
                               : (enum value_order)compare_integer_float(a, b.number);
    return (enum value_order)integer_compare(a, b);
}
