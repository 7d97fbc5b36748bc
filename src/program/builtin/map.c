// Maps, and paths into nested data (docs/reference/language.md 8.7).
#include "program/builtin/builtins.h"
#include "program/builtin/support.h"
#include "program/run/comparator.h"
#include "value/collection/key_lookup.h"

// --- reading -------------------------------------------------------------------------------------

// The character of a string at an index; owned.
static bool find_character(struct run *run, value string, value key, value *ret_item)
{
    if (key.tag != VALUE_INTEGER || key.integer < 0)
        return false;
    struct span text = value_text(string);
    size_t start = string_offset(string, (size_t)key.integer);
    if (start >= text.length)
        return false;
    size_t end = string_is_simple(string) ? start + 1 : character_end(text, start);
    *ret_item = string_cut(run->region, value_retain(string), start, end);
    return true;
}

// One step of a path; *ret_item is owned. False when there is none.
static bool find_item(struct run *run, value v, value key, value *ret_item)
{
    switch (v.tag) {
    case VALUE_MAP:
        if (!map_find_flexible(v, key, ret_item))
            return false;
        value_retain(*ret_item);
        return true;
    case VALUE_SET:
        if (!set_has(v, key))
            return false;
        *ret_item = value_retain(key);
        return true;
    case VALUE_VECTOR:
        if (key.tag != VALUE_INTEGER || key.integer < 0 || (uint64_t)key.integer >= vector_count(v))
            return false;
        *ret_item = value_retain(vector_at(v, (size_t)key.integer));
        return true;
    case VALUE_STRING: return find_character(run, v, key, ret_item);
    default: return false;
    }
}

value builtin_get(struct run *run, const struct builtin *self, value *arguments, size_t count)
{
    value v = arguments[0], item;
    if (v.tag != VALUE_MAP && !value_is_seqable(v)) {
        if (value_is_transient(v))
            return transient_ask(run, self, arguments, count, builtin_get);
        run_type_error(run, self, 1, "a map, set, vector, string or nil", v, NULL);
    }
    if (find_item(run, v, arguments[1], &item))
        return item;
    return count == 3 ? value_retain(arguments[2]) : value_nil();
}

static void argument_path(struct run *run, const struct builtin *self, value path)
{
    if (path.tag != VALUE_VECTOR && path.tag != VALUE_NIL)
        run_type_error(run, self, 2, "a path (vector of keys)", path, NULL);
}

value builtin_get_in(struct run *run, const struct builtin *self, value *arguments, size_t count)
{
    value path = arguments[1], item = value_retain(arguments[0]);
    argument_path(run, self, path);
    size_t length = value_is_nil(path) ? 0 : vector_count(path);
    for (size_t i = 0; i < length; i++) {
        value next;
        run_spend(run, 1);
        bool found = find_item(run, item, vector_at(path, i), &next);
        value_release(run->region, item);
        if (!found)
            return count == 3 ? value_retain(arguments[2]) : value_nil();
        item = next;
    }
    return item;
}

// (find f coll)
static value find_first(struct run *run, const struct builtin *self, value f, value source)
{
    struct sequence items;
    value item, result = value_nil();
    sequence_borrow(run, self, 2, &items, source);
    while (sequence_step(&items, &item)) {
        if (run_test(run, f, item)) {
            result = item;
            break;
        }
        value_release(run->region, item);
    }
    sequence_end(&items);
    return result;
}

value builtin_find_entry(struct run *run, const struct builtin *self, value *arguments,
                         size_t count)
{
    (void)count;
    value v = arguments[0], key = arguments[1], item;
    switch (v.tag) {
    case VALUE_NIL: return value_nil();
    case VALUE_MAP:
    case VALUE_VECTOR:
        if (v.tag == VALUE_MAP && map_find_entry_flexible(v, key, &key, &item))
            return vector_pair(run, value_retain(key), value_retain(item));
        if (v.tag == VALUE_MAP || !find_item(run, v, key, &item))
            return value_nil();
        return vector_pair(run, value_retain(key), item);
    case VALUE_FUNCTION:
    case VALUE_KEYWORD:
    case VALUE_SET: return find_first(run, self, v, key);
    default: run_type_error(run, self, 1, "a map, vector or function", v, NULL);
    }
}

value builtin_contains(struct run *run, const struct builtin *self, value *arguments, size_t count)
{
    value v = arguments[0], key = arguments[1], item;
    if (value_is_transient(v))
        return transient_ask(run, self, arguments, count, builtin_contains);
    switch (v.tag) {
    case VALUE_NIL: return value_boolean(false);
    case VALUE_MAP: return value_boolean(map_find_flexible(v, key, &item));
    case VALUE_SET:
        if (set_has(v, key))
            return value_boolean(true);
        run_warn_member(run, v, key);
        return value_boolean(false);
    case VALUE_STRING:
        if (!value_is_number(key))
            run_type_error(run, self, 1, "a map, set or vector", v, "use includes?");
        __attribute__((fallthrough));
    case VALUE_VECTOR:
        if (value_is_seq(v))
            run_type_error(run, self, 1, "a map, set or vector", v,
                           "of a list use (some #{x} coll)");
        return value_boolean(key.tag == VALUE_INTEGER && key.integer >= 0 &&
                             (size_t)key.integer < sequence_count(run, v));
    default: run_type_error(run, self, 1, "a map, set, vector or nil", v, NULL);
    }
}

// --- writing -------------------------------------------------------------------------------------

// Sets one key or index; consumes all three. `container` is a map, nil or vector.
static value put_item(struct run *run, const struct builtin *self, value container, value key,
                      value item)
{
    if (value_is_nil(container))
        container = map_new(run->region);
    if (container.tag == VALUE_MAP)
        return map_put_flexible(run->region, container, key, item);
    if (!value_is_integer(key))
        builtin_fail(run, self, TYPE_ERROR, "a vector's index must be an integer, got %s",
                     value_describe(key, (char[DESCRIBE_SIZE]){0}));
    size_t total = vector_count(container);
    if (key.tag != VALUE_INTEGER || key.integer < 0 || (uint64_t)key.integer > total)
        builtin_fail(run, self, RUNTIME_ERROR, "index %s out of range for a vector of %zu",
                     value_describe(key, (char[DESCRIBE_SIZE]){0}), total);
    if ((size_t)key.integer == total)
        return vector_push(run->region, container, item);
    return vector_put(run->region, container, (size_t)key.integer, item);
}

static bool can_put(value v)
{
    return v.tag == VALUE_MAP || v.tag == VALUE_VECTOR || v.tag == VALUE_NIL;
}

static void argument_container(struct run *run, const struct builtin *self, value v)
{
    if (!can_put(v))
        run_type_error(run, self, 1, "a map, vector or nil", v, NULL);
}

value builtin_assoc(struct run *run, const struct builtin *self, value *arguments, size_t count)
{
    value result = arguments[0];
    argument_container(run, self, result);
    for (size_t i = 1; i + 1 < count; i += 2) {
        run_spend(run, 1);
        result = put_item(run, self, result, arguments[i], arguments[i + 1]);
    }
    return result;
}

// Detaches the item of a key from a container, as map_detach() does. Nil when there is none.
static value detach_item(struct run *run, value *container, value key)
{
    value item;
    if (container->tag == VALUE_MAP)
        return map_detach_flexible(run, container, key, &item) ? item : value_nil();
    if (!find_item(run, *container, key, &item))
        return value_nil();
    value *own = container->tag == VALUE_VECTOR ? vector_own_items(*container) : NULL;
    if (own) {
        value_release(run->region, item);
        own[key.integer] = value_nil();
    }
    return item;
}

value builtin_update(struct run *run, const struct builtin *self, value *arguments, size_t count)
{
    value container = arguments[0], key = arguments[1], f = arguments[2];
    argument_container(run, self, container);
    run_check_callable(run, self, 3, f);
    value old = detach_item(run, &container, key);
    value item = run_call_joined(run, f, &old, 1, arguments + 3, count - 3);
    value_release(run->region, f);
    return put_item(run, self, container, key, item);
}

// A path being written: the containers on the way, outermost first, each without its item.
struct path {
    const value *keys;  // borrowed
    size_t length;
    value *containers;
};

static const value nil_key = {.tag = VALUE_NIL};

static struct path path_descend(struct run *run, const struct builtin *self, value container,
                                value keys, value *ret_item)
{
    argument_container(run, self, container);
    argument_path(run, self, keys);
    struct path path = {&nil_key, 1, NULL};
    if (!value_is_nil(keys) && vector_count(keys) > 0) {
        path.keys = vector_items(keys);
        path.length = vector_count(keys);
    }
    path.containers = region_alloc(run->region, path.length * sizeof(value));
    for (size_t i = 0; i < path.length; i++) {
        run_spend(run, 1);
        if (!can_put(container))
            builtin_fail(run, self, RUNTIME_ERROR, "cannot go into %s on the path",
                         value_describe(container, (char[DESCRIBE_SIZE]){0}));
        path.containers[i] = container;
        container = detach_item(run, &path.containers[i], path.keys[i]);
    }
    *ret_item = container;
    return path;
}

static value path_ascend(struct run *run, const struct builtin *self, struct path *path, value item)
{
    for (size_t i = path->length; i-- > 0;) {
        run_spend(run, 1);
        item = put_item(run, self, path->containers[i], value_retain(path->keys[i]), item);
    }
    region_return(run->region, path->containers, path->length * sizeof(value));
    return item;
}

value builtin_assoc_in(struct run *run, const struct builtin *self, value *arguments, size_t count)
{
    (void)count;
    value old;
    struct path path = path_descend(run, self, arguments[0], arguments[1], &old);
    value_release(run->region, old);
    value result = path_ascend(run, self, &path, arguments[2]);
    value_release(run->region, arguments[1]);
    return result;
}

value builtin_update_in(struct run *run, const struct builtin *self, value *arguments, size_t count)
{
    value old, f = arguments[2];
    run_check_callable(run, self, 3, f);
    struct path path = path_descend(run, self, arguments[0], arguments[1], &old);
    value item = run_call_joined(run, f, &old, 1, arguments + 3, count - 3);
    value result = path_ascend(run, self, &path, item);
    value_release(run->region, arguments[1]);
    value_release(run->region, f);
    return result;
}

value builtin_dissoc(struct run *run, const struct builtin *self, value *arguments, size_t count)
{
    value result = arguments[0];
    if (result.tag != VALUE_MAP && result.tag != VALUE_NIL)
        run_type_error(run, self, 1, "a map or nil", result, NULL);
    for (size_t i = 1; i < count; i++) {
        run_spend(run, 1);
        if (value_is_nil(result))
            value_release(run->region, arguments[i]);
        else
            result = map_remove_flexible(run->region, result, arguments[i]);
    }
    return result;
}

// --- merging -------------------------------------------------------------------------------------

static bool is_nothing(value v)
{
    return !value_is_true(v);
}

static void argument_maps(struct run *run, const struct builtin *self, const value *arguments,
                          size_t first, size_t count)
{
    for (size_t i = first; i < count; i++) {
        if (arguments[i].tag != VALUE_MAP && !is_nothing(arguments[i]))
            run_type_error(run, self, (unsigned)i + 1, "a map or nil", arguments[i], NULL);
    }
}

// As in Clojure a map may also take an entry, [key value].
value builtin_merge(struct run *run, const struct builtin *self, value *arguments, size_t count)
{
    value result = value_nil();
    for (size_t i = 0; i < count; i++) {
        value given = arguments[i];
        bool is_entry =
            given.tag == VALUE_VECTOR && vector_count(given) == 2 && !value_is_nil(result);
        if (is_nothing(given))
            continue;
        if (is_entry) {
            result = map_put_flexible(run->region, result, value_retain(vector_at(given, 0)),
                                      value_retain(vector_at(given, 1)));
            value_release(run->region, given);
            continue;
        }
        argument_maps(run, self, arguments, i, i + 1);
        result = value_is_nil(result) ? given : map_put_all(run, result, given);
    }
    return result;
}

// Puts the entries of a map, in key order, into another one; consumes the map.
static value merge_map_with(struct run *run, value f, value result, value map)
{
    value keys = map_keys_in_order(run, map);
    for (size_t i = 0; i < vector_count(keys); i++) {
        value key = vector_at(keys, i), item = value_nil();
        map_find(map, key, &item);
        value_retain(item);
        run_spend(run, 2);
        value old;
        if (map_detach_flexible(run, &result, key, &old))
            item = run_call2(run, f, old, item);
        result = map_put_flexible(run->region, result, value_retain(key), item);
    }
    value_release(run->region, keys);
    value_release(run->region, map);
    return result;
}

value builtin_merge_with(struct run *run, const struct builtin *self, value *arguments,
                         size_t count)
{
    value f = arguments[0], result = value_nil();
    run_check_callable(run, self, 1, f);
    argument_maps(run, self, arguments, 1, count);
    for (size_t i = 1; i < count; i++) {
        if (is_nothing(arguments[i]))
            continue;
        result = value_is_nil(result) ? arguments[i] : merge_map_with(run, f, result, arguments[i]);
    }
    value_release(run->region, f);
    return value_is_nil(result) ? map_new(run->region) : result;
}

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
        value found;
        if (!value_is_nil(map) && map_find_entry_flexible(map, key, &found, &item))
            result = map_put(run->region, result, value_retain(found), value_retain(item));
        value_release(run->region, key);
    }
    sequence_end(&keys);
    value_release(run->region, map);
    return result;
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
    value keys = map_keys_in_order(run, map);
    for (size_t i = 0; i < vector_count(keys); i++) {
        run_spend(run, 1);
        value key = vector_at(keys, i), item = value_nil();
        map_detach(run, &map, key, &item);
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
    value keys = map_keys_in_order(run, map);
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
    value keys = map_keys_in_order(run, map);
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
