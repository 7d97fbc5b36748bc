// Keys, values and entries of maps, also of entries that filter or sort has taken out of one
// (docs/reference/language.md 8.7).
#include "program/builtin/builtins.h"
#include "program/builtin/support.h"
#include "program/run/comparator.h"

static void argument_map(struct run *run, const struct builtin *self, const value *arguments,
                         unsigned place, bool nil_too)
{
    value v = arguments[place];
    if (v.tag != VALUE_MAP && !(nil_too && value_is_nil(v)))
        run_type_error(run, self, place + 1, "a map", v, NULL);
}

// Nothing has no keys, whatever it is; consumes it then.
static bool is_empty_collection(struct run *run, value v)
{
    bool is_empty = value_is_nil(v) || (v.tag == VALUE_VECTOR && vector_count(v) == 0) ||
                    (v.tag == VALUE_SET && set_count(v) == 0) ||
                    (v.tag == VALUE_STRING && value_text(v).length == 0);
    if (is_empty)
        value_release(run->region, v);
    return is_empty;
}

static value entry_part(struct run *run, const struct builtin *self, value entry, size_t index)
{
    if (entry.tag != VALUE_VECTOR || vector_count(entry) != 2)
        run_type_error(run, self, 1, "an entry [key value]", entry, NULL);
    return value_retain(vector_at(entry, index));
}

// The keys or values of entries, as (filter pred map) gives them; consumes them.
static value parts_of_entries(struct run *run, const struct builtin *self, value entries,
                              size_t index)
{
    value result = vector_new(run->region, vector_count(entries));
    for (size_t i = 0; i < vector_count(entries); i++) {
        run_spend(run, 1);
        vector_add(run, &result, entry_part(run, self, vector_at(entries, i), index));
    }
    value_release(run->region, entries);
    return vector_as_seq(result);
}

value builtin_keys(struct run *run, const struct builtin *self, value *arguments, size_t count)
{
    (void)count;
    if (is_empty_collection(run, arguments[0]))
        return value_nil();
    if (value_is_seq(arguments[0]))
        return parts_of_entries(run, self, arguments[0], 0);
    argument_map(run, self, arguments, 0, true);
    value keys = map_keys_in_order(run, arguments[0]);
    value_release(run->region, arguments[0]);
    return vector_count(keys) == 0 ? value_nil() : vector_as_seq(keys);
}

value builtin_vals(struct run *run, const struct builtin *self, value *arguments, size_t count)
{
    (void)count;
    value map = arguments[0];
    if (is_empty_collection(run, map))
        return value_nil();
    if (value_is_seq(map))
        return parts_of_entries(run, self, map, 1);
    argument_map(run, self, arguments, 0, true);
    value keys = map_keys_in_order(run, map);
    value result = vector_new(run->region, vector_count(keys));
    for (size_t i = 0; i < vector_count(keys); i++) {
        value item = value_nil();
        map_find(map, vector_at(keys, i), &item);
        vector_add(run, &result, value_retain(item));
        run_spend(run, 1);
    }
    value_release(run->region, keys);
    value_release(run->region, map);
    return vector_count(result) == 0 ? value_nil() : vector_as_seq(result);
}

value builtin_entries(struct run *run, const struct builtin *self, value *arguments, size_t count)
{
    (void)count;
    argument_map(run, self, arguments, 0, false);
    return sequence_vector(run, self, 1, arguments[0]);
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
