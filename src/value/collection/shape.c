#include "value/collection/shape.h"

#include <string.h>

#include "base/hash.h"
#include "value/collection/key_lookup.h"
#include "value/fuel.h"
#include "value/region_tables.h"

enum {
    SHAPES_MAX = 1024,  // narrow shapes per region, which are never freed
    SEARCH_MAX = 8,     // keys searched one by one
    FIRST_BUCKETS = 16,
    SHARED_KEY_MAX = 64,  // bytes; bounds the memory of shared shapes
};

struct shape shape_empty = {.header = {.references = OBJECT_IMMORTAL, .kind = OBJECT_SHAPE}};

static bool index_find(const struct shape *shape, value key, size_t *ret_slot)
{
    uint64_t hash = value_hash(key);
    for (uint32_t i = (uint32_t)hash & shape->index_mask;; i = (i + 1) & shape->index_mask) {
        uint32_t slot = shape->index[i];
        if (slot == 0)
            return false;
        if (shape->hashes[slot - 1] == hash && value_identical(shape->keys[slot - 1], key)) {
            *ret_slot = slot - 1;
            return true;
        }
    }
}

bool shape_slot(const struct shape *shape, value key, size_t *ret_slot)
{
    if (!value_is_name(key))
        return false;
    if (shape->index_mask)
        return index_find(shape, key, ret_slot);
    for (size_t i = 0; i < shape->count; i++) {
        value candidate = shape->keys[i];
        if (candidate.aux == key.aux && candidate.tag == key.tag &&
            (candidate.pointer == key.pointer ||
             span_equal(value_text(candidate), value_text(key)))) {
            *ret_slot = i;
            return true;
        }
    }
    return false;
}

static bool find_in_shape(const void *container, value key, void *ret_slot)
{
    return shape_slot(container, key, ret_slot);
}

bool shape_slot_flexible(const struct shape *shape, value key, size_t *ret_slot)
{
    return key_lookup(find_in_shape, shape, key, ret_slot);
}

// --- making --------------------------------------------------------------------------------------

static void index_add(const struct shape *shape, uint32_t *index, uint32_t slot)
{
    uint32_t i = (uint32_t)shape->hashes[slot] & shape->index_mask;
    while (index[i])
        i = (i + 1) & shape->index_mask;
    index[i] = slot + 1;
}

static void index_build(struct shape *shape, uint64_t *hashes, uint32_t *index)
{
    memset(index, 0, ((size_t)shape->index_mask + 1) * sizeof(*index));
    shape->hashes = hashes;
    shape->index = index;
    for (uint32_t slot = 0; slot < shape->count; slot++) {
        hashes[slot] = value_hash(shape->keys[slot]);
        index_add(shape, index, slot);
        fuel_spend(1);
    }
}

// A shape with room for `count` keys, to be filled in; then call shape_complete().
static struct shape *shape_alloc(struct region *region, size_t count, bool ordered)
{
    uint32_t buckets = 0;
    size_t size = sizeof(struct shape) + count * sizeof(value);
    if (count > SEARCH_MAX) {
        for (buckets = 4 * SEARCH_MAX; buckets < count * 2;)
            buckets *= 2;
        size += count * sizeof(uint64_t) + buckets * sizeof(uint32_t);
    }
    struct shape *shape = region_alloc(region, size + (ordered ? count : 0));
    *shape = (struct shape){.header = object_header(OBJECT_SHAPE),
                            .count = (uint32_t)count,
                            .index_mask = buckets ? buckets - 1 : 0};
    return shape;
}

// Fills the index; returns where the order goes.
static uint8_t *shape_complete(struct shape *shape)
{
    char *behind = (char *)(shape->keys + shape->count);
    if (!shape->index_mask)
        return (uint8_t *)behind;
    uint64_t *hashes = (uint64_t *)(void *)behind;
    uint32_t *index = (uint32_t *)(hashes + shape->count);
    index_build(shape, hashes, index);
    return (uint8_t *)(index + shape->index_mask + 1);
}

// The order of the parent with the last key put in its place.
static void order_insert(struct shape *shape, const struct shape *parent, uint8_t *order)
{
    size_t low = 0, high = parent->count;
    value key = shape->keys[parent->count];
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (value_compare_keys(parent->keys[parent->order[middle]], key) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    if (parent->count) {
        memcpy(order, parent->order, low);
        memcpy(order + low + 1, parent->order + low, parent->count - low);
    }
    order[low] = (uint8_t)parent->count;
    shape->order = order;
}

static bool key_is_unescaped(value key)
{
    if (key.tag != VALUE_STRING)
        return false;
    struct span text = value_text(key);
    for (size_t i = 0; i < text.length; i++)
        if ((unsigned char)text.data[i] < ' ' || text.data[i] == '"' || text.data[i] == '\\')
            return false;
    return true;
}

static void set_head(struct shape *shape, value key)
{
    if (!key_is_unescaped(key))
        return;
    struct span text = value_text(key);
    unsigned char bytes[8] = {0}, mask[8] = {0};
    for (size_t i = 0; i < sizeof(bytes) && i <= text.length; i++) {
        bytes[i] = i < text.length ? (unsigned char)text.data[i] : '"';
        mask[i] = 0xFF;
    }
    shape->head_length = (uint32_t)text.length;
    memcpy(&shape->head, bytes, sizeof(bytes));
    memcpy(&shape->head_mask, mask, sizeof(mask));
}

static void grow_table(struct region *region, struct region_tables *tables)
{
    uint32_t buckets = tables->shape_buckets ? tables->shape_buckets * 2 : FIRST_BUCKETS;
    struct shape **table = region_alloc_zero(region, buckets * sizeof(struct shape *));
    for (uint32_t i = 0; i < tables->shape_buckets; i++) {
        for (struct shape *shape = tables->shapes[i], *next; shape; shape = next) {
            next = shape->next;
            struct shape **bucket = &table[shape->hash & (buckets - 1)];
            shape->next = *bucket;
            *bucket = shape;
        }
    }
    region_return(region, tables->shapes, tables->shape_buckets * sizeof(struct shape *));
    tables->shapes = table;
    tables->shape_buckets = buckets;
}

static uint64_t transition_hash(const struct shape *shape, value key)
{
    return hash_combine(value_hash(key), (uintptr_t)shape);
}

static struct shape *transition_find(struct region_tables *tables, const struct shape *shape,
                                     value key, uint64_t hash)
{
    if (!tables->shape_buckets)
        return NULL;
    struct shape *next = tables->shapes[hash & (tables->shape_buckets - 1)];
    while (next && !(next->hash == hash && next->parent == shape &&
                     value_identical(next->keys[next->count - 1], key)))
        next = next->next;
    return next;
}

static struct shape *shape_make(struct region *region, struct region_tables *tables,
                                const struct shape *parent, value key, uint64_t hash)
{
    if (tables->shape_count >= tables->shape_buckets)
        grow_table(region, tables);
    struct shape *shape = shape_alloc(region, parent->count + 1, true);
    shape->header.references = OBJECT_IMMORTAL;
    shape->hash = hash;
    shape->parent = parent;
    set_head(shape, key);
    for (size_t i = 0; i < parent->count; i++)
        shape->keys[i] = value_retain(parent->keys[i]);
    shape->keys[parent->count] = value_retain(key);
    order_insert(shape, parent, shape_complete(shape));
    struct shape **bucket = &tables->shapes[hash & (tables->shape_buckets - 1)];
    shape->next = *bucket;
    *bucket = shape;
    tables->shape_count++;
    return shape;
}

// --- shapes that regions share -------------------------------------------------------------------

void shapes_share(struct region *region, struct region *shared)
{
    region->attached[ATTACHED_SHARED_SHAPES] = shared;
}

// The tables of the region that the successors of this shape are shared in; NULL: they are not. An
// immortal map may come from a region that shares its shapes with other regions than this one does.
static struct region_tables *shared_tables(const struct region *region, const struct shape *shape)
{
    struct region *shared = region->attached[ATTACHED_SHARED_SHAPES];
    return shared && (shape->shared == shared || shape->count == 0) ? region_tables_of(shared)
                                                                    : NULL;
}

// Keywords belong to their region, and a client's key may be of any length.
static bool may_be_shared(const struct region_tables *tables, const struct shape *parent, value key)
{
    return key.tag == VALUE_STRING && key.aux <= SHARED_KEY_MAX && parent->count < SHAPE_NARROW &&
           tables->shape_count < SHAPES_MAX;
}

static struct shape *shape_make_shared(struct region *shared, struct region_tables *tables,
                                       const struct shape *parent, value key, uint64_t hash)
{
    value immortal = value_string(shared, value_text(key));
    value_make_immortal(immortal);
    struct shape *shape = shape_make(shared, tables, parent, immortal, hash);
    shape->shared = shared;
    return shape;
}

// --- successors ----------------------------------------------------------------------------------

struct shape *shape_successor(struct region *region, const struct shape *shape, value key)
{
    uint64_t hash = transition_hash(shape, key);
    struct region_tables *shared = shared_tables(region, shape);
    struct shape *known = shared ? transition_find(shared, shape, key, hash) : NULL;
    return known ? known : transition_find(region_tables_of(region), shape, key, hash);
}

struct shape *shape_extend(struct region *region, const struct shape *shape, value key)
{
    struct shape *known = shape_successor(region, shape, key);
    if (known)
        return known;
    uint64_t hash = transition_hash(shape, key);
    struct region_tables *shared = shared_tables(region, shape);
    if (shared && may_be_shared(shared, shape, key))
        return shape_make_shared(region->attached[ATTACHED_SHARED_SHAPES], shared, shape, key,
                                 hash);
    struct region_tables *tables = region_tables_of(region);
    if (shape->count >= SHAPE_NARROW || tables->shape_count >= SHAPES_MAX)
        return NULL;
    return shape_make(region, tables, shape, key, hash);
}

struct shape *shape_new_wide(struct region *region, const value *keys, size_t count)
{
    struct shape *shape = shape_alloc(region, count, false);
    memcpy(shape->keys, keys, count * sizeof(value));
    shape_complete(shape);
    return shape;
}

value record_new(struct region *region, struct shape *shape, const value *slots)
{
    struct record *record = region_alloc(region, sizeof(*record) + shape->count * sizeof(value));
    record->header = object_header(OBJECT_RECORD);
    record->shape = shape;
    memcpy(record->slots, slots, shape->count * sizeof(value));
    return (value){.tag = VALUE_MAP, .aux = shape->count, .object = &record->header};
}
