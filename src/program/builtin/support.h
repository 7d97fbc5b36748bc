// Small tools shared by the families of builtins: checking arguments and building vectors.
#pragma once

#include "program/builtin/builtin.h"
#include "program/eval/range.h"
#include "value/layout.h"
#include "value/number/number.h"
#include "value/text/text.h"

// --- arguments -----------------------------------------------------------------------------------
// Each checks one argument by its 0-based place and raises type_error unless it fits.

// An integer, huge ones clamped to 64 bits: right for counts and positions.
int64_t argument_integer(struct run *run, const struct builtin *self, const value *arguments,
                         unsigned place);
// A position, as Clojure takes it: of a float the integer part. So (nth v (/ n 2)) is right where / gives a
// ratio in Clojure.
int64_t argument_position(struct run *run, const struct builtin *self, const value *arguments,
                          unsigned place);
// A number of items: negative ones as 0; a float is rounded up, as (take 2.5 xs) takes three.
size_t argument_count(struct run *run, const struct builtin *self, const value *arguments,
                      unsigned place);
void argument_string(struct run *run, const struct builtin *self, const value *arguments,
                     unsigned place);
// Class S: nil, vector, string, map, set.
void argument_seqable(struct run *run, const struct builtin *self, const value *arguments,
                      unsigned place);

// runtime_error "index 5 is outside a collection of 3".
_Noreturn void fail_index(struct run *run, const struct builtin *self, int64_t index, size_t count);

// type_error "cannot compare a with b".
_Noreturn void fail_incomparable(struct run *run, const struct builtin *self, value a, value b);
static inline void values_release(struct run *run, const value *values, size_t count)
{
    for (size_t i = 0; i < count; i++)
        value_release(run->region, values[i]);
}

// --- vectors -------------------------------------------------------------------------------------

// The elements of a vector with one owner, to be changed in place; NULL when it is shared.
static inline value *vector_own_items(value v)
{
    struct vector *vector = (struct vector *)v.object;
    if (vector->parent || !object_is_unique(&vector->header) || vector->used != v.aux)
        return NULL;
    return vector->items;
}

// Cuts such a vector to its first `count` elements; the others were moved away or released.
static inline value vector_own_cut(value v, size_t count)
{
    struct vector *vector = (struct vector *)v.object;
    vector->used = (uint32_t)count;
    v.aux = (uint32_t)count;
    return v;
}

// vector_push() onto a vector being built here.
static inline void vector_add(struct run *run, value *vector, value item)
{
    struct vector *own = (struct vector *)vector->object;
    if (__builtin_expect(own->used < own->capacity && own->used == vector->aux &&
                             object_is_unique(&own->header),
                         1)) {
        own->items[own->used++] = item;
        vector->aux = own->used;
        return;
    }
    *vector = vector_push(run->region, *vector, item);
}

static inline value vector_pair(struct run *run, value a, value b)
{
    value items[] = {a, b};
    return vector_from(run->region, items, 2);
}

// A vector or a range: an item is found by its position.
static inline bool sequence_is_contiguous(const struct sequence *sequence)
{
    return sequence->source.tag == VALUE_RANGE ||
           (sequence->source.tag == VALUE_VECTOR && sequence->map.tag == VALUE_NIL);
}

// sequence_next() with the common cases, vectors and ranges, in line. The items of a vector with no
// other owner are moved out of it, so that their new owner can change them in place.
static inline bool sequence_step(struct sequence *sequence, value *ret_item)
{
    if (!sequence_is_contiguous(sequence)) {
        // By way of a variable of its own, so that the caller's stays in registers: this avoids a
        // store-to-load forwarding stall.
        value item;
        bool is_there = sequence_next(sequence, &item);
        if (is_there)
            *ret_item = item;
        return is_there;
    }
    run_spend(sequence->run, 1);
    if (sequence->position >= sequence->count)
        return false;
    size_t position = sequence->position++;
    if (sequence->source.tag == VALUE_RANGE) {
        *ret_item = value_integer(sequence->number);
        sequence->number = (int64_t)((uint64_t)sequence->number + (uint64_t)sequence->step);
        return true;
    }
    struct vector *vector = (struct vector *)sequence->source.object;
    *ret_item = vector->items[position];
    if (!sequence->is_borrowed && !vector->parent && object_is_unique(&vector->header))
        vector->items[position] = value_nil();
    else
        value_retain(*ret_item);
    return true;
}

// The first `count` items of an array as a vector; each is retained.
value vector_copy_items(struct run *run, const value *items, size_t count);

// --- maps ----------------------------------------------------------------------------------------

// The item of a key, owned. When the map has no other owner nil is left in its place, so that an item
// without other owners can be changed in place before it is put back. False when there is none.
bool map_detach(struct run *run, value *map, value key, value *ret_item);
// The same for the key under which it is found (value/collection/key_lookup.h).
bool map_detach_flexible(struct run *run, value *map, value key, value *ret_item);
// Puts all entries of `other` into `map`, each under the key that `map` has; consumes both.
value map_put_all(struct run *run, value map, value other);

// --- texts ---------------------------------------------------------------------------------------

// The canonical texts of values with spaces between; strings without quotes, unless they are wanted.
// Borrows the values.
value text_of_all(struct run *run, const value *values, size_t count, bool with_quotes);

// --- calls ---------------------------------------------------------------------------------------

// Calls f with two lists of arguments one behind the other. Consumes the values (not the arrays),
// borrows f.
value run_call_joined(struct run *run, value f, const value *first, size_t first_count,
                      const value *second, size_t second_count);

// --- text/names.c ---
// How far two strings, keywords or symbols are apart, as compareTo of Java gives it.
int64_t values_distance(value a, value b);

// --- collection/transient.c ---
bool value_is_transient(value v);
value transient_content(struct run *run, value transient);  // owned
// What the function, which borrows its arguments, says of the collection of a transient.
value transient_ask(struct run *run, const struct builtin *self, const value *arguments,
                    size_t count, builtin_fn *function);
