// Hash tables behind maps and sets: a flat list of up to TABLE_FLAT entries; above that a list with
// an index as long as it has one owner, and a trie of nodes once a shared one was changed. An entry
// is `stride` values: key and item (maps) or the member alone (sets). Objects with one owner are
// changed in place. Ownership as in value.h.
#pragma once

#include "value/layout.h"

enum { TABLE_FLAT = 32 };

extern struct flat table_empty_map, table_empty_set;

// One entry, borrowed; in sets the item is nil.
struct table_entry {
    value key;
    value item;
};

bool table_find(const struct object *table, value key, struct table_entry *ret_entry);
// Adds or replaces (an equal key stays, its item is replaced). *ret_added: there was no such key.
// `items` holds stride values and is consumed, as is the table.
struct object *table_put(struct region *region, struct object *table, const value *items,
                         bool *ret_added);
// Consumes the table, borrows the key.
struct object *table_remove(struct region *region, struct object *table, value key,
                            bool *ret_removed);
struct map_cursor table_iterate(value v);
bool table_next(struct map_cursor *cursor, struct table_entry *ret_entry);
