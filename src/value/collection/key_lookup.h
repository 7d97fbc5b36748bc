// Lookup by any spelling of a name (docs/reference/language.md 1.5): a keyword or string is searched
// as itself, as the other kind, and, when its name contains '-', with '_' in its place, in both kinds.
#pragma once

#include "value/value.h"

typedef bool key_probe_fn(const void *container, value key, void *ret_found);

// Calls `probe` with each spelling until one is found. The keys it is given may be borrowed names
// that are not interned: they may be compared and hashed but not kept.
bool key_lookup(key_probe_fn *probe, const void *container, value key, void *ret_found);

// The item of a key in a map, in any spelling; borrowed.
bool map_find_flexible(value map, value key, value *ret_item);
// The same, with the key under which it was found.
bool map_find_entry_flexible(value map, value key, value *ret_key, value *ret_item);
// map_put() and map_remove() of the key under which it is found; a new key as it is given.
value map_put_flexible(struct region *region, value map, value key, value item);
value map_remove_flexible(struct region *region, value map, value key);
