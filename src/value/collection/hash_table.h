// Large maps and sets as long as they have one owner (see table.h): a list of entries in insertion
// order with an index by hash. Ownership as in value.h.
#pragma once

#include "value/collection/table.h"

bool hash_table_find(const struct hash_table *table, value key, struct table_entry *ret_entry);
struct table_entry hash_table_entry(const struct hash_table *table, size_t i);
// `count` entries at `entries`, all different; consumes them.
struct hash_table *hash_table_from(struct region *region, unsigned stride, const value *entries,
                                   size_t count);
// Adds or replaces, as table_put() does. A table that is shared stays as it is: the result is a
// trie.
struct object *hash_table_put(struct region *region, struct hash_table *table, const value *items,
                              bool *ret_added);
// The entries as a trie; consumes the table. It is kept beside a shared table for the next time.
struct object *hash_table_to_trie(struct region *region, struct hash_table *table);
void hash_table_release(struct region *region, struct hash_table *table);  // all that it refers to

// The entries whose hash is that of the key, one after another; false at the end.
struct hash_table_probe {
    const struct hash_table *table;
    uint32_t hash;
    uint32_t distance;  // slots seen
};
struct hash_table_probe hash_table_probe(const struct hash_table *table, value key);
bool hash_table_probe_next(struct hash_table_probe *probe, struct table_entry *ret_entry);
