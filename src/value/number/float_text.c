#include "value/number/float_text.h"

#include <locale.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "value/fuel.h"

enum {
    EXACT_POWERS = 23,
    TEXT_ON_STACK = 64,
    SIGNIFICANT_DIGITS = 800,  // no double, and no middle between two, has more than 768
    EXPONENT_SHOWN = 99999,    // beyond it 800 digits are 0 or infinite
    EXPONENT_MAX = INT32_MAX,  // times 10 more than any text has digits
    TICK_BYTES = 4096,
    BYTES_PER_UNIT = 16,
};

// Powers of ten that are doubles without rounding.
static const double POWERS[EXACT_POWERS] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                            1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                            1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

static locale_t c_locale(void)
{
    static locale_t locale;  // created once; two threads may create two, and one is kept
    locale_t known = __atomic_load_n(&locale, __ATOMIC_ACQUIRE);
    if (known)
        return known;
    locale_t made = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    CHECK(made);
    if (__atomic_compare_exchange_n(&locale, &known, made, false, __ATOMIC_ACQ_REL,
                                    __ATOMIC_ACQUIRE))
        return made;
    freelocale(made);
    return known;
}

static double read_terminated(const char *text)
{
    return strtod_l(text, NULL, c_locale());
}

bool float_from_decimal(uint64_t digits, size_t decimals, double *ret_number)
{
    if (digits > UINT64_C(1) << 53 || decimals >= EXACT_POWERS)
        return false;
    *ret_number = (double)digits / POWERS[decimals];
    return true;
}

// --- long texts ----------------------------------------------------------------------------------

// A number of many digits on its way to a shorter one that is rounded to the same double.
struct shortened {
    char text[SIGNIFICANT_DIGITS + FLOAT_TEXT_SIZE];
    size_t count;      // of digits
    int64_t exponent;  // of the last digit
    bool is_cut;       // digits other than 0 were left out
};

static void add_digit(struct shortened *number, char digit, bool fraction)
{
    number->exponent -= fraction;
    if (number->count == 0 && digit == '0')
        return;
    if (number->count < SIGNIFICANT_DIGITS) {
        number->text[number->count++] = digit;
        return;
    }
    number->exponent++;
    number->is_cut |= digit != '0';
}

// [+-]digits
static int64_t read_exponent(struct span text, size_t i)
{
    int64_t exponent = 0;
    bool negative = text.data[i] == '-';
    for (i += negative || text.data[i] == '+'; i < text.length; i++) {
        if (i % TICK_BYTES == 0)
            fuel_spend(TICK_BYTES / BYTES_PER_UNIT);
        if (exponent < EXPONENT_MAX)
            exponent = exponent * 10 + (text.data[i] - '0');
    }
    return negative ? -exponent : exponent;
}

static double read_long(struct span text)
{
    struct shortened number = {.count = 0};
    bool negative = text.data[0] == '-', fraction = false;
    size_t i;
    for (i = negative; i < text.length && text.data[i] != 'e' && text.data[i] != 'E'; i++) {
        if (i % TICK_BYTES == 0)
            fuel_spend(TICK_BYTES / BYTES_PER_UNIT);
        if (text.data[i] == '.')
            fraction = true;
        else
            add_digit(&number, text.data[i], fraction);
    }
    if (i < text.length)
        number.exponent += read_exponent(text, i + 1);
    if (number.count == 0)
        return negative ? -0.0 : 0.0;
    if (number.is_cut) {  // a little more than what is kept: no tie
        number.text[number.count++] = '1';
        number.exponent--;
    }
    int64_t exponent = number.exponent < -EXPONENT_SHOWN  ? -EXPONENT_SHOWN
                       : number.exponent > EXPONENT_SHOWN ? EXPONENT_SHOWN
                                                          : number.exponent;
    snprintf(number.text + number.count, FLOAT_TEXT_SIZE, "e%d", (int)exponent);
    double result = read_terminated(number.text);
    return negative ? -result : result;
}

double float_read(struct span text)
{
    uint64_t digits = 0;
    size_t count = 0, decimals = 0, i;
    bool negative = text.length && text.data[0] == '-', fraction = false;
    if (text.length >= TEXT_ON_STACK)
        return read_long(text);
    for (i = negative; i < text.length && count < 18; i++) {
        char c = text.data[i];
        if (c == '.') {
            fraction = true;
            continue;
        }
        if (c < '0' || c > '9')
            break;
        digits = digits * 10 + (uint64_t)(c - '0');
        count += digits != 0;
        decimals += fraction;
    }
    double number;
    if (i == text.length && float_from_decimal(digits, decimals, &number))
        return negative ? -number : number;
    char copy[TEXT_ON_STACK];
    memcpy(copy, text.data, text.length);
    copy[text.length] = '\0';
    return read_terminated(copy);
}

// --- to text -------------------------------------------------------------------------------------

size_t float_print(char *text, size_t size, char style, int places, double number)
{
    locale_t before = uselocale(c_locale());
    int length = style == 'e' ? snprintf(text, size, "%.*e", places, number)
                              : snprintf(text, size, "%.*f", places, number);
    uselocale(before);
    CHECK(length >= 0 && (size_t)length < size);
    return (size_t)length;
}

static size_t strip_zeros(const char *digits, size_t count)
{
    while (count > 1 && digits[count - 1] == '0')
        count--;
    return count;
}

// Numbers with at most 15 digits and few decimals, which is what data is made of. Any two decimals
// of 15 digits are different doubles, so the first one found is the shortest.
static size_t digits_fast(double number, char *digits, int *ret_exponent)
{
    if (number < 1e-5 || number >= 1e15)
        return 0;
    for (int decimals = 0; decimals < EXACT_POWERS; decimals++) {
        double scaled = number * POWERS[decimals];
        if (scaled >= 1e15)
            return 0;
        uint64_t whole = (uint64_t)(scaled + 0.5);
        if ((double)whole / POWERS[decimals] != number)
            continue;
        char reversed[20];
        size_t count = 0;
        for (; whole; whole /= 10)
            reversed[count++] = (char)('0' + whole % 10);
        for (size_t i = 0; i < count; i++)
            digits[i] = reversed[count - 1 - i];
        *ret_exponent = (int)count - decimals;
        return strip_zeros(digits, count);
    }
    return 0;
}

// "d.ddde±xx" with `count` digits, for the number or (up) for the next decimal above it.
static bool digits_try(double number, int count, bool up, char *digits, int *ret_exponent)
{
    char text[FLOAT_TEXT_SIZE];
    float_print(text, sizeof(text), 'e', count - 1, number);
    digits[0] = text[0];
    memcpy(digits + 1, text + 2, (size_t)count - 1);
    int exponent = atoi(strchr(text, 'e') + 1);
    if (up) {
        int place = count - 1;
        while (place >= 0 && digits[place] == '9')
            digits[place--] = '0';
        if (place < 0)
            return false;
        digits[place]++;
    }
    char check[FLOAT_TEXT_SIZE];
    snprintf(check, sizeof(check), "%.*se%d", count, digits, exponent - (count - 1));
    *ret_exponent = exponent + 1;
    return read_terminated(check) == number;
}

size_t float_digits(double number, char digits[FLOAT_DIGITS_MAX], int *ret_exponent)
{
    size_t fast = digits_fast(number, digits, ret_exponent);
    if (fast)
        return fast;
    // At a power of two the doubles below lie closer than those above: the nearest decimal may fail
    // where the next one above does not.
    int ignored;
    bool lopsided = frexp(number, &ignored) == 0.5;
    if (digits_try(number, 15, false, digits, ret_exponent)) {
        // Fewer digits may do, below the precision of normal numbers too.
        size_t count = strip_zeros(digits, 15);
        while (count > 1 && digits_try(number, (int)count - 1, false, digits, ret_exponent))
            count = strip_zeros(digits, count - 1);
        digits_try(number, (int)count, false, digits, ret_exponent);
        return count;
    }
    for (int count = 16; count <= FLOAT_DIGITS_MAX; count++) {
        if (digits_try(number, count, false, digits, ret_exponent) ||
            (lopsided && digits_try(number, count, true, digits, ret_exponent)))
            return strip_zeros(digits, (size_t)count);
    }
    UNREACHABLE();
}

static size_t write_exponent(char *text, char letter, int exponent)
{
    size_t length = 0;
    text[length++] = letter;
    if (exponent < 0) {
        text[length++] = '-';
        exponent = -exponent;
    }
    if (exponent >= 100)
        text[length++] = (char)('0' + exponent / 100);
    if (exponent >= 10)
        text[length++] = (char)('0' + exponent / 10 % 10);
    text[length++] = (char)('0' + exponent % 10);
    return length;
}

static size_t write_digits(char *text, const char *digits, size_t count, int point)
{
    size_t length = 0;
    if (point <= 0) {
        text[length++] = '0';
        text[length++] = '.';
        memset(text + length, '0', (size_t)-point);
        length += (size_t)-point;
        memcpy(text + length, digits, count);
        return length + count;
    }
    for (size_t i = 0; i < (size_t)point; i++)
        text[length++] = i < count ? digits[i] : '0';
    text[length++] = '.';
    if (count <= (size_t)point)
        text[length++] = '0';
    for (size_t i = (size_t)point; i < count; i++)
        text[length++] = digits[i];
    return length;
}

struct float_style {
    double least, end;  // written without an exponent
    char exponent;
};

static size_t write_styled(double number, const struct float_style *style,
                           char text[FLOAT_TEXT_SIZE])
{
    size_t length = 0;
    if (signbit(number)) {
        text[length++] = '-';
        number = -number;
    }
    if (number == 0)
        return length + write_digits(text + length, "0", 1, 1);
    char digits[FLOAT_DIGITS_MAX];
    int exponent;
    size_t count = float_digits(number, digits, &exponent);
    if (number >= style->least && number < style->end)
        return length + write_digits(text + length, digits, count, exponent);
    length += write_digits(text + length, digits, count, 1);
    return length + write_exponent(text + length, style->exponent, exponent - 1);
}

size_t float_write(double number, char text[FLOAT_TEXT_SIZE])
{
    return write_styled(number, &(struct float_style){1e-4, 1e16, 'e'}, text);
}

size_t float_write_java(double number, char text[FLOAT_TEXT_SIZE])
{
    return write_styled(number, &(struct float_style){1e-3, 1e7, 'E'}, text);
}
