#include "value/collection/hash_table.h"

#include "base/assert.h"
#include "value/collection/trie.h"
#include "value/fuel.h"

enum {
    FIRST_SLOTS_LOG2 = 7,
    HASH_BITS = 32,
    SLOTS_PER_UNIT = 4,
    SLOTS_PER_BATCH = 1024,
    REACH_MAX = 2048,  // random hashes stay below 800, even of 100 million entries
};

static size_t table_size(size_t stride, size_t capacity)
{
    return sizeof(struct hash_table) + capacity * stride * sizeof(value);
}

static size_t slot_count(const struct hash_table *table)
{
    return (size_t)table->index_mask + 1;
}

static inline bool same_key(value a, value b)
{
    if (a.tag == VALUE_INTEGER && b.tag == VALUE_INTEGER)
        return a.integer == b.integer;
    return value_identical(a, b);
}

// --- the index -----------------------------------------------------------------------------------

static inline uint64_t slot_content(uint32_t hash, size_t number)
{
    return (uint64_t)hash << 32 | (number + 1);
}

static inline uint32_t slot_hash(uint64_t content)
{
    return (uint32_t)(content >> 32);
}

static inline size_t slot_number(uint64_t content)
{
    return (uint32_t)content - 1;
}

static void index_add(struct hash_table *table, uint64_t content)
{
    uint32_t distance = 0;
    size_t slot = hash_table_first_slot(table, slot_hash(content));
    for (; table->index[slot]; distance++)
        slot = (slot + 1) & table->index_mask;
    table->index[slot] = content;
    if (distance > table->reach)
        table->reach = distance;
}

static void index_create(struct region *region, struct hash_table *table, unsigned slots_log2)
{
    size_t slots = (size_t)1 << slots_log2;
    table->index = region_alloc_zero(region, slots * sizeof(uint64_t));
    table->index_mask = (uint32_t)(slots - 1);
    table->index_shift = (uint8_t)(HASH_BITS - slots_log2);
    table->reach = 0;
}

// Twice as many slots. The hashes are in the index, so that no key is hashed again.
static void index_grow(struct region *region, struct hash_table *table)
{
    uint64_t *old = table->index;
    size_t old_slots = slot_count(table);
    index_create(region, table, HASH_BITS - table->index_shift + 1u);
    for (size_t i = 0; i < old_slots; i++) {
        if (i % SLOTS_PER_BATCH == 0)
            fuel_spend(SLOTS_PER_BATCH / SLOTS_PER_UNIT);
        if (old[i])
            index_add(table, old[i]);
    }
    region_return(region, old, old_slots * sizeof(uint64_t));
}

// A load of 4/5 costs about two more steps than one of 2/3, mostly within a cache line, but the
// index is smaller.
static size_t index_room(const struct hash_table *table)
{
    return (size_t)table->index_mask * 4 / 5 + 1;
}

// --- finding -------------------------------------------------------------------------------------

struct table_entry hash_table_entry(const struct hash_table *table, size_t i)
{
    unsigned stride = table->header.stride;
    const value *entry = table->entries + i * stride;
    return (struct table_entry){entry[0], stride == 2 ? entry[1] : value_nil()};
}

struct hash_table_probe hash_table_probe(const struct hash_table *table, value key)
{
    return (struct hash_table_probe){table, hash_table_hash(key), 0};
}

// No entry is further from its first slot than `reach`, so that a search ends there even where many
// slots in a row are occupied.
bool hash_table_probe_next(struct hash_table_probe *probe, struct table_entry *ret_entry)
{
    const struct hash_table *table = probe->table;
    while (probe->distance <= table->reach) {
        size_t slot = hash_table_first_slot(table, probe->hash) + probe->distance++;
        uint64_t content = table->index[slot & table->index_mask];
        if (!content)
            return false;
        if (slot_hash(content) == probe->hash) {
            *ret_entry = hash_table_entry(table, slot_number(content));
            return true;
        }
    }
    return false;
}

bool hash_table_find(const struct hash_table *table, value key, struct table_entry *ret_entry)
{
    uint32_t hash = hash_table_hash(key);
    unsigned stride = table->header.stride;
    size_t slot = hash_table_first_slot(table, hash);
    for (uint32_t distance = 0; distance <= table->reach; distance++) {
        uint64_t content = table->index[slot++ & table->index_mask];
        if (!content)
            return false;
        if (slot_hash(content) != hash)
            continue;
        const value *entry = table->entries + slot_number(content) * stride;
        if (same_key(entry[0], key)) {
            *ret_entry = (struct table_entry){entry[0], stride == 2 ? entry[1] : value_nil()};
            return true;
        }
    }
    return false;
}

// --- changing ------------------------------------------------------------------------------------

static void update_room(struct hash_table *table)
{
    size_t in_index = index_room(table);
    table->room = in_index < table->capacity ? (uint32_t)in_index : table->capacity;
}

// Room for one more entry; the table has one owner.
static struct hash_table *make_room(struct region *region, struct hash_table *table)
{
    if (table->trie) {
        object_release(region, table->trie);
        table->trie = NULL;
    }
    if (table->used >= index_room(table))
        index_grow(region, table);
    if (table->used >= table->capacity) {
        size_t capacity = (size_t)table->capacity + table->capacity / 2;
        size_t stride = table->header.stride;
        table = region_resize(region, table, table_size(stride, table->capacity),
                              table_size(stride, capacity));
        table->capacity = (uint32_t)capacity;
    }
    update_room(table);
    return table;
}

struct hash_table *hash_table_from(struct region *region, unsigned stride, const value *entries,
                                   size_t count)
{
    struct hash_table *table = region_alloc(region, table_size(stride, count * 2));
    *table = (struct hash_table){.header = object_header(OBJECT_HASH_TABLE),
                                 .capacity = (uint32_t)count * 2};
    table->header.stride = (uint8_t)stride;
    index_create(region, table, FIRST_SLOTS_LOG2);
    update_room(table);
    for (size_t i = 0; i < count; i++) {
        bool added;
        const value *entry = entries + i * stride;
        struct object *same =
            hash_table_put(region, table, entry, hash_table_hash(entry[0]), &added);
        CHECK(same == &table->header && added);
    }
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
        // An immortal table may be read by other threads at the same time.
        if (table->header.references != OBJECT_IMMORTAL && !object_is_unique(&table->header)) {
            table->trie = trie;
            table->room = 0;
            object_retain(trie);
        }
    }
    object_release(region, &table->header);
    return trie;
}

static void replace_item(struct region *region, struct hash_table *table, size_t number,
                         const value *items)
{
    value_release(region, items[0]);
    if (table->header.stride == 1)
        return;
    value *place = &table->entries[number * 2 + 1];
    value old = *place;
    *place = items[1];
    table->has_objects |= value_is_counted(items[1]);
    value_release(region, old);
}

// Adds an entry that is not there: the search for it ended at `slot`.
static struct object *append(struct region *region, struct hash_table *table, const value *items,
                             uint32_t hash, size_t slot)
{
    unsigned stride = table->header.stride;
    uint32_t number = table->used++,
             distance = (uint32_t)(slot - hash_table_first_slot(table, hash));
    value *entry = table->entries + (size_t)number * stride;
    for (unsigned i = 0; i < stride; i++) {
        entry[i] = items[i];
        table->has_objects |= value_is_counted(items[i]);
    }
    table->index[slot & table->index_mask] = slot_content(hash, number);
    if (__builtin_expect(distance > table->reach, 0))
        table->reach = distance;
    return table->reach > REACH_MAX ? hash_table_to_trie(region, table) : &table->header;
}

struct object *hash_table_put(struct region *region, struct hash_table *table, const value *items,
                              uint32_t hash, bool *ret_added)
{
    if (!object_is_unique(&table->header))
        return trie_put(region, hash_table_to_trie(region, table), table->header.stride, items,
                        ret_added);
    if (table->used >= table->room)
        table = make_room(region, table);
    size_t slot = hash_table_first_slot(table, hash);
    uint64_t content;
    while ((content = table->index[slot & table->index_mask])) {
        size_t number = slot_number(content);
        if (slot_hash(content) == hash &&
            same_key(table->entries[number * table->header.stride], items[0])) {
            *ret_added = false;
            replace_item(region, table, number, items);
            return &table->header;
        }
        slot++;
    }
    *ret_added = true;
    return append(region, table, items, hash, slot);
}

bool hash_table_try_add(struct hash_table *table, value key, value item, uint32_t hash)
{
    if (!hash_table_is_ready(table))
        return false;
    size_t first = hash_table_first_slot(table, hash), slot = first;
    for (uint64_t content; (content = table->index[slot & table->index_mask]); slot++)
        if (slot_hash(content) == hash)
            return false;
    if (slot - first > table->reach)
        return false;
    hash_table_append(table, key, item, hash, slot & table->index_mask);
    return true;
}

void hash_table_release(struct region *region, struct hash_table *table)
{
    if (table->trie)
        object_release(region, table->trie);
    region_return(region, table->index, slot_count(table) * sizeof(uint64_t));
}
