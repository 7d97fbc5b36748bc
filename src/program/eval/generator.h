// Generators: sequences that are computed item by item, some of them without end
// (docs/reference/language.md 8.14). A generator is a value that never changes, except that a lazy one
// remembers its items; the state of an iteration is in an iterator.
#pragma once

#include "program/builtin/builtin.h"

enum generator_kind {
    GENERATOR_ITERATE,     // f, x
    GENERATOR_CYCLE,       // vector
    GENERATOR_REPEAT,      // x
    GENERATOR_REPEATEDLY,  // f
    GENERATOR_COUNT,       // number, step
    GENERATOR_CONCAT,      // vector of collections
    GENERATOR_MAP,         // f, vector of collections
    GENERATOR_REDUCTIONS,  // f, vector of collection and perhaps the first value
    GENERATOR_TRANSFORM,   // transducer, collection
    GENERATOR_ITERATION,   // step, vector of somef vf kf initk
    GENERATOR_FOR,         // suspended comprehension, collection
    GENERATOR_CONS,        // item, collection
    GENERATOR_LAZY,        // function or iterator, or what it gave
};

extern const struct object_type generator_type;

static inline bool value_is_generator(value v)
{
    return v.tag == VALUE_FUNCTION && !(v.flags & VALUE_BORROWED) &&
           ((const struct foreign *)v.object)->type == &generator_type;
}
// Consumes the parts.
value generator_new(struct run *run, enum generator_kind kind, value a, value b);
// An item before a generator; consumes both.
value generator_cons(struct run *run, const struct builtin *self, value item, value rest);
// A lazy sequence of what the function or the iterator gives; consumes it.
value generator_lazy(struct run *run, value source);
// generator_new() whose items are computed once: for functions that are called for their effect.
value generator_memoized(struct run *run, enum generator_kind kind, value a, value b);
bool generator_is_endless(value generator);
// Raises: the sequence has no end.
_Noreturn void fail_endless(struct run *run, const struct builtin *self);

// An iterator over any collection, which is consumed; type_error unless S.
value iterator_new(struct run *run, const struct builtin *self, unsigned argument, value source);
bool iterator_next(struct run *run, value iterator, value *ret_item);  // the item is owned

// The generator as a sequence: nil, a list, or a generator whose first item is there. Consumes it.
value generator_seq(struct run *run, const struct builtin *self, value v);
value generator_rest(struct run *run, const struct builtin *self, value v);
// The first items, at most `count`, as a list; *ret_rest: what follows, owned; or NULL.
value generator_take(struct run *run, const struct builtin *self, value v, size_t count,
                     value *ret_rest);

// The value with each generator in it replaced by the list of its items; consumes it. Values nested
// deeper than a program writes them are left as they are.
value run_realize(struct run *run, value v);
