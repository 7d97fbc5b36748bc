// Names of Java's classes and methods that models use: parsing and writing integers in a radix,
// methods of strings and collections (docs/reference/language.md 9).
#include <string.h>

#include "program/builtin/builtins.h"
#include "program/builtin/interop.h"
#include "program/builtin/numeric.h"
#include "program/builtin/regex/regex_builtins.h"
#include "program/builtin/support.h"
#include "program/builtin/text_case.h"
#include "value/text/sink.h"

enum { RADIX_LEAST = 2, RADIX_MOST = 36, RADIX_TEXT_SIZE = 68 };

// --- integers in a radix -------------------------------------------------------------------------

static int64_t argument_radix(struct run *run, const struct builtin *self, const value *arguments,
                              unsigned place)
{
    int64_t radix = argument_integer(run, self, arguments, place);
    if (radix < RADIX_LEAST || radix > RADIX_MOST)
        builtin_fail(run, self, RUNTIME_ERROR, "the radix must be 2 to 36, got %lld",
                     (long long)radix);
    return radix;
}

static int digit_of(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    char lower = (char)(c | 0x20);
    return lower >= 'a' && lower <= 'z' ? lower - 'a' + 10 : RADIX_MOST;
}

static bool read_in_radix(struct span text, int64_t radix, int64_t *ret_number)
{
    bool negative = text.length > 0 && text.data[0] == '-';
    size_t i = text.length > 0 && (negative || text.data[0] == '+') ? 1 : 0;
    int64_t number = 0;
    if (i == text.length)
        return false;
    for (; i < text.length; i++) {
        int digit = digit_of(text.data[i]);
        if (digit >= radix || __builtin_mul_overflow(number, radix, &number) ||
            __builtin_add_overflow(number, negative ? -digit : digit, &number))
            return false;
    }
    *ret_number = number;
    return true;
}

static value parse_radix(struct run *run, const struct builtin *self, const value *arguments,
                         size_t count, int64_t least, int64_t most)
{
    int64_t number, radix = count == 2 ? argument_radix(run, self, arguments, 1) : 10;
    bool takes_numbers = strstr(self->name, "/valueOf") != NULL;
    if (takes_numbers && count == 1 && value_is_integer(arguments[0]))
        return value_retain(arguments[0]);
    if (!value_is_nil(arguments[0]))
        argument_string(run, self, arguments, 0);
    if (value_is_nil(arguments[0]) || !read_in_radix(value_text(arguments[0]), radix, &number) ||
        number < least || number > most)
        fail_number_format(run, self, arguments[0]);
    return value_integer(number);
}

value builtin_integer_parse_radix(struct run *run, const struct builtin *self, value *arguments,
                                  size_t count)
{
    return parse_radix(run, self, arguments, count, INT32_MIN, INT32_MAX);
}

value builtin_long_parse_radix(struct run *run, const struct builtin *self, value *arguments,
                               size_t count)
{
    return parse_radix(run, self, arguments, count, INT64_MIN, INT64_MAX);
}

// The digits of a number without its sign.
static value write_in_radix(struct run *run, uint64_t size, bool negative, uint64_t radix)
{
    char text[RADIX_TEXT_SIZE], *next = text + sizeof(text);
    do {
        *--next = "0123456789abcdefghijklmnopqrstuvwxyz"[size % radix];
        size /= radix;
    } while (size > 0);
    if (negative)
        *--next = '-';
    return value_string(run->region, (struct span){next, (size_t)(text + sizeof(text) - next)});
}

static int64_t argument_long(struct run *run, const struct builtin *self, const value *arguments)
{
    if (arguments[0].tag != VALUE_INTEGER)
        run_type_error(run, self, 1, "an integer of 64 bits", arguments[0], NULL);
    return arguments[0].integer;
}

value builtin_integer_text(struct run *run, const struct builtin *self, value *arguments,
                           size_t count)
{
    if (count == 1)
        return text_of_all(run, arguments, 1, false);
    int64_t number = argument_long(run, self, arguments);
    uint64_t size = number < 0 ? 0 - (uint64_t)number : (uint64_t)number;
    return write_in_radix(run, size, number < 0, (uint64_t)argument_radix(run, self, arguments, 1));
}

// Two's complement: of 32 bits for Integer/…, of 64 for Long/….
static value write_bits(struct run *run, const struct builtin *self, const value *arguments,
                        uint64_t radix)
{
    uint64_t bits = (uint64_t)argument_long(run, self, arguments);
    if (self->name[0] == 'I' && (int64_t)bits < 0)
        bits &= UINT32_MAX;
    return write_in_radix(run, bits, false, radix);
}

value builtin_binary_text(struct run *run, const struct builtin *self, value *arguments,
                          size_t count)
{
    (void)count;
    return write_bits(run, self, arguments, 2);
}

value builtin_octal_text(struct run *run, const struct builtin *self, value *arguments,
                         size_t count)
{
    (void)count;
    return write_bits(run, self, arguments, 8);
}

value builtin_hex_text(struct run *run, const struct builtin *self, value *arguments, size_t count)
{
    (void)count;
    return write_bits(run, self, arguments, 16);
}

value builtin_bit_count(struct run *run, const struct builtin *self, value *arguments, size_t count)
{
    (void)count;
    return value_integer(__builtin_popcountll((uint64_t)argument_long(run, self, arguments)));
}

// --- methods of strings --------------------------------------------------------------------------

value builtin_method_char_at(struct run *run, const struct builtin *self, value *arguments,
                             size_t count)
{
    (void)count;
    argument_string(run, self, arguments, 0);
    int64_t index = argument_integer(run, self, arguments, 1);
    int64_t length = (int64_t)string_count(arguments[0]);
    if (index < 0 || index >= length)
        fail_index(run, self, index, (size_t)length);
    return string_slice(run->region, value_retain(arguments[0]), (size_t)index, (size_t)index + 1);
}

value builtin_method_concat(struct run *run, const struct builtin *self, value *arguments,
                            size_t count)
{
    (void)count;
    argument_string(run, self, arguments, 0);
    argument_string(run, self, arguments, 1);
    return string_append(run->region, value_retain(arguments[0]), value_retain(arguments[1]));
}

static bool argument_repeat_count(struct run *run, const struct builtin *self,
                                  const value *arguments)
{
    int64_t times = argument_integer(run, self, arguments, 1);
    if (times < 0)
        builtin_fail(run, self, RUNTIME_ERROR, "a string cannot be repeated %lld times",
                     (long long)times);
    return times > 0;
}

value builtin_method_repeat(struct run *run, const struct builtin *self, value *arguments,
                            size_t count)
{
    (void)count;
    argument_string(run, self, arguments, 0);
    struct span text = value_text(arguments[0]);
    struct sink sink;
    sink_to_region(&sink, run->region);
    if (argument_repeat_count(run, self, arguments) && text.length > 0) {
        for (int64_t i = arguments[1].integer; i > 0; i--) {
            run_spend(run, 1 + text.length / 256);
            sink_span(&sink, text);
        }
    }
    return sink_string(&sink);
}

value builtin_method_equals_ignore_case(struct run *run, const struct builtin *self,
                                        value *arguments, size_t count)
{
    (void)count;
    argument_string(run, self, arguments, 0);
    argument_string(run, self, arguments, 1);
    value a = string_lower(run, string_upper(run, value_retain(arguments[0])));
    value b = string_lower(run, string_upper(run, value_retain(arguments[1])));
    bool same = value_equal(a, b);
    value_release(run->region, a);
    value_release(run->region, b);
    return value_boolean(same);
}

// The pattern of .matches, .split, .replaceAll and .replaceFirst is the text of a regex.
static value pattern_argument(struct run *run, const struct builtin *self, const value *arguments)
{
    argument_string(run, self, arguments, 0);
    argument_string(run, self, arguments, 1);
    value text[1] = {value_retain(arguments[1])};
    return builtin_re_pattern(run, self, text, 1);
}

value builtin_method_matches(struct run *run, const struct builtin *self, value *arguments,
                             size_t count)
{
    (void)count;
    value pair[2] = {pattern_argument(run, self, arguments), arguments[0]};
    value match = builtin_re_matches(run, self, pair, 2);
    bool found = !value_is_nil(match);
    value_release(run->region, match);
    value_release(run->region, pair[0]);
    return value_boolean(found);
}

value builtin_method_split(struct run *run, const struct builtin *self, value *arguments,
                           size_t count)
{
    value parts[3] = {arguments[0], pattern_argument(run, self, arguments)};
    if (count == 3)
        parts[2] = arguments[2];
    value fields = builtin_split(run, self, parts, count);
    value_release(run->region, parts[1]);
    return fields;
}

static value replace_pattern(struct run *run, const struct builtin *self, const value *arguments,
                             bool only_first)
{
    value pattern = pattern_argument(run, self, arguments);
    argument_string(run, self, arguments, 2);
    value result = regex_replace(run, self, pattern, arguments[0], arguments[2], only_first);
    value_release(run->region, pattern);
    return result;
}

value builtin_method_replace_all(struct run *run, const struct builtin *self, value *arguments,
                                 size_t count)
{
    (void)count;
    return replace_pattern(run, self, arguments, false);
}

value builtin_method_replace_first(struct run *run, const struct builtin *self, value *arguments,
                                   size_t count)
{
    (void)count;
    return replace_pattern(run, self, arguments, true);
}
