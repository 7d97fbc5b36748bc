// Multiplication and division of limb arrays in pieces: no single call into GMP takes more than a
// few milliseconds, and fuel is spent between them. Inside value/ only.
#pragma once

#include <gmp.h>
#include <stddef.h>

#include "base/region.h"

// product has a_count + b_count limbs and overlaps neither operand; both counts ≥ 1.
void limbs_multiply(struct region *region, mp_limb_t *product, const mp_limb_t *a, size_t a_count,
                    const mp_limb_t *b, size_t b_count);
// quotient: count - divisor_count + 1 limbs; remainder: divisor_count limbs. No overlap; the
// highest limb of the divisor is not 0; count ≥ divisor_count ≥ 1.
void limbs_divide(struct region *region, mp_limb_t *quotient, mp_limb_t *remainder,
                  const mp_limb_t *number, size_t count, const mp_limb_t *divisor,
                  size_t divisor_count);
