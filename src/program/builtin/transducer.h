// Transducers: what map, filter and their kin give without a collection (docs/reference/language.md
// 8.14).
#pragma once

#include "program/builtin/builtin.h"

enum transducer_kind {
    TRANSDUCER_MAP,
    TRANSDUCER_FILTER,
    TRANSDUCER_REMOVE,
    TRANSDUCER_KEEP,
    TRANSDUCER_MAP_INDEXED,
    TRANSDUCER_KEEP_INDEXED,
    TRANSDUCER_MAPCAT,
    TRANSDUCER_CAT,
    TRANSDUCER_TAKE,
    TRANSDUCER_TAKE_WHILE,
    TRANSDUCER_DROP,
    TRANSDUCER_DROP_WHILE,
    TRANSDUCER_TAKE_NTH,
    TRANSDUCER_DEDUPE,
    TRANSDUCER_DISTINCT,
    TRANSDUCER_INTERPOSE,
    TRANSDUCER_PARTITION_ALL,
    TRANSDUCER_PARTITION,  // only whole groups
    TRANSDUCER_PARTITION_BY,
};

// Consumes the argument: a function, a number, a separator.
value transducer_new(struct run *run, enum transducer_kind kind, value argument);
bool transducer_ends(value transducer);  // it may end a sequence that has no end
// A step function that puts what the transducer gives behind the vector in a cell; consumes the cell.
value transducer_into(struct run *run, value transducer, value cell);

// For a builtin that takes `last` as its collection: with one argument less it gives a transducer, of a
// generator it gives a generator. True when *ret_result is the answer; the arguments are consumed.
bool transducer_answer(struct run *run, enum transducer_kind kind, value *arguments, size_t count,
                       size_t last, value *ret_result);

// All that a transducer gives for a collection, as a vector; consumes both.
value transduce_vector(struct run *run, const struct builtin *self, value transducer,
                       value collection);

value reduced_new(struct run *run, value content);
bool value_is_reduced(value v);
value unreduced(struct run *run, value v);  // consumes
