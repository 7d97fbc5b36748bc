// Integers against GMP's own integers, doubles against the C library, and the order of both.
#include <criterion/criterion.h>
#include <gmp.h>
#include <math.h>
#include <stdio.h>
#include <time.h>

#include "base/array.h"
#include "base/buffer.h"
#include "value/fuel.h"
#include "value/number/float_text.h"
#include "value/number/number.h"
#include "value/text/print.h"
#include "value_random.h"

static struct region *region;

static void set_up(void)
{
    region = region_new(SIZE_MAX);
}

static void tear_down(void)
{
    cr_assert_eq(region->live, 0, "%zu bytes leaked", region->live);
    region_free(region);
}

TestSuite(value_number, .init = set_up, .fini = tear_down);

static value from_mpz(const mpz_t number)
{
    char *text = mpz_get_str(NULL, 10, number);
    value v = value_integer_from_text(region, span_from(text));
    free(text);
    return v;
}

static bool equals_mpz(value v, const mpz_t number)
{
    CLEANUP_BUFFER struct buffer printed = {.limit = BUFFER_DEFAULT_LIMIT};
    value_print(&printed, v);
    char *text = mpz_get_str(NULL, 10, number);
    bool equal = strcmp(text, buffer_text(&printed)) == 0;
    // The tag must be the canonical one.
    bool small = mpz_fits_slong_p(number);
    free(text);
    value_release(region, v);
    return equal && v.tag == (small ? VALUE_INTEGER : VALUE_BIGNUM);
}

static void random_mpz(mpz_t number)
{
    static const char *const edges[] = {
        "0",
        "1",
        "-1",
        "2",
        "-2",
        "9223372036854775807",
        "9223372036854775808",
        "-9223372036854775808",
        "-9223372036854775809",
        "18446744073709551615",
        "18446744073709551616",
        "-18446744073709551616",
        "340282366920938463463374607431768211456",
    };
    size_t choice = random_below(20);
    if (choice < COUNT_OF(edges)) {
        mpz_set_str(number, edges[choice], 10);
        return;
    }
    size_t limbs = choice == 19 ? random_below(200) : random_below(6);
    mpz_set_ui(number, 0);
    for (size_t i = 0; i < limbs; i++) {
        mpz_mul_2exp(number, number, 64);
        mpz_add_ui(number, number, random_below(3) ? random_u64() : 0);
    }
    if (random_below(2))
        mpz_neg(number, number);
}

typedef value operation_fn(struct region *region, value a, value b);
typedef void reference_fn(mpz_t result, const mpz_t a, const mpz_t b);

static void modulo_floor(mpz_t result, const mpz_t a, const mpz_t b)
{
    mpz_fdiv_r(result, a, b);
}

static void check_operation(operation_fn *operation, reference_fn *reference, bool divides)
{
    mpz_t a, b, expected;
    mpz_inits(a, b, expected, NULL);
    for (int i = 0; i < 4000; i++) {
        random_mpz(a);
        random_mpz(b);
        if (divides && mpz_sgn(b) == 0)
            continue;
        reference(expected, a, b);
        value result = operation(region, from_mpz(a), from_mpz(b));
        if (!equals_mpz(result, expected)) {
            gmp_printf("a %Zd b %Zd expected %Zd\n", a, b, expected);
            cr_assert_fail("wrong result");
        }
    }
    mpz_clears(a, b, expected, NULL);
}

Test(value_number, arithmetic_agrees_with_gmp)
{
    check_operation(integer_add, mpz_add, false);
    check_operation(integer_subtract, mpz_sub, false);
    check_operation(integer_multiply, mpz_mul, false);
    check_operation(integer_quotient, mpz_tdiv_q, true);
    check_operation(integer_remainder, mpz_tdiv_r, true);
    check_operation(integer_modulo, modulo_floor, true);
}

Test(value_number, bit_operations_agree_with_gmp)
{
    check_operation(integer_and, mpz_and, false);
    check_operation(integer_or, mpz_ior, false);
    check_operation(integer_xor, mpz_xor, false);
    mpz_t a, expected;
    mpz_inits(a, expected, NULL);
    for (int i = 0; i < 4000; i++) {
        random_mpz(a);
        size_t bits = random_below(300);
        mpz_mul_2exp(expected, a, bits);
        cr_assert(equals_mpz(integer_shift_left(region, from_mpz(a), bits), expected));
        mpz_fdiv_q_2exp(expected, a, bits);
        cr_assert(equals_mpz(integer_shift_right(region, from_mpz(a), bits), expected));
        mpz_com(expected, a);
        cr_assert(equals_mpz(integer_not(region, from_mpz(a)), expected));
        mpz_neg(expected, a);
        cr_assert(equals_mpz(integer_negate(region, from_mpz(a)), expected));
        value v = from_mpz(a);
        cr_assert_eq(integer_test_bit(v, bits), mpz_tstbit(a, bits));
        cr_assert_eq(integer_is_odd(v), mpz_odd_p(a) != 0);
        cr_assert_eq(integer_sign(v), mpz_sgn(a));
        value_release(region, v);
    }
    mpz_clears(a, expected, NULL);
}

Test(value_number, comparing_agrees_with_gmp)
{
    mpz_t a, b;
    mpz_inits(a, b, NULL);
    for (int i = 0; i < 4000; i++) {
        random_mpz(a);
        random_mpz(b);
        value left = from_mpz(a), right = from_mpz(b);
        int expected = mpz_cmp(a, b);
        cr_assert_eq(integer_compare(left, right), (expected > 0) - (expected < 0));
        double number = ldexp((double)(int64_t)random_u64(), (int)random_below(200) - 80);
        if (random_below(2))
            number = mpz_get_d(a);
        int order = mpz_cmp_d(a, number);
        cr_assert_eq((int)number_compare(left, value_float(number)), (order > 0) - (order < 0));
        cr_assert_eq((int)number_compare(value_float(number), left), (order < 0) - (order > 0));
        value_release(region, left);
        value_release(region, right);
    }
    mpz_clears(a, b, NULL);
    cr_assert_eq(number_compare(value_integer(1), value_float(NAN)), VALUE_INCOMPARABLE);
    cr_assert_eq(number_compare(value_integer(INT64_MAX), value_float(INFINITY)), VALUE_LESS);
    cr_assert_eq(number_compare(value_integer(INT64_MAX), value_float(0x1p63)), VALUE_LESS);
    cr_assert_eq(number_compare(value_integer(INT64_MIN), value_float(-0x1p63)), VALUE_SAME);
    cr_assert_eq(number_compare(value_integer(0), value_float(-0.0)), VALUE_SAME);
    cr_assert_eq(number_compare(value_integer((INT64_C(1) << 53) + 1), value_float(0x1p53)),
                 VALUE_GREATER);
}

// Nearest double of a rational, found by comparing exactly with the neighbours.
static double reference_ratio(const mpz_t a, const mpz_t b)
{
    mpq_t exact, low, high;
    mpq_inits(exact, low, high, NULL);
    mpz_set(mpq_numref(exact), a);
    mpz_set(mpq_denref(exact), b);
    mpq_canonicalize(exact);
    double down = mpq_get_d(exact);  // truncates
    double up = nextafter(down, mpz_sgn(a) * mpz_sgn(b) < 0 ? -INFINITY : INFINITY);
    double nearest = down;
    if (isfinite(up)) {
        mpq_set_d(low, down);
        mpq_set_d(high, up);
        mpq_sub(low, exact, low);
        mpq_sub(high, high, exact);
        mpq_abs(low, low);
        mpq_abs(high, high);
        int order = mpq_cmp(low, high);
        int64_t bits;
        memcpy(&bits, &down, sizeof(bits));
        if (order > 0 || (order == 0 && (bits & 1)))
            nearest = up;
    }
    mpq_clears(exact, low, high, NULL);
    return nearest;
}

Test(value_number, division_to_double_is_correctly_rounded)
{
    mpz_t a, b, one;
    mpz_inits(a, b, NULL);
    mpz_init_set_ui(one, 1);
    for (int i = 0; i < 20000; i++) {
        random_mpz(a);
        random_mpz(b);
        if (mpz_sizeinbase(a, 2) > 900 || mpz_sizeinbase(b, 2) > 900 || mpz_sgn(b) == 0)
            continue;
        value left = from_mpz(a), right = from_mpz(b);
        if (mpz_sgn(a))
            cr_assert_eq(integer_ratio(region, left, right), reference_ratio(a, b));
        cr_assert_eq(integer_to_double(left), reference_ratio(a, one));
        value_release(region, left);
        value_release(region, right);
    }
    mpz_clears(a, b, one, NULL);
}

Test(value_number, ratios_can_be_subnormal_or_infinite)
{
    value one = value_integer(1);
    value huge = integer_shift_left(region, value_integer(3), 1073);
    cr_assert_eq(integer_ratio(region, one, huge), 0x1p-1074);  // two thirds of the lowest double
    huge = integer_shift_left(region, huge, 1);
    cr_assert_eq(integer_ratio(region, one, huge), 0);  // one third
    value_release(region, huge);
    huge = integer_shift_left(region, value_integer(1), 1074);
    cr_assert_eq(integer_ratio(region, one, huge), 0x1p-1074);
    cr_assert_eq(integer_ratio(region, value_integer(3), huge), 3 * 0x1p-1074);
    cr_assert_eq(integer_to_double(huge), INFINITY);
    value negative = integer_negate(region, value_retain(huge));
    cr_assert_eq(integer_to_double(negative), -INFINITY);
    value_release(region, negative);
    value_release(region, huge);
}

Test(value_number, doubles_become_integers)
{
    for (int i = 0; i < 5000; i++) {
        double number = ldexp((double)(int64_t)random_u64(), (int)random_below(400) - 100);
        mpz_t expected;
        mpz_init_set_d(expected, number);
        cr_assert(equals_mpz(integer_from_double(region, number), expected));
        mpz_clear(expected);
    }
}

// Time of this thread alone: tests run on busy machines.
static int64_t thread_now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

static void keep_going(void *data)
{
    (void)data;
    fuel.left = 20000;
}

static void check_huge_text(void)
{
    enum { DIGITS = 60000 };
    char *text = malloc(DIGITS + 2);
    for (size_t length = 9000; length <= DIGITS; length += 9728) {
        text[0] = '-';
        for (size_t i = 1; i <= length; i++)
            text[i] = (char)('0' + (random_below(4) ? random_below(10) : 0));
        text[1] = '7';
        text[length + 1] = '\0';
        mpz_t expected;
        mpz_init_set_str(expected, text, 10);
        cr_assert(equals_mpz(value_integer_from_text(region, span_from(text)), expected));
        mpz_neg(expected, expected);
        cr_assert(equals_mpz(value_integer_from_text(region, span_from(text + 1)), expected));
        mpz_clear(expected);
    }
    free(text);
}

Test(value_number, huge_text_makes_the_round_trip)
{
    check_huge_text();
    fuel = (struct fuel){.handler = keep_going, .region = region};
    check_huge_text();
    fuel = (struct fuel){0};
}

// Millions of digits in a message must not hold up the process that reads it.
Test(value_number, huge_text_without_a_fuel_handler_is_not_quadratic)
{
    enum { DIGITS = 2000000 };
    char *text = malloc(DIGITS + 1);
    memset(text, '7', DIGITS);
    text[DIGITS] = '\0';
    int64_t started = thread_now_ns();
    value number = value_integer_from_text(region, span_from(text));
    value printed = value_printed(region, number);
    cr_assert_lt(thread_now_ns() - started, INT64_C(1500000000));
    cr_assert(span_equal(value_text(printed), span_from(text)));
    value_release(region, number);
    value_release(region, printed);
    free(text);
}

Test(value_number, huge_operations_agree_with_gmp)
{
    mpz_t a, b, expected, rest;
    mpz_inits(a, b, expected, rest, NULL);
    mpz_ui_pow_ui(a, 7, 140000);  // about 6,100 limbs: several chunks
    mpz_ui_pow_ui(b, 11, 60000);
    value left = from_mpz(a), right = from_mpz(b);
    mpz_mul(expected, a, b);
    cr_assert(
        equals_mpz(integer_multiply(region, value_retain(left), value_retain(right)), expected));
    mpz_tdiv_qr(expected, rest, a, b);
    cr_assert(
        equals_mpz(integer_quotient(region, value_retain(left), value_retain(right)), expected));
    cr_assert(equals_mpz(integer_remainder(region, value_retain(left), value_retain(right)), rest));
    value_release(region, left);
    value_release(region, right);
    mpz_clears(a, b, expected, rest, NULL);
}

static int64_t longest_gap, last_tick;

static void measure(void *data)
{
    (void)data;
    int64_t now = thread_now_ns();
    if (last_tick && now - last_tick > longest_gap)
        longest_gap = now - last_tick;
    last_tick = now;
    fuel.left = 20000;
}

Test(value_number, huge_operations_spend_fuel)
{
    fuel = (struct fuel){.handler = measure, .region = region};
    value power = integer_shift_left(region, value_integer(12345), 3000000);  // 47,000 limbs
    value square = integer_multiply(region, value_retain(power), value_retain(power));
    value divisor = integer_add(region, power, value_integer(7));
    value quotient = integer_quotient(region, value_retain(square), value_retain(divisor));
    value_release(region, quotient);
    value_release(region, square);
    value text = value_printed(region, divisor);
    value_release(region, value_integer_from_text(region, value_text(text)));
    value_release(region, text);
    value_release(region, divisor);
    fuel = (struct fuel){0};
    // Generous, because tests run under sanitizers too.
    cr_assert_lt(longest_gap, 50000000, "%ld ns without a call of the fuel handler",
                 (long)longest_gap);
}

Test(value_number, decimal_text_of_doubles_is_shortest_and_exact)
{
    char text[FLOAT_TEXT_SIZE + 1], shorter[64];
    for (int i = 0; i < 100000; i++) {
        double number = i % 4
                            ? random_bits_double()
                            : (double)(int64_t)random_below(1000000000) / pow(10, random_below(9));
        size_t length = float_write(number, text);
        text[length] = '\0';
        cr_assert_eq(strtod(text, NULL), number, "%s is not %.17g", text, number);
        cr_assert_eq(float_read((struct span){text, length}), number, "%s", text);
        char digits[FLOAT_DIGITS_MAX];
        int exponent;
        if (number == 0)
            continue;
        size_t count = float_digits(fabs(number), digits, &exponent);
        if (count > 1) {
            snprintf(shorter, sizeof(shorter), "%.*e", (int)count - 2, fabs(number));
            cr_assert_neq(strtod(shorter, NULL), fabs(number), "%s is shorter than %s", shorter,
                          text);
        }
    }
}

Test(value_number, decimal_text_has_the_form_of_the_specification)
{
    static const struct {
        double number;
        const char *text;
    } cases[] = {
        {0.0, "0.0"},
        {-0.0, "-0.0"},
        {1, "1.0"},
        {100, "100.0"},
        {-2.5, "-2.5"},
        {0.0001, "0.0001"},
        {0.00012, "0.00012"},
        {0.00001, "1.0e-5"},
        {1.5e-5, "1.5e-5"},
        {1e15, "1000000000000000.0"},
        {1e16, "1.0e16"},
        {1.25e16, "1.25e16"},
        {9007199254740993.0, "9007199254740992.0"},
        {123456789012345680.0, "1.2345678901234568e17"},
        {5e-324, "5.0e-324"},
        {1.7976931348623157e308, "1.7976931348623157e308"},
        {0.1 + 0.2, "0.30000000000000004"},
        {1e23, "1.0e23"},
        {9.5e-7, "9.5e-7"},
        {1e100, "1.0e100"},
        {0x1p-44, "5.684341886080802e-14"},
        {2e-310, "2.0e-310"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        char text[FLOAT_TEXT_SIZE + 1];
        text[float_write(cases[i].number, text)] = '\0';
        cr_assert_str_eq(text, cases[i].text);
    }
}

Test(value_number, reading_doubles_agrees_with_the_library)
{
    char text[64];
    for (int i = 0; i < 100000; i++) {
        int digits = (int)random_below(20) + 1;
        int length = 0;
        if (random_below(2))
            text[length++] = '-';
        for (int d = 0; d < digits; d++)
            text[length++] = (char)('0' + random_below(10));
        if (random_below(3)) {
            text[length++] = '.';
            for (size_t d = random_below(18) + 1; d > 0; d--)
                text[length++] = (char)('0' + random_below(10));
        }
        if (random_below(2))
            length += sprintf(text + length, "e%d", (int)random_below(80) - 40);
        text[length] = '\0';
        cr_assert_eq(float_read((struct span){text, (size_t)length}), strtod(text, NULL), "%s",
                     text);
    }
    cr_assert_eq(float_read(SPAN("1e400")), INFINITY);
    cr_assert_eq(float_read(SPAN("0.000000000000000000000000000000000001")), 1e-36);
}
