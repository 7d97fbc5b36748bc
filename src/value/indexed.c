#include "value/indexed.h"

#include <string.h>

#include "base/assert.h"
#include "value/tick.h"
#include "value/trie.h"

enum {
    FIRST_SLOTS = 128,
    PLACES_PER_UNIT = 4,
    REACH_MAX = 2048,
};

static size_t indexed_size(unsigned stride, size_t capacity)
{
    return sizeof(struct indexed) + capacity * stride * sizeof(value);
}

static size_t index_size(const struct indexed *table)
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

// --- the index ----------------------------------------------------------------------------------

static void place(struct indexed *table, uint32_t hash, uint32_t number)
{
    uint32_t distance = 0, slot = hash & table->index_mask;
    for (; table->index[slot]; distance++)
        slot = (slot + 1) & table->index_mask;
    table->index[slot] = (uint64_t)hash << 32 | (number + 1);
    if (distance > table->reach)
        table->reach = distance;
}

// Twice as many slots, or the first ones.
static void grow_index(struct region *region, struct indexed *table)
{
    uint64_t *old = table->index;
    size_t old_slots = old ? (size_t)table->index_mask + 1 : 0, old_size = index_size(table);
    size_t slots = old ? old_slots * 2 : FIRST_SLOTS;
    table->index = region_alloc_zero(region, slots * sizeof(uint64_t));
    table->index_mask = (uint32_t)(slots - 1);
    table->reach = 0;
    tick_spend(old_slots / PLACES_PER_UNIT);
    for (size_t i = 0; i < old_slots; i++)
        if (old[i])
            place(table, (uint32_t)(old[i] >> 32), (uint32_t)old[i] - 1);
    if (old)
        region_return(region, old, old_size);
}

struct indexed_probe indexed_probe(const struct indexed *table, value key)
{
    uint32_t hash = place_hash(key);
    return (struct indexed_probe){table, hash, hash & table->index_mask};
}

const value *indexed_probe_next(struct indexed_probe *probe)
{
    // Numbers one after another fill slots one after another. A search that ended only at a free
    // slot would walk through all of them.
    const struct indexed *table = probe->table;
    while (((probe->slot - probe->hash) & table->index_mask) <= table->reach) {
        uint64_t slot = table->index[probe->slot];
        if (!slot)
            break;
        probe->slot = (probe->slot + 1) & table->index_mask;
        if (slot >> 32 == probe->hash)
            return table->entries + ((uint32_t)slot - 1) * (size_t)table->header.stride;
    }
    return NULL;
}

static const value *find_placed(const struct indexed *table, value key, uint32_t hash)
{
    struct indexed_probe probe = {table, hash, hash & table->index_mask};
    for (const value *entry; (entry = indexed_probe_next(&probe));)
        if (value_identical(*entry, key))
            return entry;
    return NULL;
}

const value *indexed_find(const struct indexed *table, value key)
{
    return find_placed(table, key, place_hash(key));
}

// --- changing -----------------------------------------------------------------------------------

// Adds an entry that is not there; the table has one owner.
static struct indexed *append(struct region *region, struct indexed *table, const value *items,
                              uint32_t hash)
{
    unsigned stride = table->header.stride;
    if (table->used == table->capacity) {
        size_t capacity = (size_t)table->capacity + table->capacity / 2;
        table = region_resize(region, table, indexed_size(stride, table->capacity),
                              indexed_size(stride, capacity));
        table->capacity = (uint32_t)capacity;
    }
    if (((size_t)table->used + 1) * 5 > ((size_t)table->index_mask + 1) * 4)
        grow_index(region, table);
    memcpy(table->entries + (size_t)table->used * stride, items, stride * sizeof(value));
    place(table, hash, table->used++);
    return table;
}

struct indexed *indexed_from(struct region *region, unsigned stride, const value *entries,
                             size_t count)
{
    size_t capacity = count * 2;
    struct indexed *table = region_alloc(region, indexed_size(stride, capacity));
    *table =
        (struct indexed){.header = object_header(OBJECT_INDEXED), .capacity = (uint32_t)capacity};
    table->header.stride = (uint8_t)stride;
    grow_index(region, table);
    for (size_t i = 0; i < count; i++) {
        uint32_t hash = place_hash(entries[i * stride]);
        table = append(region, table, entries + i * stride, hash);
    }
    return table;
}

struct object *indexed_to_trie(struct region *region, struct indexed *table)
{
    unsigned stride = table->header.stride;
    struct object *trie = table->trie;
    if (trie) {
        object_retain(trie);
    } else {
        for (size_t i = 0; i < table->used; i++) {
            const value *entry = table->entries + i * stride;
            value items[2];
            bool added;
            for (unsigned j = 0; j < stride; j++)
                items[j] = value_retain(entry[j]);
            tick_spend(1);
            trie = trie_put(region, trie, stride, items, &added);
        }
        CHECK(trie);  // a large table has entries
        // A lasting table may be read by other threads meanwhile.
        if (table->header.references != OBJECT_LASTING && !object_is_unique(&table->header)) {
            table->trie = trie;
            object_retain(trie);
        }
    }
    object_release(region, &table->header);
    return trie;
}

struct object *indexed_put(struct region *region, struct indexed *table, const value *items,
                           bool *ret_added)
{
    unsigned stride = table->header.stride;
    if (!object_is_unique(&table->header))
        return trie_put(region, indexed_to_trie(region, table), stride, items, ret_added);
    if (table->trie) {
        object_release(region, table->trie);
        table->trie = NULL;
    }
    uint32_t hash = place_hash(items[0]);
    value *found = (value *)find_placed(table, items[0], hash);
    *ret_added = !found;
    if (!found) {
        table = append(region, table, items, hash);
        return table->reach > REACH_MAX ? indexed_to_trie(region, table) : &table->header;
    }
    value_release(region, items[0]);
    if (stride == 2) {
        value old = found[1];
        found[1] = items[1];
        value_release(region, old);
    }
    return &table->header;
}

void indexed_release(struct region *region, struct indexed *table)
{
    if (table->trie)
        object_release(region, table->trie);
    region_return(region, table->index, index_size(table));
}
