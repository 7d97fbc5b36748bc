// Numbers of JSON text.
#include "base/ascii.h"
#include "value/chunks.h"
#include "value/number/float_text.h"
#include "value/text/json_text.h"

enum { SAFE_DIGITS = 18 };  // a number with as many digits fits 64 bits

// The number being read, from its sign on.
struct number {
    const char *start;
    const char *end;  // of the text
    struct json_problem *problem;
};

static const char *wrong(const struct number *number, const char *at, enum error_code code,
                         const char *text)
{
    *number->problem = (struct json_problem){at, code, text};
    return NULL;
}

static const char *skip_digits(const char *p, const char *end)
{
    return p + chunks_skip_digits((struct span){p, (size_t)(end - p)}, 0);
}

// Reads digits onto a number as long as it can fit 64 bits and skips the others.
static inline const char *read_digits(const char *p, const char *end, uint64_t *number)
{
    const char *safe = end - p > SAFE_DIGITS ? p + SAFE_DIGITS : end;
    for (; p < safe && ascii_is_digit(*p); p++)
        *number = *number * 10 + (uint64_t)(*p - '0');
    return p == safe ? skip_digits(p, end) : p;
}

static const char *finish_float(const struct number *number, const char *p, value *ret_value)
{
    double result = float_read((struct span){number->start, (size_t)(p - number->start)});
    if (result - result != 0)
        return wrong(number, number->start, ERROR_LIMIT, "number out of range");
    *ret_value = value_float(result);
    return p;
}

static const char *read_exponent(const struct number *number, const char *p, value *ret_value)
{
    p++;
    if (p < number->end && (*p == '+' || *p == '-'))
        p++;
    const char *digits = p;
    p = skip_digits(p, number->end);
    if (p == digits)
        return wrong(number, p, ERROR_SYNTAX, "expected a digit in the exponent");
    return finish_float(number, p, ret_value);
}

// `p` is at the decimal point; `whole` holds the digits before it.
static const char *read_fraction(const struct number *number, const char *p, uint64_t whole,
                                 value *ret_value)
{
    const char *digits = ++p;
    p = read_digits(p, number->end, &whole);
    if (p == digits)
        return wrong(number, p, ERROR_SYNTAX, "expected a digit after the decimal point");
    if (p < number->end && (*p == 'e' || *p == 'E'))
        return read_exponent(number, p, ret_value);
    double result;
    if (p - number->start > SAFE_DIGITS ||
        !float_from_decimal(whole, (size_t)(p - digits), &result))
        return finish_float(number, p, ret_value);
    *ret_value = value_float(*number->start == '-' ? -result : result);
    return p;
}

const char *json_read_number(struct region *region, const char *p, const char *end,
                             value *ret_value, struct json_problem *ret_problem)
{
    const struct number number = {p, end, ret_problem};
    bool negative = *p == '-';
    const char *digits = p + negative;
    uint64_t whole = 0;
    p = read_digits(digits, end, &whole);
    if (p == digits)
        return wrong(&number, p, ERROR_SYNTAX, "expected a digit");
    if (*digits == '0' && p - digits > 1)
        return wrong(&number, digits, ERROR_SYNTAX, "numbers must not begin with a zero");
    if (p < end && *p == '.')
        return read_fraction(&number, p, whole, ret_value);
    if (p < end && (*p == 'e' || *p == 'E'))
        return read_exponent(&number, p, ret_value);
    if (p - digits <= SAFE_DIGITS)
        *ret_value = value_integer(negative ? -(int64_t)whole : (int64_t)whole);
    else
        *ret_value = value_integer_from_text(
            region, (struct span){number.start, (size_t)(p - number.start)});
    return p;
}
