// Tokens of literals (docs/reference/language.md 2): numbers, strings, characters and keywords, as
// the EDN reader and other readers of the same grammar need them. Each function is given the text
// from the token on and gives the length of the token; a wrong token gives a message.
#pragma once

#include "value/value.h"

enum { LITERAL_DIGITS_MAX = 100 };  // of an integer

struct literal {
    size_t length;        // of the token
    const char *problem;  // NULL, or what is wrong, at `length` bytes
};

bool literal_is_symbol_character(char c);  // continues a symbol, a number or a keyword
bool literal_is_keyword_character(char c);
// What (keyword "...") and the conversion of signatures accept: narrower than the reader.
bool literal_is_keyword_name(struct span name);

// At a digit, or '-' and a digit. An integer has at most `digits_most` digits.
struct literal literal_number(struct region *region, struct span text, size_t digits_most,
                              value *ret_value);
// The same for 0xff, 017 and 2r101; false: it is no such number.
bool literal_radix(struct span text, value *ret_value, struct literal *ret_literal);
// At a backslash inside a string: the bytes it stands for, at most as many as it has. 0: unknown.
size_t literal_escape(struct span text, char *ret_text, size_t *ret_length);
// At the opening quote.
struct literal literal_string(struct region *region, struct span text, value *ret_value);
// At the backslash.
struct literal literal_character(struct region *region, struct span text, value *ret_value);
// At the colon.
struct literal literal_keyword(struct region *region, struct span text, value *ret_value);
// At "##".
struct literal literal_special_float(struct span text, value *ret_value);

// Line and column (1-based, code points) of the end of `before`.
void literal_position(struct span before, unsigned *ret_line, unsigned *ret_column);
