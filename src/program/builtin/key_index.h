// Numbers keys in the order of their first appearance: what group-by, frequencies, distinct and
// distinct-by count with. A hash table in the run's region, by key identity
// (docs/reference/language.md 1.2).
#pragma once

#include "program/builtin/builtin.h"

struct key_index {
    struct run *run;
    value keys;         // vector of the different keys; key number i is element i
    uint64_t *hashes;   // of the keys
    uint32_t *slots;    // number + 1, 0 = free; open addressing
    size_t slot_count;  // power of two, 0 = no table yet
};

void key_index_start(struct run *run, struct key_index *ret_index);
// The number of the key. Consumes the key. A new key gets the next number, which is *ret_is_new.
size_t key_index_number(struct key_index *index, value key, bool *ret_is_new);
value key_index_end(struct key_index *index);  // the vector of the keys
