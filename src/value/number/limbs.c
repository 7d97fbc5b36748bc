#include "value/number/limbs.h"

#include <string.h>

#include "value/fuel.h"

enum {
    MULTIPLY_CHUNK = 8192,  // limbs of each operand: about 2 ms
    DIVIDE_CHUNK = 2048,
    PRODUCTS_PER_UNIT = 32,  // limb products in one unit of fuel
    SCRATCH_FACTOR = 4,      // what GMP allocates for a division, in sizes of the divisor
};

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

static void multiply_piece(mp_limb_t *product, const mp_limb_t *a, size_t a_count,
                           const mp_limb_t *b, size_t b_count)
{
    fuel_spend(a_count * b_count / PRODUCTS_PER_UNIT + 1);
    if (a_count >= b_count)
        mpn_mul(product, a, (mp_size_t)a_count, b, (mp_size_t)b_count);
    else
        mpn_mul(product, b, (mp_size_t)b_count, a, (mp_size_t)a_count);
}

void limbs_multiply(struct region *region, mp_limb_t *product, const mp_limb_t *a, size_t a_count,
                    const mp_limb_t *b, size_t b_count)
{
    if (a_count <= MULTIPLY_CHUNK && b_count <= MULTIPLY_CHUNK) {
        multiply_piece(product, a, a_count, b, b_count);
        return;
    }
    size_t total = a_count + b_count;
    size_t scratch_size = (size_t)2 * MULTIPLY_CHUNK * sizeof(mp_limb_t);
    mp_limb_t *scratch = region_alloc(region, scratch_size);
    memset(product, 0, total * sizeof(mp_limb_t));
    for (size_t i = 0; i < a_count; i += MULTIPLY_CHUNK) {
        size_t a_piece = smaller(MULTIPLY_CHUNK, a_count - i);
        for (size_t j = 0; j < b_count; j += MULTIPLY_CHUNK) {
            size_t b_piece = smaller(MULTIPLY_CHUNK, b_count - j);
            multiply_piece(scratch, a + i, a_piece, b + j, b_piece);
            mpn_add(product + i + j, product + i + j, (mp_size_t)(total - i - j), scratch,
                    (mp_size_t)(a_piece + b_piece));
        }
    }
    region_return(region, scratch, scratch_size);
}

static void divide_piece(mp_limb_t *quotient, mp_limb_t *remainder, const mp_limb_t *number,
                         size_t count, const mp_limb_t *divisor, size_t divisor_count)
{
    size_t quotient_count = count - divisor_count + 1;
    fuel_spend(quotient_count * divisor_count / PRODUCTS_PER_UNIT + count / PRODUCTS_PER_UNIT + 1);
    mpn_tdiv_qr(quotient, remainder, 0, number, (mp_size_t)count, divisor,
                (mp_size_t)divisor_count);
}

// How many limbs of quotient one chunk may have.
static size_t division_step(size_t divisor_count)
{
    if (divisor_count <= DIVIDE_CHUNK)
        return DIVIDE_CHUNK;
    size_t step = (size_t)DIVIDE_CHUNK * DIVIDE_CHUNK / divisor_count;
    return step ? step : 1;
}

// Long division with digits of `step` limbs.
static void divide_long(mp_limb_t *quotient, mp_limb_t *remainder, const mp_limb_t *number,
                        size_t count, const mp_limb_t *divisor, size_t divisor_count, size_t step,
                        mp_limb_t *window, mp_limb_t *digit)
{
    size_t first = divisor_count + (count - divisor_count) % step;
    size_t place = count - first;  // limbs of the number not yet used
    divide_piece(digit, remainder, number + place, first, divisor, divisor_count);
    memcpy(quotient + place, digit, (first - divisor_count + 1) * sizeof(mp_limb_t));
    while (place > 0) {
        place -= step;
        memcpy(window, number + place, step * sizeof(mp_limb_t));
        memcpy(window + step, remainder, divisor_count * sizeof(mp_limb_t));
        divide_piece(digit, remainder, window, divisor_count + step, divisor, divisor_count);
        memcpy(quotient + place, digit, step * sizeof(mp_limb_t));
    }
}

void limbs_divide(struct region *region, mp_limb_t *quotient, mp_limb_t *remainder,
                  const mp_limb_t *number, size_t count, const mp_limb_t *divisor,
                  size_t divisor_count)
{
    if (count <= (size_t)2 * DIVIDE_CHUNK) {
        divide_piece(quotient, remainder, number, count, divisor, divisor_count);
        return;
    }
    size_t step = division_step(divisor_count);
    size_t charge = SCRATCH_FACTOR * divisor_count * sizeof(mp_limb_t);
    size_t window_size = (divisor_count + step) * sizeof(mp_limb_t);
    size_t digit_size = (step + 1) * sizeof(mp_limb_t);
    region_charge(region, charge);
    mp_limb_t *window = region_alloc(region, window_size);
    mp_limb_t *digit = region_alloc(region, digit_size);
    divide_long(quotient, remainder, number, count, divisor, divisor_count, step, window, digit);
    region_return(region, digit, digit_size);
    region_return(region, window, window_size);
    region_discharge(region, charge);
}
