// Strings: building, cutting, and characters. A character is an extended grapheme cluster (UAX
// #29), but CR LF is two. In "simple" strings (VALUE_SIMPLE) characters are bytes, so that counting and cutting are
// O(1); in others they are linear. Offsets are in bytes, indexes in characters.
#pragma once

#include "value/value.h"

enum { STRING_MAX = UINT32_MAX - 64 };  // bytes; more is treated as exhausted memory

static inline bool string_is_simple(value string)
{
    return string.flags & VALUE_SIMPLE;
}

// --- characters ----------------------------------------------------------------------------------
size_t string_count(value string);
// The offset behind the character that begins at `offset` < length.
size_t character_end(struct span text, size_t offset);
// The offset of character number `index`, or the length when there are fewer.
size_t string_offset(value string, size_t index);
// The number of the character that begins at `offset`; false when none begins there.
bool string_index(value string, size_t offset, size_t *ret_index);

// --- cutting and joining -------------------------------------------------------------------------
// Bytes start … end of the string, which is consumed. Long parts share the memory.
value string_cut(struct region *region, value string, size_t start, size_t end);
// Characters start … end, both clamped.
value string_slice(struct region *region, value string, size_t start, size_t end);
// Consumes both. Appends in place when `a` has room, and grows by half when it must move, so that
// building a string piece by piece is linear.
value string_append(struct region *region, value a, value b);
value string_append_text(struct region *region, value a, struct span text);  // text: valid UTF-8

// One character as a string; ASCII needs no memory.
value string_from_code_point(struct region *region, uint32_t code_point);

// The same as value_string() when it is known whether the text is simple.
value string_new(struct region *region, struct span text, bool simple);

// Makes a value from bytes that lie in the string object itself; for builders.
struct string *string_reserve(struct region *region, size_t capacity);
value string_finish(struct region *region, struct string *string, size_t length);
