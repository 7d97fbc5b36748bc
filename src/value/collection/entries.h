// The entries of one object of a collection (its "part"): a vector, a record, a flat or hash table,
// or one node of a trie, whose sub-nodes are parts of their own. Hashing, comparing and copying
// iterate over these.
#pragma once

#include "value/collection/shape.h"
#include "value/collection/trie.h"

// Elements of a vector, entries of a map, members of a set, not counting sub-nodes.
static inline size_t entries_count(const struct object *part, value v)
{
    switch (part->kind) {
    case OBJECT_NODE: return node_entry_count((const struct node *)part);
    case OBJECT_COLLISION: return ((const struct collision *)part)->count;
    default: return v.aux;
    }
}

static inline size_t entries_child_count(const struct object *part)
{
    return part->kind == OBJECT_NODE ? node_child_count((const struct node *)part) : 0;
}

// Entry number i: the key or member or element, and in maps the item.
static inline value entries_key(const struct object *part, size_t i)
{
    switch (part->kind) {
    case OBJECT_VECTOR: return ((const struct vector *)part)->items[i];
    case OBJECT_RECORD: return ((const struct record *)part)->shape->keys[i];
    case OBJECT_FLAT: return ((const struct flat *)part)->entries[i * part->stride];
    case OBJECT_HASH_TABLE: return ((const struct hash_table *)part)->entries[i * part->stride];
    case OBJECT_NODE: return ((const struct node *)part)->entries[i * part->stride];
    default: return ((const struct collision *)part)->entries[i * part->stride];
    }
}

static inline value entries_item(const struct object *part, size_t i)
{
    switch (part->kind) {
    case OBJECT_RECORD: return ((const struct record *)part)->slots[i];
    case OBJECT_FLAT: return ((const struct flat *)part)->entries[i * 2 + 1];
    case OBJECT_HASH_TABLE: return ((const struct hash_table *)part)->entries[i * 2 + 1];
    case OBJECT_NODE: return ((const struct node *)part)->entries[i * 2 + 1];
    default: return ((const struct collision *)part)->entries[i * 2 + 1];
    }
}

static inline bool value_is_collection(value v)
{
    return v.tag == VALUE_VECTOR || v.tag == VALUE_MAP || v.tag == VALUE_SET;
}
