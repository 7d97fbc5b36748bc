// [:enum "a" 1 true], [:or T T], [:int 1 100], [:float >0 _], [:string 1 80 #"^[a-z]"].
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/ascii.h"
#include "base/utf8.h"
#include "signature/parser.h"
#include "signature/pattern.h"
#include "value/number/float_text.h"

enum { NUMBER_BYTES = 40 };

bool parser_word(struct parser *parser, const char *word)
{
    size_t start = parser->position;
    if (parser_accept(parser, ':') && span_equal_text(parser_name(parser), word))
        return true;
    parser->position = start;
    return false;
}

// --- numbers -------------------------------------------------------------------------------------

static size_t skip_digits(struct span text, size_t at)
{
    while (at < text.length && ascii_is_digit(text.data[at]))
        at++;
    return at;
}

// -?digits[.digits][e[+-]digits]; the length, 0: no number.
static size_t number_length(struct span text, bool *ret_is_float)
{
    size_t start = text.length && text.data[0] == '-', at = skip_digits(text, start);
    *ret_is_float = false;
    if (at == start)
        return 0;
    if (at + 1 < text.length && text.data[at] == '.' && ascii_is_digit(text.data[at + 1])) {
        *ret_is_float = true;
        at = skip_digits(text, at + 1);
    }
    if (at + 1 < text.length && (text.data[at] == 'e' || text.data[at] == 'E')) {
        size_t digits = at + 1 + (text.data[at + 1] == '+' || text.data[at + 1] == '-');
        size_t end = skip_digits(text, digits);
        if (end > digits) {
            *ret_is_float = true;
            at = end;
        }
    }
    return at;
}

static bool fail_number(struct parser *parser)
{
    return parser_fail(parser, parser->position, ERROR_SYNTAX,
                       "expected an integer of 64 bits, or a finite float");
}

static bool parse_number(struct parser *parser, value *ret_number)
{
    struct span rest = {parser->text.data + parser->position,
                        parser->text.length - parser->position};
    bool is_float;
    size_t length = number_length(rest, &is_float);
    char text[NUMBER_BYTES];
    if (length == 0)
        return parser_fail_expected(parser, "a number");
    if (length >= sizeof(text))
        return fail_number(parser);
    memcpy(text, rest.data, length);
    text[length] = '\0';
    errno = 0;
    double number = is_float ? float_read((struct span){text, length}) : 0;
    long long integer = is_float ? 0 : strtoll(text, NULL, 10);
    if (!isfinite(number) || errno == ERANGE)
        return fail_number(parser);
    *ret_number = is_float ? value_float(number) : value_integer(integer);
    parser->position += length;
    return true;
}

// --- strings -------------------------------------------------------------------------------------

// \uHHHH, at the `u`.
static bool parse_code_point(struct parser *parser, uint32_t *ret_code_point)
{
    const char *text = parser->text.data + parser->position;
    uint32_t number = 0;
    if (parser->text.length - parser->position < 5)
        return false;
    for (int i = 1; i <= 4; i++) {
        int digit = ascii_hex_digit(text[i]);
        if (digit < 0)
            return false;
        number = number * 16 + (uint32_t)digit;
    }
    parser->position += 5;
    *ret_code_point = number;
    return number < 0xD800 || number > 0xDFFF;
}

// What a backslash and the next character stand for.
static bool parse_escape(struct parser *parser, struct buffer *text)
{
    static const char letters[] = "\"\\/nrtbf";
    static const char meant[] = "\"\\/\n\r\t\b\f";
    char byte = parser_peek(parser);
    const char *found = byte ? strchr(letters, byte) : NULL;
    if (found) {
        buffer_append_byte(text, meant[found - letters]);
        parser->position++;
        return true;
    }
    uint32_t code_point;
    char bytes[UTF8_MAX_BYTES];
    if (byte != 'u' || !parse_code_point(parser, &code_point))
        return parser_fail_expected(parser, "an escape such as \\n or \\u00e9");
    buffer_append(text, bytes, utf8_encode(code_point, bytes));
    return true;
}

// Behind the opening quote, up to and with the closing one. In patterns a backslash stays, but before a
// quote.
static bool parse_quoted(struct parser *parser, bool is_pattern, struct buffer *text)
{
    size_t start = parser->position;
    while (!parser_accept(parser, '"')) {
        if (parser_at_end(parser))
            return parser_fail(parser, start, ERROR_SYNTAX, "the string does not end");
        char byte = parser_peek(parser);
        parser->position++;
        if (byte == '\\' && !is_pattern) {
            if (!parse_escape(parser, text))
                return false;
            continue;
        }
        bool pair = byte == '\\' && !parser_at_end(parser);
        if (byte != '\\' || parser_peek(parser) != '"')
            buffer_append_byte(text, byte);
        if (pair) {
            buffer_append_byte(text, parser_peek(parser));
            parser->position++;
        }
    }
    if (text->failed)
        return parser_fail(parser, start, ERROR_LIMIT, "the string is too long");
    return utf8_is_valid(text->data, text->length) ||
           parser_fail(parser, start, ERROR_SYNTAX, "the string is not UTF-8");
}

// --- enumerations --------------------------------------------------------------------------------

static bool parse_choice(struct parser *parser, struct signature_choice *choice)
{
    *choice = (struct signature_choice){.other = value_nil()};
    if (parser_accept(parser, '"')) {
        CLEANUP_BUFFER struct buffer text;
        buffer_init(&text, SIGNATURE_MAX_LITERAL + 1);
        if (!parse_quoted(parser, false, &text))
            return false;
        char *copy = arena_copy_text(parser->arena, buffer_span(&text));
        choice->text = (struct span){copy, text.length};
        return copy || parser_fail_memory(parser);
    }
    size_t start = parser->position;
    struct span word = parser_name(parser);
    if (span_equal_text(word, "true") || span_equal_text(word, "false")) {
        choice->other = value_boolean(span_equal_text(word, "true"));
        return true;
    }
    parser->position = start;
    bool is_number = parser_peek(parser) == '-' || ascii_is_digit(parser_peek(parser));
    return is_number ? parse_number(parser, &choice->other)
                     : parser_fail_expected(parser, "a string, a number, true or false");
}

static bool fail_count(struct parser *parser)
{
    char message[64];
    snprintf(message, sizeof(message), "more than %d choices", SIGNATURE_MAX_CHOICES);
    return parser_fail(parser, parser->position, ERROR_LIMIT, message);
}

bool parser_enum(struct parser *parser, struct signature_type *ret_type)
{
    struct signature_choice choices[SIGNATURE_MAX_CHOICES];
    size_t count = 0;
    for (;; count++) {
        parser_skip_space(parser);
        if (count > 0 && parser_accept(parser, ']'))
            break;
        if (count == SIGNATURE_MAX_CHOICES)
            return fail_count(parser);
        if (!parse_choice(parser, &choices[count]))
            return false;
    }
    struct signature_choice *kept = arena_alloc(parser->arena, count * sizeof(*kept));
    if (!kept)
        return parser_fail_memory(parser);
    memcpy(kept, choices, count * sizeof(*kept));
    *ret_type = (struct signature_type){.kind = SIGNATURE_ENUM, .choices = kept, .count = count};
    return true;
}

// --- unions --------------------------------------------------------------------------------------

struct alternative {
    struct alternative *next;
    struct signature_type type;
};

static bool finish_union(struct parser *parser, const struct alternative *first, size_t count,
                         struct signature_type *ret_type)
{
    struct signature_type *types = arena_alloc(parser->arena, count * sizeof(*types));
    if (!types)
        return parser_fail_memory(parser);
    *ret_type = (struct signature_type){.kind = SIGNATURE_UNION, .element = types, .count = count};
    for (; first; first = first->next)
        *types++ = first->type;
    return true;
}

bool parser_union(struct parser *parser, struct signature_type *ret_type)
{
    struct alternative *first = NULL, **next = &first;
    size_t count = 0;
    for (;; count++) {
        parser_skip_space(parser);
        if (count > 0 && parser_accept(parser, ']'))
            return finish_union(parser, first, count, ret_type);
        if (count == SIGNATURE_MAX_CHOICES)
            return fail_count(parser);
        *next = arena_alloc_zero(parser->arena, sizeof(**next));
        if (!*next)
            return parser_fail_memory(parser);
        if (!parser_type(parser, &(*next)->type))
            return false;
        next = &(*next)->next;
    }
}

// --- limits --------------------------------------------------------------------------------------

bool parser_at_limits(const struct parser *parser, const struct signature_type *type)
{
    bool has_limits = type->kind == SIGNATURE_INT || type->kind == SIGNATURE_FLOAT ||
                      type->kind == SIGNATURE_STRING;
    char byte = parser_peek(parser);
    return has_limits && !type->optional && byte && strchr("-_<>#0123456789", byte);
}

// A length is a whole number; an int has no float for a bound.
static bool is_allowed(const struct signature_type *type, value limit)
{
    return type->kind == SIGNATURE_FLOAT ||
           (limit.tag == VALUE_INTEGER && (type->kind == SIGNATURE_INT || limit.integer >= 0));
}

static bool parse_bound(struct parser *parser, const struct signature_type *type, char excluding,
                        struct signature_bound *bound)
{
    *bound = (struct signature_bound){.limit = value_nil()};
    parser_skip_space(parser);
    if (parser_accept(parser, '_'))
        return true;
    size_t start = parser->position;
    bound->excluded = type->kind == SIGNATURE_FLOAT && parser_accept(parser, excluding);
    if (!parse_number(parser, &bound->limit))
        return false;
    return is_allowed(type, bound->limit) ||
           parser_fail(parser, start, ERROR_SYNTAX, "the bound is not of the type");
}

static bool parse_pattern(struct parser *parser, struct signature_limits *limits)
{
    size_t start = parser->position;
    CLEANUP_BUFFER struct buffer text;
    buffer_init(&text, SIGNATURE_MAX_LITERAL + 1);
    if (!parser_accept(parser, '#') || !parser_accept(parser, '"'))
        return parser_fail_expected(parser, "a pattern such as #\"^[a-z]+$\"");
    if (!parse_quoted(parser, true, &text))
        return false;
    struct error error;
    limits->pattern = signature_pattern_new(parser->arena, buffer_span(&text), &error);
    return limits->pattern || parser_fail(parser, start, error.code, error.message);
}

bool parser_limits(struct parser *parser, struct signature_type *type)
{
    struct signature_limits *limits = arena_alloc_zero(parser->arena, sizeof(*limits));
    if (!limits)
        return parser_fail_memory(parser);
    *limits = (struct signature_limits){.low.limit = value_nil(), .high.limit = value_nil()};
    type->limits = limits;
    if (parser_peek(parser) != '#' && (!parse_bound(parser, type, '>', &limits->low) ||
                                       !parse_bound(parser, type, '<', &limits->high)))
        return false;
    parser_skip_space(parser);
    if (type->kind == SIGNATURE_STRING && parser_peek(parser) == '#' &&
        !parse_pattern(parser, limits))
        return false;
    parser_skip_space(parser);
    return parser_accept(parser, ']') || parser_fail_expected(parser, "']'");
}
