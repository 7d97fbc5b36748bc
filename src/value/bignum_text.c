#include <string.h>

#include "base/memory.h"
#include "value/limbs.h"
#include "value/tick.h"

enum { DIGITS_PER_LIMB = 19 };

static value from_digits(struct region *region, struct span digits, bool negative)
{
    struct bignum *bignum = bignum_reserve(region, digits.length / DIGITS_PER_LIMB + 1);
    unsigned char *places = region_alloc(region, digits.length + 1);
    for (size_t i = 0; i < digits.length; i++)
        places[i] = (unsigned char)(digits.data[i] - '0');
    mp_size_t count = mpn_set_str(bignum->limbs, places, digits.length, 10);
    region_return(region, places, digits.length + 1);
    return bignum_finish(region, bignum, (size_t)count, negative);
}

value value_integer_from_text(struct region *region, struct span text)
{
    bool negative = text.length && text.data[0] == '-';
    struct span digits = {text.data + negative, text.length - negative};
    while (digits.length > 1 && digits.data[0] == '0') {
        digits.data++;
        digits.length--;
    }
    if (digits.length < DIGITS_PER_LIMB) {
        int64_t number = 0;
        for (size_t i = 0; i < digits.length; i++)
            number = number * 10 + (digits.data[i] - '0');
        return value_integer(negative ? -number : number);
    }
    return from_digits(region, digits, negative);
}

size_t integer_text_size(value a)
{
    if (a.tag == VALUE_INTEGER)
        return DIGITS_PER_LIMB + 2;
    struct limbs limbs;
    limbs_look(a, &limbs);
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

size_t integer_write(value a, char *text)
{
    if (a.tag == VALUE_INTEGER)
        return write_small(a.integer, text);
    struct limbs limbs;
    limbs_look(a, &limbs);
    mp_limb_t *copy = memory_copy(limbs.data, limbs.count * sizeof(mp_limb_t));
    size_t length = 0;
    if (limbs.negative)
        text[length++] = '-';
    size_t digits =
        mpn_get_str((unsigned char *)text + length, 10, copy, (mp_size_t)limbs.count);
    memory_free(copy);
    for (size_t i = 0; i < digits; i++)
        text[length + i] = (char)(text[length + i] + '0');
    return length + digits;
}
