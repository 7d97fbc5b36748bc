// The limbs of an integer, whichever way it is stored, and arithmetic on limb arrays in chunks: no
// single call into GMP takes more than a few milliseconds, and fuel is spent between them. Inside
// value/ only.
#pragma once

#include "base/assert.h"
#include "value/layout.h"
#include "value/number/bignum.h"

struct limbs {
    const mp_limb_t *data;  // `one` or a bignum's
    size_t count;           // 0 for the number 0
    bool negative;
    mp_limb_t one;
};

// `ret` must not be moved afterwards: it may point into itself.
static inline void limbs_borrow(value v, struct limbs *ret)
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

// --- bignum.c: results ---------------------------------------------------------------------------
// Room for a result of at most `count` limbs.
struct bignum *bignum_reserve(struct region *region, size_t count);
// The integer in the first `count` limbs (leading zeros allowed); consumes the object.
value bignum_finish(struct region *region, struct bignum *bignum, size_t count, bool negative);

// --- limbs.c: arithmetic -------------------------------------------------------------------------
// product has a_count + b_count limbs and overlaps neither operand; both counts ≥ 1.
void limbs_multiply(struct region *region, mp_limb_t *product, const mp_limb_t *a, size_t a_count,
                    const mp_limb_t *b, size_t b_count);
// quotient: count - divisor_count + 1 limbs; remainder: divisor_count limbs. No overlap; the
// highest limb of the divisor is not 0; count ≥ divisor_count ≥ 1.
void limbs_divide(struct region *region, mp_limb_t *quotient, mp_limb_t *remainder,
                  const mp_limb_t *number, size_t count, const mp_limb_t *divisor,
                  size_t divisor_count);
