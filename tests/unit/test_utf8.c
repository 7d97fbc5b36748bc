#include "base/utf8.h"

#include <criterion/criterion.h>
#include <string.h>

#include "base/array.h"

Test(utf8, encodes_and_decodes_every_code_point)
{
    for (uint32_t code = 0; code <= 0x10FFFF; code++) {
        if (code >= 0xD800 && code <= 0xDFFF)
            continue;
        char bytes[UTF8_MAX_BYTES];
        size_t length = utf8_encode(code, bytes);
        uint32_t back = UINT32_MAX;
        cr_assert_eq(utf8_valid_prefix(bytes, length), length, "U+%04X", code);
        cr_assert_eq(utf8_decode(bytes, length, &back), length, "U+%04X", code);
        cr_assert_eq(back, code);
        // No proper prefix of a character is valid.
        cr_assert_eq(utf8_valid_prefix(bytes, length - 1), 0, "U+%04X", code);
    }
}

Test(utf8, refuses_what_is_not_a_character)
{
    static const char *const invalid[] = {
        "\x80",              // a lone continuation byte
        "\xC0\x80",          // overlong NUL
        "\xC1\xBF",          // overlong in two bytes
        "\xE0\x9F\xBF",      // overlong in three
        "\xF0\x8F\xBF\xBF",  // overlong in four
        "\xED\xA0\x80",      // the first surrogate
        "\xED\xBF\xBF",      // the last surrogate
        "\xF4\x90\x80\x80",  // above U+10FFFF
        "\xF5\x80\x80\x80",
        "\xFE",
        "\xFF",
        "\xE2\x82",      // cut short
        "\xE2\x28\xA1",  // a continuation byte missing in the middle
    };
    for (size_t i = 0; i < COUNT_OF(invalid); i++) {
        uint32_t code = 0;
        cr_assert_eq(utf8_valid_prefix(invalid[i], strlen(invalid[i])), 0, "case %zu", i);
        cr_assert_geq(utf8_decode(invalid[i], strlen(invalid[i]), &code), 1, "case %zu", i);
        cr_assert_eq(code, UTF8_REPLACEMENT, "case %zu", i);
    }
}

Test(utf8, writes_the_replacement_for_surrogates_and_beyond)
{
    static const uint32_t codes[] = {0xD800, 0xDFFF, 0x110000, UINT32_MAX};
    for (size_t i = 0; i < COUNT_OF(codes); i++) {
        char bytes[UTF8_MAX_BYTES];
        cr_assert_eq(utf8_encode(codes[i], bytes), 3);
        cr_assert_eq(memcmp(bytes, "\xEF\xBF\xBD", 3), 0);
    }
}

Test(utf8, counts_and_finds_code_points)
{
    const char text[] = "aä€😀z";
    size_t length = strlen(text);
    cr_assert_eq(utf8_count(text, length), 5);
    static const size_t offsets[] = {0, 1, 3, 6, 10, 11, 11};
    for (size_t i = 0; i < COUNT_OF(offsets); i++)
        cr_assert_eq(utf8_offset(text, length, i), offsets[i], "index %zu", i);
    cr_assert(utf8_is_ascii("plain", 5));
    cr_assert_not(utf8_is_ascii(text, length));
}

Test(utf8, tells_ascii_from_the_rest_at_every_position)
{
    char text[67];
    for (size_t i = 0; i < sizeof(text); i++) {
        memset(text, 'x', sizeof(text));
        text[i] = (char)0x80;
        cr_assert_not(utf8_is_ascii(text, sizeof(text)), "position %zu", i);
        cr_assert(utf8_is_ascii(text, i));
        cr_assert_eq(utf8_valid_prefix(text, sizeof(text)), i);
    }
}

Test(utf8, cuts_between_characters)
{
    const char text[] = "aä€😀z";
    static const size_t cuts[] = {0, 1, 1, 3, 3, 3, 6, 6, 6, 6, 10, 11};
    for (size_t limit = 0; limit < COUNT_OF(cuts); limit++)
        cr_assert_eq(utf8_cut(text, limit), cuts[limit], "limit %zu", limit);
}

Test(utf8, repaired_text_is_valid)
{
    struct buffer text;
    buffer_init(&text, 100);
    utf8_append_repaired(&text, SPAN("a\xFF\xC3(é\xE2\x82"));
    cr_assert_str_eq(buffer_text(&text), "a\xEF\xBF\xBD\xEF\xBF\xBD(é\xEF\xBF\xBD");
    buffer_release(&text);
}

Test(utf8, shows_names_as_they_are)
{
    CLEANUP_BUFFER struct buffer text;
    buffer_init(&text, BUFFER_DEFAULT_LIMIT);
    utf8_append_visible(&text, SPAN("a b\x1b[2K\n\x7f\xC2\x9B é\xFF\xE2\x80\xAE\xE2\x81\xA6 日"));
    cr_assert_str_eq(buffer_text(&text), "a b?[2K??? é\xEF\xBF\xBD?? 日");
}
