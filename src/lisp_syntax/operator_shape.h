// How many arguments standard operators of Common Lisp take: what tells a misplaced parenthesis in
// `(if (< a b c) d e)` from one in `(if (< a b) c d e)`.
#pragma once

#include <stdbool.h>

#include "base/span.h"

struct operator_shape {
    const char *name;
    unsigned char minimum, maximum;  // arguments; maximum 255: any number
    bool pairs;                      // an even number of them
    bool bindings;                   // the first one is a list of (name value)
};

// The shape of an operator written as `name`, in any case; NULL when nothing is known of it.
const struct operator_shape *operator_shape_find(struct span name);
