#include "program/builtin/builtins.h"
#include "program/builtin/key_index.h"
#include "program/builtin/support.h"

// --- rearranging ---------------------------------------------------------------------------------

value builtin_reverse(struct run *run, const struct builtin *self, value *arguments, size_t count)
{
    (void)count;
    argument_positional(run, self, arguments, 0);
    value items = sequence_vector(run, self, 1, arguments[0]);
    size_t total = vector_count(items);
    run_spend(run, total / 4);
    value *own = vector_own_items(items);
    if (own) {
        for (size_t i = 0; i < total / 2; i++) {
            value swapped = own[i];
            own[i] = own[total - 1 - i];
            own[total - 1 - i] = swapped;
        }
        return items;
    }
    value result = vector_new(run->region, total);
    for (size_t i = total; i-- > 0;)
        vector_add(run, &result, value_retain(vector_at(items, i)));
    value_release(run->region, items);
    return result;
}

value builtin_distinct(struct run *run, const struct builtin *self, value *arguments, size_t count)
{
    (void)count;
    argument_positional(run, self, arguments, 0);
    value item;
    bool is_new;
    struct sequence items;
    struct key_index index;
    sequence_start(run, self, 1, &items, arguments[0]);
    key_index_start(run, &index);
    while (sequence_step(&items, &item))
        key_index_number(&index, item, &is_new);
    sequence_end(&items);
    return key_index_end(&index);
}

value builtin_dedupe(struct run *run, const struct builtin *self, value *arguments, size_t count)
{
    (void)count;
    struct sequence items;
    value item, result = vector_new(run->region, 0);
    sequence_start(run, self, 1, &items, arguments[0]);
    while (sequence_step(&items, &item)) {
        size_t kept = vector_count(result);
        if (kept > 0 && value_identical(vector_at(result, kept - 1), item))
            value_release(run->region, item);
        else
            vector_add(run, &result, item);
    }
    sequence_end(&items);
    return result;
}

value builtin_interleave(struct run *run, const struct builtin *self, value *arguments,
                         size_t count)
{
    size_t shortest = count == 0 ? 0 : SIZE_MAX;
    for (size_t i = 0; i < count; i++) {
        argument_positional(run, self, arguments, (unsigned)i);
        arguments[i] = sequence_vector(run, self, (unsigned)i + 1, arguments[i]);
        size_t total = vector_count(arguments[i]);
        shortest = total < shortest ? total : shortest;
    }
    value result = vector_new(run->region, shortest * count);
    for (size_t i = 0; i < shortest; i++) {
        run_spend(run, count);
        for (size_t j = 0; j < count; j++)
            vector_add(run, &result, value_retain(vector_at(arguments[j], i)));
    }
    for (size_t i = 0; i < count; i++)
        value_release(run->region, arguments[i]);
    return result;
}

value builtin_zip(struct run *run, const struct builtin *self, value *arguments, size_t count)
{
    size_t shortest = SIZE_MAX;
    for (size_t i = 0; i < count; i++) {
        argument_positional(run, self, arguments, (unsigned)i);
        arguments[i] = sequence_vector(run, self, (unsigned)i + 1, arguments[i]);
        size_t total = vector_count(arguments[i]);
        shortest = total < shortest ? total : shortest;
    }
    value result = vector_new(run->region, shortest);
    for (size_t i = 0; i < shortest; i++) {
        run_spend(run, 1);
        vector_add(run, &result,
                   vector_pair(run, value_retain(vector_at(arguments[0], i)),
                               value_retain(vector_at(arguments[1], i))));
    }
    value_release(run->region, arguments[0]);
    value_release(run->region, arguments[1]);
    return result;
}

value builtin_interpose(struct run *run, const struct builtin *self, value *arguments, size_t count)
{
    (void)count;
    argument_positional(run, self, arguments, 1);
    struct sequence items;
    value item, result = vector_new(run->region, 0);
    sequence_start(run, self, 2, &items, arguments[1]);
    while (sequence_step(&items, &item)) {
        if (vector_count(result) > 0)
            vector_add(run, &result, value_retain(arguments[0]));
        vector_add(run, &result, item);
    }
    sequence_end(&items);
    value_release(run->region, arguments[0]);
    return result;
}

// --- groups --------------------------------------------------------------------------------------

static size_t argument_size(struct run *run, const struct builtin *self, value *arguments,
                            unsigned place)
{
    int64_t size = argument_integer(run, self, arguments, place);
    if (size < 1)
        run_type_error(run, self, place + 1, "a positive integer", arguments[place], NULL);
    return (size_t)size;
}

// The part of `items` from start, completed from the pad to n items as far as the pad goes.
static value padded_group(struct run *run, value items, size_t start, size_t n, value pad)
{
    size_t total = vector_count(items);
    value group = vector_copy_items(run, vector_items(items) + start, total - start);
    for (size_t i = 0; vector_count(group) < n && i < vector_count(pad); i++) {
        run_spend(run, 1);
        vector_add(run, &group, value_retain(vector_at(pad, i)));
    }
    return group;
}

value builtin_partition(struct run *run, const struct builtin *self, value *arguments, size_t count)
{
    size_t n = argument_size(run, self, arguments, 0);
    size_t step = count >= 3 ? argument_size(run, self, arguments, 1) : n;
    value pad = vector_new(run->region, 0);
    if (count == 4)
        pad = sequence_vector(run, self, 3, arguments[2]);
    value items = sequence_vector(run, self, (unsigned)count, arguments[count - 1]);
    size_t total = vector_count(items);
    value result = vector_new(run->region, 0);
    for (size_t start = 0; start < total; start += step) {
        run_spend(run, 1);
        if (n <= total - start) {
            vector_add(run, &result,
                       vector_slice(run->region, value_retain(items), start, start + n));
        } else {
            if (count == 4)
                vector_add(run, &result, padded_group(run, items, start, n, pad));
            break;
        }
        if (step >= total - start)
            break;
    }
    value_release(run->region, items);
    value_release(run->region, pad);
    return result;
}

value builtin_partition_all(struct run *run, const struct builtin *self, value *arguments,
                            size_t count)
{
    size_t n = argument_size(run, self, arguments, 0);
    size_t step = count == 3 ? argument_size(run, self, arguments, 1) : n;
    value items = sequence_vector(run, self, (unsigned)count, arguments[count - 1]);
    size_t total = vector_count(items);
    value result = vector_new(run->region, 0);
    for (size_t start = 0; start < total; start += step) {
        run_spend(run, 1);
        size_t end = n < total - start ? start + n : total;
        vector_add(run, &result, vector_slice(run->region, value_retain(items), start, end));
        if (step >= total - start)
            break;
    }
    value_release(run->region, items);
    return result;
}

value builtin_partition_by(struct run *run, const struct builtin *self, value *arguments,
                           size_t count)
{
    (void)count;
    value f = arguments[0], key = value_nil();
    run_check_callable(run, self, 1, f);
    value items = sequence_vector(run, self, 2, arguments[1]);
    size_t total = vector_count(items), start = 0;
    value result = vector_new(run->region, 0);
    for (size_t i = 0; i < total; i++) {
        run_spend(run, 1);
        value next = run_call_on(run, f, vector_at(items, i));
        if (i > 0 && !value_identical(key, next)) {
            vector_add(run, &result, vector_slice(run->region, value_retain(items), start, i));
            start = i;
        }
        value_release(run->region, key);
        key = next;
    }
    if (total > 0)
        vector_add(run, &result, vector_slice(run->region, value_retain(items), start, total));
    value_release(run->region, key);
    value_release(run->region, items);
    value_release(run->region, f);
    return result;
}

// Moves to the next selection of `n` indexes out of `total`, in lexicographic order.
static bool next_selection(size_t *indexes, size_t n, size_t total)
{
    size_t i = n;
    while (i > 0 && indexes[i - 1] == total - n + i - 1)
        i--;
    if (i == 0)
        return false;
    indexes[i - 1]++;
    for (; i < n; i++)
        indexes[i] = indexes[i - 1] + 1;
    return true;
}

value builtin_combinations(struct run *run, const struct builtin *self, value *arguments,
                           size_t count)
{
    (void)count;
    int64_t wanted = argument_integer(run, self, arguments, 1);
    value items = sequence_vector(run, self, 1, arguments[0]);
    size_t total = vector_count(items);
    value result = vector_new(run->region, 0);
    if (wanted >= 0 && (size_t)wanted <= total) {
        size_t n = (size_t)wanted;
        size_t *indexes = region_alloc(run->region, (n + 1) * sizeof(size_t));
        for (size_t i = 0; i < n; i++)
            indexes[i] = i;
        do {
            value selection = vector_new(run->region, n);
            for (size_t i = 0; i < n; i++)
                vector_add(run, &selection, value_retain(vector_at(items, indexes[i])));
            vector_add(run, &result, selection);
            run_spend(run, 1 + n);
        } while (next_selection(indexes, n, total));
        region_return(run->region, indexes, (n + 1) * sizeof(size_t));
    }
    value_release(run->region, items);
    return result;
}

// --- flatten -------------------------------------------------------------------------------------

// A place in a vector that is being walked; the walk keeps its own stack because nesting is bounded
// by memory only.
struct flatten_level {
    value vector;  // borrowed from the level above
    size_t position;
};

value builtin_flatten(struct run *run, const struct builtin *self, value *arguments, size_t count)
{
    (void)count;
    if (arguments[0].tag != VALUE_VECTOR && arguments[0].tag != VALUE_NIL)
        run_type_error(run, self, 1, "a vector", arguments[0], NULL);
    value result = vector_new(run->region, 0);
    if (value_is_nil(arguments[0]))
        return result;
    size_t depth = 1, capacity = 16;
    struct flatten_level *levels = region_alloc(run->region, capacity * sizeof(*levels));
    levels[0] = (struct flatten_level){arguments[0], 0};
    while (depth > 0) {
        struct flatten_level *level = &levels[depth - 1];
        run_spend(run, 1);
        if (level->position == vector_count(level->vector)) {
            depth--;
            continue;
        }
        value item = vector_at(level->vector, level->position++);
        if (item.tag != VALUE_VECTOR) {
            vector_add(run, &result, value_retain(item));
            continue;
        }
        if (depth == capacity) {
            levels = region_resize(run->region, levels, capacity * sizeof(*levels),
                                   2 * capacity * sizeof(*levels));
            capacity *= 2;
        }
        levels[depth++] = (struct flatten_level){item, 0};
    }
    region_return(run->region, levels, capacity * sizeof(*levels));
    value_release(run->region, arguments[0]);
    return result;
}
