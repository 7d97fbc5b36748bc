// The entries of a collection in key order (vectors: as they are), one by one. Memory for sorting,
// where it is needed, comes from the work list (value/worklist.h).
#pragma once

#include "value/value.h"
#include "value/worklist.h"

struct sorted_entries {
    value v;
    value key;  // current entry: element, member or key
    value item;
    uint32_t index;
    const uint8_t *order;  // of a narrow record
    value *entries;        // sorted copy, `stride` values per entry, then as much scratch; or NULL
};

void sorted_entries_start(struct sorted_entries *sorted, const struct worklist *work, value v);
// In insertion order where the collection knows it, else in key order.
void sorted_entries_start_inserted(struct sorted_entries *sorted, const struct worklist *work,
                                   value v);
bool sorted_entries_next(struct sorted_entries *sorted);  // fills key and item
void sorted_entries_end(struct sorted_entries *sorted, const struct worklist *work);
