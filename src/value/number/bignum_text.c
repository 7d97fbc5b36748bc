// Integers to decimal text and back.
#include <string.h>

#include "base/assert.h"
#include "base/memory.h"
#include "value/fuel.h"
#include "value/number/limbs.h"

enum {
    DIGITS_PER_LIMB = 19,
    CHUNK_LIMBS = 512,  // converted by GMP in one step
    CHUNK_DIGITS = CHUNK_LIMBS * DIGITS_PER_LIMB,
    POWERS_MAX = 40,
    PRODUCTS_PER_UNIT = 128,
};

// --- from text -----------------------------------------------------------------------------------

static void spend_piece(size_t limbs)
{
    fuel_spend(limbs * limbs / PRODUCTS_PER_UNIT + 1);
}

static value chunk_from_digits(struct region *region, struct span digits)
{
    while (digits.length > 1 && digits.data[0] == '0') {
        digits.data++;
        digits.length--;
    }
    spend_piece(digits.length / DIGITS_PER_LIMB + 1);
    struct bignum *bignum = bignum_reserve(region, digits.length / DIGITS_PER_LIMB + 2);
    unsigned char *places = region_alloc(region, digits.length);
    for (size_t i = 0; i < digits.length; i++)
        places[i] = (unsigned char)(digits.data[i] - '0');
    mp_size_t count = mpn_set_str(bignum->limbs, places, digits.length, 10);
    region_return(region, places, digits.length);
    return bignum_finish(region, bignum, (size_t)count, false);
}

static value power_of_ten(struct region *region, size_t exponent)
{
    value power = value_integer(1), square = value_integer(10);
    for (; exponent; exponent /= 2) {
        if (exponent & 1)
            power = integer_multiply(region, power, value_retain(square));
        if (exponent > 1)
            square = integer_multiply(region, value_retain(square), square);
    }
    value_release(region, square);
    return power;
}

// Chunk by chunk from the front: quadratic, but it can be stopped between two chunks. Without a fuel
// handler GMP converts the whole in one step, which is far faster.
static value from_digits(struct region *region, struct span digits)
{
    if (digits.length <= CHUNK_DIGITS || !fuel.handler)
        return chunk_from_digits(region, digits);
    size_t first = digits.length % CHUNK_DIGITS;
    if (first == 0)
        first = CHUNK_DIGITS;
    value number = chunk_from_digits(region, (struct span){digits.data, first});
    value power = power_of_ten(region, CHUNK_DIGITS);
    for (size_t i = first; i < digits.length; i += CHUNK_DIGITS) {
        number = integer_multiply(region, number, value_retain(power));
        number =
            integer_add(region, number,
                        chunk_from_digits(region, (struct span){digits.data + i, CHUNK_DIGITS}));
    }
    value_release(region, power);
    return number;
}

value value_integer_from_text(struct region *region, struct span text)
{
    bool negative = text.length && text.data[0] == '-';
    struct span digits = {text.data + negative, text.length - negative};
    CHECK(digits.length);
    while (digits.length > 1 && digits.data[0] == '0') {
        digits.data++;
        digits.length--;
    }
    if (digits.length >= DIGITS_PER_LIMB) {
        value number = from_digits(region, digits);
        return negative ? integer_negate(region, number) : number;
    }
    int64_t number = 0;
    for (size_t i = 0; i < digits.length; i++)
        number = number * 10 + (digits.data[i] - '0');
    return value_integer(negative ? -number : number);
}

// --- to text -------------------------------------------------------------------------------------

size_t integer_text_size(value a)
{
    if (a.tag == VALUE_INTEGER)
        return INTEGER_TEXT_SIZE;
    struct limbs limbs;
    limbs_borrow(a, &limbs);
    return mpn_sizeinbase(limbs.data, (mp_size_t)limbs.count, 10) + 2;
}

static size_t write_small(int64_t number, char *text)
{
    char digits[DIGITS_PER_LIMB + 1];
    size_t count = 0, length = 0;
    uint64_t magnitude = number < 0 ? 0 - (uint64_t)number : (uint64_t)number;
    do
        digits[count++] = (char)('0' + magnitude % 10);
    while (magnitude /= 10);
    if (number < 0)
        text[length++] = '-';
    while (count)
        text[length++] = digits[--count];
    return length;
}

// 10^(CHUNK_DIGITS · 2^level), as far as needed.
struct powers {
    struct region *region;
    value power[POWERS_MAX];
    size_t count;
};

static size_t digits_at(size_t level)
{
    return (size_t)CHUNK_DIGITS << level;
}

// The digits of a number that GMP may convert in one step. Returns how many.
static size_t write_piece(value number, char *text)
{
    struct limbs limbs;
    limbs_borrow(number, &limbs);
    if (limbs.count == 0) {
        text[0] = '0';
        return 1;
    }
    CHECK(limbs.count <= (size_t)2 * CHUNK_LIMBS);
    spend_piece(limbs.count);
    mp_limb_t copy[2 * CHUNK_LIMBS + 1];  // GMP destroys its operand
    memcpy(copy, limbs.data, limbs.count * sizeof(mp_limb_t));
    unsigned char digits[2 * CHUNK_LIMBS * (DIGITS_PER_LIMB + 1) + 2];
    size_t count = mpn_get_str(digits, 10, copy, (mp_size_t)limbs.count);
    for (size_t i = 0; i < count; i++)
        text[i] = (char)('0' + digits[i]);
    return count;
}

// Exactly `width` digits, zeros in front. Splits in halves; the depth is `level`, at most 40.
static void write_padded(struct powers *powers, value number, char *text, size_t width,
                         size_t level)
{
    if (level == 0) {
        size_t count = write_piece(number, text);
        memmove(text + width - count, text, count);
        memset(text, '0', width - count);
        value_release(powers->region, number);
        return;
    }
    value high, low;
    size_t half = digits_at(level - 1);
    integer_divide(powers->region, number, value_retain(powers->power[level - 1]), &high, &low);
    write_padded(powers, high, text, width - half, level - 1);
    write_padded(powers, low, text + width - half, half, level - 1);
}

// The same without padding; returns the length.
static size_t write_leading(struct powers *powers, value number, char *text, size_t level)
{
    while (level > 0 && integer_compare(number, powers->power[level - 1]) < 0)
        level--;
    if (level == 0) {
        size_t count = write_piece(number, text);
        value_release(powers->region, number);
        return count;
    }
    value high, low;
    size_t half = digits_at(level - 1);
    integer_divide(powers->region, number, value_retain(powers->power[level - 1]), &high, &low);
    size_t length = write_leading(powers, high, text, level - 1);
    write_padded(powers, low, text + length, half, level - 1);
    return length + half;
}

static size_t write_large(struct region *region, value number, char *text)
{
    struct powers powers = {.region = region};
    value power = power_of_ten(region, CHUNK_DIGITS);
    while (integer_compare(power, number) <= 0) {
        powers.power[powers.count++] = power;
        power = integer_multiply(region, value_retain(power), value_retain(power));
    }
    value_release(region, power);
    size_t length = write_leading(&powers, value_retain(number), text, powers.count);
    while (powers.count)
        value_release(region, powers.power[--powers.count]);
    return length;
}

// The whole in one step, when there is no fuel handler.
static size_t write_at_once(const struct limbs *limbs, char *text)
{
    size_t size = limbs->count * sizeof(mp_limb_t);
    mp_limb_t *copy = memory_alloc(size);  // GMP destroys its operand
    memcpy(copy, limbs->data, size);
    unsigned char *digits = memory_alloc(limbs->count * (DIGITS_PER_LIMB + 1) + 2);
    size_t count = mpn_get_str(digits, 10, copy, (mp_size_t)limbs->count);
    for (size_t i = 0; i < count; i++)
        text[i] = (char)('0' + digits[i]);
    memory_free(digits);
    memory_free(copy);
    return count;
}

size_t integer_write(value a, char *text)
{
    if (a.tag == VALUE_INTEGER)
        return write_small(a.integer, text);
    struct limbs limbs;
    limbs_borrow(a, &limbs);
    size_t sign = limbs.negative;
    if (sign)
        text[0] = '-';
    if (limbs.count <= CHUNK_LIMBS && !limbs.negative)
        return write_piece(a, text);
    if (!fuel.handler)
        return sign + write_at_once(&limbs, text + sign);
    struct region *region = fuel.region ? fuel.region : region_new(SIZE_MAX);
    struct bignum *copy = bignum_reserve(region, limbs.count);
    memcpy(copy->limbs, limbs.data, limbs.count * sizeof(mp_limb_t));
    value magnitude = bignum_finish(region, copy, limbs.count, false);
    size_t length = sign + write_large(region, magnitude, text + sign);
    value_release(region, magnitude);
    if (region != fuel.region)
        region_free(region);
    return length;
}
