// Math/… of Java on floats (docs/reference/language.md 9). Those that number.c has already are rows there.
#include <math.h>

#include "program/builtin/builtins.h"
#include "program/builtin/numeric.h"
#include "program/builtin/support.h"

static double argument_double(struct run *run, const struct builtin *self, const value *arguments,
                              unsigned place)
{
    if (!value_is_number(arguments[place]))
        run_type_error(run, self, place + 1, "a number", arguments[place], NULL);
    return numeric_to_double(run, self, arguments[place]);
}

#define MATH1(name, function)                                                                \
    value builtin_math_##name(struct run *run, const struct builtin *self, value *arguments, \
                              size_t count)                                                  \
    {                                                                                        \
        (void)count;                                                                         \
        return value_float(function(argument_double(run, self, arguments, 0)));              \
    }

#define MATH2(name, function)                                                                \
    value builtin_math_##name(struct run *run, const struct builtin *self, value *arguments, \
                              size_t count)                                                  \
    {                                                                                        \
        (void)count;                                                                         \
        double a = argument_double(run, self, arguments, 0);                                 \
        return value_float(function(a, argument_double(run, self, arguments, 1)));           \
    }

static double sign_of(double number)
{
    return number > 0 ? 1.0 : number < 0 ? -1.0 : number;
}

// By more bits than a double has, so that (Math/cbrt 27) is 3.0.
static double cube_root(double number)
{
    return (double)cbrtl((long double)number);
}

static double to_degrees(double radians)
{
    return radians * (180.0 / M_PI);
}

static double to_radians(double degrees)
{
    return degrees * (M_PI / 180.0);
}

static double one_ulp(double number)
{
    double size = fabs(number);
    return isfinite(size) ? nextafter(size, (double)INFINITY) - size : size;
}

static double up_one(double number)
{
    return nextafter(number, (double)INFINITY);
}

static double down_one(double number)
{
    return nextafter(number, -(double)INFINITY);
}

MATH1(sine, sin)
MATH1(cosine, cos)
MATH1(tangent, tan)
MATH1(arc_sine, asin)
MATH1(arc_cosine, acos)
MATH1(arc_tangent, atan)
MATH1(hyperbolic_sine, sinh)
MATH1(hyperbolic_cosine, cosh)
MATH1(hyperbolic_tangent, tanh)
MATH1(exponential, exp)
MATH1(exponential_minus_1, expm1)
MATH1(logarithm, log)
MATH1(logarithm_10, log10)
MATH1(logarithm_plus_1, log1p)
MATH1(cube_root, cube_root)
MATH1(rint, nearbyint)
MATH1(signum, sign_of)
MATH1(to_degrees, to_degrees)
MATH1(to_radians, to_radians)
MATH1(ulp, one_ulp)
MATH1(next_up, up_one)
MATH1(next_down, down_one)
MATH2(arc_tangent_2, atan2)
MATH2(hypotenuse, hypot)
MATH2(copy_sign, copysign)
MATH2(ieee_remainder, remainder)

#define MATH_CONSTANT(name, number)                                                          \
    value builtin_math_##name(struct run *run, const struct builtin *self, value *arguments, \
                              size_t count)                                                  \
    {                                                                                        \
        (void)run;                                                                           \
        (void)self;                                                                          \
        (void)arguments;                                                                     \
        (void)count;                                                                         \
        return number;                                                                       \
    }

MATH_CONSTANT(pi, value_float(M_PI))
MATH_CONSTANT(e, value_float(M_E))
MATH_CONSTANT(integer_greatest, value_integer(INT32_MAX))
MATH_CONSTANT(integer_least, value_integer(INT32_MIN))
MATH_CONSTANT(long_greatest, value_integer(INT64_MAX))
MATH_CONSTANT(long_least, value_integer(INT64_MIN))
MATH_CONSTANT(double_greatest, value_float(0x1.fffffffffffffp1023))
MATH_CONSTANT(double_least, value_float(0x1p-1074))

// --- division that rounds down -------------------------------------------------------------------

static void argument_divisible(struct run *run, const struct builtin *self, const value *arguments)
{
    for (unsigned i = 0; i < 2; i++) {
        if (!value_is_integer(arguments[i]))
            run_type_error(run, self, i + 1, "an integer", arguments[i], NULL);
    }
    if (integer_sign(arguments[1]) == 0)
        fail_division(run, self);
}

value builtin_math_floor_mod(struct run *run, const struct builtin *self, value *arguments,
                             size_t count)
{
    (void)count;
    argument_divisible(run, self, arguments);
    return integer_modulo(run->region, arguments[0], arguments[1]);
}

value builtin_math_floor_div(struct run *run, const struct builtin *self, value *arguments,
                             size_t count)
{
    (void)count;
    argument_divisible(run, self, arguments);
    value x = arguments[0], y = arguments[1];
    value rest = integer_modulo(run->region, value_retain(x), value_retain(y));
    return integer_quotient(run->region, integer_subtract(run->region, x, rest), y);
}
