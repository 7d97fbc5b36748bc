// The states of the search of repair_search.h: what lists are open, and what it cost to come there.
// States with equal stacks are one; each remembers the two cheapest ways to it.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lisp_syntax/operator_shape.h"
#include "lisp_syntax/repair_search.h"

enum {
    REPAIR_MARGIN = 36,  // how much dearer than the cheapest a state may be and still be followed
    REPAIR_WIDTH = 400,  // states that are followed
    REPAIR_BUCKETS = 1024,
};

#define NO_COLUMN UINT32_MAX

// An open list. Immutable; states share them.
struct list {
    const struct list *parent;
    size_t token;  // what opened it
    unsigned column;
    unsigned line;
    unsigned argument;  // column of the second element, when it is on the line of the first
    unsigned sibling;   // column of the last element that began a line
    unsigned elements;
    const struct operator_shape *shape;
    bool conditional;  // #+ or #- within: elements cannot be counted
    bool data;         // no call: bindings, quoted
    bool added;
};

struct edit {
    const struct edit *before;
    struct repair_edit edit;
    unsigned count;
};

struct state {
    const struct list *top;
    int shift;          // by how many columns the edits have moved the rest of the line
    unsigned leftmost;  // column of the leftmost list that ended since the line began
    bool quoted;        // the token before was a quote
    bool dropped;       // the token before is left out
    unsigned cost, second_cost;
    const struct edit *edits, *second_edits;
    bool has_second;
};

struct states {
    struct state *items;  // owned
    size_t count, capacity;
    unsigned cheapest;
    uint32_t buckets[REPAIR_BUCKETS];  // index + 1 of the first state
    uint32_t *next;
};

void states_clear(struct states *states);
void states_release(struct states *states);
// A state whose stack is there already becomes part of that one.
void states_add(struct states *states, const struct state *state);
// Both have the same stack: *state becomes the cheaper one, with its rival.
void state_merge(struct state *state, const struct state *other);
// Keeps the cheapest states, in order. Afterwards none may be added before states_clear().
void states_prune(struct states *states);
