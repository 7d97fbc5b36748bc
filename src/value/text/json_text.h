// Strings and numbers in JSON text: finding their end, checking them, and making values of them.
#pragma once

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "base/error.h"
#include "value/value.h"

static inline bool json_is_special(unsigned char byte)
{
    return byte < ' ' || byte == '"' || byte == '\\' || byte >= 0x80;
}

// The first quote, backslash, control character or byte above ASCII, or `end`.
static inline const char *json_find_special(const char *p, const char *end)
{
#ifdef __SSE2__
    // Signed comparison: bytes from 0x80 are negative, so "below space" finds them too.
    const __m128i quote = _mm_set1_epi8('"'), backslash = _mm_set1_epi8('\\');
    const __m128i space = _mm_set1_epi8(' ');
    while (end - p >= 16) {
        __m128i bytes = _mm_loadu_si128((const __m128i *)(const void *)p);
        __m128i found = _mm_or_si128(
            _mm_cmplt_epi8(bytes, space),
            _mm_or_si128(_mm_cmpeq_epi8(bytes, quote), _mm_cmpeq_epi8(bytes, backslash)));
        unsigned mask = (unsigned)_mm_movemask_epi8(found);
        if (mask)
            return p + __builtin_ctz(mask);
        p += 16;
    }
#endif
    while (p < end && !json_is_special((unsigned char)*p))
        p++;
    return p;
}

struct json_string {
    size_t length;        // bytes between the quotes, as they stand in the text
    bool escaped;         // there are backslashes
    bool simple;          // the raw bytes are ASCII; see VALUE_SIMPLE
    bool invalid_utf8;    // what `problem` is about
    const char *problem;  // NULL, or what is wrong
};

// `p` is behind the opening quote. Returns the position behind the closing one, or of the problem.
const char *json_scan_string(const char *p, const char *end, struct json_string *ret_string);

value json_unescaped_string(struct region *region, struct span text, bool simple, bool borrow);
value json_unescape(struct region *region, struct span text);  // text was scanned

// --- json_number.c: numbers ----------------------------------------------------------------------
struct json_problem {
    const char *at;
    enum error_code code;
    const char *text;
};

// `p` is at a digit or '-'. Returns the position behind the number, or NULL with a problem.
const char *json_read_number(struct region *region, const char *p, const char *end,
                             value *ret_value, struct json_problem *ret_problem);
