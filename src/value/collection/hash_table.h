// Large maps and sets as long as they have one owner (see table.h): a list of entries in insertion
// order with an index by hash. Ownership as in value.h.
#pragma once

#include "value/collection/table.h"
#include "value/value_hash.h"

bool hash_table_find(const struct hash_table *table, value key, struct table_entry *ret_entry);
struct table_entry hash_table_entry(const struct hash_table *table, size_t i);
// `count` entries at `entries`, all different; consumes them.
struct hash_table *hash_table_from(struct region *region, unsigned stride, const value *entries,
                                   size_t count);
// Adds or replaces, as table_put() does; `hash` is that of the key. A table that is shared stays as
// it is: the result is a trie.
struct object *hash_table_put(struct region *region, struct hash_table *table, const value *items,
                              uint32_t hash, bool *ret_added);
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

// Integers are multiplied by 2^64 divided by the golden ratio, of which the upper half counts:
// numbers in any arithmetic progression spread evenly. Integers that were chosen to collide end in a
// trie, whose hash is secret. (To keep 8 neighbours in one cache line costs more than it gains.)
static inline uint32_t hash_table_hash(value key)
{
    if (key.tag == VALUE_INTEGER)
        return (uint32_t)((uint64_t)key.integer * UINT64_C(0x9e3779b97f4a7c15) >> 32);
    int64_t whole;
    if (key.tag == VALUE_FLOAT && float_is_whole(key.number, &whole))
        return (uint32_t)((uint64_t)whole * UINT64_C(0x9e3779b97f4a7c15) >> 32);
    return (uint32_t)(value_hash(key) >> 32);
}

static inline size_t hash_table_first_slot(const struct hash_table *table, uint32_t hash)
{
    return hash >> table->index_shift;
}

// Does the table have one owner, and room for another entry?
static inline bool hash_table_is_ready(const struct hash_table *table)
{
    return object_is_unique(&table->header) && table->used < table->room;
}

// A new entry of a map that is ready, whose place in the index is `slot`.
static inline void hash_table_append(struct hash_table *table, value key, value item, uint32_t hash,
                                     size_t slot)
{
    uint32_t number = table->used++;
    table->index[slot] = (uint64_t)hash << 32 | (number + 1);
    table->entries[(size_t)number * 2] = key;
    table->entries[(size_t)number * 2 + 1] = item;
    if (key.tag >= VALUE_BIGNUM || item.tag >= VALUE_BIGNUM)
        table->has_objects = true;
}

// hash_table_put() in its common case: a map that is ready gets a new key. False = it is not so,
// and nothing was done.
bool hash_table_try_add(struct hash_table *table, value key, value item, uint32_t hash);

// map_put() for its most common case, an integer as a new key of a large map with one owner and room;
// map.aux is then one more. False = nothing was done. In registers only: the hash of an integer needs
// no call, and its first slot is mostly free.
static inline bool map_try_add(value map, value key, value item)
{
    struct hash_table *table = (struct hash_table *)map.object;
    if (table->header.kind != OBJECT_HASH_TABLE || key.tag != VALUE_INTEGER ||
        !hash_table_is_ready(table))
        return false;
    uint32_t hash = hash_table_hash(key);
    size_t slot = hash_table_first_slot(table, hash);
    if (table->index[slot])
        return hash_table_try_add(table, key, item, hash);
    hash_table_append(table, value_integer(key.integer), item, hash, slot);
    return true;
}
