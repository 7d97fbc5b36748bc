#include "value/text/literal.h"

#include <math.h>
#include <string.h>

#include "base/array.h"
#include "base/ascii.h"
#include "base/utf8.h"
#include "value/chunks.h"
#include "value/layout.h"
#include "value/number/float_text.h"
#include "value/text/text.h"

bool literal_is_symbol_character(char c)
{
    return ascii_is_letter(c) || ascii_is_digit(c) || (unsigned char)c >= 0x80 ||
           (c && strchr("+*/<>=?!_%.&'$#-", c));
}

bool literal_is_keyword_character(char c)
{
    return literal_is_symbol_character(c);
}

bool literal_is_keyword_name(struct span name)
{
    for (size_t i = 0; i < name.length; i++) {
        char c = name.data[i];
        bool later = ascii_is_digit(c) || c == '_' || c == '?' || c == '!' || c == '-';
        if (!ascii_is_letter(c) && !(i > 0 && later))
            return false;
    }
    return name.length > 0;
}

static struct literal token(size_t length)
{
    return (struct literal){.length = length};
}

static struct literal wrong(size_t length, const char *problem)
{
    return (struct literal){length, problem};
}

// A token that ends at `length` must not go on with a character of a symbol.
static struct literal token_ending(struct span text, size_t length, const char *problem)
{
    if (length < text.length &&
        (literal_is_symbol_character(text.data[length]) || text.data[length] == ':'))
        return wrong(length, problem);
    return token(length);
}

// --- numbers -------------------------------------------------------------------------------------

// The end of the exponent that begins at `at`; `at` itself when there is none.
static size_t skip_exponent(struct span text, size_t at)
{
    if (at >= text.length || (text.data[at] != 'e' && text.data[at] != 'E'))
        return at;
    size_t digits = at + 1;
    if (digits < text.length && (text.data[digits] == '+' || text.data[digits] == '-'))
        digits++;
    size_t end = chunks_skip_digits(text, digits);
    return end > digits ? end : at;
}

// The worth of a digit in any radix; 36: it is none.
static unsigned digit_worth(char c)
{
    if (ascii_is_digit(c))
        return (unsigned)(c - '0');
    return ascii_is_letter(c) ? (unsigned)(ascii_to_lower(c) - 'a') + 10 : 36;
}

// The radix of 0xff, 017 or 2r101, and how many characters announce it; 0: a decimal number.
static unsigned radix_of(struct span text, size_t start, size_t *ret_prefix)
{
    size_t digits = chunks_skip_digits(text, start);
    char after = digits < text.length ? text.data[digits] : '\0';
    if (digits == start + 1 && text.data[start] == '0' && (after == 'x' || after == 'X')) {
        *ret_prefix = 2;
        return 16;
    }
    if ((after == 'r' || after == 'R') && digits - start <= 2) {
        unsigned radix = 0;
        for (size_t i = start; i < digits; i++)
            radix = radix * 10 + (unsigned)(text.data[i] - '0');
        *ret_prefix = digits - start + 1;
        return radix >= 2 && radix <= 36 ? radix : 0;
    }
    bool is_float = after == '.' || after == 'e' || after == 'E' || after == 'M';
    if (digits > start + 1 && text.data[start] == '0' && !is_float) {
        *ret_prefix = 1;
        return 8;
    }
    return 0;
}

bool literal_radix(struct span text, value *ret_value, struct literal *ret_literal)
{
    static const char too_large[] = "an integer in a radix has at most 64 bits";
    size_t start = text.data[0] == '-', prefix = 0;
    unsigned radix = radix_of(text, start, &prefix);
    if (radix == 0)
        return false;
    size_t at = start + prefix, first = at;
    int64_t number = 0;
    for (; at < text.length && digit_worth(text.data[at]) < radix; at++) {
        int64_t worth = (int64_t)digit_worth(text.data[at]);
        if (__builtin_mul_overflow(number, (int64_t)radix, &number) ||
            __builtin_sub_overflow(number, worth, &number)) {
            *ret_literal = wrong(0, too_large);
            return true;
        }
    }
    bool has_suffix = at < text.length && text.data[at] == 'N';
    *ret_literal = at == first ? wrong(at, "invalid number")
                               : token_ending(text, at + has_suffix, "invalid number");
    // It was counted downwards, because the least integer has no positive counterpart.
    if (!start && number == INT64_MIN)
        *ret_literal = wrong(0, too_large);
    else
        *ret_value = value_integer(start ? number : -number);
    return true;
}

struct literal literal_number(struct region *region, struct span text, size_t digits_most,
                              value *ret_value)
{
    struct literal other;
    if (literal_radix(text, ret_value, &other))
        return other;
    size_t digits = text.data[0] == '-';
    size_t whole = chunks_skip_digits(text, digits), end = whole;
    if (end + 1 < text.length && text.data[end] == '.' && ascii_is_digit(text.data[end + 1]))
        end = chunks_skip_digits(text, end + 1);
    end = skip_exponent(text, end);
    // 1N is an integer as any other, 1.5M a float: there are no decimals.
    char suffix = end < text.length ? text.data[end] : '\0';
    bool has_suffix = suffix == 'M' || (suffix == 'N' && end == whole);
    struct literal literal = token_ending(text, end + has_suffix, "invalid number");
    if (literal.problem)
        return literal;
    struct span number = {text.data, end};
    if (end > whole || suffix == 'M') {
        double read = float_read(number);
        if (isinf(read))
            return wrong(0, "float out of range");
        *ret_value = value_float(read);
    } else {
        if (whole - digits > digits_most)
            return wrong(0, "integer of more than 100 digits");
        *ret_value = value_integer_from_text(region, number);
    }
    return literal;
}

struct literal literal_special_float(struct span text, value *ret_value)
{
    static const struct {
        struct span name;
        double number;
    } floats[] = {{SPAN("##Inf"), INFINITY}, {SPAN("##-Inf"), -INFINITY}, {SPAN("##NaN"), NAN}};
    for (size_t i = 0; i < COUNT_OF(floats); i++) {
        if (span_starts_with(text, floats[i].name)) {
            *ret_value = value_float(floats[i].number);
            return token_ending(text, floats[i].name.length, "invalid ## literal");
        }
    }
    return wrong(0, "invalid ## literal");
}

// --- strings and characters ----------------------------------------------------------------------

static char escaped(char c)
{
    switch (c) {
    case 'n': return '\n';
    case 't': return '\t';
    case 'r': return '\r';
    case 'b': return '\b';
    case 'f': return '\f';
    case '"':
    case '\\': return c;
    default: return '\0';
    }
}

// Digits of a base from `at` on, at most `most` of them; how many there are.
static size_t read_digits(struct span text, size_t at, unsigned base, size_t most,
                          uint32_t *ret_number)
{
    size_t count = 0;
    *ret_number = 0;
    for (; count < most && at + count < text.length; count++) {
        char c = text.data[at + count];
        int digit = ascii_is_digit(c)                                  ? c - '0'
                    : base == 16 && (c | 32) >= 'a' && (c | 32) <= 'f' ? (c | 32) - 'a' + 10
                                                                       : -1;
        if (digit < 0 || digit >= (int)base)
            break;
        *ret_number = *ret_number * base + (uint32_t)digit;
    }
    return count;
}

// \uXXXX, or two of them that are one character beyond 16 bits.
static size_t escaped_unicode(struct span text, uint32_t *ret_code_point)
{
    enum { ESCAPE = 6, PAIR = 2 * ESCAPE };
    uint32_t low;
    if (read_digits(text, 2, 16, 4, ret_code_point) != 4)
        return 0;
    if (*ret_code_point < 0xD800 || *ret_code_point > 0xDFFF)
        return ESCAPE;
    if (*ret_code_point > 0xDBFF || text.length < PAIR || text.data[ESCAPE] != '\\' ||
        text.data[ESCAPE + 1] != 'u' || read_digits(text, ESCAPE + 2, 16, 4, &low) != 4 ||
        low < 0xDC00 || low > 0xDFFF)
        return 0;
    *ret_code_point = 0x10000 + ((*ret_code_point - 0xD800) << 10) + (low - 0xDC00);
    return PAIR;
}

size_t literal_escape(struct span text, char *ret_text, size_t *ret_length)
{
    uint32_t code_point;
    size_t taken;
    char c = text.length > 1 ? text.data[1] : '\0';
    if (escaped(c)) {
        *ret_text = escaped(c);
        *ret_length = 1;
        return 2;
    }
    if (c == 'u') {
        taken = escaped_unicode(text, &code_point);
    } else {
        taken = read_digits(text, 1, 8, 3, &code_point);
        taken = taken == 0 || code_point > 0377 ? 0 : 1 + taken;
    }
    char bytes[UTF8_MAX_BYTES];
    *ret_length = taken ? utf8_encode(code_point, bytes) : 0;
    memcpy(ret_text, bytes, *ret_length);
    return taken;
}

// Where the closing quote is; *ret_escapes: there are backslashes. The length when there is none.
static size_t find_quote(struct span text, bool *ret_escapes)
{
    *ret_escapes = false;
    size_t i = 1;
    while (i < text.length && text.data[i] != '"') {
        if (text.data[i] == '\\') {
            *ret_escapes = true;
            i++;
        }
        i++;
    }
    return i < text.length ? i : text.length;
}

struct literal literal_string(struct region *region, struct span text, value *ret_value)
{
    bool escapes;
    size_t quote = find_quote(text, &escapes);
    if (quote == text.length)
        return wrong(0, "string is not closed");
    fuel_spend(quote / CHUNK_BYTES_PER_UNIT);
    struct span raw = {text.data + 1, quote - 1};
    if (!escapes) {
        *ret_value = value_string(region, raw);
        return token(quote + 1);
    }
    struct string *string = string_reserve(region, raw.length);
    size_t length = 0;
    for (size_t i = 0; i < raw.length;) {
        size_t bytes = 1, taken = 1;
        if (raw.data[i] == '\\') {
            struct span rest = {raw.data + i, raw.length - i};
            taken = literal_escape(rest, string->bytes + length, &bytes);
            if (taken == 0)
                return wrong(1 + i, "unknown escape in a string");
        } else {
            string->bytes[length] = raw.data[i];
        }
        i += taken;
        length += bytes;
    }
    *ret_value = string_finish(region, string, length);
    return token(quote + 1);
}

struct literal literal_character(struct region *region, struct span text, value *ret_value)
{
    static const struct {
        struct span name;
        struct span character;
    } names[] = {
        {SPAN("newline"), SPAN("\n")},   {SPAN("space"), SPAN(" ")},
        {SPAN("tab"), SPAN("\t")},       {SPAN("return"), SPAN("\r")},
        {SPAN("backspace"), SPAN("\b")}, {SPAN("formfeed"), SPAN("\f")},
    };
    struct span rest = {text.data + 1, text.length - 1};
    if (rest.length == 0)
        return wrong(0, "character is missing");
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        if (span_starts_with(rest, names[i].name)) {
            *ret_value = value_string(region, names[i].character);
            return token_ending(text, 1 + names[i].name.length, "invalid character");
        }
    }
    size_t length = character_end(rest, 0);
    struct literal literal = token_ending(text, 1 + length, "invalid character");
    if (!literal.problem)
        *ret_value = value_string(region, (struct span){rest.data, length});
    return literal;
}

struct literal literal_keyword(struct region *region, struct span text, value *ret_value)
{
    size_t end = 1;
    while (end < text.length && literal_is_keyword_character(text.data[end]))
        end++;
    if (end == 1)
        return wrong(0, "invalid keyword");
    struct literal literal = token_ending(text, end, "invalid keyword");
    if (!literal.problem)
        *ret_value = value_keyword(region, (struct span){text.data + 1, end - 1});
    return literal;
}

void literal_position(struct span before, unsigned *ret_line, unsigned *ret_column)
{
    unsigned line = 1;
    size_t line_start = 0;
    for (size_t i = 0; i < before.length; i++) {
        if (before.data[i] == '\n') {
            line++;
            line_start = i + 1;
        }
    }
    *ret_line = line;
    *ret_column = (unsigned)utf8_count(before.data + line_start, before.length - line_start) + 1;
}
