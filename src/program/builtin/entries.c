#include "program/builtin/builtins.h"
#include "program/builtin/support.h"
#include "value/collection/key_lookup.h"

// --- taking apart --------------------------------------------------------------------------------

static void argument_map(struct run *run, const struct builtin *self, const value *arguments,
                         unsigned place, bool nil_too)
{
    value v = arguments[place];
    if (v.tag != VALUE_MAP && !(nil_too && value_is_nil(v)))
        run_type_error(run, self, place + 1, "a map", v, NULL);
}

value builtin_select_keys(struct run *run, const struct builtin *self, value *arguments,
                          size_t count)
{
    (void)count;
    argument_map(run, self, arguments, 0, true);
    value map = arguments[0], key, item, result = map_new(run->region);
    struct sequence keys;
    sequence_start(run, self, 2, &keys, arguments[1]);
    while (sequence_step(&keys, &key)) {
        if (!value_is_nil(map) && map_find_flexible(map, key, &item))
            result = map_put(run->region, result, key, value_retain(item));
        else
            value_release(run->region, key);
    }
    sequence_end(&keys);
    value_release(run->region, map);
    return result;
}

value builtin_keys(struct run *run, const struct builtin *self, value *arguments, size_t count)
{
    (void)count;
    argument_map(run, self, arguments, 0, true);
    if (value_is_nil(arguments[0]))
        return value_nil();
    value keys = map_sorted_keys(run->region, arguments[0]);
    value_release(run->region, arguments[0]);
    return keys;
}

value builtin_vals(struct run *run, const struct builtin *self, value *arguments, size_t count)
{
    (void)count;
    argument_map(run, self, arguments, 0, true);
    value map = arguments[0];
    if (value_is_nil(map))
        return value_nil();
    value keys = map_sorted_keys(run->region, map);
    value result = vector_new(run->region, vector_count(keys));
    for (size_t i = 0; i < vector_count(keys); i++) {
        value item = value_nil();
        map_find(map, vector_at(keys, i), &item);
        vector_add(run, &result, value_retain(item));
        run_spend(run, 1);
    }
    value_release(run->region, keys);
    value_release(run->region, map);
    return result;
}

value builtin_entries(struct run *run, const struct builtin *self, value *arguments, size_t count)
{
    (void)count;
    argument_map(run, self, arguments, 0, false);
    return sequence_vector(run, self, 1, arguments[0]);
}

static value entry_part(struct run *run, const struct builtin *self, value entry, size_t index)
{
    if (entry.tag != VALUE_VECTOR || vector_count(entry) != 2)
        run_type_error(run, self, 1, "an entry [key value]", entry, NULL);
    return value_retain(vector_at(entry, index));
}

value builtin_key(struct run *run, const struct builtin *self, value *arguments, size_t count)
{
    (void)count;
    return entry_part(run, self, arguments[0], 0);
}

value builtin_val(struct run *run, const struct builtin *self, value *arguments, size_t count)
{
    (void)count;
    return entry_part(run, self, arguments[0], 1);
}

// --- transforming --------------------------------------------------------------------------------

static void argument_map_and_function(struct run *run, const struct builtin *self,
                                      const value *arguments)
{
    value map = arguments[0];
    if (map.tag != VALUE_MAP && map.tag != VALUE_NIL) {
        bool swapped = run_is_callable(map) && arguments[1].tag == VALUE_MAP;
        run_type_error(run, self, 1, "a map", map,
                       swapped ? "the map comes first; use -> instead of ->>" : NULL);
    }
    run_check_callable(run, self, 2, arguments[1]);
}

value builtin_update_vals(struct run *run, const struct builtin *self, value *arguments,
                          size_t count)
{
    (void)count;
    argument_map_and_function(run, self, arguments);
    value map = arguments[0], f = arguments[1];
    if (value_is_nil(map))
        return map_new(run->region);
    value keys = map_sorted_keys(run->region, map);
    for (size_t i = 0; i < vector_count(keys); i++) {
        run_spend(run, 1);
        value key = vector_at(keys, i), item = value_nil();
        map_take(run, &map, key, &item);
        map = map_put(run->region, map, value_retain(key), run_call1(run, f, item));
    }
    value_release(run->region, keys);
    value_release(run->region, f);
    return map;
}

value builtin_update_keys(struct run *run, const struct builtin *self, value *arguments,
                          size_t count)
{
    (void)count;
    argument_map_and_function(run, self, arguments);
    value map = arguments[0], f = arguments[1], result = map_new(run->region);
    if (value_is_nil(map))
        return result;
    value keys = map_sorted_keys(run->region, map);
    for (size_t i = 0; i < vector_count(keys); i++) {
        value key = vector_at(keys, i), item = value_nil();
        run_spend(run, 1);
        map_find(map, key, &item);
        result = map_put(run->region, result, run_call_on(run, f, key), value_retain(item));
    }
    value_release(run->region, keys);
    value_release(run->region, map);
    value_release(run->region, f);
    return result;
}

static value reduce_map(struct run *run, value f, value accumulator, value map)
{
    value keys = map_sorted_keys(run->region, map);
    for (size_t i = 0; i < vector_count(keys); i++) {
        value key = vector_at(keys, i), item = value_nil();
        run_spend(run, 1);
        map_find(map, key, &item);
        value row[] = {accumulator, value_retain(key), value_retain(item)};
        accumulator = run_call(run, f, row, 3);
    }
    value_release(run->region, keys);
    return accumulator;
}

static value reduce_vector(struct run *run, value f, value accumulator, value vector)
{
    for (size_t i = 0; i < vector_count(vector); i++) {
        run_spend(run, 1);
        value row[] = {accumulator, value_integer((int64_t)i), value_retain(vector_at(vector, i))};
        accumulator = run_call(run, f, row, 3);
    }
    return accumulator;
}

value builtin_reduce_kv(struct run *run, const struct builtin *self, value *arguments, size_t count)
{
    (void)count;
    value f = arguments[0], result = arguments[1], v = arguments[2];
    run_check_callable(run, self, 1, f);
    if (v.tag == VALUE_MAP)
        result = reduce_map(run, f, result, v);
    else if (v.tag == VALUE_VECTOR)
        result = reduce_vector(run, f, result, v);
    else if (v.tag != VALUE_NIL)
        run_type_error(run, self, 3, "a map, vector or nil", v, NULL);
    value_release(run->region, f);
    value_release(run->region, v);
    return result;
}

// --- making --------------------------------------------------------------------------------------

value builtin_zipmap(struct run *run, const struct builtin *self, value *arguments, size_t count)
{
    (void)count;
    struct sequence keys, items;
    sequence_start(run, self, 1, &keys, arguments[0]);
    sequence_start(run, self, 2, &items, arguments[1]);
    value key, item, result = map_new(run->region);
    while (sequence_step(&keys, &key)) {
        if (!sequence_step(&items, &item)) {
            value_release(run->region, key);
            break;
        }
        result = map_put(run->region, result, key, item);
    }
    sequence_end(&keys);
    sequence_end(&items);
    return result;
}

value builtin_hash_map(struct run *run, const struct builtin *self, value *arguments, size_t count)
{
    (void)self;
    value result = map_new(run->region);
    for (size_t i = 0; i + 1 < count; i += 2) {
        run_spend(run, 1);
        result = map_put(run->region, result, arguments[i], arguments[i + 1]);
    }
    return result;
}
