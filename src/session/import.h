// Taking over data from a worker, which is never trusted: only the members that a table names, only
// with the right types, texts and arrays cut to a maximum. What does not fit is left out.
#pragma once

#include "value/value.h"

enum import_kind { IMPORT_TEXT, IMPORT_INTEGER, IMPORT_BOOLEAN, IMPORT_TEXTS, IMPORT_OBJECTS };

enum { IMPORT_TEXT_BYTES = 2048 };

struct import_member {
    const char *name;  // NULL ends a table
    enum import_kind kind;
    size_t max;  // bytes of a text (0 = IMPORT_TEXT_BYTES), items of an array
    const struct import_member *items;  // of the objects in an array
};

value import_object(struct region *region, value object, const struct import_member *members);
// An array of texts; an empty one when it is something else.
value import_texts(struct region *region, value texts, size_t max);
