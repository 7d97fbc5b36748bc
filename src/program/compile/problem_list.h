// All problems of a program: what a second compilation collects when the first one has failed. A part
// that fails is noted and left out, and the parts beside it are compiled all the same.
#pragma once

#include "base/buffer.h"
#include "program/run/failure_kind.h"
#include "value/value.h"

enum { PROBLEM_MESSAGE_SIZE = 256, PROBLEM_FORM_SIZE = 64, PROBLEM_LIST_SIZE = 10 };

struct problem {
    enum failure_kind kind;
    uint32_t offset;  // byte position in the source
    unsigned line, column;
    char form[PROBLEM_FORM_SIZE];  // its text, shortened
    char message[PROBLEM_MESSAGE_SIZE];
};

struct problem_list {
    unsigned count;
    struct problem items[PROBLEM_LIST_SIZE];  // in the order of their offsets
};

// Keeps the order; what is there already is not added again, nor what does not fit.
void problem_list_add(struct problem_list *list, struct span source, enum failure_kind kind,
                      uint32_t offset, const char *message);
// Lines that the user has not written come first in the source.
void problem_list_hide_lines(struct problem_list *list, unsigned lines);
// Appends a JSON array: kind, message, line, column and form of each.
void problem_list_write_json(const struct problem_list *list, struct buffer *buffer);
// Appends a line for each.
void problem_list_write_text(const struct problem_list *list, struct buffer *buffer);
// The same from that JSON as a value; nothing without problems.
void problems_write_text(value problems, struct buffer *buffer);

struct compilation;
typedef void compilation_part(void *data);
// Does a part of a collecting compilation. False when it failed: its problem is noted then. Does not
// return when a limit was reached or the list is full.
bool compilation_try(struct compilation *compilation, compilation_part *part, void *data);
