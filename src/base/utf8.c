#include "base/utf8.h"

#include <string.h>

static const uint64_t HIGH_BITS = 0x8080808080808080;

static inline bool is_continuation(unsigned char byte)
{
    return (byte & 0xC0) == 0x80;
}

// Number of bytes of the well-formed sequence at `bytes`, 0 when there is none. The second byte's
// range depends on the first (no overlong forms, no surrogates, nothing above U+10FFFF).
static size_t sequence_length(const unsigned char *bytes, size_t length)
{
    unsigned char lead = bytes[0];
    if (lead < 0x80)
        return 1;
    if (lead < 0xC2 || lead > 0xF4)
        return 0;
    size_t need = lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
    if (length < need)
        return 0;
    unsigned char low = 0x80, high = 0xBF;
    if (lead == 0xE0)
        low = 0xA0;
    else if (lead == 0xED)
        high = 0x9F;
    else if (lead == 0xF0)
        low = 0x90;
    else if (lead == 0xF4)
        high = 0x8F;
    if (bytes[1] < low || bytes[1] > high)
        return 0;
    for (size_t i = 2; i < need; i++)
        if (!is_continuation(bytes[i]))
            return 0;
    return need;
}

// Bytes of ASCII at the start, counted eight at a time.
static size_t ascii_prefix(const char *data, size_t length)
{
    size_t i = 0;
    for (; i + 8 <= length; i += 8) {
        uint64_t word;
        memcpy(&word, data + i, 8);
        if (word & HIGH_BITS)
            break;
    }
    while (i < length && (unsigned char)data[i] < 0x80)
        i++;
    return i;
}

size_t utf8_valid_prefix(const char *data, size_t length)
{
    size_t i = 0;
    while (i < length) {
        i += ascii_prefix(data + i, length - i);
        if (i == length)
            break;
        size_t step = sequence_length((const unsigned char *)data + i, length - i);
        if (step == 0)
            break;
        i += step;
    }
    return i;
}

bool utf8_is_ascii(const char *data, size_t length)
{
    return ascii_prefix(data, length) == length;
}

// How many bytes of a broken sequence one replacement character stands for.
static size_t broken_length(const unsigned char *bytes, size_t length)
{
    for (size_t taken = length < 3 ? length : 3; taken > 1; taken--) {
        unsigned char padded[4] = {0x80, 0x80, 0x80, 0x80};
        memcpy(padded, bytes, taken);
        if (sequence_length(padded, 4) > taken)
            return taken;
    }
    return 1;
}

size_t utf8_decode(const char *data, size_t length, uint32_t *ret_code_point)
{
    const unsigned char *bytes = (const unsigned char *)data;
    if (length == 0)
        return 0;
    size_t step = sequence_length(bytes, length);
    if (step == 0) {
        *ret_code_point = UTF8_REPLACEMENT;
        return broken_length(bytes, length);
    }
    static const unsigned char lead_mask[] = {0, 0x7F, 0x1F, 0x0F, 0x07};
    uint32_t code_point = (uint32_t)(bytes[0] & lead_mask[step]);
    for (size_t i = 1; i < step; i++)
        code_point = code_point << 6 | (bytes[i] & 0x3Fu);
    *ret_code_point = code_point;
    return step;
}

size_t utf8_encode(uint32_t code_point, char bytes[UTF8_MAX_BYTES])
{
    if (code_point > 0x10FFFF || (code_point >= 0xD800 && code_point <= 0xDFFF))
        code_point = UTF8_REPLACEMENT;
    if (code_point < 0x80) {
        bytes[0] = (char)code_point;
        return 1;
    }
    size_t count = code_point < 0x800 ? 2 : code_point < 0x10000 ? 3 : 4;
    for (size_t i = count - 1; i > 0; i--) {
        bytes[i] = (char)(0x80 | (code_point & 0x3F));
        code_point >>= 6;
    }
    static const unsigned char lead[] = {0, 0, 0xC0, 0xE0, 0xF0};
    bytes[0] = (char)(lead[count] | code_point);
    return count;
}

size_t utf8_count(const char *data, size_t length)
{
    size_t count = 0;
    for (size_t i = 0; i < length; i++)
        count += !is_continuation((unsigned char)data[i]);
    return count;
}

size_t utf8_offset(const char *data, size_t length, size_t index)
{
    size_t i = 0;
    while (i < length) {
        if (!is_continuation((unsigned char)data[i]) && index-- == 0)
            break;
        i++;
    }
    return i;
}

size_t utf8_cut(const char *data, size_t limit)
{
    size_t start = limit;
    while (start > 0 && limit - start < UTF8_MAX_BYTES &&
           is_continuation((unsigned char)data[start - 1]))
        start--;
    if (start == 0)
        return limit;
    unsigned char lead = (unsigned char)data[start - 1];
    if (lead < 0xC0)
        return limit;
    size_t need = lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
    return start - 1 + need <= limit ? limit : start - 1;
}

void utf8_append_repaired(struct buffer *text, struct span bytes)
{
    while (bytes.length > 0) {
        size_t valid = utf8_valid_prefix(bytes.data, bytes.length);
        buffer_append(text, bytes.data, valid);
        if (valid == bytes.length)
            return;
        char replacement[UTF8_MAX_BYTES];
        uint32_t code_point;
        valid += utf8_decode(bytes.data + valid, bytes.length - valid, &code_point);
        buffer_append(text, replacement, utf8_encode(UTF8_REPLACEMENT, replacement));
        bytes = (struct span){bytes.data + valid, bytes.length - valid};
    }
}

static bool is_visible(uint32_t c)
{
    bool is_control = c < ' ' || (c >= 0x7F && c < 0xA0);
    bool is_directing = c == 0x61C || c == 0x200E || c == 0x200F || (c >= 0x2028 && c <= 0x202E) ||
                        (c >= 0x2066 && c <= 0x2069);
    return !is_control && !is_directing;
}

void utf8_append_visible(struct buffer *text, struct span bytes)
{
    char encoded[UTF8_MAX_BYTES];
    uint32_t c;
    for (size_t at = 0; at < bytes.length;) {
        at += utf8_decode(bytes.data + at, bytes.length - at, &c);
        buffer_append(text, encoded, utf8_encode(is_visible(c) ? c : '?', encoded));
    }
}

struct span utf8_without_mark(struct span text)
{
    const struct span mark = SPAN("\xEF\xBB\xBF");
    if (!span_starts_with(text, mark))
        return text;
    return (struct span){text.data + mark.length, text.length - mark.length};
}
