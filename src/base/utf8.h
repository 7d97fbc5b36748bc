// UTF-8: validation, decoding, encoding, counting. Strict: no overlong forms, no surrogates,
// nothing above U+10FFFF.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/span.h"

enum { UTF8_REPLACEMENT = 0xFFFD, UTF8_MAX_BYTES = 4 };

// Length of the longest valid prefix; equals `length` when all of it is valid.
size_t utf8_valid_prefix(const char *data, size_t length);
static inline bool utf8_is_valid(const char *data, size_t length)
{
    return utf8_valid_prefix(data, length) == length;
}
bool utf8_is_ascii(const char *data, size_t length);

// Decodes one code point of valid or invalid text, returns the number of bytes taken (≥ 1 when
// length ≥ 1). Invalid bytes give U+FFFD, one per maximal invalid part.
size_t utf8_decode(const char *data, size_t length, uint32_t *ret_code_point);
// Writes 1–4 bytes; surrogates and values out of range are written as U+FFFD.
size_t utf8_encode(uint32_t code_point, char bytes[UTF8_MAX_BYTES]);

// Appends the bytes as text, with U+FFFD for each invalid part.
void utf8_append_repaired(struct buffer *text, struct span bytes);

// The same, with '?' for what a terminal or a dialog does not show as it is: control characters, and those
// that turn the direction of text or begin a new line. For names that others have chosen.
void utf8_append_visible(struct buffer *text, struct span bytes);

// The text without the byte order mark that some editors put at the start of a file.
struct span utf8_without_mark(struct span text);

size_t utf8_count(const char *data, size_t length);  // code points of valid text
// The byte offset of code point number `index` (or `length` when there are fewer).
size_t utf8_offset(const char *data, size_t length, size_t index);
// The largest position ≤ limit that does not cut a character of the text in two.
size_t utf8_cut(const char *data, size_t limit);
