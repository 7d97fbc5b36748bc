// Bounded lists of messages, each about a place inside a value: "orders[0].id: expected int, got nil".
#pragma once

#include "base/region.h"
#include "base/span.h"
#include "value/value.h"

// Where in a value a problem is. Each level of the check's recursion holds one link on its stack; the
// chain becomes text only when a message is written. The value itself is "return", and a list
// position needs a name before it: "return[2]".
struct place {
    const struct place *parent;
    struct span name;  // of a field; data is NULL for a position in a list
    size_t index;      // PLACE_ANY_INDEX for "[]"
};

#define PLACE_ANY_INDEX ((size_t)-1)

struct problems {
    struct region *region;
    value texts;
    size_t left_out;  // problems over SIGNATURE_MAX_PROBLEMS
};

struct problems problems_start(struct region *region);
// "<place>: <before><about><after>"
void problems_add(struct problems *problems, const struct place *place, const char *before,
                  struct span about, const char *after);
// The vector of texts, owned by the caller; a last line says how many `what` did not fit.
value problems_finish(struct problems *problems, const char *what);
// Appends the lines of another list, which keeps them.
void problems_add_all(struct problems *problems, const struct problems *from);
