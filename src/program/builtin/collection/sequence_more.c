// Sequences: reductions, take-nth, list*, parts of sorted collections, and what only walks
// (docs/reference/language.md 8.4).
#include "program/builtin/builtins.h"
#include "program/builtin/support.h"
#include "program/builtin/transducer.h"
#include "program/eval/generator.h"
#include "program/run/comparator.h"

value builtin_reductions(struct run *run, const struct builtin *self, value *arguments,
                         size_t count)
{
    value f = arguments[0], item;
    run_check_callable(run, self, 1, f);
    value source = arguments[count - 1];
    if (value_is_generator(source) && generator_is_endless(source)) {
        value given[] = {source, arguments[1]};
        return generator_new(run, GENERATOR_REDUCTIONS, f,
                             vector_from(run->region, given, count - 1));
    }
    struct sequence items;
    sequence_start(run, self, (unsigned)count, &items, source);
    value result = vector_new(run->region, 0), last;
    if (count == 3)
        last = arguments[1];
    else if (!sequence_step(&items, &last))
        last = run_call(run, f, NULL, 0);
    vector_add(run, &result, value_retain(last));
    bool ended = false;
    while (!ended && sequence_step(&items, &item)) {
        last = run_call2(run, f, last, item);
        ended = value_is_reduced(last);
        last = unreduced(run, last);
        vector_add(run, &result, value_retain(last));
    }
    value_release(run->region, last);
    value_release(run->region, f);
    sequence_end(&items);
    return vector_as_seq(result);
}

value builtin_take_nth(struct run *run, const struct builtin *self, value *arguments, size_t count)
{
    value answer;
    if (transducer_answer(run, TRANSDUCER_TAKE_NTH, arguments, count, 1, &answer))
        return answer;
    int64_t step = argument_integer(run, self, arguments, 0);
    if (step <= 0)
        builtin_fail(run, self, RUNTIME_ERROR, "the step must be positive, got %lld",
                     (long long)step);
    struct sequence items;
    value item, result = vector_new(run->region, 0);
    sequence_start(run, self, 2, &items, arguments[1]);
    for (int64_t i = 0; sequence_step(&items, &item); i++) {
        if (i % step == 0)
            vector_add(run, &result, item);
        else
            value_release(run->region, item);
    }
    sequence_end(&items);
    return vector_as_seq(result);
}

value builtin_run_each(struct run *run, const struct builtin *self, value *arguments, size_t count)
{
    (void)count;
    struct sequence items;
    value item;
    run_check_callable(run, self, 1, arguments[0]);
    sequence_start(run, self, 2, &items, arguments[1]);
    while (sequence_step(&items, &item))
        value_release(run->region, run_call1(run, arguments[0], item));
    sequence_end(&items);
    value_release(run->region, arguments[0]);
    return value_nil();
}

// Sequences are made already: (doall coll) is the collection, (doall n coll) too.
value builtin_do_all(struct run *run, const struct builtin *self, value *arguments, size_t count)
{
    argument_seqable(run, self, arguments, (unsigned)count - 1);
    if (count == 2)
        value_release(run->region, arguments[0]);
    return arguments[count - 1];
}

value builtin_do_run(struct run *run, const struct builtin *self, value *arguments, size_t count)
{
    value_release(run->region, builtin_do_all(run, self, arguments, count));
    return value_nil();
}

value builtin_reversed_sequence(struct run *run, const struct builtin *self, value *arguments,
                                size_t count)
{
    if (!value_is_seqable(arguments[0]) || sequence_count(run, arguments[0]) > 0)
        return builtin_reverse(run, self, arguments, count);
    value_release(run->region, arguments[0]);
    return value_nil();
}

value builtin_list_star(struct run *run, const struct builtin *self, value *arguments, size_t count)
{
    value rest = sequence_vector(run, self, (unsigned)count, arguments[count - 1]);
    value result = vector_new(run->region, count - 1 + vector_count(rest));
    for (size_t i = 0; i + 1 < count; i++)
        vector_add(run, &result, arguments[i]);
    for (size_t i = 0; i < vector_count(rest); i++) {
        run_spend(run, 1);
        vector_add(run, &result, value_retain(vector_at(rest, i)));
    }
    value_release(run->region, rest);
    return vector_as_seq(result);
}

// --- sorted collections and queues ---------------------------------------------------------------

static uint16_t argument_order(struct run *run, const struct builtin *self, value f)
{
    run_check_callable(run, self, 1, f);
    uint16_t order = comparator_number(run, f);
    if (!order)
        builtin_fail(run, self, RUNTIME_ERROR, "a run has at most %d orders of its own",
                     COMPARATORS_MAX);
    value_release(run->region, f);
    return order;
}

value builtin_sorted_map_by(struct run *run, const struct builtin *self, value *arguments,
                            size_t count)
{
    uint16_t order = argument_order(run, self, arguments[0]);
    value map = builtin_hash_map(run, self, arguments + 1, count - 1);
    map.small = order;
    return map;
}

value builtin_sorted_set_by(struct run *run, const struct builtin *self, value *arguments,
                            size_t count)
{
    uint16_t order = argument_order(run, self, arguments[0]);
    value set = builtin_hash_set(run, self, arguments + 1, count - 1);
    set.small = order;
    return set;
}

value builtin_sorted_map(struct run *run, const struct builtin *self, value *arguments,
                         size_t count)
{
    value map = builtin_hash_map(run, self, arguments, count);
    map.small = COMPARATOR_NATURAL;
    return map;
}

value builtin_sorted_set(struct run *run, const struct builtin *self, value *arguments,
                         size_t count)
{
    value set = builtin_hash_set(run, self, arguments, count);
    set.small = COMPARATOR_NATURAL;
    return set;
}

value builtin_empty_queue(struct run *run, const struct builtin *self, value *arguments,
                          size_t count)
{
    (void)self;
    (void)arguments;
    (void)count;
    return vector_as_queue(vector_new(run->region, 0));
}

// --- parts of sorted collections -----------------------------------------------------------------

// Is (test item key) true, as in (subseq sorted > key)?
static bool is_within(struct run *run, value test, value item, value key)
{
    value order = value_integer(value_compare_keys(item, key));
    value answer = run_call2(run, test, order, value_integer(0));
    bool yes = value_is_true(answer);
    value_release(run->region, answer);
    return yes;
}

// (subseq sorted test key) and (subseq sorted test1 key1 test2 key2), in key order.
static value part_of_sorted(struct run *run, const struct builtin *self, const value *arguments,
                            size_t count)
{
    value sorted = arguments[0], item;
    if (count == 4)
        run_arity_error(run, self, count);
    if (sorted.tag != VALUE_MAP && sorted.tag != VALUE_SET)
        run_type_error(run, self, 1, "a sorted map or set", sorted, NULL);
    for (unsigned i = 1; i < count; i += 2)
        run_check_callable(run, self, i + 1, arguments[i]);
    struct sequence items;
    value result = vector_new(run->region, 0);
    sequence_borrow(run, self, 1, &items, sorted);
    while (sequence_step(&items, &item)) {
        value key = sorted.tag == VALUE_MAP ? vector_at(item, 0) : item;
        bool within = is_within(run, arguments[1], key, arguments[2]) &&
                      (count == 3 || is_within(run, arguments[3], key, arguments[4]));
        if (within)
            vector_add(run, &result, item);
        else
            value_release(run->region, item);
    }
    sequence_end(&items);
    return result;
}

static value nil_when_empty(struct run *run, value vector)
{
    if (vector_count(vector) > 0)
        return vector_as_seq(vector);
    value_release(run->region, vector);
    return value_nil();
}

value builtin_part_of_sorted(struct run *run, const struct builtin *self, value *arguments,
                             size_t count)
{
    return nil_when_empty(run, part_of_sorted(run, self, arguments, count));
}

value builtin_reversed_part_of_sorted(struct run *run, const struct builtin *self, value *arguments,
                                      size_t count)
{
    value part[1] = {part_of_sorted(run, self, arguments, count)};
    return nil_when_empty(run, builtin_reverse(run, self, part, 1));
}
