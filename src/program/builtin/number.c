// Numbers: arithmetic, rounding, conversions, bits; comparison and logic
// (docs/reference/language.md 8.1, 8.2).
#include <math.h>

#include "base/utf8.h"
#include "program/builtin/builtins.h"
#include "program/builtin/numeric.h"
#include "program/builtin/support.h"
#include "program/eval/generator.h"
#include "program/run/run_state.h"

static void argument_numbers(struct run *run, const struct builtin *self, const value *arguments,
                             size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (!value_is_number(arguments[i]))
            run_type_error(run, self, (unsigned)i + 1, "a number", arguments[i], NULL);
    }
}

// --- + - * / -------------------------------------------------------------------------------------

typedef value numeric_fn(struct run *run, const struct builtin *self, value a, value b);

// From left to right, starting with `first`.
static value fold(struct run *run, const struct builtin *self, numeric_fn *operation, value first,
                  const value *arguments, size_t count)
{
    value result = first;
    for (size_t i = 0; i < count; i++) {
        run_spend(run, 1);
        result = operation(run, self, result, arguments[i]);
    }
    return result;
}

value builtin_add(struct run *run, const struct builtin *self, value *arguments, size_t count)
{
    argument_numbers(run, self, arguments, count);
    if (count == 0)
        return value_integer(0);
    return fold(run, self, numeric_add, arguments[0], arguments + 1, count - 1);
}

value builtin_multiply(struct run *run, const struct builtin *self, value *arguments, size_t count)
{
    argument_numbers(run, self, arguments, count);
    if (count == 0)
        return value_integer(1);
    return fold(run, self, numeric_multiply, arguments[0], arguments + 1, count - 1);
}

static value negate(struct run *run, value number)
{
    if (number.tag == VALUE_FLOAT)
        return value_float(-number.number);
    return integer_negate(run->region, number);
}

value builtin_subtract(struct run *run, const struct builtin *self, value *arguments, size_t count)
{
    argument_numbers(run, self, arguments, count);
    if (count == 1)
        return negate(run, arguments[0]);
    return fold(run, self, numeric_subtract, arguments[0], arguments + 1, count - 1);
}

value builtin_divide(struct run *run, const struct builtin *self, value *arguments, size_t count)
{
    argument_numbers(run, self, arguments, count);
    if (count == 1)
        return numeric_divide(run, self, value_integer(1), arguments[0]);
    return fold(run, self, numeric_divide, arguments[0], arguments + 1, count - 1);
}

value builtin_increment(struct run *run, const struct builtin *self, value *arguments, size_t count)
{
    argument_numbers(run, self, arguments, count);
    return numeric_add(run, self, arguments[0], value_integer(1));
}

value builtin_decrement(struct run *run, const struct builtin *self, value *arguments, size_t count)
{
    argument_numbers(run, self, arguments, count);
    return numeric_subtract(run, self, arguments[0], value_integer(1));
}

// --- quot, rem, mod ------------------------------------------------------------------------------

// Checks a division. True when a float takes part: then *ret_x and *ret_y are the operands, and the
// arguments are released.
static bool division_of_floats(struct run *run, const struct builtin *self, value *arguments,
                               double *ret_x, double *ret_y)
{
    argument_numbers(run, self, arguments, 2);
    value y = arguments[1];
    if (y.tag == VALUE_FLOAT ? y.number == 0.0 : integer_sign(y) == 0)
        fail_division(run, self);
    if (arguments[0].tag != VALUE_FLOAT && y.tag != VALUE_FLOAT)
        return false;
    *ret_x = numeric_to_double(run, self, arguments[0]);
    *ret_y = numeric_to_double(run, self, y);
    values_release(run, arguments, 2);
    return true;
}

// x / y without its fraction. The remainder is computed from it as Clojure does, so that (rem 1.0 0.1) is 0.0.
static double whole_quotient(struct run *run, const struct builtin *self, double x, double y)
{
    double quotient = x / y;
    if (!isfinite(quotient))
        builtin_fail(run, self, ARITHMETIC_ERROR, "the quotient is infinite or not a number");
    return trunc(quotient);
}

value builtin_quotient(struct run *run, const struct builtin *self, value *arguments, size_t count)
{
    (void)count;
    double x, y;
    if (!division_of_floats(run, self, arguments, &x, &y))
        return integer_quotient(run->region, arguments[0], arguments[1]);
    return value_float(whole_quotient(run, self, x, y));
}

value builtin_remainder(struct run *run, const struct builtin *self, value *arguments, size_t count)
{
    (void)count;
    double x, y;
    if (!division_of_floats(run, self, arguments, &x, &y))
        return integer_remainder(run->region, arguments[0], arguments[1]);
    return value_float(x - whole_quotient(run, self, x, y) * y);
}

value builtin_modulo(struct run *run, const struct builtin *self, value *arguments, size_t count)
{
    (void)count;
    double x, y;
    if (!division_of_floats(run, self, arguments, &x, &y))
        return integer_modulo(run->region, arguments[0], arguments[1]);
    double rest = x - whole_quotient(run, self, x, y) * y;
    return value_float(rest == 0.0 || (x > 0.0) == (y > 0.0) ? rest : rest + y);
}

// --- size and rounding ---------------------------------------------------------------------------

value builtin_absolute(struct run *run, const struct builtin *self, value *arguments, size_t count)
{
    argument_numbers(run, self, arguments, count);
    value number = arguments[0];
    if (number.tag == VALUE_FLOAT)
        return value_float(fabs(number.number));
    return integer_sign(number) < 0 ? integer_negate(run->region, number) : number;
}

static value choose(struct run *run, const struct builtin *self, value *arguments, size_t count,
                    enum value_order better)
{
    if (count == 1)
        return arguments[0];
    argument_numbers(run, self, arguments, count);
    value best = arguments[0];
    bool undefined = false;
    for (size_t i = 1; i < count; i++) {
        run_spend(run, 1);
        enum value_order order = number_compare(arguments[i], best);
        undefined = undefined || order == VALUE_INCOMPARABLE;
        bool wins = order == better;
        value_release(run->region, wins ? best : arguments[i]);
        best = wins ? arguments[i] : best;
    }
    if (!undefined)
        return best;
    value_release(run->region, best);
    return value_float((double)NAN);
}

value builtin_maximum(struct run *run, const struct builtin *self, value *arguments, size_t count)
{
    return choose(run, self, arguments, count, VALUE_GREATER);
}

value builtin_minimum(struct run *run, const struct builtin *self, value *arguments, size_t count)
{
    return choose(run, self, arguments, count, VALUE_LESS);
}

// Rounds a float to an integer; integers, infinities and NaN stay.
static value round_by(struct run *run, const struct builtin *self, value number,
                      double (*rounding)(double))
{
    argument_numbers(run, self, &number, 1);
    if (number.tag != VALUE_FLOAT || !isfinite(number.number))
        return number;
    return integer_from_double(run->region, rounding(number.number));
}

value builtin_floor(struct run *run, const struct builtin *self, value *arguments, size_t count)
{
    (void)count;
    return round_by(run, self, arguments[0], floor);
}

value builtin_ceiling(struct run *run, const struct builtin *self, value *arguments, size_t count)
{
    (void)count;
    return round_by(run, self, arguments[0], ceil);
}

value builtin_truncate(struct run *run, const struct builtin *self, value *arguments, size_t count)
{
    (void)count;
    return round_by(run, self, arguments[0], trunc);
}

value builtin_round(struct run *run, const struct builtin *self, value *arguments, size_t count)
{
    (void)count;
    return round_by(run, self, arguments[0], round);
}

// --- conversions ---------------------------------------------------------------------------------

static value code_point_of(struct run *run, const struct builtin *self, value string)
{
    struct span text = value_text(string);
    uint32_t code_point = 0;
    size_t length = text.length == 0 ? 0 : utf8_decode(text.data, text.length, &code_point);
    if (length == 0 || length != text.length)
        run_type_error(run, self, 1, "a number or a single character", string, "use parse-long");
    value_release(run->region, string);
    return value_integer(code_point);
}

value builtin_int(struct run *run, const struct builtin *self, value *arguments, size_t count)
{
    (void)count;
    value v = arguments[0];
    if (v.tag == VALUE_STRING)
        return code_point_of(run, self, v);
    if (!value_is_number(v))
        run_type_error(run, self, 1, "a number or a single character", v, NULL);
    if (v.tag == VALUE_FLOAT && isnan(v.number))
        return value_integer(0);
    if (v.tag == VALUE_FLOAT && v.number >= INT32_MIN && v.number <= INT32_MAX)
        v = value_integer((int64_t)v.number);
    if (v.tag != VALUE_INTEGER || v.integer < INT32_MIN || v.integer > INT32_MAX)
        builtin_fail(run, self, ARITHMETIC_ERROR, "%s does not fit 32 bits",
                     value_describe(v, (char[DESCRIBE_SIZE]){0}));
    return v;
}

// long, short, byte: truncated, within their bits; bigint: without a bound.
static value to_integer(struct run *run, const struct builtin *self, value v, unsigned bits)
{
    if (v.tag == VALUE_STRING)
        return code_point_of(run, self, v);
    if (!value_is_number(v))
        run_type_error(run, self, 1, "a number or a single character", v, NULL);
    if (v.tag == VALUE_FLOAT && !isfinite(v.number))
        builtin_fail(run, self, ARITHMETIC_ERROR, "%s is no integer",
                     value_describe(v, (char[DESCRIBE_SIZE]){0}));
    double limit = ldexp(1.0, (int)bits - 1);
    bool is_outside = v.tag == VALUE_FLOAT && bits > 0 && bits < 64 &&
                      (v.number < -limit || v.number > limit - 1);
    if (v.tag == VALUE_FLOAT && !is_outside)
        v = integer_from_double(run->region, trunc(v.number));
    if (bits > 0 && (v.tag != VALUE_INTEGER || v.integer >> (bits - 1) != (v.integer < 0 ? -1 : 0)))
        builtin_fail(run, self, ARITHMETIC_ERROR, "%s does not fit %u bits",
                     value_describe(v, (char[DESCRIBE_SIZE]){0}), bits);
    return v;
}

value builtin_long(struct run *run, const struct builtin *self, value *arguments, size_t count)
{
    (void)count;
    return to_integer(run, self, arguments[0], 64);
}

value builtin_short(struct run *run, const struct builtin *self, value *arguments, size_t count)
{
    (void)count;
    return to_integer(run, self, arguments[0], 16);
}

value builtin_byte(struct run *run, const struct builtin *self, value *arguments, size_t count)
{
    (void)count;
    return to_integer(run, self, arguments[0], 8);
}

value builtin_bigdec(struct run *run, const struct builtin *self, value *arguments, size_t count)
{
    if (arguments[0].tag == VALUE_STRING)
        arguments[0] = numeric_from_text(run, self, arguments[0], true);
    return builtin_float(run, self, arguments, count);
}

value builtin_bigint(struct run *run, const struct builtin *self, value *arguments, size_t count)
{
    (void)count;
    if (arguments[0].tag == VALUE_STRING)
        arguments[0] = numeric_from_text(run, self, arguments[0], false);
    return to_integer(run, self, arguments[0], 0);
}

value builtin_number_itself(struct run *run, const struct builtin *self, value *arguments,
                            size_t count)
{
    argument_numbers(run, self, arguments, count);
    return arguments[0];
}

value builtin_rationalize(struct run *run, const struct builtin *self, value *arguments,
                          size_t count)
{
    argument_numbers(run, self, arguments, count);
    value v = arguments[0];
    bool is_whole = v.tag == VALUE_FLOAT && isfinite(v.number) && v.number == trunc(v.number);
    return is_whole ? integer_from_double(run->region, v.number) : v;
}

value builtin_float(struct run *run, const struct builtin *self, value *arguments, size_t count)
{
    argument_numbers(run, self, arguments, count);
    double number = numeric_to_double(run, self, arguments[0]);
    value_release(run->region, arguments[0]);
    return value_float(number);
}

value builtin_square_root(struct run *run, const struct builtin *self, value *arguments,
                          size_t count)
{
    argument_numbers(run, self, arguments, count);
    double number = numeric_to_double(run, self, arguments[0]);
    value_release(run->region, arguments[0]);
    return value_float(number < 0 ? (double)NAN : sqrt(number));
}

value builtin_power(struct run *run, const struct builtin *self, value *arguments, size_t count)
{
    argument_numbers(run, self, arguments, count);
    double x = numeric_to_double(run, self, arguments[0]);
    double y = numeric_to_double(run, self, arguments[1]);
    values_release(run, arguments, 2);
    // C defines these two as 1.
    if (isnan(y) || (fabs(x) == 1.0 && isinf(y)))
        return value_float((double)NAN);
    double result = pow(x, y);
    return value_float(isnan(result) ? (double)NAN : result);
}

// --- bits ----------------------------------------------------------------------------------------

static void argument_integers(struct run *run, const struct builtin *self, const value *arguments,
                              size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (!value_is_integer(arguments[i]))
            run_type_error(run, self, (unsigned)i + 1, "an integer", arguments[i], NULL);
    }
}

static value fold_bits(struct run *run, const struct builtin *self, value *arguments, size_t count,
                       value (*operation)(struct region *, value, value))
{
    argument_integers(run, self, arguments, count);
    value result = arguments[0];
    for (size_t i = 1; i < count; i++) {
        run_spend(run, 1);
        result = operation(run->region, result, arguments[i]);
    }
    return result;
}

static value integer_and_not(struct region *region, value a, value b)
{
    return integer_and(region, a, integer_not(region, b));
}

value builtin_bit_and(struct run *run, const struct builtin *self, value *arguments, size_t count)
{
    return fold_bits(run, self, arguments, count, integer_and);
}

value builtin_bit_or(struct run *run, const struct builtin *self, value *arguments, size_t count)
{
    return fold_bits(run, self, arguments, count, integer_or);
}

value builtin_bit_xor(struct run *run, const struct builtin *self, value *arguments, size_t count)
{
    return fold_bits(run, self, arguments, count, integer_xor);
}

value builtin_bit_and_not(struct run *run, const struct builtin *self, value *arguments,
                          size_t count)
{
    return fold_bits(run, self, arguments, count, integer_and_not);
}

value builtin_bit_not(struct run *run, const struct builtin *self, value *arguments, size_t count)
{
    argument_integers(run, self, arguments, count);
    return integer_not(run->region, arguments[0]);
}

// The number of a bit, the second argument; huge ones are clamped. Releases the argument.
static uint64_t argument_bit(struct run *run, const struct builtin *self, value *arguments)
{
    argument_integers(run, self, arguments, 2);
    if (integer_sign(arguments[1]) < 0)
        run_type_error(run, self, 2, "an integer of at least 0", arguments[1], NULL);
    uint64_t bit = (uint64_t)argument_integer(run, self, arguments, 1);
    value_release(run->region, arguments[1]);
    return bit;
}

value builtin_bit_shift_left(struct run *run, const struct builtin *self, value *arguments,
                             size_t count)
{
    (void)count;
    uint64_t bits = argument_bit(run, self, arguments);
    return integer_shift_left(run->region, arguments[0], bits);
}

value builtin_bit_shift_right(struct run *run, const struct builtin *self, value *arguments,
                              size_t count)
{
    (void)count;
    uint64_t bits = argument_bit(run, self, arguments);
    return integer_shift_right(run->region, arguments[0], bits);
}

static value flip_bit(struct run *run, value number, uint64_t bit)
{
    value mask = integer_shift_left(run->region, value_integer(1), bit);
    return integer_xor(run->region, number, mask);
}

value builtin_bit_set(struct run *run, const struct builtin *self, value *arguments, size_t count)
{
    (void)count;
    uint64_t bit = argument_bit(run, self, arguments);
    return integer_test_bit(arguments[0], bit) ? arguments[0] : flip_bit(run, arguments[0], bit);
}

value builtin_bit_clear(struct run *run, const struct builtin *self, value *arguments, size_t count)
{
    (void)count;
    uint64_t bit = argument_bit(run, self, arguments);
    return integer_test_bit(arguments[0], bit) ? flip_bit(run, arguments[0], bit) : arguments[0];
}

value builtin_bit_flip(struct run *run, const struct builtin *self, value *arguments, size_t count)
{
    (void)count;
    uint64_t bit = argument_bit(run, self, arguments);
    return flip_bit(run, arguments[0], bit);
}

value builtin_bit_test(struct run *run, const struct builtin *self, value *arguments, size_t count)
{
    (void)count;
    uint64_t bit = argument_bit(run, self, arguments);
    bool set = integer_test_bit(arguments[0], bit);
    value_release(run->region, arguments[0]);
    return value_boolean(set);
}

// --- comparison and logic ------------------------------------------------------------------------

// The same when the arguments may be generators.
static bool all_equal_realized(struct run *run, const value *arguments, size_t count)
{
    bool equal = true;
    value first = run_realize(run, value_retain(arguments[0]));
    for (size_t i = 1; equal && i < count; i++) {
        value other = run_realize(run, value_retain(arguments[i]));
        equal = value_equal(first, other);
        if (!equal)
            run_warn_comparison(run, first, other);
        value_release(run->region, other);
    }
    value_release(run->region, first);
    return equal;
}

static bool all_equal(struct run *run, const value *arguments, size_t count)
{
    if (run->state->has_generators)
        return all_equal_realized(run, arguments, count);
    for (size_t i = 1; i < count; i++) {
        if (value_equal(arguments[0], arguments[i]))
            continue;
        run_warn_comparison(run, arguments[0], arguments[i]);
        return false;
    }
    return true;
}

value builtin_equal(struct run *run, const struct builtin *self, value *arguments, size_t count)
{
    (void)self;
    run_spend(run, count);
    return value_boolean(all_equal(run, arguments, count));
}

value builtin_not_equal(struct run *run, const struct builtin *self, value *arguments, size_t count)
{
    (void)self;
    run_spend(run, count);
    return value_boolean(!all_equal(run, arguments, count));
}

// Are all adjacent pairs in one of two orders? Arguments behind the first false pair are not checked.
static value in_order(struct run *run, const struct builtin *self, const value *arguments,
                      size_t count, enum value_order wanted, enum value_order also)
{
    run_spend(run, count);
    for (size_t i = 0; i + 1 < count; i++) {
        for (size_t j = i; j < i + 2; j++) {
            if (!value_is_number(arguments[j]))
                run_type_error(run, self, (unsigned)j + 1, "a number", arguments[j],
                               "use compare for other values");
        }
        enum value_order order = number_compare(arguments[i], arguments[i + 1]);
        if (order != wanted && order != also)
            return value_boolean(false);
    }
    return value_boolean(true);
}

value builtin_less(struct run *run, const struct builtin *self, value *arguments, size_t count)
{
    return in_order(run, self, arguments, count, VALUE_LESS, VALUE_LESS);
}

value builtin_greater(struct run *run, const struct builtin *self, value *arguments, size_t count)
{
    return in_order(run, self, arguments, count, VALUE_GREATER, VALUE_GREATER);
}

value builtin_less_or_equal(struct run *run, const struct builtin *self, value *arguments,
                            size_t count)
{
    return in_order(run, self, arguments, count, VALUE_LESS, VALUE_SAME);
}

value builtin_greater_or_equal(struct run *run, const struct builtin *self, value *arguments,
                               size_t count)
{
    return in_order(run, self, arguments, count, VALUE_GREATER, VALUE_SAME);
}

value builtin_compare(struct run *run, const struct builtin *self, value *arguments, size_t count)
{
    (void)count;
    value a = arguments[0], b = arguments[1];
    if (a.tag == b.tag &&
        (a.tag == VALUE_STRING || a.tag == VALUE_KEYWORD || a.tag == VALUE_SYMBOL))
        return value_integer(values_distance(a, b));
    enum value_order order = value_compare(a, b);
    if (order == VALUE_INCOMPARABLE)
        fail_incomparable(run, self, a, b);
    return value_integer(order);
}

value builtin_not(struct run *run, const struct builtin *self, value *arguments, size_t count)
{
    (void)run;
    (void)self;
    (void)count;
    return value_boolean(!value_is_true(arguments[0]));
}

value builtin_boolean(struct run *run, const struct builtin *self, value *arguments, size_t count)
{
    (void)run;
    (void)self;
    (void)count;
    return value_boolean(value_is_true(arguments[0]));
}

value builtin_identity(struct run *run, const struct builtin *self, value *arguments, size_t count)
{
    (void)run;
    (void)self;
    (void)count;
    return arguments[0];
}
