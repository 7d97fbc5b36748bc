// Sets (docs/reference/language.md 8.8).
#include "program/builtin/builtins.h"
#include "program/builtin/support.h"

value builtin_set(struct run *run, const struct builtin *self, value *arguments, size_t count)
{
    (void)count;
    if (arguments[0].tag == VALUE_SET)
        return arguments[0];
    struct sequence items;
    value item, result = set_new(run->region);
    sequence_start(run, self, 1, &items, arguments[0]);
    while (sequence_step(&items, &item))
        result = set_add(run->region, result, item);
    sequence_end(&items);
    return result;
}

value builtin_hash_set(struct run *run, const struct builtin *self, value *arguments, size_t count)
{
    (void)self;
    value result = set_new(run->region);
    run_spend(run, count);
    for (size_t i = 0; i < count; i++)
        result = set_add(run->region, result, arguments[i]);
    return result;
}

// Checks the arguments; nil becomes the empty set.
static void argument_sets(struct run *run, const struct builtin *self, value *arguments,
                          size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (value_is_nil(arguments[i]))
            arguments[i] = set_new(run->region);
        else if (arguments[i].tag != VALUE_SET)
            run_type_error(run, self, (unsigned)i + 1, "a set", arguments[i],
                           "use set to make one");
    }
}

value builtin_union(struct run *run, const struct builtin *self, value *arguments, size_t count)
{
    argument_sets(run, self, arguments, count);
    if (count == 0)
        return set_new(run->region);
    value result = arguments[0], item;
    for (size_t i = 1; i < count; i++) {
        struct map_cursor cursor = set_iterate(arguments[i]);
        while (set_next(&cursor, &item)) {
            run_spend(run, 2);
            result = set_add(run->region, result, value_retain(item));
        }
        value_release(run->region, arguments[i]);
    }
    return result;
}

static value intersect(struct run *run, value a, value b)
{
    bool swap = set_count(b) < set_count(a);
    value small = swap ? b : a, large = swap ? a : b, item, result = set_new(run->region);
    struct map_cursor cursor = set_iterate(small);
    while (set_next(&cursor, &item)) {
        run_spend(run, 2);
        if (set_has(large, item))
            result = set_add(run->region, result, value_retain(item));
    }
    value_release(run->region, a);
    value_release(run->region, b);
    return result;
}

value builtin_intersection(struct run *run, const struct builtin *self, value *arguments,
                           size_t count)
{
    argument_sets(run, self, arguments, count);
    value result = arguments[0];
    for (size_t i = 1; i < count; i++)
        result = intersect(run, result, arguments[i]);
    return result;
}

value builtin_difference(struct run *run, const struct builtin *self, value *arguments,
                         size_t count)
{
    argument_sets(run, self, arguments, count);
    value result = arguments[0], item;
    for (size_t i = 1; i < count; i++) {
        struct map_cursor cursor = set_iterate(arguments[i]);
        while (set_next(&cursor, &item)) {
            run_spend(run, 2);
            result = set_remove(run->region, result, value_retain(item));
        }
        value_release(run->region, arguments[i]);
    }
    return result;
}

value builtin_disj(struct run *run, const struct builtin *self, value *arguments, size_t count)
{
    value result = arguments[0];
    if (result.tag != VALUE_SET && result.tag != VALUE_NIL)
        run_type_error(run, self, 1, "a set or nil", result, NULL);
    run_spend(run, count);
    for (size_t i = 1; i < count; i++) {
        if (value_is_nil(result))
            value_release(run->region, arguments[i]);
        else
            result = set_remove(run->region, result, arguments[i]);
    }
    return result;
}

value builtin_are_distinct(struct run *run, const struct builtin *self, value *arguments,
                           size_t count)
{
    (void)self;
    value seen = set_new(run->region);
    run_spend(run, count);
    for (size_t i = 0; i < count; i++)
        seen = set_add(run->region, seen, value_retain(arguments[i]));
    bool distinct = set_count(seen) == count;
    value_release(run->region, seen);
    return value_boolean(distinct);
}
