#include "value/number/bignum.h"

#include "value/fuel.h"
#include "value/number/limbs.h"

enum {
    LIMBS_MAX = INT32_MAX / 2,
    LIMBS_PER_UNIT = 16,
};

struct bignum *bignum_reserve(struct region *region, size_t count)
{
    size_t size = sizeof(struct bignum) + count * sizeof(mp_limb_t);
    if (count > LIMBS_MAX)
        size = SIZE_MAX / 2;  // the region refuses it
    struct bignum *bignum = region_alloc(region, size);
    *bignum = (struct bignum){.header = object_header(OBJECT_BIGNUM), .capacity = (uint32_t)count};
    return bignum;
}

static bool fits_integer(const mp_limb_t *limbs, size_t count, bool negative)
{
    return count == 0 || (count == 1 && limbs[0] <= (mp_limb_t)INT64_MAX + negative);
}

value bignum_finish(struct region *region, struct bignum *bignum, size_t count, bool negative)
{
    while (count > 0 && bignum->limbs[count - 1] == 0)
        count--;
    if (fits_integer(bignum->limbs, count, negative)) {
        mp_limb_t limb = count ? bignum->limbs[0] : 0;
        object_release(region, &bignum->header);
        return value_integer((int64_t)(negative ? 0 - limb : limb));
    }
    if (bignum->capacity > count + count / 4 + 1) {
        bignum = region_resize(region, bignum, object_size(&bignum->header),
                               sizeof(*bignum) + count * sizeof(mp_limb_t));
        bignum->capacity = (uint32_t)count;
    }
    bignum->size = negative ? -(int32_t)count : (int32_t)count;
    return (value){.tag = VALUE_BIGNUM, .object = &bignum->header};
}

int integer_sign(value a)
{
    if (a.tag == VALUE_INTEGER)
        return (a.integer > 0) - (a.integer < 0);
    return bignum_of(a)->size < 0 ? -1 : 1;
}

int integer_compare(value a, value b)
{
    if (a.tag == VALUE_INTEGER && b.tag == VALUE_INTEGER)
        return (a.integer > b.integer) - (a.integer < b.integer);
    struct limbs left, right;
    limbs_borrow(a, &left);
    limbs_borrow(b, &right);
    if (left.negative != right.negative)
        return left.negative ? -1 : 1;
    int order = (left.count > right.count) - (left.count < right.count);
    if (order == 0) {
        fuel_spend(left.count / LIMBS_PER_UNIT);
        order = mpn_cmp(left.data, right.data, (mp_size_t)left.count);
        order = (order > 0) - (order < 0);
    }
    return left.negative ? -order : order;
}

size_t integer_bits(value a)
{
    struct limbs limbs;
    limbs_borrow(a, &limbs);
    if (limbs.count == 0)
        return 0;
    return limbs.count * 64 - (size_t)__builtin_clzll(limbs.data[limbs.count - 1]);
}

bool integer_is_odd(value a)
{
    struct limbs limbs;
    limbs_borrow(a, &limbs);
    return limbs.count && limbs.data[0] & 1;
}

// --- adding --------------------------------------------------------------------------------------

// |a| + |b|, or their difference with the sign of the larger one.
static value add_magnitudes(struct region *region, const struct limbs *a, const struct limbs *b)
{
    if (a->count < b->count)
        return add_magnitudes(region, b, a);
    fuel_spend(a->count / LIMBS_PER_UNIT);
    struct bignum *sum = bignum_reserve(region, a->count + 1);
    mp_limb_t carry = 0;
    if (b->count)
        carry = mpn_add(sum->limbs, a->data, (mp_size_t)a->count, b->data, (mp_size_t)b->count);
    else
        mpn_copyi(sum->limbs, a->data, (mp_size_t)a->count);
    sum->limbs[a->count] = carry;
    return bignum_finish(region, sum, a->count + 1, a->negative);
}

static value subtract_magnitudes(struct region *region, const struct limbs *a,
                                 const struct limbs *b)
{
    bool a_smaller = a->count != b->count ? a->count < b->count
                                          : mpn_cmp(a->data, b->data, (mp_size_t)a->count) < 0;
    if (a_smaller) {
        const struct limbs *larger = b;
        b = a;
        a = larger;
    }
    fuel_spend(a->count / LIMBS_PER_UNIT);
    struct bignum *difference = bignum_reserve(region, a->count);
    if (b->count)
        mpn_sub(difference->limbs, a->data, (mp_size_t)a->count, b->data, (mp_size_t)b->count);
    else
        mpn_copyi(difference->limbs, a->data, (mp_size_t)a->count);
    return bignum_finish(region, difference, a->count, a->negative);
}

static value add_signed(struct region *region, value a, value b, bool negate_b)
{
    struct limbs left, right;
    limbs_borrow(a, &left);
    limbs_borrow(b, &right);
    right.negative ^= negate_b;
    value sum = left.negative == right.negative ? add_magnitudes(region, &left, &right)
                                                : subtract_magnitudes(region, &left, &right);
    value_release(region, a);
    value_release(region, b);
    return sum;
}

value integer_add(struct region *region, value a, value b)
{
    int64_t sum;
    if (a.tag == VALUE_INTEGER && b.tag == VALUE_INTEGER &&
        !__builtin_add_overflow(a.integer, b.integer, &sum))
        return value_integer(sum);
    return add_signed(region, a, b, false);
}

value integer_subtract(struct region *region, value a, value b)
{
    int64_t difference;
    if (a.tag == VALUE_INTEGER && b.tag == VALUE_INTEGER &&
        !__builtin_sub_overflow(a.integer, b.integer, &difference))
        return value_integer(difference);
    return add_signed(region, a, b, true);
}

value integer_negate(struct region *region, value a)
{
    return integer_subtract(region, value_integer(0), a);
}

// --- multiplying and dividing --------------------------------------------------------------------

value integer_multiply(struct region *region, value a, value b)
{
    int64_t product;
    if (a.tag == VALUE_INTEGER && b.tag == VALUE_INTEGER &&
        !__builtin_mul_overflow(a.integer, b.integer, &product))
        return value_integer(product);
    struct limbs left, right;
    limbs_borrow(a, &left);
    limbs_borrow(b, &right);
    value result = value_integer(0);
    if (left.count && right.count) {
        size_t count = left.count + right.count;
        struct bignum *bignum = bignum_reserve(region, count);
        limbs_multiply(region, bignum->limbs, left.data, left.count, right.data, right.count);
        result = bignum_finish(region, bignum, count, left.negative != right.negative);
    }
    value_release(region, a);
    value_release(region, b);
    return result;
}

// Borrows a and b. Either result may be left out (NULL).
static void divide(struct region *region, value a, value b, value *ret_quotient,
                   value *ret_remainder)
{
    struct limbs left, right;
    limbs_borrow(a, &left);
    limbs_borrow(b, &right);
    CHECK(right.count);
    if (left.count < right.count) {
        if (ret_quotient)
            *ret_quotient = value_integer(0);
        if (ret_remainder)
            *ret_remainder = value_retain(a);
        return;
    }
    size_t quotient_count = left.count - right.count + 1;
    struct bignum *quotient = bignum_reserve(region, quotient_count);
    struct bignum *remainder = bignum_reserve(region, right.count);
    limbs_divide(region, quotient->limbs, remainder->limbs, left.data, left.count, right.data,
                 right.count);
    if (ret_quotient)
        *ret_quotient =
            bignum_finish(region, quotient, quotient_count, left.negative != right.negative);
    else
        object_release(region, &quotient->header);
    if (ret_remainder)
        *ret_remainder = bignum_finish(region, remainder, right.count, left.negative);
    else
        object_release(region, &remainder->header);
}

static bool divide_simply(value a, value b)
{
    return a.tag == VALUE_INTEGER && b.tag == VALUE_INTEGER && b.integer != -1 && b.integer != 0;
}

value integer_quotient(struct region *region, value a, value b)
{
    if (divide_simply(a, b))
        return value_integer(a.integer / b.integer);
    value quotient;
    divide(region, a, b, &quotient, NULL);
    value_release(region, a);
    value_release(region, b);
    return quotient;
}

value integer_remainder(struct region *region, value a, value b)
{
    if (divide_simply(a, b))
        return value_integer(a.integer % b.integer);
    value remainder;
    divide(region, a, b, NULL, &remainder);
    value_release(region, a);
    value_release(region, b);
    return remainder;
}

value integer_modulo(struct region *region, value a, value b)
{
    int sign = integer_sign(b);
    value remainder = integer_remainder(region, a, value_retain(b));
    if (integer_sign(remainder) * sign < 0)
        return integer_add(region, remainder, b);
    value_release(region, b);
    return remainder;
}

void integer_divide(struct region *region, value a, value b, value *ret_quotient,
                    value *ret_remainder)
{
    divide(region, a, b, ret_quotient, ret_remainder);
    value_release(region, a);
    value_release(region, b);
}
