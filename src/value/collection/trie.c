#include "value/collection/trie.h"

#include <string.h>

#include "base/assert.h"
#include "value/fuel.h"

enum { HASH_BITS = 64, PLACES = 1 << TRIE_BITS, PUT_UNITS = 4 };

struct put {
    struct region *region;
    unsigned stride;
    uint64_t hash;
    const value *items;
    bool added;
};

static uint32_t place_bit(uint64_t hash, unsigned shift)
{
    return UINT32_C(1) << (hash >> shift & (PLACES - 1));
}

static size_t index_of(uint32_t map, uint32_t bit)
{
    return bits_count(map & (bit - 1));
}

// --- finding -------------------------------------------------------------------------------------

static const value *collision_find(const struct collision *collision, value key)
{
    unsigned stride = collision->header.stride;
    for (size_t i = 0; i < collision->count; i++)
        if (value_identical(collision->entries[i * stride], key))
            return collision->entries + i * stride;
    return NULL;
}

const value *trie_at(const struct object *trie, uint64_t hash, const struct object **ret_last)
{
    for (unsigned shift = 0; trie->kind == OBJECT_NODE; shift += TRIE_BITS) {
        const struct node *node = (const struct node *)trie;
        uint32_t bit = place_bit(hash, shift);
        *ret_last = trie;
        if (node->entry_map & bit)
            return node->entries + index_of(node->entry_map, bit) * trie->stride;
        if (!(node->child_map & bit))
            return NULL;
        trie = node_children(node)[index_of(node->child_map, bit)];
    }
    *ret_last = trie;
    return NULL;
}

const value *trie_find(const struct object *trie, value key, uint64_t hash)
{
    const struct object *last;
    const value *entry = trie_at(trie, hash, &last);
    if (entry)
        return value_identical(*entry, key) ? entry : NULL;
    if (last->kind == OBJECT_NODE)
        return NULL;
    return collision_find((const struct collision *)last, key);
}

// --- changing a node -----------------------------------------------------------------------------

// The object for changing, `size` bytes large (not below its size now). Consumes the old one.
static struct object *own(struct region *region, struct object *object, size_t size)
{
    size_t old_size = object_size(object);
    if (object_is_unique(object))
        return size == old_size ? object : region_resize(region, object, old_size, size);
    struct object *copy = region_alloc(region, size);
    memcpy(copy, object, old_size);
    copy->references = 1;
    size_t values;
    value *entries;
    if (object->kind == OBJECT_NODE) {
        struct node *node = (struct node *)copy;
        entries = node->entries;
        values = node_entry_count(node) * copy->stride;
        for (size_t i = 0; i < node_child_count(node); i++)
            object_retain(node_children(node)[i]);
    } else {
        struct collision *collision = (struct collision *)copy;
        entries = collision->entries;
        values = (size_t)collision->count * copy->stride;
    }
    for (size_t i = 0; i < values; i++)
        value_retain(entries[i]);
    object_release(region, object);
    return copy;
}

// Gives the node its new set of entries and children. The caller has taken care of ownership.
static struct node *rearrange(struct region *region, struct node *node, uint32_t entry_map,
                              uint32_t child_map, const value *entries,
                              struct object *const *children)
{
    size_t old_size = object_size(&node->header);
    node->entry_map = entry_map;
    node->child_map = child_map;
    size_t new_size = object_size(&node->header);
    if (new_size != old_size)
        node = region_resize(region, node, old_size, new_size);
    size_t values = node_entry_count(node) * node->header.stride;
    memcpy(node->entries, entries, values * sizeof(value));
    memcpy(node_children(node), children, node_child_count(node) * sizeof(struct object *));
    return node;
}

struct parts {
    value entries[PLACES * 2];
    struct object *children[PLACES];
};

// Replaces `remove` values at entry `index` by `insert` values.
static void splice_entries(const struct node *node, struct parts *parts, size_t index,
                           size_t remove, const value *items, size_t insert)
{
    size_t total = node_entry_count(node) * node->header.stride;
    size_t at = index * node->header.stride;
    memcpy(parts->entries, node->entries, at * sizeof(value));
    memcpy(parts->entries + at, items, insert * sizeof(value));
    memcpy(parts->entries + at + insert, node->entries + at + remove,
           (total - at - remove) * sizeof(value));
}

static void splice_children(const struct node *node, struct parts *parts, size_t index,
                            size_t remove, struct object *child)
{
    size_t total = node_child_count(node);
    size_t insert = child ? 1 : 0;
    struct object **children = node_children(node);
    memcpy(parts->children, children, index * sizeof(struct object *));
    if (child)
        parts->children[index] = child;
    memcpy(parts->children + index + insert, children + index + remove,
           (total - index - remove) * sizeof(struct object *));
}

static struct node *own_node(struct region *region, struct node *node)
{
    return (struct node *)own(region, &node->header, object_size(&node->header));
}

// The common case, made in place: one more entry at `bit`.
static struct node *insert_entry(const struct put *put, struct node *node, uint32_t bit)
{
    size_t added = put->stride * sizeof(value);
    node = (struct node *)own(put->region, &node->header, object_size(&node->header) + added);
    size_t index = index_of(node->entry_map, bit) * put->stride;
    char *at = (char *)(node->entries + index);
    size_t behind = (node_entry_count(node) * put->stride - index) * sizeof(value) +
                    node_child_count(node) * sizeof(struct object *);
    memmove(at + added, at, behind);
    memcpy(at, put->items, added);
    node->entry_map |= bit;
    return node;
}

// Puts a sub-node in the place of the entry at `bit`, whose values the caller took over.
static struct node *entry_to_child(struct region *region, struct node *node, uint32_t bit,
                                   struct object *child)
{
    struct parts parts;
    splice_entries(node, &parts, index_of(node->entry_map, bit), node->header.stride, node->entries,
                   0);
    splice_children(node, &parts, index_of(node->child_map, bit), 0, child);
    return rearrange(region, node, node->entry_map & ~bit, node->child_map | bit, parts.entries,
                     parts.children);
}

// Puts an entry in the place of the sub-node at `bit`, which the caller took over.
static struct node *child_to_entry(struct region *region, struct node *node, uint32_t bit,
                                   const value *items)
{
    struct parts parts;
    splice_entries(node, &parts, index_of(node->entry_map, bit), 0, items, node->header.stride);
    splice_children(node, &parts, index_of(node->child_map, bit), 1, NULL);
    return rearrange(region, node, node->entry_map | bit, node->child_map & ~bit, parts.entries,
                     parts.children);
}

// --- putting -------------------------------------------------------------------------------------

static struct node *node_new(struct region *region, unsigned stride, size_t entries,
                             size_t children)
{
    struct node *node = region_alloc(region, sizeof(*node) + entries * stride * sizeof(value) +
                                                 children * sizeof(struct object *));
    *node = (struct node){.header = object_header(OBJECT_NODE)};
    node->header.stride = (uint8_t)stride;
    return node;
}

static struct object *collision_new(const struct put *put, const value *other)
{
    size_t entry_size = put->stride * sizeof(value);
    struct collision *collision = region_alloc(put->region, sizeof(*collision) + 2 * entry_size);
    *collision = (struct collision){
        .header = object_header(OBJECT_COLLISION), .count = 2, .hash = put->hash};
    collision->header.stride = (uint8_t)put->stride;
    memcpy(collision->entries, other, entry_size);
    memcpy(collision->entries + put->stride, put->items, entry_size);
    return &collision->header;
}

// A sub-trie with the new entry and the one that was in its place.
static struct object *pair_new(const struct put *put, const value *other, uint64_t other_hash,
                               unsigned shift)
{
    if (shift >= HASH_BITS)
        return collision_new(put, other);
    uint32_t bit = place_bit(put->hash, shift), other_bit = place_bit(other_hash, shift);
    if (bit == other_bit) {
        struct object *child = pair_new(put, other, other_hash, shift + TRIE_BITS);
        struct node *node = node_new(put->region, put->stride, 0, 1);
        node->child_map = bit;
        node_children(node)[0] = child;
        return &node->header;
    }
    size_t entry_size = put->stride * sizeof(value);
    struct node *node = node_new(put->region, put->stride, 2, 0);
    node->entry_map = bit | other_bit;
    memcpy(node->entries, bit < other_bit ? put->items : other, entry_size);
    memcpy(node->entries + put->stride, bit < other_bit ? other : put->items, entry_size);
    return &node->header;
}

static void replace_item(const struct put *put, value *entry)
{
    value_release(put->region, put->items[0]);
    if (put->stride == 1)
        return;
    value old = entry[1];
    entry[1] = put->items[1];
    value_release(put->region, old);
}

static struct object *collision_put(struct put *put, struct collision *collision)
{
    size_t size = object_size(&collision->header);
    const value *found = collision_find(collision, put->items[0]);
    if (found) {
        size_t index = (size_t)(found - collision->entries);
        collision = (struct collision *)own(put->region, &collision->header, size);
        replace_item(put, collision->entries + index);
        return &collision->header;
    }
    size_t entry_size = put->stride * sizeof(value);
    collision = (struct collision *)own(put->region, &collision->header, size + entry_size);
    memcpy(collision->entries + (size_t)collision->count * put->stride, put->items, entry_size);
    collision->count++;
    put->added = true;
    return &collision->header;
}

static struct object *node_put(struct put *put, struct object *object, unsigned shift)
{
    if (object->kind == OBJECT_COLLISION)
        return collision_put(put, (struct collision *)object);
    struct node *node = (struct node *)object;
    uint32_t bit = place_bit(put->hash, shift);
    if (node->child_map & bit) {
        node = own_node(put->region, node);
        struct object **child = &node_children(node)[index_of(node->child_map, bit)];
        *child = node_put(put, *child, shift + TRIE_BITS);
        return &node->header;
    }
    if (!(node->entry_map & bit)) {
        put->added = true;
        return &insert_entry(put, node, bit)->header;
    }
    node = own_node(put->region, node);
    value *entry = node->entries + index_of(node->entry_map, bit) * put->stride;
    if (value_identical(*entry, put->items[0])) {
        replace_item(put, entry);
        return &node->header;
    }
    struct object *child = pair_new(put, entry, value_hash(*entry), shift + TRIE_BITS);
    put->added = true;
    return &entry_to_child(put->region, node, bit, child)->header;
}

struct object *trie_put(struct region *region, struct object *trie, unsigned stride,
                        const value *items, bool *ret_added)
{
    struct put put = {region, stride, value_hash(items[0]), items, false};
    fuel_spend(PUT_UNITS);
    if (!trie)
        trie = &node_new(region, stride, 0, 0)->header;
    trie = node_put(&put, trie, 0);
    *ret_added = put.added;
    return trie;
}

// --- removing ------------------------------------------------------------------------------------

static void release_entry(struct region *region, const value *entry, unsigned stride)
{
    for (unsigned i = 0; i < stride; i++)
        value_release(region, entry[i]);
}

static struct object *collision_remove(struct region *region, struct collision *collision,
                                       const value *found)
{
    unsigned stride = collision->header.stride;
    size_t size = object_size(&collision->header);
    size_t index = (size_t)(found - collision->entries);
    collision = (struct collision *)own(region, &collision->header, size);
    value removed[2];
    memcpy(removed, collision->entries + index, stride * sizeof(value));
    size_t last = (size_t)(collision->count - 1) * stride;
    memmove(collision->entries + index, collision->entries + last, stride * sizeof(value));
    collision->count--;
    collision = region_resize(region, collision, size, object_size(&collision->header));
    release_entry(region, removed, stride);
    return &collision->header;
}

static struct object *remove_entry(struct region *region, struct node *node, uint32_t bit)
{
    unsigned stride = node->header.stride;
    if (node_entry_count(node) == 1 && !node->child_map) {
        object_release(region, &node->header);
        return NULL;
    }
    node = own_node(region, node);
    size_t index = index_of(node->entry_map, bit);
    value removed[2];
    memcpy(removed, node->entries + index * stride, stride * sizeof(value));
    struct parts parts;
    splice_entries(node, &parts, index, stride, node->entries, 0);
    splice_children(node, &parts, 0, 0, NULL);
    node = rearrange(region, node, node->entry_map & ~bit, node->child_map, parts.entries,
                     parts.children);
    release_entry(region, removed, stride);
    return &node->header;
}

// The only entry of a sub-trie that has just one, else NULL.
static const value *only_entry(const struct object *object)
{
    if (object->kind == OBJECT_COLLISION) {
        const struct collision *collision = (const struct collision *)object;
        return collision->count == 1 ? collision->entries : NULL;
    }
    const struct node *node = (const struct node *)object;
    return !node->child_map && node_entry_count(node) == 1 ? node->entries : NULL;
}

// The key is known to be there. NULL: nothing is left.
static struct object *node_remove(struct region *region, struct object *object, value key,
                                  uint64_t hash, unsigned shift)
{
    if (object->kind == OBJECT_COLLISION) {
        struct collision *collision = (struct collision *)object;
        return collision_remove(region, collision, collision_find(collision, key));
    }
    struct node *node = (struct node *)object;
    uint32_t bit = place_bit(hash, shift);
    if (node->entry_map & bit)
        return remove_entry(region, node, bit);
    node = own_node(region, node);
    struct object **place = &node_children(node)[index_of(node->child_map, bit)];
    struct object *child = node_remove(region, *place, key, hash, shift + TRIE_BITS);
    CHECK(child);  // a sub-trie has two entries or more
    *place = child;
    const value *last = only_entry(child);
    if (!last)
        return &node->header;
    value moved[2];
    memcpy(moved, last, child->stride * sizeof(value));
    for (unsigned i = 0; i < child->stride; i++)
        value_retain(moved[i]);
    node = child_to_entry(region, node, bit, moved);
    object_release(region, child);
    return &node->header;
}

struct object *trie_remove(struct region *region, struct object *trie, value key, bool *ret_removed)
{
    uint64_t hash = value_hash(key);
    fuel_spend(PUT_UNITS);
    *ret_removed = trie_find(trie, key, hash) != NULL;
    return *ret_removed ? node_remove(region, trie, key, hash, 0) : trie;
}

// --- iterating -----------------------------------------------------------------------------------

const value *trie_next(struct map_cursor *cursor)
{
    for (;;) {
        const struct object *object = cursor->node[cursor->depth];
        size_t entries = object->kind == OBJECT_NODE ? node_entry_count((const struct node *)object)
                                                     : ((const struct collision *)object)->count;
        const value *first = object->kind == OBJECT_NODE
                                 ? ((const struct node *)object)->entries
                                 : ((const struct collision *)object)->entries;
        if (cursor->position < entries)
            return first + cursor->position++ * object->stride;
        // The entries are done: down into the next sub-node, or up.
        while (cursor->node[cursor->depth]) {
            const struct object *parent = cursor->node[cursor->depth];
            size_t children =
                parent->kind == OBJECT_NODE ? node_child_count((const struct node *)parent) : 0;
            if (cursor->slot[cursor->depth] < children) {
                const struct node *node = (const struct node *)parent;
                cursor->node[cursor->depth + 1] =
                    node_children(node)[cursor->slot[cursor->depth]++];
                cursor->depth++;
                cursor->slot[cursor->depth] = 0;
                cursor->position = 0;
                break;
            }
            if (cursor->depth == 0)
                return NULL;
            cursor->depth--;
        }
    }
}
