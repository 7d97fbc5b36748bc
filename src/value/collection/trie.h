// The hash trie of table.h: nodes of up to 32 places, five bits of the hash per level, entries
// before sub-nodes; entries whose hashes are wholly equal share a collision list at the bottom.
// Depth is at most TRIE_LEVELS, so these functions may recurse.
#pragma once

#include "value/layout.h"

enum { TRIE_BITS = 5, TRIE_LEVELS = 14 };

const value *trie_find(const struct object *trie, value key, uint64_t hash);
// The entry in whose place a key with this hash would be, or NULL. *ret_last: where the search
// ended; in a list of collisions there is no one place.
const value *trie_at(const struct object *trie, uint64_t hash, const struct object **ret_last);
// `trie` may be NULL: an empty one.
struct object *trie_put(struct region *region, struct object *trie, unsigned stride,
                        const value *items, bool *ret_added);
// NULL when the last entry went.
struct object *trie_remove(struct region *region, struct object *trie, value key,
                           bool *ret_removed);
const value *trie_next(struct map_cursor *cursor);

static inline size_t node_entry_count(const struct node *node)
{
    return bits_count(node->entry_map);
}
static inline size_t node_child_count(const struct node *node)
{
    return bits_count(node->child_map);
}
static inline struct object **node_children(const struct node *node)
{
    size_t values = node_entry_count(node) * node->header.stride;
    return (struct object **)(uintptr_t)(node->entries + values);
}
