// What is behind the pointer of each kind of value. May be included by value/, by its unit tests, and
// by program/eval/eval.h and program/builtin/support.h, whose inline caches and loops over elements
// cannot afford a call each. All other code uses value.h.
#pragma once

#include <gmp.h>

#include "value/value.h"

// A string's bytes belong to the object up to `length`; a value sees the first `aux` of them. So a
// string can be appended to in place even while a shorter view of it is alive: only the value that
// appended sees the new bytes. (Not so vectors: an element could hold the vector itself.)
struct string {
    struct object header;
    uint32_t length;
    uint32_t capacity;
    char bytes[];
};

struct string_slice {
    struct object header;
    struct string *parent;  // retained
    const char *bytes;
};

struct keyword {
    struct object header;
    uint32_t length;
    bool dashed;  // the name contains '-'
    uint64_t hash;
    struct keyword *next;  // in its bucket of the region's table
    char name[];
};

struct vector {
    struct object header;
    value *items;  // in `own`, with room for the front before it; or inside the parent's
    uint32_t used;
    uint32_t capacity;      // from `items` on
    struct vector *parent;  // of a slice: the vector that owns the items, retained
    value own[];
};

// The ordered keys of many records. Narrow shapes form a tree by transitions (a shape and one more
// key give the next shape) and live as long as their region; wide ones, above SHAPE_NARROW keys,
// are counted, belong to one object read from JSON and its copies, and have no transitions.
struct shape {
    struct object header;
    uint32_t count;
    uint32_t index_mask;         // size of the index - 1; 0 = no index, search one by one
    uint64_t hash;               // of (parent, last key)
    const struct shape *parent;  // without the last key
    struct shape *next;          // in its bucket of the region's table
    // Predictions of the JSON reader. Without inner_hint reading records with nested objects takes
    // 28 % more instructions.
    struct shape *hint;        // the most recently seen transition
    struct shape *inner_hint;  // the same from the empty shape, for objects that are the item of
                               // the last key
    // The last key as it stands in a text with its closing quote: its first bytes, and which of the
    // 8 count (0: it needs escapes).
    uint64_t head;
    uint64_t head_mask;
    uint32_t head_length;         // of the last key
    const struct region *shared;  // the region it lives in when others find it there, or NULL
    const uint8_t *order;         // narrow: slots in key order
    const uint32_t *index;        // open addressing by hash: slot + 1, 0 = free
    const uint64_t *hashes;       // of the keys, with the index
    value keys[];
};

enum { SHAPE_NARROW = 32 };

struct record {
    struct object header;
    struct shape *shape;
    value slots[];
};

struct flat {
    struct object header;
    uint32_t used;  // entries
    uint32_t capacity;
    value entries[];
};

// A large map or set as long as it has one owner: entries in insertion order, and a separate index
// by hash. When it is to be changed although it is shared, a trie is made of it.
struct hash_table {
    struct object header;
    uint32_t used;  // entries
    uint32_t capacity;
    uint64_t *index;      // open addressing: hash above, number of the entry + 1 below; 0 = free
    uint32_t index_mask;  // slots - 1
    uint8_t index_shift;  // an entry's first slot is hash >> index_shift
    bool has_objects;     // an entry may refer to an object, which is to be released
    uint32_t reach;       // the largest distance of an entry from its first slot
    uint32_t room;        // entries until one of both must grow; 0 while a trie is kept
    struct object *trie;  // the same entries, made when it was shared; or NULL
    value entries[];
};

// A node of a hash trie in which entries lie before sub-nodes (CHAMP). Two bit maps say which of the
// 32 places hold an entry or a sub-node.
struct node {
    struct object header;
    uint32_t entry_map;
    uint32_t child_map;
    value entries[];  // then pointers to the sub-nodes
};

// Two or more entries whose 64 bits of hash are equal.
struct collision {
    struct object header;
    uint32_t count;
    uint32_t reserved;
    uint64_t hash;
    value entries[];
};

struct bignum {
    struct object header;
    int32_t size;  // limbs; negative = the number is negative
    uint32_t capacity;
    mp_limb_t limbs[];  // least significant first, the last one not 0
};

// The number of bits set. Baseline x86-64 has no instruction for it, and libgcc's function is slow.
static inline uint32_t bits_count(uint32_t bits)
{
    bits -= bits >> 1 & 0x55555555;
    bits = (bits & 0x33333333) + (bits >> 2 & 0x33333333);
    return ((bits + (bits >> 4)) & 0x0F0F0F0F) * 0x01010101 >> 24;
}

_Static_assert(offsetof(struct record, slots) == 16, "a record is its shape and its slots");

static inline const struct string *string_of(value v)
{
    return (const struct string *)v.object;
}
static inline const struct vector *vector_of(value v)
{
    return (const struct vector *)v.object;
}
static inline const struct keyword *keyword_of(value v)
{
    return (const struct keyword *)v.object;
}
static inline const struct record *record_of(value v)
{
    return (const struct record *)v.object;
}
static inline const struct flat *flat_of(value v)
{
    return (const struct flat *)v.object;
}
static inline const struct foreign *foreign_of(value v)
{
    return (const struct foreign *)v.object;
}
static inline const struct bignum *bignum_of(value v)
{
    return (const struct bignum *)v.object;
}
