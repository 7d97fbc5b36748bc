// Decimal text of floats: the exact binary value decides, ties go away from zero.
#include <criterion/criterion.h>
#include <float.h>
#include <math.h>

#include "program/decimal.h"

static void assert_fixed(double number, unsigned places, const char *expected)
{
    char text[DECIMAL_TEXT_SIZE];
    size_t length = decimal_write_fixed(number, places, text);
    cr_assert_str_eq(text, expected);
    cr_assert_eq(length, strlen(expected));
}

static void assert_exponent(double number, unsigned places, const char *expected)
{
    char text[DECIMAL_TEXT_SIZE];
    size_t length = decimal_write_exponent(number, places, text);
    cr_assert_str_eq(text, expected);
    cr_assert_eq(length, strlen(expected));
}

Test(decimal, ties_go_away_from_zero)
{
    assert_fixed(0.125, 2, "0.13");
    assert_fixed(-0.125, 2, "-0.13");
    assert_fixed(0.5, 0, "1");
    assert_fixed(2.5, 0, "3");
    assert_fixed(-2.5, 0, "-3");
    assert_fixed(9.5, 0, "10");
    assert_fixed(99.5, 0, "100");
    assert_fixed(-99.96875, 4, "-99.9688");
    assert_fixed(0.999755859375, 11, "0.99975585938");
}

Test(decimal, other_values_go_to_the_nearest)
{
    assert_fixed(1.005, 2, "1.00");  // it is 1.00499…
    assert_fixed(2.675, 2, "2.67");  // it is 2.67499…
    assert_fixed(1.115, 2, "1.11");
    assert_fixed(0.0, 3, "0.000");
    assert_fixed(-0.0, 1, "-0.0");
    assert_fixed(1e22, 0, "10000000000000000000000");
    assert_fixed(5e-324, 2, "0.00");
}

Test(decimal, all_places_fit)
{
    char text[DECIMAL_TEXT_SIZE];
    cr_assert_eq(decimal_write_fixed(-DBL_MAX, DECIMAL_MAX_PLACES, text),
                 1 + 309 + 1 + DECIMAL_MAX_PLACES);
    cr_assert_eq(decimal_write_fixed(5e-324, DECIMAL_MAX_PLACES, text), 2 + DECIMAL_MAX_PLACES);
    cr_assert_eq(text[strlen(text) - 1], '5');
    decimal_write_exponent(DBL_MIN, DECIMAL_MAX_PLACES, text);
}

Test(decimal, exponents)
{
    assert_exponent(1234.5, 6, "1.234500e+03");
    assert_exponent(0.0, 2, "0.00e+00");
    assert_exponent(-0.0, 0, "-0e+00");
    assert_exponent(25.0, 0, "3e+01");
    assert_exponent(9.5, 0, "1e+01");
    assert_exponent(0.00095, 1, "9.5e-04");
    assert_exponent(999999.5, 5, "1.00000e+06");
    assert_exponent(1e-300, 3, "1.000e-300");
    assert_exponent(1.25, 1, "1.3e+00");
}

Test(decimal, rounding)
{
    cr_assert_eq(decimal_round(2.675, 2), 2.67);
    cr_assert_eq(decimal_round(0.125, 2), 0.13);
    cr_assert_eq(decimal_round(1e300, 2), 1e300);
    cr_assert(isinf(decimal_round((double)INFINITY, 2)));
    cr_assert(isnan(decimal_round((double)NAN, 2)));
}
