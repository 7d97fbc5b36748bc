// Characters: char, Character/… (docs/reference/language.md 9). A character is a string of length 1; the
// predicates look at its first code point, as those of Java look at a code point.
#include <utf8proc.h>

#include "base/utf8.h"
#include "program/builtin/builtins.h"
#include "program/builtin/support.h"
#include "program/builtin/text_case.h"

enum { CODE_POINT_MAX = 0x10FFFF, SURROGATE_FIRST = 0xD800, SURROGATE_LAST = 0xDFFF };

// The code point of a character, which may also be given as an integer.
static uint32_t argument_character(struct run *run, const struct builtin *self,
                                   const value *arguments)
{
    value v = arguments[0];
    uint32_t code_point;
    if (v.tag == VALUE_INTEGER && v.integer >= 0 && v.integer <= CODE_POINT_MAX)
        return (uint32_t)v.integer;
    if (v.tag != VALUE_STRING || value_text(v).length == 0 ||
        character_end(value_text(v), 0) != value_text(v).length)
        run_type_error(run, self, 1, "a character", v, NULL);
    utf8_decode(value_text(v).data, value_text(v).length, &code_point);
    return code_point;
}

value builtin_char(struct run *run, const struct builtin *self, value *arguments, size_t count)
{
    (void)count;
    if (arguments[0].tag == VALUE_STRING) {
        argument_character(run, self, arguments);
        return value_retain(arguments[0]);
    }
    int64_t number = argument_integer(run, self, arguments, 0);
    if (number < 0 || number > CODE_POINT_MAX ||
        (number >= SURROGATE_FIRST && number <= SURROGATE_LAST))
        builtin_fail(run, self, RUNTIME_ERROR, "%lld is not the number of a character",
                     (long long)number);
    return string_from_code_point(run->region, (uint32_t)number);
}

static utf8proc_category_t category_of(uint32_t code_point)
{
    return utf8proc_category((utf8proc_int32_t)code_point);
}

static bool is_letter(uint32_t c)
{
    utf8proc_category_t category = category_of(c);
    return category >= UTF8PROC_CATEGORY_LU && category <= UTF8PROC_CATEGORY_LO;
}

static bool is_digit(uint32_t c)
{
    return category_of(c) == UTF8PROC_CATEGORY_ND;
}

static bool is_letter_or_digit(uint32_t c)
{
    return is_letter(c) || is_digit(c);
}

static bool is_upper(uint32_t c)
{
    return category_of(c) == UTF8PROC_CATEGORY_LU;
}

static bool is_lower(uint32_t c)
{
    return category_of(c) == UTF8PROC_CATEGORY_LL;
}

// Java's: separators but the no-break ones, and the controls that are white space.
static bool is_space(uint32_t c)
{
    if (c == 0xA0 || c == 0x2007 || c == 0x202F)
        return false;
    utf8proc_category_t category = category_of(c);
    return (category >= UTF8PROC_CATEGORY_ZS && category <= UTF8PROC_CATEGORY_ZP) ||
           (c >= 0x09 && c <= 0x0D) || (c >= 0x1C && c <= 0x1F);
}

#define CHARACTER_TEST(name, test)                                                                \
    value builtin_character_##name(struct run *run, const struct builtin *self, value *arguments, \
                                   size_t count)                                                  \
    {                                                                                             \
        (void)count;                                                                              \
        return value_boolean(test(argument_character(run, self, arguments)));                     \
    }

CHARACTER_TEST(is_letter, is_letter)
CHARACTER_TEST(is_digit, is_digit)
CHARACTER_TEST(is_letter_or_digit, is_letter_or_digit)
CHARACTER_TEST(is_upper, is_upper)
CHARACTER_TEST(is_lower, is_lower)
CHARACTER_TEST(is_space, is_space)

// The worth of a digit or of a Latin letter (a is 10), or -1.
static int64_t digit_worth(uint32_t c, int64_t radix)
{
    int64_t worth = -1;
    if (c >= '0' && c <= '9')
        worth = c - '0';
    else if ((c | 0x20) >= 'a' && (c | 0x20) <= 'z')
        worth = (c | 0x20) - 'a' + 10;
    return worth < radix ? worth : -1;
}

value builtin_character_digit(struct run *run, const struct builtin *self, value *arguments,
                              size_t count)
{
    (void)count;
    uint32_t c = argument_character(run, self, arguments);
    return value_integer(digit_worth(c, argument_integer(run, self, arguments, 1)));
}

value builtin_character_for_digit(struct run *run, const struct builtin *self, value *arguments,
                                  size_t count)
{
    (void)count;
    int64_t worth = argument_integer(run, self, arguments, 0);
    int64_t radix = argument_integer(run, self, arguments, 1);
    if (radix < 2 || radix > 36 || worth < 0 || worth >= radix)
        return string_from_code_point(run->region, 0);
    return string_from_code_point(run->region,
                                  (uint32_t)(worth < 10 ? '0' + worth : 'a' + worth - 10));
}

value builtin_character_numeric(struct run *run, const struct builtin *self, value *arguments,
                                size_t count)
{
    (void)count;
    return value_integer(digit_worth(argument_character(run, self, arguments), 36));
}

value builtin_character_upper(struct run *run, const struct builtin *self, value *arguments,
                              size_t count)
{
    (void)count;
    argument_character(run, self, arguments);
    return string_upper(run, builtin_char(run, self, arguments, 1));
}

value builtin_character_lower(struct run *run, const struct builtin *self, value *arguments,
                              size_t count)
{
    (void)count;
    argument_character(run, self, arguments);
    return string_lower(run, builtin_char(run, self, arguments, 1));
}
