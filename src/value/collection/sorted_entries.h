// The entries of a collection in key order (vectors: as they are), one by one. Memory for sorting,
// where it is needed, comes from the work list (value/worklist.h).
#pragma once

#include "value/value.h"
#include "value/worklist.h"

struct sorted {
    value v;
    value key;  // current entry: element, member or key
    value item;
    uint32_t index;
    const uint8_t *order;  // of a narrow record
    value *entries;        // sorted copy, `stride` values per entry, then as much scratch; or NULL
};

void sorted_start(struct sorted *sorted, const struct work *work, value v);
// In insertion order where the collection knows it, else in key order.
void sorted_start_inserted(struct sorted *sorted, const struct work *work, value v);
bool sorted_next(struct sorted *sorted);  // fills key and item
void sorted_end(struct sorted *sorted, const struct work *work);
