#include "program/builtin/builtins.h"
#include "program/builtin/sort.h"
#include "program/builtin/support.h"

value builtin_sort(struct run *run, const struct builtin *self, value *arguments, size_t count)
{
    struct comparator comparator = {.natural = true};
    unsigned place = (unsigned)count - 1;
    if (count == 2)
        comparator = comparator_from(run, self, 1, arguments[0]);
    argument_positional_or_map(run, self, arguments, place);
    value items = sequence_vector(run, self, place + 1, arguments[place]);
    value result = sort_items(run, self, items, items, comparator);
    if (count == 2)
        value_release(run->region, arguments[0]);
    return result;
}

value builtin_sort_by(struct run *run, const struct builtin *self, value *arguments, size_t count)
{
    value key = arguments[0], source = arguments[count - 1];
    run_check_key(run, self, 1, key);
    if (!value_is_seqable(source))
        run_type_error(run, self, (unsigned)count, "a collection", source,
                       "the collection is the last argument: (sort-by key cmp? coll)");
    struct comparator comparator = {.natural = true};
    if (count == 3)
        comparator = comparator_from(run, self, 2, arguments[1]);
    value items = sequence_vector(run, self, (unsigned)count, source);
    size_t total = vector_count(items);
    value keys = vector_new(run->region, total);
    for (size_t i = 0; i < total; i++) {
        run_spend(run, 1);
        vector_add(run, &keys, run_key(run, key, vector_at(items, i)));
    }
    value result = sort_items(run, self, items, keys, comparator);
    value_release(run->region, keys);
    if (count == 3)
        value_release(run->region, arguments[1]);
    value_release(run->region, key);
    return result;
}
