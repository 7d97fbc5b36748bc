// JSON, strict RFC 8259, straight into values and back.
//
// Reading: UTF-8 only, one value and white space, depth and size limited. Integers of any size are
// exact; a fraction or exponent makes a float. Lone surrogate escapes become U+FFFD, \u0000 is
// legal. Strings borrow from the text where they hold no escape, when `borrow` says that the text
// outlives the region. Errors carry line and column. A full region is ERROR_MEMORY, not an
// exhaustion; values read until then may stay in the region.
//
// Writing: compact, shortest digits that read back equal, control characters escaped; map order as
// map_iterate gives it, or sorted. Values without a JSON form follow the table of
// docs/reference/language.md 10: keywords by name, sets as arrays, everything else as its canonical
// text.
#pragma once

#include "base/buffer.h"
#include "base/error.h"
#include "value/value.h"

struct json_options {
    size_t max_depth;             // 0 = 128
    bool reject_duplicate_names;  // otherwise the last one wins
    bool borrow;                  // strings may point into the text
    bool immortal;  // the result is immortal (value.h): other regions and threads may refer to it
};

// --- json_read.c: reading ------------------------------------------------------------------------
bool json_read(struct region *region, struct span text, const struct json_options *options,
               value *ret_value, struct error *error);

// --- json_write.c: writing -----------------------------------------------------------------------
enum json_write_flags {
    JSON_SORTED = 1,   // object members by name
    JSON_PRETTY = 2,   // two spaces per level, for people
    JSON_SHALLOW = 4,  // collections below JSON_SHALLOW_DEPTH others as their canonical text
};
enum { JSON_SHALLOW_DEPTH = 100 };  // many readers refuse 200 levels
// Appends to the buffer; a full buffer shows in buffer->failed. Two map keys with one JSON name:
// the first in key order is kept and *ret_dropped (may be NULL) counts the others.
void json_write(struct buffer *buffer, value v, unsigned flags, size_t *ret_dropped);
void json_write_string(struct buffer *buffer, struct span text);  // not UTF-8: U+FFFD

// json/generate-string of programs (docs/reference/language.md 8.11): compact, members sorted by
// name; refuses (ERROR_INVALID) keyword values, sets, functions and their like, special floats,
// keys other than strings, keywords and integers, and two keys with one name. Borrows v.
bool json_generate(struct region *region, value v, value *ret_text, struct error *error);
