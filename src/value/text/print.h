// Canonical text of values (docs/reference/language.md 10), and text as `str` makes it (8.9).
#pragma once

#include "base/buffer.h"
#include "value/text/sink.h"
#include "value/value.h"

void value_print(struct buffer *buffer, value v);  // a full buffer shows in buffer->failed
void value_print_to(struct sink *sink, value v);
value value_printed(struct region *region, value v);  // as a string; borrows v

// As `str` does: nil is empty, strings, regexes and symbols are raw, special floats are words.
void value_print_unquoted(struct sink *sink, value v);

void print_string(struct sink *sink, struct span text);  // quoted and escaped
void print_number(struct sink *sink, value v);
