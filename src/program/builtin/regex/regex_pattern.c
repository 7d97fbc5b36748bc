#include "program/builtin/regex/regex_pattern.h"

#include <stdio.h>
#include <string.h>

#include "base/ascii.h"
#include "base/memory.h"

// --- translation ---------------------------------------------------------------------------------

struct translation {
    char text[REGEX_MAX_PATTERN * 2];  // \uHHHH grows from 6 to at most 8 bytes
    size_t length;
};

static void append(struct translation *out, const char *data, size_t length)
{
    memcpy(out->text + out->length, data, length);
    out->length += length;
}

// \uHHHH at `offset`; 0 when it is something else.
static bool read_unicode_escape(struct span pattern, size_t offset, uint32_t *ret_unit)
{
    if (pattern.length - offset < 6 || pattern.data[offset] != '\\' ||
        pattern.data[offset + 1] != 'u')
        return false;
    uint32_t unit = 0;
    for (size_t i = 2; i < 6; i++) {
        int digit = ascii_hex_digit(pattern.data[offset + i]);
        if (digit < 0)
            return false;
        unit = unit * 16 + (uint32_t)digit;
    }
    *ret_unit = unit;
    return true;
}

// Writes \uHHHH (or a surrogate pair of them) as \x{H…}. Returns the bytes of the pattern used.
static size_t translate_unicode_escape(struct span pattern, size_t offset, struct translation *out)
{
    uint32_t unit, low;
    if (!read_unicode_escape(pattern, offset, &unit))
        return 0;
    size_t used = 6;
    if (unit >= 0xD800 && unit < 0xDC00 && read_unicode_escape(pattern, offset + 6, &low) &&
        low >= 0xDC00 && low < 0xE000) {
        unit = 0x10000 + ((unit - 0xD800) << 10) + (low - 0xDC00);
        used = 12;
    }
    char text[16];
    int length = snprintf(text, sizeof(text), "\\x{%X}", unit);
    append(out, text, (size_t)length);
    return used;
}

static size_t quoted_length(struct span pattern, size_t offset)
{
    const char *end = memmem(pattern.data + offset, pattern.length - offset, "\\E", 2);
    return end ? (size_t)(end - (pattern.data + offset)) + 2 : pattern.length - offset;
}

static void translate(struct span pattern, struct translation *out)
{
    for (size_t i = 0; i < pattern.length;) {
        size_t used = 1;
        if (pattern.data[i] == '\\' && i + 1 < pattern.length) {
            size_t escape = translate_unicode_escape(pattern, i, out);
            if (escape > 0) {
                i += escape;
                continue;
            }
            used = pattern.data[i + 1] == 'Q' ? quoted_length(pattern, i) : 2;
        }
        append(out, pattern.data + i, used);
        i += used;
    }
}

// --- compilation ---------------------------------------------------------------------------------

static uint32_t compile_options(unsigned variant)
{
    uint32_t options = PCRE2_NEVER_BACKSLASH_C | PCRE2_NO_UTF_CHECK | PCRE2_USE_OFFSET_LIMIT;
    if (!(variant & REGEX_ASCII))
        options |= PCRE2_UTF | PCRE2_UCP;
    if (variant & REGEX_WHOLE)
        options |= PCRE2_ANCHORED | PCRE2_ENDANCHORED;
    if (variant & REGEX_STEPPING)
        options |= PCRE2_AUTO_CALLOUT;
    return options;
}

static void set_compile_error(struct error *error, int code, size_t offset)
{
    PCRE2_UCHAR text[256];
    if (pcre2_get_error_message(code, text, sizeof(text)) < 0)
        text[0] = '\0';
    error_set(error, ERROR_SYNTAX, "invalid regex: %s at byte %zu", (const char *)text, offset);
}

pcre2_code *regex_pattern_compile(struct span pattern, unsigned variant,
                                  pcre2_general_context *memory, struct error *error)
{
    if (pattern.length > REGEX_MAX_PATTERN) {
        error_set(error, ERROR_LIMIT, "regex pattern has %zu bytes, at most %d are allowed",
                  pattern.length, REGEX_MAX_PATTERN);
        return NULL;
    }
    struct translation translated = {.length = 0};
    translate(pattern, &translated);
    pcre2_compile_context *context = pcre2_compile_context_create(memory);
    if (!context) {
        error_set(error, ERROR_MEMORY, "no memory for a regex");
        return NULL;
    }
    pcre2_set_newline(context, PCRE2_NEWLINE_LF);
    int code;
    PCRE2_SIZE offset;
    pcre2_code *compiled = pcre2_compile((PCRE2_SPTR)translated.text, translated.length,
                                         compile_options(variant), &code, &offset, context);
    pcre2_compile_context_free(context);
    if (!compiled)
        set_compile_error(error, code, offset);
    return compiled;
}

static void *check_alloc(size_t size, void *data)
{
    (void)data;
    return memory_try_alloc(size);
}

static void check_give(void *pointer, void *data)
{
    (void)data;
    memory_free(pointer);
}

bool regex_check(struct span pattern, struct error *error)
{
    pcre2_general_context *memory = pcre2_general_context_create(check_alloc, check_give, NULL);
    if (!memory)
        return error_set(error, ERROR_MEMORY, "no memory for a regex");
    pcre2_code *compiled = regex_pattern_compile(pattern, REGEX_SEARCH, memory, error);
    pcre2_code_free(compiled);
    pcre2_general_context_free(memory);
    return compiled != NULL;
}
