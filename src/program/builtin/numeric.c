#include "program/builtin/numeric.h"

#include <math.h>

#include "base/ascii.h"
#include "program/builtin/interop.h"
#include "program/builtin/text_search.h"

int numeric_sign(value number)
{
    if (number.tag == VALUE_FLOAT)
        return (number.number > 0) - (number.number < 0);
    return integer_sign(number);
}

double numeric_to_double(struct run *run, const struct builtin *self, value number)
{
    if (number.tag == VALUE_FLOAT)
        return number.number;
    double converted = integer_to_double(number);
    if (isinf(converted))
        builtin_fail(run, self, ARITHMETIC_ERROR, "integer too large for a float");
    return converted;
}

static value checked_float(struct run *run, const struct builtin *self, double result, double a,
                           double b)
{
    if (__builtin_expect(isinf(result) && isfinite(a) && isfinite(b), 0))
        builtin_fail(run, self, ARITHMETIC_ERROR, "float overflow");
    return value_float(result);
}

// Both operands as floats; releases them.
static void to_doubles(struct run *run, const struct builtin *self, value a, value b, double *ret_a,
                       double *ret_b)
{
    *ret_a = numeric_to_double(run, self, a);
    *ret_b = numeric_to_double(run, self, b);
    value_release(run->region, a);
    value_release(run->region, b);
}

static bool are_integers(value a, value b)
{
    return a.tag != VALUE_FLOAT && b.tag != VALUE_FLOAT;
}

value numeric_add(struct run *run, const struct builtin *self, value a, value b)
{
    int64_t sum;
    if (a.tag == VALUE_INTEGER && b.tag == VALUE_INTEGER &&
        !__builtin_add_overflow(a.integer, b.integer, &sum))
        return value_integer(sum);
    if (are_integers(a, b))
        return integer_add(run->region, a, b);
    double left, right;
    to_doubles(run, self, a, b, &left, &right);
    return checked_float(run, self, left + right, left, right);
}

value numeric_subtract(struct run *run, const struct builtin *self, value a, value b)
{
    int64_t difference;
    if (a.tag == VALUE_INTEGER && b.tag == VALUE_INTEGER &&
        !__builtin_sub_overflow(a.integer, b.integer, &difference))
        return value_integer(difference);
    if (are_integers(a, b))
        return integer_subtract(run->region, a, b);
    double left, right;
    to_doubles(run, self, a, b, &left, &right);
    return checked_float(run, self, left - right, left, right);
}

value numeric_multiply(struct run *run, const struct builtin *self, value a, value b)
{
    int64_t product;
    if (a.tag == VALUE_INTEGER && b.tag == VALUE_INTEGER &&
        !__builtin_mul_overflow(a.integer, b.integer, &product))
        return value_integer(product);
    if (are_integers(a, b))
        return integer_multiply(run->region, a, b);
    double left, right;
    to_doubles(run, self, a, b, &left, &right);
    return checked_float(run, self, left * right, left, right);
}

// An integer when it divides, else a float.
static value divide_integers(struct run *run, const struct builtin *self, value a, value b)
{
    if (a.tag == VALUE_INTEGER && b.tag == VALUE_INTEGER && b.integer != -1 &&
        a.integer % b.integer == 0)
        return value_integer(a.integer / b.integer);
    value rest = integer_remainder(run->region, value_retain(a), value_retain(b));
    bool divides = integer_sign(rest) == 0;
    value_release(run->region, rest);
    if (divides)
        return integer_quotient(run->region, a, b);
    double result = integer_ratio(run->region, a, b);
    if (isinf(result))
        builtin_fail(run, self, ARITHMETIC_ERROR, "the quotient is too large for a float");
    value_release(run->region, a);
    value_release(run->region, b);
    return value_float(result);
}

_Noreturn void fail_division(struct run *run, const struct builtin *self)
{
    run_raise(run, ARITHMETIC_ERROR, self->name, "Divide by zero");
}

value numeric_divide(struct run *run, const struct builtin *self, value a, value b)
{
    if (b.tag != VALUE_FLOAT && integer_sign(b) == 0)
        fail_division(run, self);
    if (are_integers(a, b))
        return divide_integers(run, self, a, b);
    double left, right;
    to_doubles(run, self, a, b, &left, &right);
    if (right == 0.0) {  // the sign of the zero does not count
        if (left == 0.0 || isnan(left))
            return value_float((double)NAN);
        return value_float(left > 0 ? (double)INFINITY : -(double)INFINITY);
    }
    return checked_float(run, self, left / right, left, right);
}

static bool is_integer_text(struct span text)
{
    size_t i = text.length && (text.data[0] == '-' || text.data[0] == '+');
    if (i == text.length)
        return false;
    while (i < text.length && ascii_is_digit(text.data[i]))
        i++;
    return i == text.length;
}

value numeric_from_text(struct run *run, const struct builtin *self, value text, bool is_float)
{
    struct span digits = value_text(text);
    double number;
    bool is_integer = is_integer_text(digits);
    if (!is_integer && (!is_float || !text_read_float(digits, &number)))
        fail_number_format(run, self, text);
    if (is_integer && digits.data[0] == '+')
        digits = (struct span){digits.data + 1, digits.length - 1};
    value result = is_integer ? value_integer_from_text(run->region, digits) : value_float(number);
    value_release(run->region, text);
    return result;
}
