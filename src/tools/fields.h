// Reading members of maps that came from a worker: a member that is absent or of another kind gives
// the fallback, never an error; and so does a map that is absent.
#pragma once

#include "value/value.h"

static inline value member_in(value map, const char *name)
{
    return value_is_map(map) ? map_get_text(map, name) : value_nil();
}

static inline int64_t integer_in(value map, const char *name, int64_t fallback)
{
    value v = member_in(map, name);
    return v.tag == VALUE_INTEGER ? v.integer : fallback;
}

static inline struct span text_in(value map, const char *name)
{
    value v = member_in(map, name);
    return value_is_string(v) ? value_text(v) : (struct span){"", 0};
}

static inline bool flag_in(value map, const char *name)
{
    value v = member_in(map, name);
    return v.tag == VALUE_BOOLEAN && v.boolean;
}

static inline size_t count_in(value map, const char *name)
{
    value v = member_in(map, name);
    return value_is_vector(v) ? vector_count(v) : 0;
}

// Only after count_in() said that there is such an item.
static inline value item_in(value map, const char *name, size_t index)
{
    return vector_at(member_in(map, name), index);
}
