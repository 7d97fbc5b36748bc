#include "program/builtin/numeric.h"

#include <math.h>

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

value numeric_divide(struct run *run, const struct builtin *self, value a, value b)
{
    if (b.tag != VALUE_FLOAT && integer_sign(b) == 0)
        builtin_fail(run, self, ARITHMETIC_ERROR, "division by zero");
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
