// Sequences: making, adding, rearranging (docs/reference/language.md 8.4).
#include "base/array.h"
#include "program/builtin/builtins.h"
#include "program/builtin/numeric.h"
#include "program/builtin/support.h"
#include "program/builtin/transducer.h"
#include "program/eval/generator.h"
#include "value/collection/key_lookup.h"

// --- adding --------------------------------------------------------------------------------------

static void add_items(struct run *run, const struct builtin *self, unsigned place, value *vector,
                      value source)
{
    struct sequence items;
    value item;
    sequence_start(run, self, place + 1, &items, source);
    while (sequence_step(&items, &item))
        vector_add(run, vector, item);
    sequence_end(&items);
}

value builtin_concat(struct run *run, const struct builtin *self, value *arguments, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (arguments[i].tag == VALUE_STRING)
            run_type_error(run, self, (unsigned)i + 1, "a collection", arguments[i],
                           "use str to join strings");
    }
    if (count == 0)
        return vector_as_seq(vector_new(run->region, 0));
    for (size_t i = 0; i < count; i++) {
        if (value_is_generator(arguments[i]))
            return generator_new(run, GENERATOR_CONCAT, vector_from(run->region, arguments, count),
                                 value_nil());
    }
    value result = sequence_vector(run, self, 1, arguments[0]);
    for (size_t i = 1; i < count; i++)
        add_items(run, self, (unsigned)i, &result, arguments[i]);
    return vector_as_seq(result);
}

value builtin_cons(struct run *run, const struct builtin *self, value *arguments, size_t count)
{
    (void)count;
    if (value_is_generator(arguments[1]))
        return generator_cons(run, self, arguments[0], arguments[1]);
    value items = sequence_vector(run, self, 2, arguments[1]);
    run_spend(run, 1);
    return vector_as_seq(vector_push_front(run->region, items, arguments[0]));
}

static bool is_pair(value v)
{
    return v.tag == VALUE_VECTOR && vector_count(v) == 2;
}

static value map_put_pair(struct run *run, value map, value pair)
{
    value key = value_retain(vector_at(pair, 0)), item = value_retain(vector_at(pair, 1));
    value_release(run->region, pair);
    return map_put_flexible(run->region, map, key, item);
}

static value conj_map(struct run *run, const struct builtin *self, value map, value item)
{
    if (value_is_nil(item))
        return map;
    if (item.tag == VALUE_MAP)
        return map_put_all(run, map, item);
    if (!is_pair(item))
        builtin_fail(run, self, TYPE_ERROR, "a map takes [key value] or a map, got %s",
                     value_describe(item, (char[DESCRIBE_SIZE]){0}));
    return map_put_pair(run, map, item);
}

value builtin_conj(struct run *run, const struct builtin *self, value *arguments, size_t count)
{
    if (count == 0)
        return vector_new(run->region, 0);
    value result = arguments[0];
    if (value_is_nil(result) && count > 1)
        result = vector_as_seq(vector_new(run->region, 0));
    for (size_t i = 1; i < count; i++) {
        run_spend(run, 1);
        if (value_is_generator(result))
            result = generator_new(run, GENERATOR_CONS, arguments[i], result);
        else if (value_is_seq(result))
            result = vector_as_seq(vector_push_front(run->region, result, arguments[i]));
        else if (value_is_queue(result))
            result = vector_as_queue(vector_push(run->region, result, arguments[i]));
        else if (result.tag == VALUE_VECTOR)
            vector_add(run, &result, arguments[i]);
        else if (result.tag == VALUE_SET)
            result = set_add(run->region, result, arguments[i]);
        else if (result.tag == VALUE_MAP)
            result = conj_map(run, self, result, arguments[i]);
        else
            break;
    }
    if (result.tag != VALUE_VECTOR && result.tag != VALUE_SET && result.tag != VALUE_MAP &&
        result.tag != VALUE_NIL && !value_is_generator(result))
        run_type_error(run, self, 1, "a vector, set or map", result, NULL);
    return result;
}

static value into_map(struct run *run, const struct builtin *self, value map, value source)
{
    struct sequence items;
    value item;
    if (source.tag == VALUE_MAP)
        return map_put_all(run, map, source);
    sequence_start(run, self, 2, &items, source);
    while (sequence_step(&items, &item)) {
        if (!is_pair(item))
            builtin_fail(run, self, TYPE_ERROR, "a map takes [key value] items, got %s",
                         value_describe(item, (char[DESCRIBE_SIZE]){0}));
        map = map_put_pair(run, map, item);
    }
    sequence_end(&items);
    return map;
}

static value into_set(struct run *run, const struct builtin *self, value set, value source)
{
    struct sequence items;
    value item;
    sequence_start(run, self, 2, &items, source);
    while (sequence_step(&items, &item))
        set = set_add(run->region, set, item);
    sequence_end(&items);
    return set;
}

// Each item goes to the front of a list.
static value into_seq(struct run *run, const struct builtin *self, value list, value source)
{
    struct sequence items;
    value item;
    sequence_start(run, self, 2, &items, source);
    while (sequence_step(&items, &item))
        list = vector_push_front(run->region, list, item);
    sequence_end(&items);
    return vector_as_seq(list);
}

// (into to coll), (into to xform coll)
value builtin_into(struct run *run, const struct builtin *self, value *arguments, size_t count)
{
    if (count < 2)
        return count == 1 ? arguments[0] : vector_new(run->region, 0);
    if (count == 3)
        arguments[1] = transduce_vector(run, self, arguments[1], arguments[2]);
    value to = arguments[0];
    switch (to.tag) {
    case VALUE_NIL:
        if (value_is_nil(arguments[1]))
            return value_nil();
        return into_seq(run, self, vector_new(run->region, 0), arguments[1]);
    case VALUE_VECTOR:
        if (value_is_seq(to))
            return into_seq(run, self, to, arguments[1]);
        if (value_is_queue(to)) {
            add_items(run, self, 1, &to, arguments[1]);
            return vector_as_queue(to);
        }
        if (vector_count(to) == 0) {
            value_release(run->region, to);
            return vector_as_vector(sequence_vector(run, self, 2, arguments[1]));
        }
        add_items(run, self, 1, &to, arguments[1]);
        return to;
    case VALUE_SET: return into_set(run, self, to, arguments[1]);
    case VALUE_MAP: return into_map(run, self, to, arguments[1]);
    default: run_type_error(run, self, 1, "a vector, set, map or nil", to, NULL);
    }
}

// --- conversions ---------------------------------------------------------------------------------

value builtin_vector(struct run *run, const struct builtin *self, value *arguments, size_t count)
{
    (void)self;
    return vector_from(run->region, arguments, count);
}

value builtin_list(struct run *run, const struct builtin *self, value *arguments, size_t count)
{
    (void)self;
    return vector_as_seq(vector_from(run->region, arguments, count));
}

value builtin_vec(struct run *run, const struct builtin *self, value *arguments, size_t count)
{
    (void)count;
    return vector_as_vector(sequence_vector(run, self, 1, arguments[0]));
}

value builtin_seq(struct run *run, const struct builtin *self, value *arguments, size_t count)
{
    (void)count;
    if (value_is_generator(arguments[0]))
        return generator_seq(run, self, arguments[0]);
    value items = sequence_vector(run, self, 1, arguments[0]);
    if (vector_count(items) > 0)
        return vector_as_seq(items);
    value_release(run->region, items);
    return value_nil();
}

value builtin_empty(struct run *run, const struct builtin *self, value *arguments, size_t count)
{
    (void)count;
    value v = arguments[0];
    if (!value_is_seqable(v))
        run_type_error(run, self, 1, "a collection or string", v, NULL);
    value_release(run->region, v);
    switch (v.tag) {
    case VALUE_VECTOR: {
        value nothing = vector_new(run->region, 0);
        return value_is_seq(v) ? vector_as_seq(nothing) : nothing;
    }
    case VALUE_MAP: return map_new(run->region);
    case VALUE_SET: return set_new(run->region);
    case VALUE_STRING: return value_string(run->region, SPAN(""));
    default: return value_nil();
    }
}

// --- counting ------------------------------------------------------------------------------------

value builtin_count_items(struct run *run, const struct builtin *self, value *arguments,
                          size_t count)
{
    if (value_is_transient(arguments[0]))
        return transient_ask(run, self, arguments, count, builtin_count_items);
    if (!value_is_seqable(arguments[0]))
        run_type_error(run, self, 1, "a collection or string", arguments[0], NULL);
    return value_integer((int64_t)sequence_count(run, arguments[0]));
}

static bool has_items(struct run *run, const struct builtin *self, value v)
{
    if (!value_is_seqable(v))
        run_type_error(run, self, 1, "a collection or string", v, NULL);
    if (v.tag == VALUE_STRING)
        return value_text(v).length > 0;
    if (value_is_generator(v)) {
        value seq = generator_seq(run, self, value_retain(v));
        value_release(run->region, seq);
        return !value_is_nil(seq);
    }
    return sequence_count(run, v) > 0;
}

value builtin_is_empty(struct run *run, const struct builtin *self, value *arguments, size_t count)
{
    (void)count;
    return value_boolean(!has_items(run, self, arguments[0]));
}

value builtin_not_empty(struct run *run, const struct builtin *self, value *arguments, size_t count)
{
    (void)count;
    if (has_items(run, self, arguments[0]))
        return arguments[0];
    value_release(run->region, arguments[0]);
    return value_nil();
}

// --- rearranging ---------------------------------------------------------------------------------

value builtin_reverse(struct run *run, const struct builtin *self, value *arguments, size_t count)
{
    (void)count;
    argument_seqable(run, self, arguments, 0);
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
        return vector_as_seq(items);
    }
    value result = vector_new(run->region, total);
    for (size_t i = total; i-- > 0;)
        vector_add(run, &result, value_retain(vector_at(items, i)));
    value_release(run->region, items);
    return vector_as_seq(result);
}

value builtin_dedupe(struct run *run, const struct builtin *self, value *arguments, size_t count)
{
    value answer;
    if (transducer_answer(run, TRANSDUCER_DEDUPE, arguments, count, 0, &answer))
        return answer;
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
    return vector_as_seq(result);
}

value builtin_interleave(struct run *run, const struct builtin *self, value *arguments,
                         size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (!value_is_generator(arguments[i]))
            continue;
        value rows =
            generator_new(run, GENERATOR_MAP, function_from_builtin(builtin_find(SPAN("vector"))),
                          vector_from(run->region, arguments, count));
        return generator_new(run, GENERATOR_TRANSFORM,
                             function_from_builtin(builtin_find(SPAN("cat"))), rows);
    }
    size_t shortest = count == 0 ? 0 : SIZE_MAX;
    for (size_t i = 0; i < count; i++) {
        argument_seqable(run, self, arguments, (unsigned)i);
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
    return vector_as_seq(result);
}

value builtin_zip(struct run *run, const struct builtin *self, value *arguments, size_t count)
{
    size_t shortest = SIZE_MAX;
    for (size_t i = 0; i < count; i++) {
        argument_seqable(run, self, arguments, (unsigned)i);
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
    value answer;
    if (transducer_answer(run, TRANSDUCER_INTERPOSE, arguments, count, 1, &answer))
        return answer;
    argument_seqable(run, self, arguments, 1);
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
    return vector_as_seq(result);
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
    return vector_as_seq(group);
}

static value partial_of(struct run *run, const char *name, size_t n)
{
    value parts[] = {function_from_builtin(builtin_find(span_from(name))),
                     value_integer((int64_t)n)};
    return builtin_partial(run, NULL, parts, COUNT_OF(parts));
}

// (map #(take n %) (iterate #(drop step %) source)), where the source has no end: each group is whole.
static value endless_groups(struct run *run, size_t n, size_t step, value source)
{
    value starts = generator_new(run, GENERATOR_ITERATE, partial_of(run, "drop", step), source);
    return generator_new(run, GENERATOR_TRANSFORM,
                         transducer_new(run, TRANSDUCER_MAP, partial_of(run, "take", n)), starts);
}

static bool is_endless(value v)
{
    return value_is_generator(v) && generator_is_endless(v);
}

value builtin_partition(struct run *run, const struct builtin *self, value *arguments, size_t count)
{
    value answer;
    if (count == 2 && transducer_answer(run, TRANSDUCER_PARTITION, arguments, count, 1, &answer))
        return answer;
    size_t n = argument_size(run, self, arguments, 0);
    size_t step = count >= 3 ? argument_size(run, self, arguments, 1) : n;
    if (is_endless(arguments[count - 1]))
        return endless_groups(run, n, step, arguments[count - 1]);
    value pad = vector_new(run->region, 0);
    if (count == 4)
        pad = sequence_vector(run, self, 3, arguments[2]);
    value items = sequence_vector(run, self, (unsigned)count, arguments[count - 1]);
    size_t total = vector_count(items);
    value result = vector_new(run->region, 0);
    for (size_t start = 0; start < total; start += step) {
        run_spend(run, 1);
        if (n <= total - start) {
            vector_add(
                run, &result,
                vector_as_seq(vector_slice(run->region, value_retain(items), start, start + n)));
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
    return vector_as_seq(result);
}

value builtin_partition_all(struct run *run, const struct builtin *self, value *arguments,
                            size_t count)
{
    value answer;
    if (transducer_answer(run, TRANSDUCER_PARTITION_ALL, arguments, count, 1, &answer))
        return answer;
    size_t n = argument_size(run, self, arguments, 0);
    size_t step = count == 3 ? argument_size(run, self, arguments, 1) : n;
    if (is_endless(arguments[count - 1]))
        return endless_groups(run, n, step, arguments[count - 1]);
    value items = sequence_vector(run, self, (unsigned)count, arguments[count - 1]);
    size_t total = vector_count(items);
    value result = vector_new(run->region, 0);
    for (size_t start = 0; start < total; start += step) {
        run_spend(run, 1);
        size_t end = n < total - start ? start + n : total;
        vector_add(run, &result,
                   vector_as_seq(vector_slice(run->region, value_retain(items), start, end)));
        if (step >= total - start)
            break;
    }
    value_release(run->region, items);
    return vector_as_seq(result);
}

value builtin_partition_by(struct run *run, const struct builtin *self, value *arguments,
                           size_t count)
{
    value answer;
    if (transducer_answer(run, TRANSDUCER_PARTITION_BY, arguments, count, 1, &answer))
        return answer;
    value f = arguments[0], key = value_nil();
    run_check_callable(run, self, 1, f);
    value items = sequence_vector(run, self, 2, arguments[1]);
    size_t total = vector_count(items), start = 0;
    value result = vector_new(run->region, 0);
    for (size_t i = 0; i < total; i++) {
        run_spend(run, 1);
        value next = run_call_on(run, f, vector_at(items, i));
        if (i > 0 && !value_identical(key, next)) {
            vector_add(run, &result,
                       vector_as_seq(vector_slice(run->region, value_retain(items), start, i)));
            start = i;
        }
        value_release(run->region, key);
        key = next;
    }
    if (total > 0)
        vector_add(run, &result,
                   vector_as_seq(vector_slice(run->region, value_retain(items), start, total)));
    value_release(run->region, key);
    value_release(run->region, items);
    value_release(run->region, f);
    return vector_as_seq(result);
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
    return vector_as_seq(result);
}

// --- flatten -------------------------------------------------------------------------------------

// A place in a vector that is being flattened; the stack is explicit because nesting is bounded
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
        return vector_as_seq(result);
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
    return vector_as_seq(result);
}
