// Large maps and sets as long as they have one owner (see table.h): a list of entries with an index
// by hash. Ownership as in value.h.
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

// The entries in whose place the key may be, one after another; false at the end.
struct hash_table_probe {
    const struct hash_table *table;
    uint32_t hash;
    size_t slot;
};
struct hash_table_probe hash_table_probe(const struct hash_table *table, value key);
bool hash_table_probe_next(struct hash_table_probe *probe, struct table_entry *ret_entry);

// The table of a map, when it is dense and can be changed in place; otherwise NULL.
static inline struct hash_table *dense_own(value map)
{
    struct hash_table *table = (struct hash_table *)map.object;
    bool is_own = table->header.kind == OBJECT_HASH_TABLE && object_is_unique(&table->header) &&
                  hash_table_is_dense(table) && !table->trie;
    return is_own ? table : NULL;
}

// Adds an item, which is consumed, to such a table; false when there is no room, the key is not the
// next one or the item does not fit. The map's value is to get the new count.
static inline bool dense_add(struct hash_table *table, value key, value item)
{
    if (table->used == table->capacity || key.tag != VALUE_INTEGER ||
        (uint64_t)key.integer - (uint64_t)table->first != table->used)
        return false;
    if (!table->is_packed)
        table->entries[table->used++] = item;
    else if (item.tag == VALUE_INTEGER)
        packed_items(table)[table->used++] = item.integer;
    else
        return false;
    return true;
}

// map_put() of the next key of a dense map with one owner and room, in line; false when it is not
// that. Consumes the item, and the map is changed in place.
static inline bool dense_append(value *map, value key, value item)
{
    struct hash_table *table = dense_own(*map);
    if (!table || !dense_add(table, key, item))
        return false;
    map->aux = table->used;
    return true;
}
