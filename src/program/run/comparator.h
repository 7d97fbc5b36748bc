// Maps and sets in an order of the program's own: sorted-map-by, sorted-set-by. The functions are kept in
// the run, and a collection has the number of its own (value.small). Only iteration follows it: text and
// JSON are in key order, and so are copies of the collection in other runs.
#pragma once

#include "program/run/run.h"

enum {
    COMPARATORS_MAX = UINT16_MAX - 1,
    COMPARATOR_NATURAL = UINT16_MAX,  // of sorted-map and sorted-set: key order
};

// The number of a function, which is borrowed; 0: there are too many.
uint16_t comparator_number(struct run *run, value f);
// A vector of items in the order of a number above 0; consumes it.
value comparator_sort(struct run *run, uint16_t number, value items);

// The keys of a map, the members of a set, in their order; borrows.
value map_keys_in_order(struct run *run, value map);
value set_in_order(struct run *run, value set);
