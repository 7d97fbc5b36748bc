// Random values of all kinds of data, small enough that equal ones turn up often.
#pragma once

#include <math.h>
#include <stdio.h>

#include "base/array.h"
#include "value/number/number.h"
#include "value_random.h"

static inline value random_scalar(struct region *region)
{
    static const double floats[] = {0.0, -0.0, 1.0, 1.5, -2.0, 1e300, INFINITY, -INFINITY, NAN};
    static const char *const texts[] = {"",        "a", "b",    "ab",   "user-id",
                                        "user_id", "é", "\r\n", "z\"\\"};
    char text[32];
    switch (random_below(8)) {
    case 0: return value_nil();
    case 1: return value_boolean(random_below(2));
    case 2: return value_integer((int64_t)random_below(7) - 3);
    case 3: return value_float(floats[random_below(COUNT_OF(floats))]);
    case 4:
        snprintf(text, sizeof(text), "%s1234567890123456789%zu", random_below(2) ? "-" : "",
                 random_below(3));
        return value_integer_from_text(region, span_from(text));
    case 5: return value_keyword(region, span_from(texts[1 + random_below(5)]));
    case 6:
        snprintf(text, sizeof(text), "long text number %zu", random_below(4));
        return value_string_text(region, text);
    default: return value_string_text(region, texts[random_below(COUNT_OF(texts))]);
    }
}

static inline value random_tree(struct region *region, unsigned depth)
{
    size_t kind = depth ? random_below(8) : 0;
    size_t count = kind == 7 ? 30 + random_below(60) : random_below(4);
    value v;
    switch (kind) {
    case 4:
        v = vector_new(region, random_below(4));
        for (; count > 0; count--)
            v = vector_push(region, v, random_tree(region, depth - 1));
        return v;
    case 5:
        v = map_new(region);
        for (; count > 0; count--) {
            value key = random_tree(region, depth - 1);
            v = map_put(region, v, key, random_tree(region, depth - 1));
        }
        return v;
    case 6:
        v = set_new(region);
        for (; count > 0; count--)
            v = set_add(region, v, random_tree(region, depth - 1));
        return v;
    case 7:
        v = random_below(2) ? map_new(region) : set_new(region);
        for (; count > 0; count--) {
            value key = value_integer((int64_t)random_below(100));
            if (v.tag == VALUE_MAP)
                v = map_put(region, v, key, value_integer((int64_t)random_below(2)));
            else
                v = set_add(region, v, key);
        }
        return v;
    default: return random_scalar(region);
    }
}
