// Shapes: the ordered keys that many records share (layout.h). For the JSON reader, and for inline
// caches: two records with one shape have the same keys in the same slots.
#pragma once

#include "value/layout.h"

extern struct shape shape_empty;

// The shape of a record, NULL for other maps.
static inline const struct shape *map_shape(value map)
{
    return map.object->kind == OBJECT_RECORD ? record_of(map)->shape : NULL;
}
static inline value record_slot(value record, size_t slot)  // borrowed
{
    return record_of(record)->slots[slot];
}

// Only names are keys of shapes.
static inline bool value_is_name(value key)
{
    return key.tag == VALUE_KEYWORD || key.tag == VALUE_STRING;
}

bool shape_slot(const struct shape *shape, value key, size_t *ret_slot);  // exact key
// The key may be spelt otherwise (docs/reference/language.md 1.5).
bool shape_slot_flexible(const struct shape *shape, value key, size_t *ret_slot);

// The known successor for one more key, or NULL. Borrows the key.
struct shape *shape_successor(struct region *region, const struct shape *shape, value key);
// The same, but makes it when unknown and retains the key; NULL when the region has enough shapes
// or the shape is full: the map must be of another kind then. The key must not be in the shape.
struct shape *shape_extend(struct region *region, const struct shape *shape, value key);
// A shape of its own for more than SHAPE_NARROW keys, all different; consumes them.
struct shape *shape_new_wide(struct region *region, const value *keys, size_t count);

// A record with these slots, one per key of the shape; consumes them and the shape.
value record_new(struct region *region, struct shape *shape, const value *slots);
