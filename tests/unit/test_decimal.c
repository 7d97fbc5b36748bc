// Decimal text of floats: the exact binary value decides, ties go away from zero.
#include <criterion/criterion.h>
#include <float.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "program/builtin/decimal.h"
#include "value/number/float_text.h"

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

// --- locales: a host may have chosen one with a decimal comma ------------------------------------

// Makes a locale "comma" in a folder of its own and chooses it; false when that cannot be done here.
static bool choose_comma(char *folder)
{
    char command[512], path[256];
    snprintf(path, sizeof(path), "%s/comma.src", folder);
    FILE *source = fopen(path, "w");
    if (!source)
        return false;
    fputs("LC_NUMERIC\ndecimal_point \",\"\nthousands_sep \".\"\ngrouping 3\nEND LC_NUMERIC\n",
          source);
    fclose(source);
    snprintf(command, sizeof(command),
             "localedef --no-archive -c -i %s -f ANSI_X3.4-1968 %s/comma >/dev/null 2>&1", path,
             folder);
    int status = system(command);  // 1: made, with warnings about the other categories
    setenv("LOCPATH", folder, 1);
    return WIFEXITED(status) && WEXITSTATUS(status) <= 1 && setlocale(LC_NUMERIC, "comma");
}

static void remove_folder(const char *folder)
{
    char command[300];
    snprintf(command, sizeof(command), "rm -r '%s'", folder);
    cr_assert_eq(system(command), 0);
}

Test(decimal, a_locale_with_a_comma_changes_nothing)
{
    char folder[] = "/tmp/cadre-locale-XXXXXX";
    cr_assert(mkdtemp(folder));
    bool chosen = choose_comma(folder);
    remove_folder(folder);
    if (!chosen)
        cr_skip_test("no localedef to make a locale with");
    char text[DECIMAL_TEXT_SIZE];
    snprintf(text, sizeof(text), "%.1f", 0.5);
    cr_assert_str_eq(text, "0,5");  // the locale is in use

    assert_fixed(1234567.25, 1, "1234567.3");
    assert_fixed(1.005, 3, "1.005");
    assert_exponent(1234.5, 2, "1.23e+03");
    cr_assert_eq(decimal_round(2.675, 1), 2.7);
    char shortest[FLOAT_TEXT_SIZE];
    size_t length = float_write(5e-324, shortest);
    cr_assert(span_equal_text((struct span){shortest, length}, "5.0e-324"));
    length = float_write(0.1 + 0.2, shortest);
    cr_assert(span_equal_text((struct span){shortest, length}, "0.30000000000000004"));
    cr_assert_eq(float_read(span_from("1.5")), 1.5);
    cr_assert_eq(float_read(span_from("1.7976931348623157e308")), DBL_MAX);
    snprintf(text, sizeof(text), "%.1f", 0.5);
    cr_assert_str_eq(text, "0,5");  // and still is
}

// --- long texts ----------------------------------------------------------------------------------

static void assert_read(const char *text)
{
    double expected = strtod(text, NULL), got = float_read(span_from(text));
    cr_assert_eq(memcmp(&expected, &got, sizeof(got)), 0, "%.80s: %a instead of %a", text, got,
                 expected);
}

Test(decimal, long_numbers_are_rounded_like_short_ones)
{
    static char text[5000];
    srand(1);
    for (int round = 0; round < 2000; round++) {
        int length = 60 + rand() % 2500, point = rand() % length, at = 0;
        if (rand() % 2)
            text[at++] = '-';
        text[at++] = (char)('0' + rand() % 10);
        for (int i = 0; i < length; i++) {
            if (i == point)
                text[at++] = '.';
            text[at++] = (char)('0' + (rand() % 3 ? 0 : rand() % 10));
        }
        text[at++] = (char)('0' + rand() % 10);
        text[at] = '\0';
        if (rand() % 2)
            sprintf(text + at, "e%d", rand() % 3000 - 2000);
        assert_read(text);
    }
}

// The exact middle between two doubles, and the least bit more, 4,000 digits later.
Test(decimal, the_last_of_many_digits_counts)
{
    static char text[8000];
    static const double numbers[] = {1.0, 5e-324, DBL_MIN, 123456789.0, 1e22, 0.1};
    for (size_t i = 0; i < COUNT_OF(numbers); i++) {
        double above = nextafter(numbers[i], INFINITY);
        // The middle has one binary place more; long double has the bits for it.
        long double middle = ((long double)numbers[i] + above) / 2;
        int length = snprintf(text, sizeof(text), "%.2000Lf", middle);
        memset(text + length, '0', 4000);
        text[length + 4000] = '\0';
        assert_read(text);
        text[length + 3999] = '1';
        assert_read(text);
        cr_assert_eq(float_read(span_from(text)), above);
    }
}

Test(decimal, exponents_of_any_size)
{
    static char text[300000];
    memset(text, '0', sizeof(text) - 1);
    text[1] = '.';
    strcpy(text + 100002, "1e100001");
    cr_assert_eq(float_read(span_from(text)), 1.0);
    memset(text, '0', sizeof(text) - 1);
    text[0] = '1';
    strcpy(text + 200001, "e-200000");
    cr_assert_eq(float_read(span_from(text)), 1.0);
    strcpy(text + 200001, "e-99999999999999999999999999");
    cr_assert_eq(float_read(span_from(text)), 0.0);
    strcpy(text + 200001, "e99999999999999999999999999");
    cr_assert(isinf(float_read(span_from(text))));
    memset(text, '0', 100);
    strcpy(text + 100, "e99999999999999999999999999");
    cr_assert_eq(float_read(span_from(text)), 0.0);
    text[0] = '-';
    cr_assert(signbit(float_read(span_from(text))));
}
