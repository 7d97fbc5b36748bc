#include "program/run/comparator.h"

#include "program/builtin/builtins.h"
#include "program/run/run_state.h"

uint16_t comparator_number(struct run *run, value f)
{
    value *known = &run->state->comparators;
    if (known->tag != VALUE_VECTOR)
        *known = vector_new(run->region, 0);
    size_t count = vector_count(*known);
    if (count > 0 && value_identical(vector_at(*known, count - 1), f))
        return (uint16_t)count;  // in a loop it is often the same again
    if (count == COMPARATORS_MAX)
        return 0;
    *known = vector_push(run->region, *known, value_retain(f));
    return (uint16_t)(count + 1);
}

value comparator_sort(struct run *run, uint16_t number, value items)
{
    static const struct builtin self = {.name = "sorted-by"};
    value arguments[] = {value_retain(vector_at(run->state->comparators, number - 1u)), items};
    return builtin_sort(run, &self, arguments, 2);
}

static bool has_function(value collection)
{
    return collection.small && collection.small != COMPARATOR_NATURAL;
}

value map_keys_in_order(struct run *run, value map)
{
    value keys = map_sorted_keys(run->region, map);
    return has_function(map) ? comparator_sort(run, map.small, keys) : keys;
}

value set_in_order(struct run *run, value set)
{
    value members = set_sorted(run->region, set);
    return has_function(set) ? comparator_sort(run, set.small, members) : members;
}
