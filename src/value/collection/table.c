#include "value/collection/table.h"

#include <string.h>

#include "base/assert.h"
#include "value/collection/hash_table.h"
#include "value/collection/trie.h"
#include "value/fuel.h"

struct flat table_empty_map = {
    .header = {.references = OBJECT_IMMORTAL, .kind = OBJECT_FLAT, .stride = 2}};
struct flat table_empty_set = {
    .header = {.references = OBJECT_IMMORTAL, .kind = OBJECT_FLAT, .stride = 1}};

static size_t flat_size(unsigned stride, size_t capacity)
{
    return sizeof(struct flat) + capacity * stride * sizeof(value);
}

static const value *flat_find(const struct flat *flat, value key)
{
    unsigned stride = flat->header.stride;
    const value *end = flat->entries + (size_t)flat->used * stride;
    for (const value *entry = flat->entries; entry < end; entry += stride)
        if (value_identical(*entry, key))
            return entry;
    return NULL;
}

static struct table_entry entry_at(const value *entry, unsigned stride)
{
    return (struct table_entry){entry[0], stride == 2 ? entry[1] : value_nil()};
}

bool table_find(const struct object *table, value key, struct table_entry *ret_entry)
{
    const value *entry;
    if (table->kind == OBJECT_HASH_TABLE)
        return hash_table_find((const struct hash_table *)table, key, ret_entry);
    if (table->kind == OBJECT_FLAT)
        entry = flat_find((const struct flat *)table, key);
    else
        entry = trie_find(table, key, value_hash(key));
    if (entry)
        *ret_entry = entry_at(entry, table->stride);
    return entry;
}

// The flat list for changing, with room for `capacity` entries. Consumes the old one.
static struct flat *flat_own(struct region *region, struct flat *flat, size_t capacity)
{
    unsigned stride = flat->header.stride;
    if (object_is_unique(&flat->header)) {
        if (capacity <= flat->capacity)
            return flat;
        flat = region_resize(region, flat, flat_size(stride, flat->capacity),
                             flat_size(stride, capacity));
        flat->capacity = (uint32_t)capacity;
        return flat;
    }
    if (capacity < flat->used)
        capacity = flat->used;
    struct flat *copy = region_alloc(region, flat_size(stride, capacity));
    *copy = (struct flat){
        .header = object_header(OBJECT_FLAT), .used = flat->used, .capacity = (uint32_t)capacity};
    copy->header.stride = (uint8_t)stride;
    for (size_t i = 0; i < (size_t)flat->used * stride; i++)
        copy->entries[i] = value_retain(flat->entries[i]);
    object_release(region, &flat->header);
    return copy;
}

static struct hash_table *flat_to_hash_table(struct region *region, struct flat *flat)
{
    flat = flat_own(region, flat, 0);
    unsigned stride = flat->header.stride;
    struct hash_table *table = hash_table_from(region, stride, flat->entries, flat->used);
    region_return(region, flat, flat_size(stride, flat->capacity));
    return table;
}

static struct object *flat_put(struct region *region, struct flat *flat, const value *items,
                               bool *ret_added)
{
    unsigned stride = flat->header.stride;
    const value *found = flat_find(flat, items[0]);
    *ret_added = !found;
    if (found) {
        size_t index = (size_t)(found - flat->entries);
        value_release(region, items[0]);
        if (stride == 1)
            return &flat->header;
        flat = flat_own(region, flat, 0);
        value old = flat->entries[index + 1];
        flat->entries[index + 1] = items[1];
        value_release(region, old);
        return &flat->header;
    }
    if (flat->used == TABLE_FLAT) {
        bool added;
        return hash_table_put(region, flat_to_hash_table(region, flat), items,
                              hash_table_hash(items[0]), &added);
    }
    size_t capacity = flat->capacity;
    if (flat->used >= capacity) {
        capacity = flat->used + flat->used / 2 + 2;
        if (capacity > TABLE_FLAT)
            capacity = TABLE_FLAT;
    }
    flat = flat_own(region, flat, capacity);
    memcpy(flat->entries + (size_t)flat->used * stride, items, stride * sizeof(value));
    flat->used++;
    return &flat->header;
}

struct object *table_put(struct region *region, struct object *table, const value *items,
                         bool *ret_added)
{
    if (table->kind == OBJECT_FLAT)
        return flat_put(region, (struct flat *)table, items, ret_added);
    if (table->kind == OBJECT_HASH_TABLE)
        return hash_table_put(region, (struct hash_table *)table, items, hash_table_hash(items[0]),
                              ret_added);
    return trie_put(region, table, table->stride, items, ret_added);
}

static struct object *table_empty(unsigned stride)
{
    return stride == 1 ? &table_empty_set.header : &table_empty_map.header;
}

static struct object *flat_remove(struct region *region, struct flat *flat, value key,
                                  bool *ret_removed)
{
    unsigned stride = flat->header.stride;
    const value *found = flat_find(flat, key);
    *ret_removed = found != NULL;
    if (!found)
        return &flat->header;
    size_t index = (size_t)(found - flat->entries);
    if (flat->used == 1) {
        object_release(region, &flat->header);
        return table_empty(stride);
    }
    flat = flat_own(region, flat, 0);
    value removed[2];
    memcpy(removed, flat->entries + index, stride * sizeof(value));
    size_t behind = (size_t)flat->used * stride - index - stride;
    memmove(flat->entries + index, flat->entries + index + stride, behind * sizeof(value));
    flat->used--;
    for (unsigned i = 0; i < stride; i++)
        value_release(region, removed[i]);
    return &flat->header;
}

struct object *table_remove(struct region *region, struct object *table, value key,
                            bool *ret_removed)
{
    if (table->kind == OBJECT_FLAT)
        return flat_remove(region, (struct flat *)table, key, ret_removed);
    unsigned stride = table->stride;
    if (table->kind == OBJECT_HASH_TABLE)
        table = hash_table_to_trie(region, (struct hash_table *)table);
    table = trie_remove(region, table, key, ret_removed);
    return table ? table : table_empty(stride);
}

struct map_cursor table_iterate(value v)
{
    struct map_cursor cursor = {.map = v};
    cursor.node[0] = v.object;
    return cursor;
}

bool table_next(struct map_cursor *cursor, struct table_entry *ret_entry)
{
    const struct object *table = cursor->map.object;
    if (table->kind != OBJECT_FLAT && table->kind != OBJECT_HASH_TABLE) {
        const value *entry = trie_next(cursor);
        if (entry)
            *ret_entry = entry_at(entry, table->stride);
        return entry;
    }
    if (cursor->position >= cursor->map.aux)
        return false;
    size_t i = cursor->position++;
    if (table->kind == OBJECT_FLAT)
        *ret_entry =
            entry_at(((const struct flat *)table)->entries + i * table->stride, table->stride);
    else
        *ret_entry = hash_table_entry((const struct hash_table *)table, i);
    return true;
}
