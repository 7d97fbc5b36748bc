// Maps: records with a shape while their keys are few and all names, tables otherwise (table.h).
#include <string.h>

#include "base/assert.h"
#include "value/collection/hash_table.h"
#include "value/collection/shape.h"
#include "value/collection/sort.h"
#include "value/collection/table.h"
#include "value/fuel.h"
#include "value/region_tables.h"

static struct record empty_record = {
    .header = {.references = OBJECT_IMMORTAL, .kind = OBJECT_RECORD}, .shape = &shape_empty};

static value map_value(struct object *object, size_t count)
{
    return (value){.tag = VALUE_MAP, .aux = (uint32_t)count, .object = object};
}

static bool is_record(value map)
{
    return map.object->kind == OBJECT_RECORD;
}

value map_new(struct region *region)
{
    (void)region;  // an empty map needs no memory
    return map_value(&empty_record.header, 0);
}

size_t map_count(value map)
{
    return map.aux;
}

// --- finding -------------------------------------------------------------------------------------

bool map_find_entry(value map, value key, value *ret_key, value *ret_item)
{
    if (is_record(map)) {
        size_t slot;
        if (!shape_slot(record_of(map)->shape, key, &slot))
            return false;
        *ret_key = record_of(map)->shape->keys[slot];
        *ret_item = record_of(map)->slots[slot];
        return true;
    }
    struct table_entry entry;
    if (!table_find(map.object, key, &entry))
        return false;
    *ret_key = entry.key;
    *ret_item = entry.item;
    return true;
}

bool map_find(value map, value key, value *ret_item)
{
    value found;
    return map_find_entry(map, key, &found, ret_item);
}

static value borrowed_key(const char *name)
{
    return (value){
        .tag = VALUE_STRING, .flags = VALUE_BORROWED, .aux = (uint32_t)strlen(name), .text = name};
}

bool map_find_text(value map, const char *name, value *ret_item)
{
    return map_find(map, borrowed_key(name), ret_item);
}

value map_get(value map, const char *name)
{
    value item = value_nil();
    if (value_is_map(map))
        map_find_text(map, name, &item);
    return item;
}

int64_t map_get_integer(value map, const char *name, int64_t fallback)
{
    value item = map_get(map, name);
    return item.tag == VALUE_INTEGER ? item.integer : fallback;
}

struct span map_get_string(value map, const char *name)
{
    value item = map_get(map, name);
    return value_is_string(item) ? value_text(item) : (struct span){"", 0};
}

bool map_get_boolean(value map, const char *name)
{
    value item = map_get(map, name);
    return item.tag == VALUE_BOOLEAN && item.boolean;
}

size_t map_get_count(value map, const char *name)
{
    value item = map_get(map, name);
    return value_is_vector(item) ? vector_count(item) : 0;
}

value map_get_item(value map, const char *name, size_t index)
{
    return vector_at(map_get(map, name), index);
}

// --- records -------------------------------------------------------------------------------------

static size_t record_size(const struct shape *shape)
{
    return sizeof(struct record) + shape->count * sizeof(value);
}

// The record for changing, with room for the slots of `shape`, which has at least as many keys.
static struct record *record_own(struct region *region, struct record *record, struct shape *shape)
{
    struct shape *old = record->shape;
    struct record *changed;
    if (object_is_unique(&record->header)) {
        changed = region_resize(region, record, record_size(old), record_size(shape));
        changed->shape = shape;
        return changed;
    }
    changed = region_alloc(region, record_size(shape));
    changed->header = object_header(OBJECT_RECORD);
    changed->shape = shape;
    object_retain(&shape->header);
    for (size_t i = 0; i < old->count; i++)
        changed->slots[i] = value_retain(record->slots[i]);
    object_release(region, &record->header);
    return changed;
}

static value record_put_slot(struct region *region, value map, size_t slot, value item)
{
    struct record *record = (struct record *)map.object;
    record = record_own(region, record, record->shape);
    value old = record->slots[slot];
    record->slots[slot] = item;
    value_release(region, old);
    return map_value(&record->header, map.aux);
}

static value record_grow(struct region *region, value map, struct shape *shape, value item)
{
    struct record *record = record_own(region, (struct record *)map.object, shape);
    record->slots[map.aux] = item;
    return map_value(&record->header, map.aux + 1);
}

// The same map as a table; consumes it.
static value record_to_table(struct region *region, value map)
{
    const struct record *record = record_of(map);
    struct object *table = &table_empty_map.header;
    bool added;
    for (size_t i = 0; i < map.aux; i++) {
        value items[2] = {value_retain(record->shape->keys[i]), value_retain(record->slots[i])};
        table = table_put(region, table, items, &added);
        fuel_spend(1);
    }
    value_release(region, map);
    return map_value(table, map.aux);
}

static value put_in_table(struct region *region, value map, value key, value item)
{
    bool added;
    value items[2] = {key, item};
    struct object *table = table_put(region, map.object, items, &added);
    return map_value(table, map.aux + added);
}

static value put_in_record(struct region *region, value map, value key, value item)
{
    struct shape *shape = record_of(map)->shape;
    size_t slot;
    if (shape_slot(shape, key, &slot)) {
        value_release(region, key);
        return record_put_slot(region, map, slot, item);
    }
    struct shape *next = value_is_name(key) ? shape_extend(region, shape, key) : NULL;
    if (next) {
        value_release(region, key);
        return record_grow(region, map, next, item);
    }
    return put_in_table(region, record_to_table(region, map), key, item);
}

static __attribute__((noinline)) value put_hashed(struct region *region, value map, value key,
                                                  value item, uint32_t hash)
{
    bool added;
    value items[2] = {key, item};
    struct object *table =
        hash_table_put(region, (struct hash_table *)map.object, items, hash, &added);
    return map_value(table, map.aux + added);
}

static value put(struct region *region, value map, value key, value item)
{
    if (is_record(map))
        return put_in_record(region, map, key, item);
    if (map.object->kind != OBJECT_HASH_TABLE)
        return put_in_table(region, map, key, item);
    uint32_t hash = hash_table_hash(key);
    if (hash_table_try_add((struct hash_table *)map.object, key, item, hash))
        return map_value(map.object, map.aux + 1);
    return put_hashed(region, map, key, item, hash);
}

value map_put(struct region *region, value map, value key, value item)
{
    uint16_t order = map.small;
    map = put(region, map, key, item);
    map.small = order;
    return map;
}

value map_put_text(struct region *region, value map, const char *name, value item)
{
    value key = borrowed_key(name);
    if (is_record(map)) {
        struct shape *shape = record_of(map)->shape;
        size_t slot;
        if (shape_slot(shape, key, &slot))
            return record_put_slot(region, map, slot, item);
        struct shape *next = shape_successor(region, shape, key);
        if (next)
            return record_grow(region, map, next, item);
    }
    return map_put(region, map, value_string(region, span_from(name)), item);
}

static value record_remove(struct region *region, value map, size_t removed)
{
    const struct record *record = record_of(map);
    value rest = map_new(region);
    for (size_t i = 0; i < map.aux; i++)
        if (i != removed)
            rest = map_put(region, rest, value_retain(record->shape->keys[i]),
                           value_retain(record->slots[i]));
    value_release(region, map);
    return rest;
}

static value without(struct region *region, value map, value key)
{
    if (is_record(map)) {
        size_t slot;
        bool found = shape_slot(record_of(map)->shape, key, &slot);
        value_release(region, key);
        return found ? record_remove(region, map, slot) : map;
    }
    bool removed;
    struct object *table = table_remove(region, map.object, key, &removed);
    value_release(region, key);
    size_t count = map.aux - removed;
    return count ? map_value(table, count) : map_new(region);
}

value map_remove(struct region *region, value map, value key)
{
    uint16_t order = map.small;
    map = without(region, map, key);
    map.small = order;
    return map;
}

// --- iterating -----------------------------------------------------------------------------------

struct map_cursor map_iterate(value map)
{
    return table_iterate(map);
}

bool map_next(struct map_cursor *cursor, value *ret_key, value *ret_item)
{
    if (is_record(cursor->map)) {
        if (cursor->position >= cursor->map.aux)
            return false;
        const struct record *record = record_of(cursor->map);
        *ret_key = record->shape->keys[cursor->position];
        *ret_item = record->slots[cursor->position++];
        return true;
    }
    struct table_entry entry;
    if (!table_next(cursor, &entry))
        return false;
    *ret_key = entry.key;
    *ret_item = entry.item;
    return true;
}

value map_sorted_keys(struct region *region, value map)
{
    value keys = vector_new(region, map.aux);
    const uint8_t *order = is_record(map) ? record_of(map)->shape->order : NULL;
    if (order) {
        for (size_t i = 0; i < map.aux; i++)
            keys = vector_push(region, keys, value_retain(record_of(map)->shape->keys[order[i]]));
        return keys;
    }
    struct map_cursor cursor = map_iterate(map);
    value key, item;
    while (map_next(&cursor, &key, &item)) {
        keys = vector_push(region, keys, value_retain(key));
        fuel_spend(1);
    }
    return vector_sort_keys(region, keys);
}
