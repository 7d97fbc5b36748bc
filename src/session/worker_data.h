// Checking what a worker sent. User code shares its process with the agent and may send anything,
// so nothing is trusted.
#pragma once

#include "value/value.h"

// --- the form of a RESULT (docs/session-protocol.md 5) -------------------------------------------

// A map whose known members have the right types, so that this layer and the tools need not check
// them; members may still be absent. Unknown members may be anything.
bool result_is_well_formed(value result);

// --- importing -----------------------------------------------------------------------------------
// Copies only the members that a table names, only with the right types, texts and arrays cut to a
// maximum; the rest is left out.

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
