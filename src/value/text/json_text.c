#include "value/text/json_text.h"

#include <string.h>

#include "base/ascii.h"
#include "base/utf8.h"
#include "value/chunks.h"
#include "value/layout.h"
#include "value/text/text.h"

// The four hexadecimal digits at p, or -1.
static int32_t read_hex(const char *p, const char *end)
{
    if (end - p < 4)
        return -1;
    int32_t number = 0;
    for (int i = 0; i < 4; i++) {
        int digit = ascii_hex_digit(p[i]);
        if (digit < 0)
            return -1;
        number = number * 16 + digit;
    }
    return number;
}

// `p` is at the backslash. The position behind the escape, or NULL.
static const char *check_escape(const char *p, const char *end)
{
    if (end - p < 2)
        return NULL;
    if (p[1] == 'u')
        return read_hex(p + 2, end) < 0 ? NULL : p + 6;
    return p[1] && strchr("\"\\/bfnrt", p[1]) ? p + 2 : NULL;
}

static const char *problem_at(struct json_string *string, const char *at, const char *problem)
{
    string->problem = problem;
    return at;
}

const char *json_scan_string(const char *p, const char *end, struct json_string *ret_string)
{
    const char *start = p;
    *ret_string = (struct json_string){.simple = true};
    for (;;) {
        const char *stop = p + chunk_size((size_t)(end - p));
        p = json_find_special(p, stop);
        if (p == stop && stop < end) {
            fuel_spend(CHUNK_BYTES / CHUNK_BYTES_PER_UNIT);
            continue;
        }
        if (p == end)
            return problem_at(ret_string, p, "unexpected end of text in a string");
        unsigned char byte = (unsigned char)*p;
        if (byte == '"')
            break;
        if (byte == '\\') {
            ret_string->escaped = true;
            const char *behind = check_escape(p, end);
            if (!behind)
                return problem_at(ret_string, p, "invalid escape in a string");
            p = behind;
        } else if (byte < ' ') {
            return problem_at(ret_string, p, "control character in a string");
        } else {
            uint32_t code_point;
            size_t step = utf8_decode(p, (size_t)(end - p), &code_point);
            if (code_point == UTF8_REPLACEMENT &&
                (step != 3 || memcmp(p, "\xEF\xBF\xBD", 3) != 0)) {
                ret_string->invalid_utf8 = true;
                return problem_at(ret_string, p, "invalid UTF-8 in a string");
            }
            ret_string->simple = false;
            p += step;
        }
    }
    ret_string->length = (size_t)(p - start);
    fuel_spend(1);
    return p + 1;
}

value json_unescaped_string(struct region *region, struct span text, bool simple, bool borrow)
{
    if (!borrow || text.length > STRING_MAX)
        return string_new(region, text, simple);
    return (value){.tag = VALUE_STRING,
                   .flags = (uint8_t)(VALUE_BORROWED | (simple ? VALUE_SIMPLE : 0)),
                   .aux = (uint32_t)text.length,
                   .text = text.data};
}

// The code point of the \u escape at p, which takes the second half of a surrogate pair with it.
static const char *read_unicode(const char *p, const char *end, uint32_t *ret_code_point)
{
    uint32_t high = (uint32_t)read_hex(p + 2, end);
    p += 6;
    *ret_code_point = high;
    if (high < 0xD800 || high > 0xDFFF)
        return p;
    *ret_code_point = UTF8_REPLACEMENT;
    if (high >= 0xDC00 || end - p < 6 || p[0] != '\\' || p[1] != 'u')
        return p;
    int32_t low = read_hex(p + 2, end);
    if (low < 0xDC00 || low > 0xDFFF)
        return p;
    *ret_code_point = 0x10000 + ((high - 0xD800) << 10) + ((uint32_t)low - 0xDC00);
    return p + 6;
}

static char escaped_byte(char letter)
{
    switch (letter) {
    case 'b': return '\b';
    case 'f': return '\f';
    case 'n': return '\n';
    case 'r': return '\r';
    case 't': return '\t';
    default: return letter;
    }
}

value json_unescape(struct region *region, struct span text)
{
    struct string *string = string_reserve(region, text.length);
    char *out = string->bytes;
    const char *p = text.data, *end = text.data + text.length;
    while (p < end) {
        const char *backslash = memchr(p, '\\', (size_t)(end - p));
        size_t unescaped = (size_t)((backslash ? backslash : end) - p);
        chunks_copy(out, p, unescaped);
        out += unescaped;
        p += unescaped;
        if (!backslash)
            break;
        if (p[1] == 'u') {
            uint32_t code_point;
            p = read_unicode(p, end, &code_point);
            out += utf8_encode(code_point, out);
        } else {
            *out++ = escaped_byte(p[1]);
            p += 2;
        }
    }
    return string_finish(region, string, (size_t)(out - string->bytes));
}
