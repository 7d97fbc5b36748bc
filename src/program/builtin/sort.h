// Stable sorting of items by precomputed keys, interruptible and with comparisons that may raise.
// Used by sort and sort-by.
#pragma once

#include "program/builtin/builtin.h"

// How two keys are compared.
struct comparator {
    bool natural;     // natural order, otherwise by calling f
    bool descending;  // natural order only
    value f;          // borrowed
};

// What the argument `cmp` of sort and sort-by says; type_error when it says nothing.
struct comparator comparator_from(struct run *run, const struct builtin *self, unsigned argument,
                                  value cmp);

// The items in the order of their keys; `keys` has as many elements as `items` and may be the same
// vector. Consumes items, borrows keys.
value sort_items(struct run *run, const struct builtin *self, value items, value keys,
                 struct comparator comparator);
