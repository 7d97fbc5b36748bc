#include "program/builtin_support.h"
#include "program/builtins.h"
#include "program/key_index.h"

// --- cutting by count -----------------------------------------------------------------------------

// The items start … end (clamped to the count) of a seqable value as a vector; consumes it.
static value cut_items(struct run *run, const struct builtin *self, unsigned place, value v,
                       size_t start, size_t end)
{
    if (v.tag == VALUE_STRING && !string_is_simple(v)) {
        // Only as many characters as are needed, so that (take 1 long-text) is cheap.
        struct sequence items;
        value item, result = vector_new(run->region, 0);
        sequence_start(run, self, place + 1, &items, v);
        for (size_t i = 0; i < end && sequence_step(&items, &item); i++) {
            if (i >= start)
                vector_add(run, &result, item);
            else
                value_release(run->region, item);
        }
        sequence_end(&items);
        return result;
    }
    if (v.tag == VALUE_STRING) {
        size_t count = string_count(v);
        end = end < count ? end : count;
        start = start < end ? start : end;
        v = string_cut(run->region, v, start, end);
        return sequence_vector(run, self, place + 1, v);
    }
    value items = sequence_vector(run, self, place + 1, v);
    size_t count = vector_count(items);
    end = end < count ? end : count;
    return vector_slice(run->region, items, start < end ? start : end, end);
}

value builtin_take(struct run *run, const struct builtin *self, value *arguments, size_t count)
{
    (void)count;
    size_t n = argument_count(run, self, arguments, 0);
    argument_positional_or_map(run, self, arguments, 1);
    return cut_items(run, self, 1, arguments[1], 0, n);
}

value builtin_drop(struct run *run, const struct builtin *self, value *arguments, size_t count)
{
    (void)count;
    size_t n = argument_count(run, self, arguments, 0);
    argument_positional_or_map(run, self, arguments, 1);
    return cut_items(run, self, 1, arguments[1], n, SIZE_MAX);
}

value builtin_take_last(struct run *run, const struct builtin *self, value *arguments,
                        size_t count)
{
    (void)count;
    size_t n = argument_count(run, self, arguments, 0);
    argument_positional_or_map(run, self, arguments, 1);
    if (value_is_nil(arguments[1]))
        return value_nil();
    size_t items = sequence_count(run, arguments[1]);
    if (n > 0 && items == 0) {
        value_release(run->region, arguments[1]);
        return value_nil();
    }
    return cut_items(run, self, 1, arguments[1], n < items ? items - n : 0, n == 0 ? 0 : items);
}

value builtin_drop_last(struct run *run, const struct builtin *self, value *arguments,
                        size_t count)
{
    size_t n = count == 2 ? argument_count(run, self, arguments, 0) : 1;
    unsigned place = (unsigned)count - 1;
    argument_positional_or_map(run, self, arguments, place);
    size_t items = sequence_count(run, arguments[place]);
    return cut_items(run, self, place, arguments[place], 0, n < items ? items - n : 0);
}

value builtin_split_at(struct run *run, const struct builtin *self, value *arguments,
                       size_t count)
{
    (void)count;
    size_t n = argument_count(run, self, arguments, 0);
    value items = sequence_vector(run, self, 2, arguments[1]);
    size_t total = vector_count(items);
    n = n < total ? n : total;
    value left = vector_slice(run->region, value_retain(items), 0, n);
    value right = vector_slice(run->region, items, n, total);
    return vector_pair(run, left, right);
}

value builtin_nthrest(struct run *run, const struct builtin *self, value *arguments, size_t count)
{
    (void)count;
    size_t n = argument_count(run, self, arguments, 1);
    return cut_items(run, self, 0, arguments[0], n, SIZE_MAX);
}

static value nil_when_empty(value vector)
{
    return vector_count(vector) == 0 ? value_nil() : vector;
}

value builtin_nthnext(struct run *run, const struct builtin *self, value *arguments, size_t count)
{
    return nil_when_empty(builtin_nthrest(run, self, arguments, count));
}

// --- single items ---------------------------------------------------------------------------------

// An owned item of a positional value, which is borrowed; nil when there is none.
static value item_at(struct run *run, value v, size_t index)
{
    if (v.tag == VALUE_VECTOR)
        return index < vector_count(v) ? value_retain(vector_at(v, index)) : value_nil();
    if (v.tag == VALUE_NIL)
        return value_nil();
    struct span text = value_text(v);
    size_t start = string_offset(v, index);
    if (start >= text.length)
        return value_nil();
    size_t end = string_is_simple(v) ? start + 1 : character_end(text, start);
    return string_cut(run->region, value_retain(v), start, end);
}

value builtin_first(struct run *run, const struct builtin *self, value *arguments, size_t count)
{
    (void)count;
    argument_positional(run, self, arguments, 0);
    return item_at(run, arguments[0], 0);
}

value builtin_second(struct run *run, const struct builtin *self, value *arguments, size_t count)
{
    (void)count;
    argument_positional(run, self, arguments, 0);
    return item_at(run, arguments[0], 1);
}

value builtin_last(struct run *run, const struct builtin *self, value *arguments, size_t count)
{
    (void)count;
    argument_positional(run, self, arguments, 0);
    size_t items = sequence_count(run, arguments[0]);
    return items == 0 ? value_nil() : item_at(run, arguments[0], items - 1);
}

value builtin_rest(struct run *run, const struct builtin *self, value *arguments, size_t count)
{
    (void)count;
    argument_positional(run, self, arguments, 0);
    return cut_items(run, self, 0, arguments[0], 1, SIZE_MAX);
}

value builtin_next(struct run *run, const struct builtin *self, value *arguments, size_t count)
{
    return nil_when_empty(builtin_rest(run, self, arguments, count));
}

value builtin_butlast(struct run *run, const struct builtin *self, value *arguments, size_t count)
{
    (void)count;
    argument_positional(run, self, arguments, 0);
    size_t items = sequence_count(run, arguments[0]);
    return nil_when_empty(cut_items(run, self, 0, arguments[0], 0, items == 0 ? 0 : items - 1));
}

// The first item of the argument, checked to be positional itself; owned.
static value first_positional(struct run *run, const struct builtin *self, value *arguments)
{
    argument_positional(run, self, arguments, 0);
    value inner = item_at(run, arguments[0], 0);
    argument_positional(run, self, &inner, 0);
    return inner;
}

value builtin_ffirst(struct run *run, const struct builtin *self, value *arguments, size_t count)
{
    (void)count;
    value inner = first_positional(run, self, arguments);
    value result = item_at(run, inner, 0);
    value_release(run->region, inner);
    return result;
}

value builtin_nfirst(struct run *run, const struct builtin *self, value *arguments, size_t count)
{
    (void)count;
    value inner = first_positional(run, self, arguments);
    return nil_when_empty(cut_items(run, self, 0, inner, 1, SIZE_MAX));
}

value builtin_nnext(struct run *run, const struct builtin *self, value *arguments, size_t count)
{
    (void)count;
    argument_positional(run, self, arguments, 0);
    return nil_when_empty(cut_items(run, self, 0, arguments[0], 2, SIZE_MAX));
}

value builtin_nth(struct run *run, const struct builtin *self, value *arguments, size_t count)
{
    argument_positional(run, self, arguments, 0);
    int64_t index = argument_integer(run, self, arguments, 1);
    value otherwise = count == 3 ? arguments[2] : value_nil();
    if (index < 0 || (arguments[0].tag != VALUE_STRING &&
                      (size_t)index >= sequence_count(run, arguments[0])))
        return value_retain(otherwise);
    value item = item_at(run, arguments[0], (size_t)index);
    // Characters are never nil, so nil from a string means that it was too short.
    return arguments[0].tag == VALUE_STRING && value_is_nil(item) ? value_retain(otherwise) : item;
}

// --- vectors only ---------------------------------------------------------------------------------

static void argument_vector(struct run *run, const struct builtin *self, const value *arguments,
                            bool nil_too)
{
    value v = arguments[0];
    if (v.tag != VALUE_VECTOR && !(nil_too && value_is_nil(v)))
        run_type_error(run, self, 1, "a vector", v, NULL);
}

value builtin_subvec(struct run *run, const struct builtin *self, value *arguments, size_t count)
{
    argument_vector(run, self, arguments, false);
    size_t total = vector_count(arguments[0]);
    size_t start = argument_count(run, self, arguments, 1);
    size_t end = count == 3 ? argument_count(run, self, arguments, 2) : total;
    end = end < total ? end : total;
    return vector_slice(run->region, arguments[0], start < end ? start : end, end);
}

value builtin_peek(struct run *run, const struct builtin *self, value *arguments, size_t count)
{
    (void)count;
    argument_vector(run, self, arguments, true);
    if (value_is_nil(arguments[0]) || vector_count(arguments[0]) == 0)
        return value_nil();
    return value_retain(vector_at(arguments[0], vector_count(arguments[0]) - 1));
}

value builtin_pop(struct run *run, const struct builtin *self, value *arguments, size_t count)
{
    (void)count;
    argument_vector(run, self, arguments, true);
    if (value_is_nil(arguments[0]) || vector_count(arguments[0]) == 0)
        return value_nil();
    return vector_slice(run->region, arguments[0], 0, vector_count(arguments[0]) - 1);
}

// --- rearranging ----------------------------------------------------------------------------------

value builtin_reverse(struct run *run, const struct builtin *self, value *arguments, size_t count)
{
    (void)count;
    argument_positional(run, self, arguments, 0);
    value items = sequence_vector(run, self, 1, arguments[0]);
    size_t total = vector_count(items);
    run_tick(run, total / 4);
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

value builtin_distinct(struct run *run, const struct builtin *self, value *arguments,
                       size_t count)
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
        run_tick(run, count);
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
        run_tick(run, 1);
        vector_add(run, &result,
                   vector_pair(run, value_retain(vector_at(arguments[0], i)),
                               value_retain(vector_at(arguments[1], i))));
    }
    value_release(run->region, arguments[0]);
    value_release(run->region, arguments[1]);
    return result;
}

value builtin_interpose(struct run *run, const struct builtin *self, value *arguments,
                        size_t count)
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

// --- groups ---------------------------------------------------------------------------------------

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
        run_tick(run, 1);
        vector_add(run, &group, value_retain(vector_at(pad, i)));
    }
    return group;
}

value builtin_partition(struct run *run, const struct builtin *self, value *arguments,
                        size_t count)
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
        run_tick(run, 1);
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
        run_tick(run, 1);
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
        run_tick(run, 1);
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
            run_tick(run, 1 + n);
        } while (next_selection(indexes, n, total));
        region_return(run->region, indexes, (n + 1) * sizeof(size_t));
    }
    value_release(run->region, items);
    return result;
}

// --- flatten --------------------------------------------------------------------------------------

// A place in a vector that is being walked; the walk keeps its own stack because nesting is bounded
// by memory only.
struct flatten_level {
    value vector;  // borrowed from the level above
    size_t position;
};

value builtin_flatten(struct run *run, const struct builtin *self, value *arguments, size_t count)
{
    (void)count;
    argument_vector(run, self, arguments, true);
    value result = vector_new(run->region, 0);
    if (value_is_nil(arguments[0]))
        return result;
    size_t depth = 1, capacity = 16;
    struct flatten_level *levels = region_alloc(run->region, capacity * sizeof(*levels));
    levels[0] = (struct flatten_level){arguments[0], 0};
    while (depth > 0) {
        struct flatten_level *level = &levels[depth - 1];
        run_tick(run, 1);
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
