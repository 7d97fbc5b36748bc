#include "program/builtin/builtins.h"
#include "program/builtin/numeric.h"
#include "program/builtin/support.h"

// --- joining -------------------------------------------------------------------------------------

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
        return vector_new(run->region, 0);
    value result = sequence_vector(run, self, 1, arguments[0]);
    for (size_t i = 1; i < count; i++)
        add_items(run, self, (unsigned)i, &result, arguments[i]);
    return result;
}

value builtin_cons(struct run *run, const struct builtin *self, value *arguments, size_t count)
{
    (void)count;
    value result = vector_new(run->region, 0);
    vector_add(run, &result, arguments[0]);
    add_items(run, self, 1, &result, arguments[1]);
    return result;
}

static bool is_pair(value v)
{
    return v.tag == VALUE_VECTOR && vector_count(v) == 2;
}

static value map_put_pair(struct run *run, value map, value pair)
{
    value key = value_retain(vector_at(pair, 0)), item = value_retain(vector_at(pair, 1));
    value_release(run->region, pair);
    return map_put(run->region, map, key, item);
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
        result = vector_new(run->region, count - 1);
    for (size_t i = 1; i < count; i++) {
        run_spend(run, 1);
        if (result.tag == VALUE_VECTOR)
            vector_add(run, &result, arguments[i]);
        else if (result.tag == VALUE_SET)
            result = set_add(run->region, result, arguments[i]);
        else if (result.tag == VALUE_MAP)
            result = conj_map(run, self, result, arguments[i]);
        else
            break;
    }
    if (result.tag != VALUE_VECTOR && result.tag != VALUE_SET && result.tag != VALUE_MAP &&
        result.tag != VALUE_NIL)
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

value builtin_into(struct run *run, const struct builtin *self, value *arguments, size_t count)
{
    (void)count;
    value to = arguments[0];
    switch (to.tag) {
    case VALUE_NIL: return sequence_vector(run, self, 2, arguments[1]);
    case VALUE_VECTOR:
        if (vector_count(to) == 0) {
            value_release(run->region, to);
            return sequence_vector(run, self, 2, arguments[1]);
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

value builtin_vec(struct run *run, const struct builtin *self, value *arguments, size_t count)
{
    (void)count;
    return sequence_vector(run, self, 1, arguments[0]);
}

value builtin_seq(struct run *run, const struct builtin *self, value *arguments, size_t count)
{
    (void)count;
    value items = sequence_vector(run, self, 1, arguments[0]);
    if (vector_count(items) > 0)
        return items;
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
    case VALUE_VECTOR: return vector_new(run->region, 0);
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
    (void)count;
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
