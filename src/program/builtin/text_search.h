// Searching in strings and cutting white space off, on characters (grapheme clusters) and code points.
// Used by the string builtins and their Java-style names. All functions borrow their arguments.
#pragma once

#include "program/builtin/builtin.h"

// The index of the first appearance of `part` at a character boundary ≥ from.
bool string_search(struct run *run, value string, value part, size_t from, size_t *ret_index);
// The index of the last one ≤ from.
bool string_search_last(struct run *run, value string, value part, size_t from, size_t *ret_index);

// Byte offset of `part` in text from `start` on, or SIZE_MAX.
size_t text_find(struct run *run, struct span text, struct span part, size_t start);

// White space as Java has it (docs/reference/language.md 8.9): offsets of the first and behind the
// last other code point.
size_t text_skip_space(struct run *run, struct span text);
size_t text_skip_space_back(struct run *run, struct span text);

// `[+-]?digits` within 64 bits.
bool text_read_integer(struct span text, int64_t *ret_number);
// `[+-]?digits[.digits][e[+-]digits]`, finite, or Infinity, +Infinity, -Infinity, NaN.
bool text_read_float(struct span text, double *ret_number);
