#include "value/bignum.h"

#include "value/limbs.h"
#include "value/tick.h"

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
    limbs_look(a, &left);
    limbs_look(b, &right);
    if (left.negative != right.negative)
        return left.negative ? -1 : 1;
    int order = (left.count > right.count) - (left.count < right.count);
    if (order == 0) {
        tick_spend(left.count / LIMBS_PER_UNIT);
        order = mpn_cmp(left.data, right.data, (mp_size_t)left.count);
        order = (order > 0) - (order < 0);
    }
    return left.negative ? -order : order;
}

size_t integer_bits(value a)
{
    struct limbs limbs;
    limbs_look(a, &limbs);
    if (limbs.count == 0)
        return 0;
    return limbs.count * 64 - (size_t)__builtin_clzll(limbs.data[limbs.count - 1]);
}

bool integer_is_odd(value a)
{
    struct limbs limbs;
    limbs_look(a, &limbs);
    return limbs.count && limbs.data[0] & 1;
}
