#include "value/collection/hash_table.h"

#include <string.h>

#include "base/assert.h"
#include "value/collection/trie.h"
#include "value/fuel.h"

enum {
    FIRST_SLOTS = 128,
    PLACES_PER_UNIT = 4,
    PLACES_PER_BATCH = 1024,
    REACH_MAX = 2048,
};

static size_t hash_table_size(size_t width, size_t capacity)  // width: bytes per entry
{
    return sizeof(struct hash_table) + capacity * width;
}

static size_t index_size(const struct hash_table *table)
{
    return ((size_t)table->index_mask + 1) * sizeof(uint64_t);
}

static uint32_t short_hash(uint64_t hash)
{
    return (uint32_t)(hash ^ hash >> 32);
}

// The hash by which a key is placed. Integers are their own hash: most of them are numbered one
// after another, and so they lie in memory. Those that pile up nevertheless end in a trie
// (REACH_MAX).
static uint32_t place_hash(value key)
{
    return short_hash(key.tag == VALUE_INTEGER ? (uint64_t)key.integer : value_hash(key));
}

// --- the index -----------------------------------------------------------------------------------

static void place(struct hash_table *table, uint32_t hash, uint32_t number)
{
    uint32_t distance = 0, slot = hash & table->index_mask;
    for (; table->index[slot]; distance++)
        slot = (slot + 1) & table->index_mask;
    table->index[slot] = (uint64_t)hash << 32 | (number + 1);
    if (distance > table->reach)
        table->reach = distance;
}

// Twice as many slots, or the first ones.
static void grow_index(struct region *region, struct hash_table *table)
{
    uint64_t *old = table->index;
    size_t old_slots = old ? (size_t)table->index_mask + 1 : 0, old_size = index_size(table);
    size_t slots = old ? old_slots * 2 : FIRST_SLOTS;
    table->index = region_alloc_zero(region, slots * sizeof(uint64_t));
    table->index_mask = (uint32_t)(slots - 1);
    table->reach = 0;
    for (size_t i = 0; i < old_slots; i++) {
        if (i % PLACES_PER_BATCH == 0)
            fuel_spend(PLACES_PER_BATCH / PLACES_PER_UNIT);
        if (old[i])
            place(table, (uint32_t)(old[i] >> 32), (uint32_t)old[i] - 1);
    }
    if (old)
        region_return(region, old, old_size);
}

struct table_entry hash_table_entry(const struct hash_table *table, size_t i)
{
    value item = table->header.stride == 2 ? hash_table_item(table, i) : value_nil();
    return (struct table_entry){hash_table_key(table, i), item};
}

// The number of the next entry with the hash that is looked for.
static bool probe_number(struct hash_table_probe *probe, size_t *ret_number)
{
    // Numbers one after another fill slots one after another. A search that ended only at a free
    // slot would walk through all of them.
    const struct hash_table *table = probe->table;
    while (((probe->slot - probe->hash) & table->index_mask) <= table->reach) {
        uint64_t slot = table->index[probe->slot];
        if (!slot)
            break;
        probe->slot = (probe->slot + 1) & table->index_mask;
        if (slot >> 32 == probe->hash) {
            *ret_number = (uint32_t)slot - 1;
            return true;
        }
    }
    return false;
}

// The number of the entry of a dense key, or of the one that it would be.
static bool dense_number(const struct hash_table *table, value key, size_t *ret_number)
{
    *ret_number = (uint64_t)key.integer - (uint64_t)table->first;
    return key.tag == VALUE_INTEGER && *ret_number < table->used;
}

static bool find_number(const struct hash_table *table, value key, uint32_t hash,
                        size_t *ret_number)
{
    struct hash_table_probe probe = {table, hash, hash & table->index_mask};
    while (probe_number(&probe, ret_number))
        if (value_identical(hash_table_key(table, *ret_number), key))
            return true;
    return false;
}

bool hash_table_find(const struct hash_table *table, value key, struct table_entry *ret_entry)
{
    size_t number;
    bool found = hash_table_is_dense(table) ? dense_number(table, key, &number)
                                            : find_number(table, key, place_hash(key), &number);
    if (found)
        *ret_entry = hash_table_entry(table, number);
    return found;
}

struct hash_table_probe hash_table_probe(const struct hash_table *table, value key)
{
    uint32_t hash = hash_table_is_dense(table) ? 0 : place_hash(key);
    return (struct hash_table_probe){table, hash, hash & table->index_mask};
}

bool hash_table_probe_next(struct hash_table_probe *probe, struct table_entry *ret_entry)
{
    size_t number;
    // No collection is a key of a dense table.
    if (hash_table_is_dense(probe->table) || !probe_number(probe, &number))
        return false;
    *ret_entry = hash_table_entry(probe->table, number);
    return true;
}

// --- changing ------------------------------------------------------------------------------------

static struct hash_table *table_new(struct region *region, unsigned stride, size_t width,
                                    size_t capacity)
{
    struct hash_table *table = region_alloc(region, hash_table_size(width, capacity));
    *table = (struct hash_table){.header = object_header(OBJECT_HASH_TABLE),
                                 .capacity = (uint32_t)capacity};
    table->header.stride = (uint8_t)stride;
    return table;
}

// Room for one more entry; the table has one owner.
static inline struct hash_table *make_room(struct region *region, struct hash_table *table)
{
    if (__builtin_expect(table->used < table->capacity, 1))
        return table;
    size_t capacity = (size_t)table->capacity + table->capacity / 2,
           width = hash_table_width(table);
    table = region_resize(region, table, hash_table_size(width, table->capacity),
                          hash_table_size(width, capacity));
    table->capacity = (uint32_t)capacity;
    return table;
}

// Adds an entry that is not there; the table is not dense and has one owner.
static struct hash_table *append(struct region *region, struct hash_table *table,
                                 const value *items, uint32_t hash)
{
    unsigned stride = table->header.stride;
    table = make_room(region, table);
    if (((size_t)table->used + 1) * 5 > ((size_t)table->index_mask + 1) * 4)
        grow_index(region, table);
    memcpy(table->entries + (size_t)table->used * stride, items, stride * sizeof(value));
    place(table, hash, table->used++);
    return table;
}

static bool are_dense(const value *entries, unsigned stride, size_t count)
{
    if (stride != 2)
        return false;
    for (size_t i = 0; i < count; i++) {
        uint64_t distance = (uint64_t)entries[2 * i].integer - (uint64_t)entries[0].integer;
        if (entries[2 * i].tag != VALUE_INTEGER || distance != i)
            return false;
    }
    return true;
}

static struct hash_table *dense_new(struct region *region, int64_t first, size_t capacity,
                                    bool is_packed)
{
    size_t width = is_packed ? sizeof(int64_t) : sizeof(value);
    struct hash_table *table = table_new(region, 2, width, capacity);
    table->first = first;
    table->is_packed = is_packed;
    return table;
}

// The item fits.
static void set_dense_item(struct hash_table *table, size_t number, value item)
{
    if (table->is_packed)
        packed_items(table)[number] = item.integer;
    else
        table->entries[number] = item;
}

static struct hash_table *dense_from(struct region *region, const value *entries, size_t count)
{
    bool is_packed = true;
    for (size_t i = 0; i < count; i++)
        is_packed = is_packed && entries[2 * i + 1].tag == VALUE_INTEGER;
    struct hash_table *table = dense_new(region, entries[0].integer, count * 2, is_packed);
    for (size_t i = 0; i < count; i++)
        set_dense_item(table, table->used++, entries[2 * i + 1]);
    return table;
}

// The same items with their tags; consumes the table, which has one owner.
static struct hash_table *unpack(struct region *region, struct hash_table *packed)
{
    struct hash_table *table = dense_new(region, packed->first, packed->capacity, false);
    for (size_t i = 0; i < packed->used; i++) {
        if (i % PLACES_PER_BATCH == 0)
            fuel_spend(PLACES_PER_BATCH / PLACES_PER_UNIT);
        table->entries[table->used++] = hash_table_item(packed, i);
    }
    region_return(region, packed, hash_table_size(sizeof(int64_t), packed->capacity));
    return table;
}

struct hash_table *hash_table_from(struct region *region, unsigned stride, const value *entries,
                                   size_t count)
{
    if (are_dense(entries, stride, count))
        return dense_from(region, entries, count);
    struct hash_table *table = table_new(region, stride, stride * sizeof(value), count * 2);
    grow_index(region, table);
    for (size_t i = 0; i < count; i++)
        table = append(region, table, entries + i * stride, place_hash(entries[i * stride]));
    return table;
}

// The same entries with keys and an index; consumes the table, which has one owner.
static struct hash_table *dense_to_hash_table(struct region *region, struct hash_table *dense)
{
    size_t capacity = (size_t)dense->used + dense->used / 4;
    struct hash_table *table = table_new(region, 2, 2 * sizeof(value), capacity);
    grow_index(region, table);
    for (size_t i = 0; i < dense->used; i++) {
        fuel_spend(1);
        value items[2] = {hash_table_key(dense, i), hash_table_item(dense, i)};
        table = append(region, table, items, place_hash(items[0]));
    }
    region_return(region, dense, hash_table_size(hash_table_width(dense), dense->capacity));
    return table;
}

struct object *hash_table_to_trie(struct region *region, struct hash_table *table)
{
    unsigned stride = table->header.stride;
    struct object *trie = table->trie;
    if (trie) {
        object_retain(trie);
    } else {
        for (size_t i = 0; i < table->used; i++) {
            struct table_entry entry = hash_table_entry(table, i);
            value items[2] = {value_retain(entry.key), value_retain(entry.item)};
            bool added;
            fuel_spend(1);
            trie = trie_put(region, trie, stride, items, &added);
        }
        CHECK(trie);  // a large table has entries
        // An immortal table may be read by other threads meanwhile.
        if (table->header.references != OBJECT_IMMORTAL && !object_is_unique(&table->header)) {
            table->trie = trie;
            object_retain(trie);
        }
    }
    object_release(region, &table->header);
    return trie;
}

static void replace_item(struct region *region, value *place, value item)
{
    value old = *place;
    *place = item;
    value_release(region, old);
}

// NULL: the key does not fit a dense table.
static struct hash_table *dense_put(struct region *region, struct hash_table *table,
                                    const value *items, bool *ret_added)
{
    size_t number;
    bool found = dense_number(table, items[0], &number);
    if (items[0].tag != VALUE_INTEGER || number > table->used)
        return NULL;
    if (table->is_packed && items[1].tag != VALUE_INTEGER)
        table = unpack(region, table);
    *ret_added = !found;
    value old = found ? hash_table_item(table, number) : value_nil();
    if (!found) {
        table = make_room(region, table);
        table->used++;
    }
    set_dense_item(table, number, items[1]);
    value_release(region, old);
    return table;
}

struct object *hash_table_put(struct region *region, struct hash_table *table, const value *items,
                              bool *ret_added)
{
    unsigned stride = table->header.stride;
    if (!object_is_unique(&table->header))
        return trie_put(region, hash_table_to_trie(region, table), stride, items, ret_added);
    if (table->trie) {
        object_release(region, table->trie);
        table->trie = NULL;
    }
    if (hash_table_is_dense(table)) {
        struct hash_table *dense = dense_put(region, table, items, ret_added);
        if (dense)
            return &dense->header;
        table = dense_to_hash_table(region, table);
    }
    uint32_t hash = place_hash(items[0]);
    size_t number;
    *ret_added = !find_number(table, items[0], hash, &number);
    if (*ret_added) {
        table = append(region, table, items, hash);
        return table->reach > REACH_MAX ? hash_table_to_trie(region, table) : &table->header;
    }
    value_release(region, items[0]);
    if (stride == 2)
        replace_item(region, &table->entries[number * 2 + 1], items[1]);
    return &table->header;
}

void hash_table_release(struct region *region, struct hash_table *table)
{
    if (table->trie)
        object_release(region, table->trie);
    if (!hash_table_is_dense(table))
        region_return(region, table->index, index_size(table));
}
