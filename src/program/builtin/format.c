// Formatted text: format (docs/reference/language.md 8.9).
#include <math.h>

#include "base/ascii.h"
#include "program/builtin/builtins.h"
#include "program/builtin/decimal.h"
#include "program/builtin/numeric.h"
#include "program/builtin/support.h"
#include "program/builtin/text_case.h"
#include "value/text/print.h"

enum { WIDTH_MAX = 1000000, DEFAULT_PLACES = 6 };

struct directive {
    bool left;
    bool zero;
    bool plus;
    bool space;  // in place of a plus
    bool comma;
    bool upper;       // of an upper-case conversion, which is then written in lower case
    size_t argument;  // %2$s: its number, 0: the next one
    size_t width;
    bool has_precision;
    size_t precision;
    char conversion;
};

struct formatter {
    struct run *run;
    const struct builtin *self;
    struct sink sink;
    const value *arguments;  // behind the format string
    size_t count;
    size_t next;  // argument to be formatted
};

// --- reading a directive -------------------------------------------------------------------------

static size_t read_number(struct formatter *formatter, struct span text, size_t *offset)
{
    size_t number = 0;
    for (; *offset < text.length && ascii_is_digit(text.data[*offset]); ++*offset) {
        number = number * 10 + (size_t)(text.data[*offset] - '0');
        if (number > WIDTH_MAX)
            builtin_fail(formatter->run, formatter->self, RUNTIME_ERROR,
                         "width or precision above %d", WIDTH_MAX);
    }
    return number;
}

static void read_flags(struct span text, size_t *offset, struct directive *directive)
{
    for (; *offset < text.length; ++*offset) {
        switch (text.data[*offset]) {
        case '-': directive->left = true; break;
        case '0': directive->zero = true; break;
        case '+': directive->plus = true; break;
        case ' ': directive->space = true; break;
        case ',': directive->comma = true; break;
        default: return;
        }
    }
}

static _Noreturn void fail_directive(struct formatter *formatter, const char *problem,
                                     char conversion)
{
    builtin_fail(formatter->run, formatter->self, RUNTIME_ERROR, "%s %%%c", problem, conversion);
}

static bool is_one_of(char c, const char *set)
{
    return c != '\0' && strchr(set, c) != NULL;
}

// Does the conversion know the flags, the width and the precision it got?
static void check_directive(struct formatter *formatter, const struct directive *directive)
{
    char c = directive->conversion;
    if (!is_one_of(c, "sSdfeExXobBcn%"))
        fail_directive(formatter, "unknown directive",
                       c >= ' ' && (unsigned char)c < 0x7F ? c : '?');
    if ((directive->zero && !is_one_of(c, "dfexXo")) ||
        ((directive->plus || directive->space) && !is_one_of(c, "dfe")) ||
        (directive->comma && !is_one_of(c, "df")))
        fail_directive(formatter, "a flag does not fit", c);
    if (directive->has_precision && !is_one_of(c, "sfeb"))
        fail_directive(formatter, "a precision does not fit", c);
    if (is_one_of(c, "n%") && (directive->left || directive->width > 0))
        fail_directive(formatter, "a width does not fit", c);
}

// `offset` is behind the %; it is moved behind the directive.
static struct directive read_directive(struct formatter *formatter, struct span text,
                                       size_t *offset)
{
    struct directive directive = {0};
    size_t start = *offset;
    size_t argument = read_number(formatter, text, offset);
    if (argument > 0 && *offset < text.length && text.data[*offset] == '$') {
        directive.argument = argument;
        ++*offset;
    } else {
        *offset = start;
    }
    read_flags(text, offset, &directive);
    directive.width = read_number(formatter, text, offset);
    if (*offset < text.length && text.data[*offset] == '.') {
        start = ++*offset;
        directive.has_precision = true;
        directive.precision = read_number(formatter, text, offset);
        if (*offset == start)
            fail_directive(formatter, "no digits in the precision of", '.');
    }
    if (*offset >= text.length)
        builtin_fail(formatter->run, formatter->self, RUNTIME_ERROR,
                     "the text ends inside a directive (%%%% is a percent sign)");
    directive.conversion = text.data[(*offset)++];
    check_directive(formatter, &directive);
    if (is_one_of(directive.conversion, "SBE")) {
        directive.upper = true;
        directive.conversion = ascii_to_lower(directive.conversion);
    }
    return directive;
}

// --- writing -------------------------------------------------------------------------------------

static void write_repeated(struct sink *sink, char byte, size_t count)
{
    char *room = sink_room(sink, count);
    if (room) {
        memset(room, byte, count);
        sink_wrote(sink, count);
    }
}

// Writes sign and body at the directive's width. `characters` is the length of the body.
static void write_padded(struct formatter *formatter, const struct directive *directive,
                         const char *sign, struct span body, size_t characters, bool zeros)
{
    struct sink *sink = &formatter->sink;
    size_t length = strlen(sign) + characters;
    size_t padding = directive->width > length ? directive->width - length : 0;
    run_spend(formatter->run, 1 + (padding + body.length) / 256);
    zeros = zeros && directive->zero && !directive->left;
    if (!directive->left && !zeros)
        write_repeated(sink, ' ', padding);
    sink_text(sink, sign);
    if (zeros)
        write_repeated(sink, '0', padding);
    sink_span(sink, body);
    if (directive->left)
        write_repeated(sink, ' ', padding);
}

// Writes a string value, which is consumed.
static void write_string(struct formatter *formatter, const struct directive *directive,
                         value string)
{
    struct run *run = formatter->run;
    if (directive->has_precision)
        string = string_slice(run->region, string, 0, directive->precision);
    write_padded(formatter, directive, "", value_text(string),
                 directive->width > 0 ? string_count(string) : 0, false);
    value_release(run->region, string);
}

static value unquoted_text(struct formatter *formatter, value v)
{
    struct sink sink;
    sink_to_region(&sink, formatter->run->region);
    sink.as_clojure = true;
    value_print_unquoted(&sink, v);
    return sink_string(&sink);
}

// Writes [-]digits[.digits], with the separators and the sign that the directive asks for.
static void write_number(struct formatter *formatter, const struct directive *directive,
                         struct span text)
{
    struct run *run = formatter->run;
    bool negative = text.length > 0 && text.data[0] == '-';
    if (negative)
        text = (struct span){text.data + 1, text.length - 1};
    const char *sign = negative ? "-" : directive->plus ? "+" : directive->space ? " " : "";
    if (!directive->comma) {
        write_padded(formatter, directive, sign, text, text.length, true);
        return;
    }
    const char *point = memchr(text.data, '.', text.length);
    size_t whole = point ? (size_t)(point - text.data) : text.length;
    struct sink grouped;
    sink_to_region(&grouped, run->region);
    for (size_t i = 0; i < whole; i++) {
        if (i > 0 && (whole - i) % 3 == 0)
            sink_byte(&grouped, ',');
        sink_byte(&grouped, text.data[i]);
    }
    run_spend(run, whole / 64);
    sink_span(&grouped, (struct span){text.data + whole, text.length - whole});
    value body = sink_string(&grouped);
    struct span digits = value_text(body);
    write_padded(formatter, directive, sign, digits, digits.length, true);
    value_release(run->region, body);
}

// --- conversions ---------------------------------------------------------------------------------

static value next_argument(struct formatter *formatter, const struct directive *directive)
{
    if (directive->argument > 0 && directive->argument <= formatter->count)
        return formatter->arguments[directive->argument - 1];
    if (directive->argument > 0 || formatter->next >= formatter->count)
        builtin_fail(formatter->run, formatter->self, RUNTIME_ERROR,
                     "the text needs more than %zu argument%s", formatter->count,
                     formatter->count == 1 ? "" : "s");
    return formatter->arguments[formatter->next++];
}

static _Noreturn void fail_argument(struct formatter *formatter, char conversion, value got)
{
    builtin_fail(formatter->run, formatter->self, RUNTIME_ERROR, "%%%c cannot show %s", conversion,
                 value_describe(got, (char[DESCRIBE_SIZE]){0}));
}

static void format_decimal(struct formatter *formatter, const struct directive *directive, value v)
{
    struct run *run = formatter->run;
    bool whole = v.tag == VALUE_FLOAT && isfinite(v.number) && v.number == trunc(v.number);
    if (!value_is_integer(v) && !whole)
        fail_argument(formatter, 'd', v);
    value integer = whole ? integer_from_double(run->region, v.number) : value_retain(v);
    value digits = unquoted_text(formatter, integer);
    write_number(formatter, directive, value_text(digits));
    value_release(run->region, digits);
    value_release(run->region, integer);
}

// Fixed point. Integers are exact, whatever their size.
static void format_fixed(struct formatter *formatter, const struct directive *directive, value v)
{
    struct run *run = formatter->run;
    size_t places = directive->has_precision ? directive->precision : DEFAULT_PLACES;
    struct sink sink;
    sink_to_region(&sink, run->region);
    size_t zeros = places;
    if (v.tag == VALUE_FLOAT) {
        unsigned exact = (unsigned)(places < DECIMAL_MAX_PLACES ? places : DECIMAL_MAX_PLACES);
        char text[DECIMAL_TEXT_SIZE];
        sink_span(&sink, (struct span){text, decimal_format_fixed(v.number, exact, text)});
        zeros = places - exact;
    } else {
        value_print_to(&sink, v);
        if (places > 0)
            sink_byte(&sink, '.');
    }
    write_repeated(&sink, '0', zeros);
    value digits = sink_string(&sink);
    write_number(formatter, directive, value_text(digits));
    value_release(run->region, digits);
}

static void format_exponent(struct formatter *formatter, const struct directive *directive, value v)
{
    struct run *run = formatter->run;
    size_t places = directive->has_precision ? directive->precision : DEFAULT_PLACES;
    unsigned exact = (unsigned)(places < DECIMAL_MAX_PLACES ? places : DECIMAL_MAX_PLACES);
    double number = v.tag == VALUE_FLOAT ? v.number : integer_to_double(v);
    if (!isfinite(number))
        fail_argument(formatter, 'e', v);
    char text[DECIMAL_TEXT_SIZE];
    size_t length = decimal_format_exponent(number, exact, text);
    size_t mantissa = (size_t)((char *)memchr(text, 'e', length) - text);
    if (directive->upper)
        text[mantissa] = 'E';
    struct sink sink;
    sink_to_region(&sink, run->region);
    sink_span(&sink, (struct span){text, mantissa});
    write_repeated(&sink, '0', places - exact);
    sink_span(&sink, (struct span){text + mantissa, length - mantissa});
    value digits = sink_string(&sink);
    write_number(formatter, directive, value_text(digits));
    value_release(run->region, digits);
}

static void format_float(struct formatter *formatter, const struct directive *directive, value v)
{
    if (!value_is_number(v))
        fail_argument(formatter, directive->conversion, v);
    if (v.tag == VALUE_FLOAT && !isfinite(v.number)) {
        struct directive whole = *directive;
        whole.has_precision = false;
        write_string(formatter, &whole, unquoted_text(formatter, v));
    } else if (directive->conversion == 'f') {
        format_fixed(formatter, directive, v);
    } else {
        format_exponent(formatter, directive, v);
    }
}

// Bits offset … offset + count - 1 (count ≤ 4) of the magnitude of an integer.
static unsigned magnitude_bits(value v, size_t offset, unsigned count)
{
    uint64_t low, high = 0;
    size_t limb = offset / 64, shift = offset % 64;
    if (v.tag == VALUE_INTEGER) {
        low = v.integer < 0 ? 0 - (uint64_t)v.integer : (uint64_t)v.integer;
    } else {
        const struct bignum *bignum = bignum_of(v);
        size_t limbs = (size_t)(bignum->size < 0 ? -bignum->size : bignum->size);
        low = bignum->limbs[limb];
        high = limb + 1 < limbs ? bignum->limbs[limb + 1] : 0;
    }
    uint64_t bits = low >> shift | (shift > 0 ? high << (64 - shift) : 0);
    return (unsigned)(bits & ((1u << count) - 1));
}

static void format_power_of_two(struct formatter *formatter, const struct directive *directive,
                                value v)
{
    struct run *run = formatter->run;
    char conversion = directive->conversion;
    if (!value_is_integer(v))
        fail_argument(formatter, conversion, v);
    unsigned bits = conversion == 'o' ? 3 : 4;
    const char *figures = conversion == 'X' ? "0123456789ABCDEF" : "0123456789abcdef";
    size_t length = (integer_bits(v) + bits - 1) / bits;
    length = length == 0 ? 1 : length;
    char *digits = region_alloc(run->region, length);
    for (size_t i = 0; i < length; i++) {
        run_spend(run, 1);
        digits[length - 1 - i] = figures[magnitude_bits(v, i * bits, bits)];
    }
    write_padded(formatter, directive, integer_sign(v) < 0 ? "-" : "",
                 (struct span){digits, length}, length, true);
    region_return(run->region, digits, length);
}

// nil is written as Java writes it.
static void format_text(struct formatter *formatter, const struct directive *directive, value v)
{
    struct run *run = formatter->run;
    value text =
        value_is_nil(v) ? value_string_text(run->region, "null") : unquoted_text(formatter, v);
    write_string(formatter, directive, directive->upper ? string_upper(run, text) : text);
}

// A character, or its code point.
static void format_character(struct formatter *formatter, const struct directive *directive,
                             value v)
{
    bool is_character = v.tag == VALUE_STRING && value_text(v).length > 0 &&
                        character_end(value_text(v), 0) == value_text(v).length;
    if (!is_character && v.tag != VALUE_INTEGER)
        fail_argument(formatter, 'c', v);
    write_string(formatter, directive, builtin_char(formatter->run, formatter->self, &v, 1));
}

static void format_directive(struct formatter *formatter, const struct directive *directive)
{
    struct run *run = formatter->run;
    switch (directive->conversion) {
    case '%': sink_byte(&formatter->sink, '%'); break;
    case 'n': sink_byte(&formatter->sink, '\n'); break;
    case 's': format_text(formatter, directive, next_argument(formatter, directive)); break;
    case 'c': format_character(formatter, directive, next_argument(formatter, directive)); break;
    case 'b': {
        bool truth = value_is_true(next_argument(formatter, directive));
        write_string(formatter, directive,
                     value_string_text(run->region, directive->upper ? truth ? "TRUE" : "FALSE"
                                                    : truth          ? "true"
                                                                     : "false"));
        break;
    }
    case 'd': format_decimal(formatter, directive, next_argument(formatter, directive)); break;
    case 'f':
    case 'e': format_float(formatter, directive, next_argument(formatter, directive)); break;
    default: format_power_of_two(formatter, directive, next_argument(formatter, directive)); break;
    }
}

value builtin_format(struct run *run, const struct builtin *self, value *arguments, size_t count)
{
    argument_string(run, self, arguments, 0);
    struct span text = value_text(arguments[0]);
    struct formatter formatter = {
        .run = run, .self = self, .arguments = arguments + 1, .count = count - 1};
    sink_to_region(&formatter.sink, run->region);
    for (size_t offset = 0; offset < text.length;) {
        const char *percent = memchr(text.data + offset, '%', text.length - offset);
        size_t end = percent ? (size_t)(percent - text.data) : text.length;
        sink_span(&formatter.sink, (struct span){text.data + offset, end - offset});
        run_spend(run, 1 + (end - offset) / 256);
        offset = end;
        if (percent) {
            offset++;
            struct directive directive = read_directive(&formatter, text, &offset);
            format_directive(&formatter, &directive);
        }
    }
    return sink_string(&formatter.sink);
}
