// Sequences: parts and single items (docs/reference/language.md 8.4).
#include "program/builtin/builtins.h"
#include "program/builtin/support.h"
#include "program/builtin/transducer.h"
#include "program/eval/generator.h"

// --- cutting by count ----------------------------------------------------------------------------

// The same of a generator: only as many items as are needed.
static value cut_generator(struct run *run, const struct builtin *self, value v, size_t start,
                           size_t end)
{
    if (end == SIZE_MAX) {
        value rest;
        value_release(run->region, generator_take(run, self, v, start, &rest));
        return value_is_generator(rest) ? rest : vector_as_seq(sequence_vector(run, self, 1, rest));
    }
    value items = generator_take(run, self, v, end, NULL);
    size_t count = vector_count(items);
    return vector_as_seq(vector_slice(run->region, items, start < count ? start : count, count));
}

// The items start … end (clamped to the count) of a seqable value as a vector; consumes it.
static value cut_items(struct run *run, const struct builtin *self, unsigned place, value v,
                       size_t start, size_t end)
{
    if (value_is_generator(v))
        return cut_generator(run, self, v, start, end);
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
        return vector_as_seq(result);
    }
    if (v.tag == VALUE_STRING) {
        size_t count = string_count(v);
        end = end < count ? end : count;
        start = start < end ? start : end;
        v = string_cut(run->region, v, start, end);
        return vector_as_seq(sequence_vector(run, self, place + 1, v));
    }
    value items = sequence_vector(run, self, place + 1, v);
    size_t count = vector_count(items);
    end = end < count ? end : count;
    return vector_as_seq(vector_slice(run->region, items, start < end ? start : end, end));
}

static value nil_when_empty(struct run *run, const struct builtin *self, value v)
{
    if (value_is_generator(v))
        return generator_seq(run, self, v);
    return vector_count(v) == 0 ? value_nil() : v;
}

value builtin_take(struct run *run, const struct builtin *self, value *arguments, size_t count)
{
    value answer;
    if (count == 1 && transducer_answer(run, TRANSDUCER_TAKE, arguments, count, 1, &answer))
        return answer;
    size_t n = argument_count(run, self, arguments, 0);
    argument_seqable(run, self, arguments, 1);
    return cut_items(run, self, 1, arguments[1], 0, n);
}

value builtin_drop(struct run *run, const struct builtin *self, value *arguments, size_t count)
{
    value answer;
    if (transducer_answer(run, TRANSDUCER_DROP, arguments, count, 1, &answer))
        return answer;
    size_t n = argument_count(run, self, arguments, 0);
    argument_seqable(run, self, arguments, 1);
    return cut_items(run, self, 1, arguments[1], n, SIZE_MAX);
}

value builtin_take_last(struct run *run, const struct builtin *self, value *arguments, size_t count)
{
    (void)count;
    size_t n = argument_count(run, self, arguments, 0);
    argument_seqable(run, self, arguments, 1);
    size_t items = sequence_count(run, arguments[1]);
    return nil_when_empty(
        run, self,
        cut_items(run, self, 1, arguments[1], n < items ? items - n : 0, n == 0 ? 0 : items));
}

value builtin_drop_last(struct run *run, const struct builtin *self, value *arguments, size_t count)
{
    size_t n = count == 2 ? argument_count(run, self, arguments, 0) : 1;
    unsigned place = (unsigned)count - 1;
    argument_seqable(run, self, arguments, place);
    size_t items = sequence_count(run, arguments[place]);
    return cut_items(run, self, place, arguments[place], 0, n < items ? items - n : 0);
}

value builtin_split_at(struct run *run, const struct builtin *self, value *arguments, size_t count)
{
    (void)count;
    size_t n = argument_count(run, self, arguments, 0);
    if (value_is_generator(arguments[1])) {
        value rest, taken = generator_take(run, self, arguments[1], n, &rest);
        return vector_pair(run, taken, rest);
    }
    value items = sequence_vector(run, self, 2, arguments[1]);
    size_t total = vector_count(items);
    n = n < total ? n : total;
    value left = vector_as_seq(vector_slice(run->region, value_retain(items), 0, n));
    value right = vector_as_seq(vector_slice(run->region, items, n, total));
    return vector_pair(run, left, right);
}

value builtin_nthrest(struct run *run, const struct builtin *self, value *arguments, size_t count)
{
    (void)count;
    size_t n = argument_count(run, self, arguments, 1);
    if ((n == 0 && value_is_seqable(arguments[0])) || value_is_nil(arguments[0]))
        return arguments[0];
    return cut_items(run, self, 0, arguments[0], n, SIZE_MAX);
}

value builtin_nthnext(struct run *run, const struct builtin *self, value *arguments, size_t count)
{
    (void)count;
    size_t n = argument_count(run, self, arguments, 1);
    return nil_when_empty(run, self, cut_items(run, self, 0, arguments[0], n, SIZE_MAX));
}

// --- single items --------------------------------------------------------------------------------

// An owned item of a map or set, which is borrowed; nil when there is none.
static value entry_at(struct run *run, value v, size_t index)
{
    static const struct builtin self = {.name = "nth"};
    struct sequence items;
    value item = value_nil();
    sequence_borrow(run, &self, 1, &items, v);
    items.position = index < items.count ? index : items.count;
    sequence_next(&items, &item);
    sequence_end(&items);
    return item;
}

// An item of a generator, which is borrowed; false and nil when there is none.
static bool generator_item(struct run *run, value v, size_t index, value *ret_item)
{
    static const struct builtin self = {.name = "nth"};
    value iterator = iterator_new(run, &self, 1, value_retain(v));
    bool found = false;
    *ret_item = value_nil();
    for (size_t i = 0; !found && iterator_next(run, iterator, ret_item); i++) {
        found = i == index;
        if (found)
            break;
        value_release(run->region, *ret_item);
        *ret_item = value_nil();
    }
    value_release(run->region, iterator);
    return found;
}

// An owned item of a seqable value, which is borrowed; nil when there is none.
static value item_at(struct run *run, value v, size_t index)
{
    value found;
    if (value_is_generator(v)) {
        generator_item(run, v, index, &found);
        return found;
    }
    if (v.tag == VALUE_MAP || v.tag == VALUE_SET)
        return entry_at(run, v, index);
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
    argument_seqable(run, self, arguments, 0);
    return item_at(run, arguments[0], 0);
}

value builtin_second(struct run *run, const struct builtin *self, value *arguments, size_t count)
{
    (void)count;
    argument_seqable(run, self, arguments, 0);
    return item_at(run, arguments[0], 1);
}

value builtin_last(struct run *run, const struct builtin *self, value *arguments, size_t count)
{
    (void)count;
    argument_seqable(run, self, arguments, 0);
    size_t items = sequence_count(run, arguments[0]);
    return items == 0 ? value_nil() : item_at(run, arguments[0], items - 1);
}

value builtin_rest(struct run *run, const struct builtin *self, value *arguments, size_t count)
{
    (void)count;
    argument_seqable(run, self, arguments, 0);
    return cut_items(run, self, 0, arguments[0], 1, SIZE_MAX);
}

value builtin_next(struct run *run, const struct builtin *self, value *arguments, size_t count)
{
    return nil_when_empty(run, self, builtin_rest(run, self, arguments, count));
}

value builtin_butlast(struct run *run, const struct builtin *self, value *arguments, size_t count)
{
    (void)count;
    argument_seqable(run, self, arguments, 0);
    size_t items = sequence_count(run, arguments[0]);
    return nil_when_empty(run, self,
                          cut_items(run, self, 0, arguments[0], 0, items == 0 ? 0 : items - 1));
}

// The first item of the argument, checked to be seqable itself; owned.
static value first_seqable(struct run *run, const struct builtin *self, value *arguments)
{
    argument_seqable(run, self, arguments, 0);
    value inner = item_at(run, arguments[0], 0);
    argument_seqable(run, self, &inner, 0);
    return inner;
}

value builtin_ffirst(struct run *run, const struct builtin *self, value *arguments, size_t count)
{
    (void)count;
    value inner = first_seqable(run, self, arguments);
    value result = item_at(run, inner, 0);
    value_release(run->region, inner);
    return result;
}

value builtin_nfirst(struct run *run, const struct builtin *self, value *arguments, size_t count)
{
    (void)count;
    value inner = first_seqable(run, self, arguments);
    return nil_when_empty(run, self, cut_items(run, self, 0, inner, 1, SIZE_MAX));
}

value builtin_nnext(struct run *run, const struct builtin *self, value *arguments, size_t count)
{
    (void)count;
    argument_seqable(run, self, arguments, 0);
    return nil_when_empty(run, self, cut_items(run, self, 0, arguments[0], 2, SIZE_MAX));
}

// Is there an item at an index? Finds out about a string without counting all of it.
static bool has_index(struct run *run, value v, int64_t index, value *ret_item)
{
    if (index < 0)
        return false;
    if (value_is_generator(v))
        return generator_item(run, v, (size_t)index, ret_item);
    if (v.tag != VALUE_STRING && (size_t)index >= sequence_count(run, v))
        return false;
    *ret_item = item_at(run, v, (size_t)index);
    // Characters are never nil, so nil from a string means that it was too short.
    return v.tag != VALUE_STRING || !value_is_nil(*ret_item);
}

value builtin_nth(struct run *run, const struct builtin *self, value *arguments, size_t count)
{
    value v = arguments[0], item;
    if (v.tag == VALUE_MAP || v.tag == VALUE_SET)
        run_type_error(run, self, 1, "a vector or string", v, "use get");
    if (value_is_transient(v))
        return transient_ask(run, self, arguments, count, builtin_nth);
    argument_seqable(run, self, arguments, 0);
    int64_t index = argument_position(run, self, arguments, 1);
    if (has_index(run, v, index, &item))
        return item;
    if (count == 2 && !value_is_nil(v))
        fail_index(run, self, index, sequence_count(run, v));
    return count == 3 ? value_retain(arguments[2]) : value_nil();
}

// --- vectors only --------------------------------------------------------------------------------

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
    int64_t start = argument_position(run, self, arguments, 1);
    int64_t end = count == 3 ? argument_position(run, self, arguments, 2) : (int64_t)total;
    if (start < 0 || start > end || end > (int64_t)total)
        builtin_fail(run, self, RUNTIME_ERROR, "elements %lld to %lld are outside a vector of %zu",
                     (long long)start, (long long)end, total);
    return vector_slice(run->region, arguments[0], (size_t)start, (size_t)end);
}

value builtin_peek(struct run *run, const struct builtin *self, value *arguments, size_t count)
{
    (void)count;
    argument_vector(run, self, arguments, true);
    if (value_is_nil(arguments[0]) || vector_count(arguments[0]) == 0)
        return value_nil();
    size_t last = vector_count(arguments[0]) - 1;
    bool at_front = value_is_seq(arguments[0]) || value_is_queue(arguments[0]);
    return value_retain(vector_at(arguments[0], at_front ? 0 : last));
}

value builtin_pop(struct run *run, const struct builtin *self, value *arguments, size_t count)
{
    (void)count;
    argument_vector(run, self, arguments, true);
    if (value_is_nil(arguments[0]))
        return value_nil();
    size_t total = vector_count(arguments[0]);
    if (value_is_queue(arguments[0]))
        return vector_as_queue(vector_slice(run->region, arguments[0], total > 0, total));
    if (total == 0)
        builtin_fail(run, self, RUNTIME_ERROR, "the vector is empty");
    if (value_is_seq(arguments[0]))
        return vector_as_seq(vector_slice(run->region, arguments[0], 1, total));
    return vector_slice(run->region, arguments[0], 0, total - 1);
}
