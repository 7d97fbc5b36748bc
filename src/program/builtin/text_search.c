#include "program/builtin/text_search.h"

#include <math.h>

#include "base/ascii.h"
#include "base/utf8.h"
#include "program/builtin/support.h"
#include "value/chunks.h"
#include "value/number/float_text.h"

// --- searching -----------------------------------------------------------------------------------

size_t text_find(struct run *run, struct span text, struct span part, size_t start)
{
    // In slices, so that a long search notices the deadline.
    enum { SLICE = 65536 };
    while (start + part.length <= text.length) {
        size_t length = text.length - start;
        if (length > SLICE + part.length)
            length = SLICE + part.length;
        const char *found = memmem(text.data + start, length, part.data, part.length);
        run_spend(run, 1 + (found ? (size_t)(found - text.data) - start : length) / 256);
        if (found)
            return (size_t)(found - text.data);
        if (start + length == text.length)
            break;
        start += SLICE;
    }
    return SIZE_MAX;
}

bool string_search(struct run *run, value string, value part, size_t from, size_t *ret_index)
{
    struct span text = value_text(string), wanted = value_text(part);
    if (wanted.length == 0) {
        size_t count = string_count(string);
        *ret_index = from < count ? from : count;
        return true;
    }
    size_t offset = string_offset(string, from);
    if (string_is_simple(string)) {
        *ret_index = text_find(run, text, wanted, offset);
        return *ret_index != SIZE_MAX;
    }
    // Step through the characters; a match inside of one does not count.
    for (size_t index = from, match = 0; offset < text.length; index++) {
        if (match < offset || index == from)
            match = text_find(run, text, wanted, offset);
        if (match == SIZE_MAX)
            return false;
        if (match == offset) {
            *ret_index = index;
            return true;
        }
        offset = character_end(text, offset);
        run_spend(run, 1);
    }
    return false;
}

static bool begins_at(struct span text, struct span part, size_t offset)
{
    return part.length <= text.length - offset &&
           memcmp(text.data + offset, part.data, part.length) == 0;
}

bool string_search_last(struct run *run, value string, value part, size_t from, size_t *ret_index)
{
    struct span text = value_text(string), wanted = value_text(part);
    if (wanted.length == 0) {
        size_t count = string_count(string);
        *ret_index = from < count ? from : count;
        return true;
    }
    if (string_is_simple(string)) {
        if (wanted.length > text.length)
            return false;
        size_t last = text.length - wanted.length;
        for (size_t index = (from < last ? from : last) + 1; index-- > 0;) {
            run_spend(run, 1);
            if (begins_at(text, wanted, index)) {
                *ret_index = index;
                return true;
            }
        }
        return false;
    }
    bool found = false;
    for (size_t offset = 0, index = 0; offset < text.length && index <= from; index++) {
        if (begins_at(text, wanted, offset)) {
            found = true;
            *ret_index = index;
        }
        offset = character_end(text, offset);
        run_spend(run, 1);
    }
    return found;
}

// --- white space ---------------------------------------------------------------------------------

enum { SPACES_PER_BATCH = 64 };

static bool is_space(uint32_t c)
{
    return (c >= 0x09 && c <= 0x0D) || (c >= 0x1C && c <= 0x20) || c == 0x1680 ||
           (c >= 0x2000 && c <= 0x200A && c != 0x2007) || c == 0x2028 || c == 0x2029 ||
           c == 0x205F || c == 0x3000;
}

size_t text_skip_space(struct run *run, struct span text)
{
    size_t offset = 0;
    while (offset < text.length) {
        if (offset % SPACES_PER_BATCH == 0)
            run_spend(run, SPACES_PER_BATCH / 16);
        uint32_t code_point;
        size_t length = utf8_decode(text.data + offset, text.length - offset, &code_point);
        if (!is_space(code_point))
            break;
        offset += length;
    }
    return offset;
}

size_t text_skip_space_back(struct run *run, struct span text)
{
    size_t end = text.length;
    while (end > 0) {
        if ((text.length - end) % SPACES_PER_BATCH == 0)
            run_spend(run, SPACES_PER_BATCH / 16);
        size_t start = end - 1;
        while (start > 0 && ((unsigned char)text.data[start] & 0xC0) == 0x80)
            start--;
        uint32_t code_point;
        utf8_decode(text.data + start, end - start, &code_point);
        if (!is_space(code_point))
            break;
        end = start;
    }
    return end;
}

// --- numbers -------------------------------------------------------------------------------------

enum { ZEROS_PER_BATCH = 4096, ZEROS_PER_UNIT = 16 };

bool text_read_integer(struct span text, int64_t *ret_number)
{
    size_t i = 0;
    bool negative = text.length > 0 && text.data[0] == '-';
    if (text.length > 0 && (text.data[0] == '-' || text.data[0] == '+'))
        i++;
    if (i == text.length)
        return false;
    int64_t number = 0;
    for (; i < text.length; i++) {
        int digit = text.data[i] - '0';
        if (i % ZEROS_PER_BATCH == 0)  // only zeros can be many
            fuel_spend(ZEROS_PER_BATCH / ZEROS_PER_UNIT);
        if (!ascii_is_digit(text.data[i]) || __builtin_mul_overflow(number, 10, &number) ||
            __builtin_sub_overflow(number, digit, &number))
            return false;
    }
    // Counted downwards, because the least number has no positive counterpart.
    if (!negative && __builtin_sub_overflow((int64_t)0, number, &number))
        return false;
    *ret_number = number;
    return true;
}

static bool is_float_text(struct span text)
{
    size_t i = text.length > 0 && (text.data[0] == '-' || text.data[0] == '+') ? 1 : 0;
    size_t end = chunks_skip_digits(text, i);
    if (end == i)
        return false;
    i = end;
    if (i < text.length && text.data[i] == '.') {
        end = chunks_skip_digits(text, i + 1);
        if (end == i + 1)
            return false;
        i = end;
    }
    if (i < text.length && (text.data[i] == 'e' || text.data[i] == 'E')) {
        i++;
        if (i < text.length && (text.data[i] == '-' || text.data[i] == '+'))
            i++;
        end = chunks_skip_digits(text, i);
        if (end == i)
            return false;
        i = end;
    }
    return i == text.length;
}

bool text_read_float(struct span text, double *ret_number)
{
    if (span_equal_text(text, "NaN")) {
        *ret_number = (double)NAN;
        return true;
    }
    if (span_equal_text(text, "Infinity") || span_equal_text(text, "+Infinity") ||
        span_equal_text(text, "-Infinity")) {
        *ret_number = text.data[0] == '-' ? -(double)INFINITY : (double)INFINITY;
        return true;
    }
    if (!is_float_text(text))
        return false;
    if (text.data[0] == '+')
        text = (struct span){text.data + 1, text.length - 1};
    double number = float_read(text);
    if (!isfinite(number))
        return false;
    *ret_number = number;
    return true;
}
