// The rest of clojure.set: relations (collections of maps), keys of maps, subsets
// (docs/reference/language.md 8.8). All arguments are borrowed.
#include "program/builtin/builtins.h"
#include "program/builtin/support.h"
#include "value/collection/key_lookup.h"

static void argument_map(struct run *run, const struct builtin *self, value v, unsigned place)
{
    if (v.tag != VALUE_MAP && v.tag != VALUE_NIL)
        run_type_error(run, self, place, "a map", v, NULL);
}

// --- keys of maps --------------------------------------------------------------------------------

value builtin_map_invert(struct run *run, const struct builtin *self, value *arguments,
                         size_t count)
{
    (void)count;
    argument_map(run, self, arguments[0], 1);
    struct sequence entries;
    value entry, result = map_new(run->region);
    sequence_borrow(run, self, 1, &entries, arguments[0]);
    while (sequence_step(&entries, &entry)) {
        result = map_put(run->region, result, value_retain(vector_at(entry, 1)),
                         value_retain(vector_at(entry, 0)));
        value_release(run->region, entry);
    }
    sequence_end(&entries);
    return result;
}

// The map with the keys of `renames` replaced by their values.
static value rename_keys(struct run *run, const struct builtin *self, value map, value renames)
{
    struct sequence entries;
    value entry, item, result = value_retain(map);
    sequence_borrow(run, self, 2, &entries, renames);
    while (sequence_step(&entries, &entry)) {
        value old;
        if (map_find_entry_flexible(map, vector_at(entry, 0), &old, &item))
            result = map_remove(run->region, result, value_retain(old));
        value_release(run->region, entry);
    }
    sequence_end(&entries);
    sequence_borrow(run, self, 2, &entries, renames);
    while (sequence_step(&entries, &entry)) {
        if (map_find_flexible(map, vector_at(entry, 0), &item))
            result =
                map_put(run->region, result, value_retain(vector_at(entry, 1)), value_retain(item));
        value_release(run->region, entry);
    }
    sequence_end(&entries);
    return result;
}

value builtin_rename_keys(struct run *run, const struct builtin *self, value *arguments,
                          size_t count)
{
    (void)count;
    argument_map(run, self, arguments[0], 1);
    argument_map(run, self, arguments[1], 2);
    if (value_is_nil(arguments[0]))
        return value_nil();
    return rename_keys(run, self, arguments[0], arguments[1]);
}

// --- relations -----------------------------------------------------------------------------------

// One row of a relation.
static void check_row(struct run *run, const struct builtin *self, value row)
{
    if (row.tag != VALUE_MAP)
        builtin_fail(run, self, TYPE_ERROR, "a relation has maps, got %s",
                     value_describe(row, (char[DESCRIBE_SIZE]){0}));
}

// The entries of `row` under the keys.
static value select_entries(struct run *run, const struct builtin *self, value row, value keys)
{
    struct sequence items;
    value key, item, result = map_new(run->region);
    sequence_borrow(run, self, 2, &items, keys);
    while (sequence_step(&items, &key)) {
        if (map_find_flexible(row, key, &item))
            result = map_put(run->region, result, key, value_retain(item));
        else
            value_release(run->region, key);
    }
    sequence_end(&items);
    return result;
}

// Map from the selected entries to the set of rows that have them.
static value index_rows(struct run *run, const struct builtin *self, value rows, value keys)
{
    struct sequence items;
    value row, known, index = map_new(run->region);
    sequence_borrow(run, self, 1, &items, rows);
    while (sequence_step(&items, &row)) {
        check_row(run, self, row);
        value key = select_entries(run, self, row, keys);
        value group = map_find(index, key, &known) ? value_retain(known) : set_new(run->region);
        index = map_put(run->region, index, key, set_add(run->region, group, row));
    }
    sequence_end(&items);
    return index;
}

value builtin_index_relation(struct run *run, const struct builtin *self, value *arguments,
                             size_t count)
{
    (void)count;
    return index_rows(run, self, arguments[0], arguments[1]);
}

value builtin_project(struct run *run, const struct builtin *self, value *arguments, size_t count)
{
    (void)count;
    struct sequence items;
    value row, result = set_new(run->region);
    sequence_borrow(run, self, 1, &items, arguments[0]);
    while (sequence_step(&items, &row)) {
        check_row(run, self, row);
        result = set_add(run->region, result, select_entries(run, self, row, arguments[1]));
        value_release(run->region, row);
    }
    sequence_end(&items);
    return result;
}

value builtin_rename_relation(struct run *run, const struct builtin *self, value *arguments,
                              size_t count)
{
    (void)count;
    struct sequence items;
    value row, result = set_new(run->region);
    argument_map(run, self, arguments[1], 2);
    sequence_borrow(run, self, 1, &items, arguments[0]);
    while (sequence_step(&items, &row)) {
        check_row(run, self, row);
        result = set_add(run->region, result, rename_keys(run, self, row, arguments[1]));
        value_release(run->region, row);
    }
    sequence_end(&items);
    return result;
}

// The keys of a map as a set.
static value key_set(struct run *run, value map)
{
    value key, item, result = set_new(run->region);
    struct map_cursor cursor = map_iterate(map);
    while (map_next(&cursor, &key, &item)) {
        run_spend(run, 1);
        result = set_add(run->region, result, value_retain(key));
    }
    return result;
}

// The keys that the first rows of both relations have.
static value common_keys(struct run *run, const struct builtin *self, const value *arguments)
{
    value sets[2];
    for (unsigned i = 0; i < 2; i++) {
        struct sequence items;
        value row;
        sequence_borrow(run, self, i + 1, &items, arguments[i]);
        if (!sequence_step(&items, &row))
            row = map_new(run->region);
        sequence_end(&items);
        check_row(run, self, row);
        sets[i] = key_set(run, row);
        value_release(run->region, row);
    }
    return builtin_intersection(run, self, sets, 2);
}

struct join {
    struct run *run;
    const struct builtin *self;
    value index;    // of the smaller relation
    value keys;     // by which the rows of the larger one are looked up
    value renames;  // from those keys to the keys of the index, or nil
    value result;
};

static void join_row(struct join *join, value row)
{
    struct run *run = join->run;
    check_row(run, join->self, row);
    value key = select_entries(run, join->self, row, join->keys), matches, match;
    if (!value_is_nil(join->renames)) {
        value renamed = rename_keys(run, join->self, key, join->renames);
        value_release(run->region, key);
        key = renamed;
    }
    if (map_find(join->index, key, &matches)) {
        struct map_cursor cursor = set_iterate(matches);
        while (set_next(&cursor, &match)) {
            run_spend(run, 2);
            value merged = map_put_all(run, value_retain(match), value_retain(row));
            join->result = set_add(run->region, join->result, merged);
        }
    }
    value_release(run->region, key);
}

// (set/join a b) by the keys both have, (set/join a b {key-of-a key-of-b}).
value builtin_join_relations(struct run *run, const struct builtin *self, value *arguments,
                             size_t count)
{
    argument_seqable(run, self, arguments, 0);
    argument_seqable(run, self, arguments, 1);
    bool first_smaller = sequence_count(run, arguments[0]) <= sequence_count(run, arguments[1]);
    value smaller = arguments[!first_smaller], larger = arguments[first_smaller], row;
    struct join join = {.run = run, .self = self, .renames = value_nil()};
    value index_keys;
    if (count == 3) {
        argument_map(run, self, arguments[2], 3);
        join.renames = first_smaller ? builtin_map_invert(run, self, arguments + 2, 1)
                                     : value_retain(arguments[2]);
        join.keys = builtin_keys(run, self, (value[]){value_retain(join.renames)}, 1);
        index_keys = builtin_vals(run, self, (value[]){value_retain(join.renames)}, 1);
    } else {
        join.keys = common_keys(run, self, arguments);
        index_keys = value_retain(join.keys);
    }
    join.index = index_rows(run, self, smaller, index_keys);
    join.result = set_new(run->region);
    struct sequence items;
    sequence_borrow(run, self, first_smaller ? 2 : 1, &items, larger);
    while (sequence_step(&items, &row)) {
        join_row(&join, row);
        value_release(run->region, row);
    }
    sequence_end(&items);
    values_release(run, (value[]){join.index, join.keys, join.renames, index_keys}, 4);
    return join.result;
}

// --- sets ----------------------------------------------------------------------------------------

value builtin_select(struct run *run, const struct builtin *self, value *arguments, size_t count)
{
    (void)count;
    run_check_callable(run, self, 1, arguments[0]);
    if (arguments[1].tag != VALUE_SET && arguments[1].tag != VALUE_NIL)
        run_type_error(run, self, 2, "a set", arguments[1], "use filter");
    struct sequence items;
    value item, result = set_new(run->region);
    sequence_borrow(run, self, 2, &items, arguments[1]);
    while (sequence_step(&items, &item)) {
        if (run_test(run, arguments[0], item))
            result = set_add(run->region, result, item);
        else
            value_release(run->region, item);
    }
    sequence_end(&items);
    return result;
}

// Is every member of the set at place `small` in the other one? nil is the empty set.
static value is_subset(struct run *run, const struct builtin *self, const value *arguments,
                       unsigned small)
{
    value sets[2];
    for (unsigned i = 0; i < 2; i++) {
        if (arguments[i].tag != VALUE_SET && arguments[i].tag != VALUE_NIL)
            run_type_error(run, self, i + 1, "a set", arguments[i], "use set to make one");
        sets[i] = arguments[i];
    }
    if (value_is_nil(sets[small]))
        return value_boolean(true);
    value member;
    struct map_cursor cursor = set_iterate(sets[small]);
    while (set_next(&cursor, &member)) {
        run_spend(run, 2);
        if (value_is_nil(sets[!small]) || !set_has(sets[!small], member))
            return value_boolean(false);
    }
    return value_boolean(true);
}

value builtin_is_subset(struct run *run, const struct builtin *self, value *arguments, size_t count)
{
    (void)count;
    return is_subset(run, self, arguments, 0);
}

value builtin_is_superset(struct run *run, const struct builtin *self, value *arguments,
                          size_t count)
{
    (void)count;
    return is_subset(run, self, arguments, 1);
}
