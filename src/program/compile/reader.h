// Inside the reader: its state, and the texts and characters that reader_text.c reads.
#pragma once

#include "program/compile/compilation.h"

enum { SHOWN_CHARACTERS = 40 };

struct reader {
    struct compilation *compilation;
    const char *start;
    const char *next;
    const char *end;
    size_t depth;
    struct pointer_list pending;  // items of the collections that are open
};

static inline uint32_t offset_of(const struct reader *reader, const char *position)
{
    return (uint32_t)(position - reader->start);
}

#define reader_fail(reader, position, ...)                                                      \
    compilation_fail((reader)->compilation, PARSE_ERROR, offset_of((reader), (position)), NULL, \
                     __VA_ARGS__)

static inline char reader_peek(const struct reader *reader, size_t ahead)
{
    return (size_t)(reader->end - reader->next) > ahead ? reader->next[ahead] : '\0';
}

// --- reader.c ------------------------------------------------------------------------------------
struct form *reader_form(struct reader *reader, enum form_kind kind, const char *position);
// A number, keyword or character must not run into a symbol.
void reader_check_separated(struct reader *reader, const char *start, const char *what,
                            const char *advice);

// --- reader_text.c: strings, regexes, characters -------------------------------------------------
// The end of a string or regex that begins at `start` with a quote: the position of the closing one.
const char *reader_find_quote(struct reader *reader, const char *start, const char *what);
struct form *read_string(struct reader *reader);
struct form *read_regex(struct reader *reader);
struct form *read_character(struct reader *reader);
