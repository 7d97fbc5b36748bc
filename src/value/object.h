// The layout of what values point to. For value/ itself and for layers that must be fast or that
// bring their own objects (functions, regexes); all other code uses value.h.
//
// An object begins with its reference count and kind. A count of OBJECT_IMMORTAL is never changed:
// the object lives as long as its region, and other regions and threads may refer to it. A count that would overflow becomes immortal by itself.
//
// Freeing does not recurse and does not allocate: dead objects are linked through their own header
// and dismantled one by one (object.c).
#pragma once

#include "base/region.h"
#include "base/span.h"

struct value;
struct sink;

enum object_kind {
    OBJECT_BIGNUM,
    OBJECT_STRING,
    OBJECT_STRING_SLICE,
    OBJECT_KEYWORD,
    OBJECT_VECTOR,
    OBJECT_RECORD,      // map: shape and slots
    OBJECT_FLAT,        // small map or set without a shape
    OBJECT_HASH_TABLE,  // large map or set with one owner
    OBJECT_NODE,        // node of a large map or set that is or was shared
    OBJECT_COLLISION,   // entries with one hash
    OBJECT_SHAPE,
    OBJECT_FOREIGN,  // of another layer: struct foreign
};

enum { OBJECT_IMMORTAL = UINT32_MAX };

struct object {
    uint32_t references;  // of a dead object: low half of the link
    uint16_t link_high;
    uint8_t kind;
    uint8_t stride;  // FLAT, NODE, COLLISION: values per entry, 2 in maps, 1 in sets
};

_Static_assert(sizeof(struct object) == 8, "headers are one word");

static inline bool object_is_unique(const struct object *object)
{
    return object->references == 1;
}

static inline void object_retain(struct object *object)
{
    if (object->references != OBJECT_IMMORTAL)
        object->references++;
}

void object_free(struct region *region, struct object *object);  // references are 0

static inline void object_release(struct region *region, struct object *object)
{
    if (object->references != OBJECT_IMMORTAL && --object->references == 0)
        object_free(region, object);
}

static inline struct object object_header(enum object_kind kind)
{
    return (struct object){.references = 1, .kind = (uint8_t)kind};
}

size_t object_size(const struct object *object);  // bytes in the region, header included

// --- objects of other layers ---------------------------------------------------------------------
struct object_type {
    const char *kind;  // what it is when it is no function: "exception"; or NULL
    size_t (*size)(const struct object *object);  // bytes, header included
    // The values inside, as one array; NULL function = none.
    struct value *(*children)(struct object *object, size_t *ret_count);
    // Called just before the memory is returned, for resources beyond the object; may be NULL.
    void (*destroy)(struct region *region, struct object *object);
    // Called on a copy made byte by byte, children already copied; NULL = nothing to do.
    void (*copied)(struct region *to, struct object *copy, const struct object *original);
    // Regexes: the source, which is the identity. NULL = the object is identical to itself only.
    struct span (*text)(const struct object *object);
    void (*print)(struct sink *sink, const struct object *object);  // canonical text
};

struct foreign {
    struct object header;  // kind OBJECT_FOREIGN
    const struct object_type *type;
};
