#include "program/builtin/support.h"

#include "program/eval/generator.h"
#include "value/collection/key_lookup.h"

#include <math.h>
#include <string.h>

#include "value/text/print.h"
#include "value/text/sink.h"

static const double LARGEST_FLOAT_COUNT = 0x1p62;

int64_t argument_integer(struct run *run, const struct builtin *self, const value *arguments,
                         unsigned place)
{
    value v = arguments[place];
    if (v.tag == VALUE_INTEGER)
        return v.integer;
    if (v.tag == VALUE_BIGNUM)
        return integer_sign(v) < 0 ? INT64_MIN : INT64_MAX;
    run_type_error(run, self, place + 1, "an integer", v, NULL);
}

int64_t argument_position(struct run *run, const struct builtin *self, const value *arguments,
                          unsigned place)
{
    value v = arguments[place];
    if (v.tag == VALUE_FLOAT && fabs(v.number) < LARGEST_FLOAT_COUNT)
        return (int64_t)v.number;
    return argument_integer(run, self, arguments, place);
}

size_t argument_count(struct run *run, const struct builtin *self, const value *arguments,
                      unsigned place)
{
    value v = arguments[place];
    int64_t number = v.tag == VALUE_FLOAT && fabs(v.number) < LARGEST_FLOAT_COUNT
                         ? (int64_t)ceil(v.number)
                         : argument_integer(run, self, arguments, place);
    return number < 0 ? 0 : (size_t)number;
}

void argument_string(struct run *run, const struct builtin *self, const value *arguments,
                     unsigned place)
{
    if (arguments[place].tag != VALUE_STRING)
        run_type_error(run, self, place + 1, "a string", arguments[place], NULL);
}

void argument_seqable(struct run *run, const struct builtin *self, const value *arguments,
                      unsigned place)
{
    if (!value_is_seqable(arguments[place]))
        run_type_error(run, self, place + 1, "a collection or string", arguments[place], NULL);
}

void fail_index(struct run *run, const struct builtin *self, int64_t index, size_t count)
{
    builtin_fail(run, self, RUNTIME_ERROR, "index %lld is outside a collection of %zu",
                 (long long)index, count);
}

void fail_incomparable(struct run *run, const struct builtin *self, value a, value b)
{
    char left[DESCRIBE_SIZE], right[DESCRIBE_SIZE];
    builtin_fail(run, self, TYPE_ERROR, "cannot compare %s with %s", value_describe(a, left),
                 value_describe(b, right));
}

value vector_copy_items(struct run *run, const value *items, size_t count)
{
    value vector = vector_new(run->region, count);
    for (size_t i = 0; i < count; i++)
        vector_add(run, &vector, value_retain(items[i]));
    run_spend(run, count / 8);
    return vector;
}

value run_call_joined(struct run *run, value f, const value *first, size_t first_count,
                      const value *second, size_t second_count)
{
    enum { ON_STACK = 8 };
    value on_stack[ON_STACK], *all = on_stack;
    size_t count = first_count + second_count;
    if (count > ON_STACK)
        all = region_alloc(run->region, count * sizeof(value));
    if (first_count > 0)
        memcpy(all, first, first_count * sizeof(value));
    if (second_count > 0)
        memcpy(all + first_count, second, second_count * sizeof(value));
    value result = run_call(run, f, all, count);
    if (count > ON_STACK)
        region_return(run->region, all, count * sizeof(value));
    return result;
}

bool map_detach(struct run *run, value *map, value key, value *ret_item)
{
    if (!map_find(*map, key, ret_item))
        return false;
    value_retain(*ret_item);
    if (value_is_counted(*ret_item) && object_is_unique(map->object))
        *map = map_put(run->region, *map, value_retain(key), value_nil());
    return true;
}

bool map_detach_flexible(struct run *run, value *map, value key, value *ret_item)
{
    value found, item;
    if (map_detach(run, map, key, ret_item))
        return true;
    if (!map_find_entry_flexible(*map, key, &found, &item))
        return false;
    value_retain(found);
    map_detach(run, map, found, ret_item);
    value_release(run->region, found);
    return true;
}

value map_put_all(struct run *run, value map, value other)
{
    struct map_cursor cursor = map_iterate(other);
    value key, item;
    while (map_next(&cursor, &key, &item)) {
        run_spend(run, 2);
        map = map_put_flexible(run->region, map, value_retain(key), value_retain(item));
    }
    value_release(run->region, other);
    return map;
}

value text_of_all(struct run *run, const value *values, size_t count, bool with_quotes)
{
    struct sink sink;
    sink_to_region(&sink, run->region);
    sink.as_clojure = true;
    sink.without_quotes = !with_quotes;
    for (size_t i = 0; i < count; i++) {
        size_t before = sink.length;
        if (i > 0)
            sink_byte(&sink, ' ');
        value v = run_realize(run, value_retain(values[i]));
        value_print_to(&sink, v);
        value_release(run->region, v);
        run_spend(run, 1 + (sink.length - before) / 256);
    }
    return sink_string(&sink);
}
