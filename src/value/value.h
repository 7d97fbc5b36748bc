// The one data model of Cadre: a JSON-RPC message, a tool's arguments, a program's data and a Step
// are all values. A value is 16 bytes, passed by value: a tag, flags, an auxiliary word and a
// payload (immediate, or a pointer to an object in a region).
//
// Ownership, in one sentence: functions that take a region consume the values they are given and
// return owned values; functions without a region borrow them and return borrowed values.
// value_retain() makes a second owner, value_release() ends one. An object with one owner is
// updated in place. Code that drops its whole region at the end (a request) need not release
// anything.
//
// All values live in one region; value_copy() copies a value to another one. Reference counts are
// not atomic: one region, one thread at a time. A value that was made immortal (value_make_immortal, or
// read with the option `immortal`) is never counted or changed: values of other regions may refer to
// it, from any thread, as long as its region lives. So inputs and constants need not be copied.
//
// No function recurses on the C stack for nested data: depth is bounded by memory alone.
// Memory over the region's limit leaves through the region's exhaustion handler.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/region.h"
#include "base/span.h"
#include "value/object.h"

enum value_tag {
    VALUE_NIL,
    VALUE_BOOLEAN,
    VALUE_INTEGER,  // int64; larger ones are VALUE_BIGNUM, and only larger ones
    VALUE_FLOAT,
    VALUE_BIGNUM,
    VALUE_STRING,   // valid UTF-8, may hold U+0000
    VALUE_KEYWORD,  // interned in its region: equal names, equal pointers
    VALUE_VECTOR,
    VALUE_MAP,
    VALUE_SET,
    VALUE_FUNCTION,  // its inside belongs to the program layer (see value/object.h)
    VALUE_REGEX,
    VALUE_SYMBOL,  // symbol reference 'x
    VALUE_VAR,     // #'x
    VALUE_TAG_COUNT,
};

// Reserved for the evaluator; no other code sees such a value.
enum {
    VALUE_RECUR = VALUE_TAG_COUNT,  // what recur gives to its loop (program/eval/expression.h)
    VALUE_RANGE,                    // a range that is iterated, not made (program/eval/range.h)
};

enum value_flags {
    // The payload is not an object that is counted. Strings, symbols, vars: `text` points to the
    // bytes. Functions: `pointer` is what the function is identified by, its text is #<builtin>.
    VALUE_BORROWED = 1,
    // Strings: ASCII, so that every byte is one character.
    VALUE_SIMPLE = 2,
    // Vectors: a list, or what a sequence function gave. conj, peek and pop work at its front;
    // everything else takes it for a vector.
    VALUE_SEQ = 4,
    // Vectors: a queue. conj adds at its end, peek and pop take at its front.
    VALUE_QUEUE = 8,
};

typedef struct value {
    uint8_t tag;
    uint8_t flags;
    uint16_t
        small;  // maps and sets: the order they were given (program/run/comparator.h), 0: key order
    uint32_t aux;  // strings, symbols, vars: bytes; collections: elements
    union {
        bool boolean;
        int64_t integer;
        double number;
        struct object *object;  // reference count and kind, value/object.h
        const char *text;
        const void *pointer;
    };
} value;

_Static_assert(sizeof(value) == 16, "a value fits two registers");

// --- scalars -------------------------------------------------------------------------------------
static inline value value_nil(void)
{
    return (value){.tag = VALUE_NIL};
}
static inline value value_boolean(bool b)
{
    return (value){.tag = VALUE_BOOLEAN, .boolean = b};
}
static inline value value_integer(int64_t i)
{
    return (value){.tag = VALUE_INTEGER, .integer = i};
}
static inline value value_float(double d)
{
    return (value){.tag = VALUE_FLOAT, .number = d};
}

static inline bool value_is_nil(value v)
{
    return v.tag == VALUE_NIL;
}
static inline bool value_is_true(value v)  // truth of programs: all but nil and false
{
    return v.tag != VALUE_NIL && (v.tag != VALUE_BOOLEAN || v.boolean);
}
static inline bool value_is_string(value v)
{
    return v.tag == VALUE_STRING;
}
static inline bool value_is_vector(value v)
{
    return v.tag == VALUE_VECTOR;
}
static inline bool value_is_seq(value v)
{
    return v.tag == VALUE_VECTOR && (v.flags & VALUE_SEQ);
}
static inline value vector_as_seq(value vector)
{
    vector.flags = (uint8_t)((vector.flags & ~VALUE_QUEUE) | VALUE_SEQ);
    return vector;
}
static inline bool value_is_queue(value v)
{
    return v.tag == VALUE_VECTOR && (v.flags & VALUE_QUEUE);
}
static inline value vector_as_queue(value vector)
{
    vector.flags = (uint8_t)((vector.flags & ~VALUE_SEQ) | VALUE_QUEUE);
    return vector;
}
static inline value vector_as_vector(value vector)
{
    vector.flags &= (uint8_t) ~(VALUE_SEQ | VALUE_QUEUE);
    return vector;
}
static inline bool value_is_map(value v)
{
    return v.tag == VALUE_MAP;
}

// --- object.c: ownership -------------------------------------------------------------------------
static inline bool value_is_counted(value v)  // the payload is an object
{
    return v.tag >= VALUE_BIGNUM && !(v.flags & VALUE_BORROWED);
}
static inline value value_retain(value v)
{
    if (value_is_counted(v))
        object_retain(v.object);
    return v;
}
static inline void value_release(struct region *region, value v)
{
    if (value_is_counted(v))
        object_release(region, v.object);
}

// --- value_copy.c: copies and immortal values ----------------------------------------------------
value value_copy(struct region *to, value v);  // deep copy into another region (borrows v)
// Makes v and all it refers to immortal (see above); v must be the only owner of what is not yet.
void value_make_immortal(value v);

// --- number/bignum_text.c: integers from text ----------------------------------------------------
// Decimal text [-]digits of any length; VALUE_INTEGER where it fits, else VALUE_BIGNUM.
value value_integer_from_text(struct region *region, struct span text);

// --- keyword.c: keywords -------------------------------------------------------------------------
value value_keyword(struct region *region, struct span name);

// --- text/text.c: strings, symbols, vars ---------------------------------------------------------
value value_string(struct region *region, struct span text);         // copies; text must be UTF-8
value value_string_borrow(struct region *region, struct span text);  // text outlives the region
value value_string_repair(struct region *region, struct span text);  // invalid bytes: U+FFFD
value value_string_text(struct region *region, const char *text);
value value_string_format(struct region *region, const char *format, ...)
    __attribute__((format(printf, 2, 3)));                    // invalid UTF-8 becomes U+FFFD
value value_symbol(struct region *region, struct span name);  // 'name
value value_var(struct region *region, struct span name);     // #'name
// Bytes of a string, name of a keyword, symbol or var, source of a regex.
struct span value_text(value v);

// --- collection/vector.c: vectors ----------------------------------------------------------------
value vector_new(struct region *region, size_t capacity);
size_t vector_count(value vector);
value vector_at(value vector, size_t index);  // borrowed; index < count
value vector_push(struct region *region, value vector, value item);
value vector_push_front(struct region *region, value vector, value item);
value vector_put(struct region *region, value vector, size_t index, value item);
value vector_slice(struct region *region, value vector, size_t start, size_t end);  // O(1)
const value *vector_items(value vector);  // the elements as one array, borrowed
value vector_from(struct region *region, const value *items, size_t count);  // consumes the items

// --- collection/map.c: maps ----------------------------------------------------------------------
// Any value can be a key, compared by key identity (docs/reference/language.md 1.2). Up to 32
// entries, and in objects read from JSON of any size until an entry is added or removed, iteration
// is in insertion order; larger maps have an arbitrary order. Key order is what map_sorted_keys()
// gives.
value map_new(struct region *region);
size_t map_count(value map);
bool map_find(value map, value key, value *ret_item);  // borrowed; exact key
// The same, and the key as it stands in the map.
bool map_find_entry(value map, value key, value *ret_key, value *ret_item);
bool map_find_text(value map, const char *name, value *ret_item);  // string key
value map_put(struct region *region, value map, value key, value item);
value map_put_text(struct region *region, value map, const char *name, value item);
value map_remove(struct region *region, value map, value key);
struct map_cursor {  // iteration; the map must not be changed while it lasts
    value map;
    size_t position;
    const void *node[16];
    uint8_t slot[16];
    uint8_t depth;
};
struct map_cursor map_iterate(value map);
bool map_next(struct map_cursor *cursor, value *ret_key, value *ret_item);  // borrowed
value map_sorted_keys(struct region *region, value map);  // vector in key order (borrows)
// Members with string keys of a value that may be anything. A member that is absent or of another
// kind gives the fallback, and so does every member of what is no map.
value map_get(value map, const char *name);  // borrowed; nil
int64_t map_get_integer(value map, const char *name, int64_t fallback);
struct span map_get_string(value map, const char *name);        // borrowed; ""
bool map_get_boolean(value map, const char *name);              // false
size_t map_get_count(value map, const char *name);              // of a vector; 0
value map_get_item(value map, const char *name, size_t index);  // of a vector, index < count

// Lookup by any spelling of a name is in value/collection/key_lookup.h.

// --- collection/shape.c: the keys of records -----------------------------------------------------
// Lets `region` use and extend the shapes of `shared`, a region that must outlive it and serve no
// other thread, so that the regions of short-lived messages need not learn the same maps again and
// again: reading the messages of an evaluation takes 7,100 instructions each instead of 23,800. Only
// maps with short string keys are shared, about 2 MB at most. region_clear() ends it.
void shapes_share(struct region *region, struct region *shared);

// --- collection/set.c: sets ----------------------------------------------------------------------
value set_new(struct region *region);
size_t set_count(value set);
bool set_has(value set, value item);
value set_add(struct region *region, value set, value item);
value set_remove(struct region *region, value set, value item);
struct map_cursor set_iterate(value set);
bool set_next(struct map_cursor *cursor, value *ret_item);
value set_sorted(struct region *region, value set);  // vector in key order (borrows)

// --- equal.c: equality ---------------------------------------------------------------------------
// Long comparisons spend fuel (value/fuel.h), so that they can be stopped.
bool value_equal(value a, value b);      // = of programs: numbers by value across kinds
bool value_identical(value a, value b);  // key identity

// --- value_hash.c: hashes ------------------------------------------------------------------------
uint64_t value_hash(value v);  // agrees with value_identical

// --- order.c: order ------------------------------------------------------------------------------
int value_compare_keys(value a, value b);  // key order, total: <0, 0, >0
enum value_order { VALUE_LESS = -1, VALUE_SAME = 0, VALUE_GREATER = 1, VALUE_INCOMPARABLE = 2 };
enum value_order value_compare(value a, value b);  // natural order
