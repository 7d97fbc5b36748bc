// Looking up a key in one record after another. Records come in rows of one shape, and the slot of the
// key is the same in all of them: it is remembered. The key is the owner's of the lookup.
#pragma once

#include "value/collection/key_lookup.h"
#include "value/collection/shape.h"

struct lookup {
    value key;
    const void *shape;  // seen last; NULL at first
    uint32_t slot;      // of the key in it
};

// The item under the key in a map, borrowed; the key may be spelt otherwise
// (docs/reference/language.md 1.5).
static inline bool lookup_find(struct lookup *lookup, value map, value *ret_item)
{
    const struct shape *shape = map_shape(map);
    if (__builtin_expect(shape != NULL && shape == lookup->shape, 1)) {
        *ret_item = record_slot(map, lookup->slot);
        return true;
    }
    size_t slot;
    if (shape && shape_slot_flexible(shape, lookup->key, &slot)) {
        // Wide shapes are counted and may go; only immortal ones are remembered.
        if (shape->header.references == OBJECT_IMMORTAL) {
            lookup->shape = shape;
            lookup->slot = (uint32_t)slot;
        }
        *ret_item = record_slot(map, slot);
        return true;
    }
    return map_find_flexible(map, lookup->key, ret_item);
}
