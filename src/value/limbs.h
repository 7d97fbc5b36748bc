// The limbs of an integer, whichever way it is stored; inside value/ only.
#pragma once

#include "base/assert.h"
#include "value/bignum.h"
#include "value/layout.h"

struct limbs {
    const mp_limb_t *data;  // `one` or a bignum's
    size_t count;           // 0 for the number 0
    bool negative;
    mp_limb_t one;
};

// `ret` must not be moved afterwards: it may point into itself.
static inline void limbs_look(value v, struct limbs *ret)
{
    if (v.tag == VALUE_INTEGER) {
        ret->negative = v.integer < 0;
        ret->one = ret->negative ? 0 - (mp_limb_t)v.integer : (mp_limb_t)v.integer;
        ret->count = v.integer != 0;
        ret->data = &ret->one;
        return;
    }
    const struct bignum *bignum = bignum_of(v);
    ret->negative = bignum->size < 0;
    ret->count = (size_t)(ret->negative ? -bignum->size : bignum->size);
    ret->data = bignum->limbs;
}

// Room for a result of at most `count` limbs.
struct bignum *bignum_reserve(struct region *region, size_t count);
// The integer in the first `count` limbs (leading zeros allowed); consumes the object.
value bignum_finish(struct region *region, struct bignum *bignum, size_t count, bool negative);
