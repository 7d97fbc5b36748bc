// Stable sorting of values. Comparing may be anything that gives an order, also calls of programs.
#pragma once

#include "value/value.h"

// Negative, 0 or positive. May leave by longjmp.
typedef int sort_compare_fn(void *data, const value *a, const value *b);

// Sorts `count` entries of `stride` values each, compared by pointers to their first value.
// `scratch` holds as many entries.
void sort_entries(value *entries, size_t count, size_t stride, value *scratch,
                  sort_compare_fn *compare, void *data);

// A vector in key order; consumes it.
value vector_sort_keys(struct region *region, value vector);
