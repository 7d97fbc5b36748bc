// Bits of integers: two's complement of unlimited width, and the way to and from doubles.
#include <math.h>
#include <string.h>

#include "value/fuel.h"
#include "value/number/limbs.h"

enum { LIMB_BITS = 64, LIMBS_PER_UNIT = 16, MANTISSA_BITS = 53, LOWEST_EXPONENT = -1074 };

enum operation { AND, OR, XOR };

// The two's complement of the integer in `count` limbs, which must be enough.
static void to_complement(const struct limbs *limbs, mp_limb_t *out, size_t count)
{
    memset(out, 0, count * sizeof(mp_limb_t));
    if (limbs->count)
        mpn_copyi(out, limbs->data, (mp_size_t)limbs->count);
    if (limbs->negative)
        mpn_neg(out, out, (mp_size_t)count);
}

static value from_complement(struct region *region, struct bignum *bignum, size_t count)
{
    bool negative = bignum->limbs[count - 1] >> (LIMB_BITS - 1);
    if (negative)
        mpn_neg(bignum->limbs, bignum->limbs, (mp_size_t)count);
    return bignum_finish(region, bignum, count, negative);
}

static value combine(struct region *region, value a, value b, enum operation operation)
{
    struct limbs left, right;
    limbs_borrow(a, &left);
    limbs_borrow(b, &right);
    size_t count = (left.count > right.count ? left.count : right.count) + 1;
    fuel_spend(count / LIMBS_PER_UNIT);
    struct bignum *result = bignum_reserve(region, count);
    struct bignum *other = bignum_reserve(region, count);
    to_complement(&left, result->limbs, count);
    to_complement(&right, other->limbs, count);
    for (size_t i = 0; i < count; i++) {
        mp_limb_t limb = other->limbs[i];
        switch (operation) {
        case AND: result->limbs[i] &= limb; break;
        case OR: result->limbs[i] |= limb; break;
        case XOR: result->limbs[i] ^= limb; break;
        }
    }
    object_release(region, &other->header);
    value_release(region, a);
    value_release(region, b);
    return from_complement(region, result, count);
}

static bool both_small(value a, value b)
{
    return a.tag == VALUE_INTEGER && b.tag == VALUE_INTEGER;
}

value integer_and(struct region *region, value a, value b)
{
    return both_small(a, b) ? value_integer(a.integer & b.integer) : combine(region, a, b, AND);
}

value integer_or(struct region *region, value a, value b)
{
    return both_small(a, b) ? value_integer(a.integer | b.integer) : combine(region, a, b, OR);
}

value integer_xor(struct region *region, value a, value b)
{
    return both_small(a, b) ? value_integer(a.integer ^ b.integer) : combine(region, a, b, XOR);
}

value integer_not(struct region *region, value a)
{
    return integer_subtract(region, value_integer(-1), a);
}

value integer_shift_left(struct region *region, value a, uint64_t bits)
{
    struct limbs limbs;
    limbs_borrow(a, &limbs);
    if (limbs.count == 0 || bits == 0)
        return a;
    uint64_t whole = bits / LIMB_BITS;
    unsigned part = (unsigned)(bits % LIMB_BITS);
    size_t count = limbs.count + 1;
    count = whole > SIZE_MAX / 16 - count ? SIZE_MAX / 16 : count + (size_t)whole;
    fuel_spend(limbs.count / LIMBS_PER_UNIT);
    struct bignum *result = bignum_reserve(region, count);
    fuel_spend(whole / LIMBS_PER_UNIT);
    memset(result->limbs, 0, (size_t)whole * sizeof(mp_limb_t));
    mp_limb_t carry = 0;
    if (part)
        carry = mpn_lshift(result->limbs + whole, limbs.data, (mp_size_t)limbs.count, part);
    else
        mpn_copyi(result->limbs + whole, limbs.data, (mp_size_t)limbs.count);
    result->limbs[count - 1] = carry;
    bool negative = limbs.negative;
    value_release(region, a);
    return bignum_finish(region, result, count, negative);
}

// Whether any of the lowest `bits` bits of the magnitude is set.
static bool has_low_bits(const struct limbs *limbs, uint64_t bits)
{
    uint64_t whole = bits / LIMB_BITS;
    for (size_t i = 0; i < limbs->count && i < whole; i++)
        if (limbs->data[i])
            return true;
    unsigned part = (unsigned)(bits % LIMB_BITS);
    return part && whole < limbs->count && limbs->data[whole] << (LIMB_BITS - part);
}

value integer_shift_right(struct region *region, value a, uint64_t bits)
{
    if (a.tag == VALUE_INTEGER)
        return value_integer(a.integer >> (bits < LIMB_BITS - 1 ? bits : LIMB_BITS - 1));
    struct limbs limbs;
    limbs_borrow(a, &limbs);
    uint64_t whole = bits / LIMB_BITS;
    unsigned part = (unsigned)(bits % LIMB_BITS);
    bool down = limbs.negative && has_low_bits(&limbs, bits);
    value result = value_integer(0);
    if (whole < limbs.count) {
        size_t count = limbs.count - (size_t)whole;
        fuel_spend(count / LIMBS_PER_UNIT);
        struct bignum *bignum = bignum_reserve(region, count);
        if (part)
            mpn_rshift(bignum->limbs, limbs.data + whole, (mp_size_t)count, part);
        else
            mpn_copyi(bignum->limbs, limbs.data + whole, (mp_size_t)count);
        result = bignum_finish(region, bignum, count, limbs.negative);
    }
    value_release(region, a);
    return down ? integer_subtract(region, result, value_integer(1)) : result;
}

bool integer_test_bit(value a, uint64_t bit)
{
    struct limbs limbs;
    limbs_borrow(a, &limbs);
    uint64_t whole = bit / LIMB_BITS;
    bool set = whole < limbs.count && (limbs.data[whole] >> (bit % LIMB_BITS) & 1);
    // -n is ~(n - 1): the bits above the lowest one of n are inverted.
    return limbs.negative ? set != has_low_bits(&limbs, bit) : set;
}

// --- doubles -------------------------------------------------------------------------------------

value integer_from_double(struct region *region, double number)
{
    if (fabs(number) < 0x1p63)
        return value_integer((int64_t)number);
    int exponent;
    double fraction = frexp(number, &exponent);
    value mantissa = value_integer((int64_t)ldexp(fraction, MANTISSA_BITS));
    return integer_shift_left(region, mantissa, (uint64_t)(exponent - MANTISSA_BITS));
}

// The double nearest to top × 2^exponent, ties to even; `top` has its highest bit set, `more` says
// that the true number is a little above it.
static double round_to_double(uint64_t top, bool more, int64_t exponent)
{
    int64_t drop = LIMB_BITS - MANTISSA_BITS;
    if (exponent + drop < LOWEST_EXPONENT)
        drop = LOWEST_EXPONENT - exponent;  // the result is subnormal: it has fewer bits
    if (drop > LIMB_BITS)
        return 0;
    uint64_t kept = drop == LIMB_BITS ? 0 : top >> drop;
    uint64_t rest = drop == LIMB_BITS ? top : top & ((UINT64_C(1) << drop) - 1);
    uint64_t half = UINT64_C(1) << (drop - 1);
    if (rest > half || (rest == half && (more || kept & 1)))
        kept++;
    if (exponent + drop > 2048)
        return INFINITY;
    return ldexp((double)kept, (int)(exponent + drop));
}

// The highest 64 bits of the magnitude, aligned to the top.
static uint64_t top_bits(const struct limbs *limbs, size_t bits)
{
    size_t shift = limbs->count * LIMB_BITS - bits;
    uint64_t top = limbs->data[limbs->count - 1] << shift;
    if (shift && limbs->count > 1)
        top |= limbs->data[limbs->count - 2] >> (LIMB_BITS - shift);
    return top;
}

// a × 2^exponent (and a little more, when `more`), rounded once.
static double scale_to_double(value a, bool more, int64_t exponent)
{
    struct limbs limbs;
    limbs_borrow(a, &limbs);
    if (limbs.count == 0)
        return 0;
    size_t bits = integer_bits(a);
    if (bits > LIMB_BITS && has_low_bits(&limbs, bits - LIMB_BITS))
        more = true;
    double magnitude =
        round_to_double(top_bits(&limbs, bits), more, exponent + (int64_t)bits - LIMB_BITS);
    return limbs.negative ? -magnitude : magnitude;
}

double integer_to_double(value a)
{
    return a.tag == VALUE_INTEGER ? (double)a.integer : scale_to_double(a, false, 0);
}

static bool is_exact_double(value a)
{
    return a.tag == VALUE_INTEGER && a.integer >= -(INT64_C(1) << MANTISSA_BITS) &&
           a.integer <= INT64_C(1) << MANTISSA_BITS;
}

double integer_ratio(struct region *region, value a, value b)
{
    if (is_exact_double(a) && is_exact_double(b))
        return (double)a.integer / (double)b.integer;
    if (integer_sign(a) == 0)
        return 0;
    // A quotient of at least 65 bits, and whether there is a remainder, say all that rounding
    // needs.
    int64_t shift = (int64_t)integer_bits(b) - (int64_t)integer_bits(a) + LIMB_BITS + 2;
    a = value_retain(a);
    b = value_retain(b);
    if (shift > 0)
        a = integer_shift_left(region, a, (uint64_t)shift);
    else
        b = integer_shift_left(region, b, (uint64_t)-shift);
    value quotient, remainder;
    integer_divide(region, a, b, &quotient, &remainder);
    double ratio = scale_to_double(quotient, integer_sign(remainder) != 0, -shift);
    value_release(region, quotient);
    value_release(region, remainder);
    return ratio;
}
