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
    return ascii_is_letter(c) || ascii_is_digit(c) || (c && strchr("+*/<>=?!_%.&'-", c));
}

bool literal_is_keyword_character(char c)
{
    return ascii_is_letter(c) || ascii_is_digit(c) || (c && strchr("_?!+*<>=-", c));
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

struct literal literal_number(struct region *region, struct span text, size_t digits_most,
                              value *ret_value)
{
    size_t digits = text.data[0] == '-';
    size_t whole = chunks_skip_digits(text, digits), end = whole;
    if (end + 1 < text.length && text.data[end] == '.' && ascii_is_digit(text.data[end + 1]))
        end = chunks_skip_digits(text, end + 1);
    end = skip_exponent(text, end);
    struct literal literal = token_ending(text, end, "invalid number");
    if (literal.problem)
        return literal;
    struct span number = {text.data, end};
    if (end > whole) {
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
    case '"':
    case '\\': return c;
    default: return '\0';
    }
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
    for (size_t i = 0; i < raw.length; i++) {
        char c = raw.data[i];
        char meant = c == '\\' ? escaped(raw.data[i + 1]) : '\0';
        string->bytes[length++] = meant ? meant : c;
        if (meant)
            i++;
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
