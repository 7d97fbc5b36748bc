// Lazy ranges of integers: the argument of (reduce f init (range n)). Such a range is a value with a
// tag of its own, which only struct sequence understands and no program sees. It counts against memory
// like the vector that it stands for.
#pragma once

#include "program/builtin/builtin.h"
#include "value/object.h"

struct range {
    struct foreign foreign;
    int64_t start;
    int64_t step;
    uint64_t count;  // not 0
};

// (range …) for a sequence that is started with it at once: such a range, or a vector.
value range_lazy(struct run *run, const struct builtin *self, value *arguments, size_t count);
