// Sequences: a function over every item (docs/reference/language.md 8.4).
#include "program/builtin/builtins.h"
#include "program/builtin/support.h"
#include "program/builtin/transducer.h"
#include "program/eval/generator.h"

// --- filter, remove ------------------------------------------------------------------------------

// Moves the wanted items of an unshared vector to its front.
static value filter_in_place(struct caller *caller, value vector, value *items, bool wanted)
{
    struct run *run = caller->run;
    size_t kept = 0, count = vector_count(vector);
    run_spend(run, count);
    for (size_t i = 0; i < count; i++) {
        if (caller_test(caller, items[i]) == wanted)
            items[kept++] = items[i];
        else
            value_release(run->region, items[i]);
    }
    return vector_own_cut(vector, kept);
}

static value filter_items(struct run *run, const struct builtin *self, value *arguments,
                          bool wanted)
{
    value f = arguments[0], source = arguments[1], item;
    run_check_callable(run, self, 1, f);
    struct caller caller;
    caller_start(&caller, run, f, 1);
    value *own = source.tag == VALUE_VECTOR ? vector_own_items(source) : NULL;
    if (own) {
        value result = filter_in_place(&caller, source, own, wanted);
        value_release(run->region, f);
        return result;
    }
    struct sequence items;
    sequence_start(run, self, 2, &items, source);
    value result = vector_new(run->region, 0);
    while (sequence_step(&items, &item)) {
        if (caller_test(&caller, item) == wanted)
            vector_add(run, &result, item);
        else
            value_release(run->region, item);
    }
    sequence_end(&items);
    value_release(run->region, f);
    return result;
}

value builtin_filter(struct run *run, const struct builtin *self, value *arguments, size_t count)
{
    value answer;
    if (transducer_answer(run, TRANSDUCER_FILTER, arguments, count, 1, &answer))
        return answer;
    return vector_as_seq(filter_items(run, self, arguments, true));
}

value builtin_filterv(struct run *run, const struct builtin *self, value *arguments, size_t count)
{
    (void)count;
    return vector_as_vector(filter_items(run, self, arguments, true));
}

value builtin_remove(struct run *run, const struct builtin *self, value *arguments, size_t count)
{
    value answer;
    if (transducer_answer(run, TRANSDUCER_REMOVE, arguments, count, 1, &answer))
        return answer;
    return vector_as_seq(filter_items(run, self, arguments, false));
}

// --- map -----------------------------------------------------------------------------------------

static value map_one(struct run *run, const struct builtin *self, value f, value source)
{
    value *own = source.tag == VALUE_VECTOR ? vector_own_items(source) : NULL;
    struct caller caller;
    caller_start(&caller, run, f, 1);
    if (own) {
        // Each item is handed over, so that f can change it in place too.
        size_t count = vector_count(source);
        run_spend(run, count);
        for (size_t i = 0; i < count; i++) {
            value item = own[i];
            own[i] = value_nil();
            own[i] = caller_call1(&caller, item);
        }
        return source;
    }
    struct sequence items;
    value item;
    sequence_start(run, self, 2, &items, source);
    value result = vector_new(run->region, items.count == SIZE_MAX ? 0 : items.count);
    while (sequence_step(&items, &item))
        vector_add(run, &result, caller_call1(&caller, item));
    sequence_end(&items);
    return result;
}

// Several collections that are walked together, to the end of the shortest.
struct rows {
    struct run *run;
    size_t width;
    struct sequence *items;
    value *row;
};

static struct rows rows_start(struct run *run, const struct builtin *self, value *sources,
                              size_t width)
{
    struct rows rows = {
        .run = run,
        .width = width,
        .items = region_alloc(run->region, width * sizeof(struct sequence)),
        .row = region_alloc(run->region, width * sizeof(value)),
    };
    for (size_t i = 0; i < width; i++)
        sequence_start(run, self, (unsigned)i + 2, &rows.items[i], sources[i]);
    return rows;
}

static bool rows_next(struct rows *rows)
{
    size_t filled = 0;
    while (filled < rows->width && sequence_step(&rows->items[filled], &rows->row[filled]))
        filled++;
    if (filled == rows->width)
        return true;
    values_release(rows->run, rows->row, filled);
    return false;
}

static void rows_end(struct rows *rows)
{
    for (size_t i = 0; i < rows->width; i++)
        sequence_end(&rows->items[i]);
    region_return(rows->run->region, rows->items, rows->width * sizeof(struct sequence));
    region_return(rows->run->region, rows->row, rows->width * sizeof(value));
}

static value map_several(struct run *run, const struct builtin *self, value f, value *sources,
                         size_t source_count)
{
    struct rows rows = rows_start(run, self, sources, source_count);
    value result = vector_new(run->region, 0);
    while (rows_next(&rows))
        vector_add(run, &result, run_call(run, f, rows.row, source_count));
    rows_end(&rows);
    return result;
}

static value map_all(struct run *run, const struct builtin *self, value *arguments, size_t count)
{
    value f = arguments[0];
    run_check_callable(run, self, 1, f);
    value result = count == 2 ? map_one(run, self, f, arguments[1])
                              : map_several(run, self, f, arguments + 1, count - 1);
    value_release(run->region, f);
    return result;
}

// Several collections, one of them a generator. The result is one too when all are: none of them is known to end.
static bool map_lazily(struct run *run, const struct builtin *self, value *arguments, size_t count,
                       value *ret_result)
{
    size_t generators = 0;
    for (size_t i = 1; i < count; i++)
        generators += value_is_generator(arguments[i]);
    if (generators == 0 || count == 2)
        return false;
    run_check_callable(run, self, 1, arguments[0]);
    value sources = vector_from(run->region, arguments + 1, count - 1);
    value made = generator_new(run, GENERATOR_MAP, arguments[0], sources);
    *ret_result =
        generators == count - 1 ? made : vector_as_seq(sequence_vector(run, self, 2, made));
    return true;
}

value builtin_map(struct run *run, const struct builtin *self, value *arguments, size_t count)
{
    value answer;
    if (transducer_answer(run, TRANSDUCER_MAP, arguments, count, 1, &answer) ||
        map_lazily(run, self, arguments, count, &answer))
        return answer;
    return vector_as_seq(map_all(run, self, arguments, count));
}

value builtin_mapv(struct run *run, const struct builtin *self, value *arguments, size_t count)
{
    return vector_as_vector(map_all(run, self, arguments, count));
}

// One result of mapcat: a collection is spliced; what a keyword finds may be a single item.
static void splice(struct run *run, const struct builtin *self, value f, value *result, value part)
{
    bool is_single = part.tag == VALUE_STRING && f.tag == VALUE_KEYWORD;
    if (is_single || !value_is_seqable(part)) {
        if (f.tag != VALUE_KEYWORD)
            builtin_fail(run, self, TYPE_ERROR, "the function must return a collection, got %s",
                         value_describe(part, (char[DESCRIBE_SIZE]){0}));
        vector_add(run, result, part);
        return;
    }
    struct sequence items;
    value item;
    sequence_start(run, self, 2, &items, part);
    while (sequence_step(&items, &item))
        vector_add(run, result, item);
    sequence_end(&items);
}

value builtin_mapcat(struct run *run, const struct builtin *self, value *arguments, size_t count)
{
    value answer;
    if (transducer_answer(run, TRANSDUCER_MAPCAT, arguments, count, 1, &answer))
        return answer;
    value f = arguments[0], item;
    run_check_callable(run, self, 1, f);
    value result = vector_new(run->region, 0);
    if (count == 2) {
        struct sequence items;
        sequence_start(run, self, 2, &items, arguments[1]);
        while (sequence_step(&items, &item))
            splice(run, self, f, &result, run_call1(run, f, item));
        sequence_end(&items);
    } else {
        struct rows rows = rows_start(run, self, arguments + 1, count - 1);
        while (rows_next(&rows))
            splice(run, self, f, &result, run_call(run, f, rows.row, count - 1));
        rows_end(&rows);
    }
    value_release(run->region, f);
    return vector_as_seq(result);
}

static value map_with_index(struct run *run, const struct builtin *self, value *arguments,
                            bool skip_nil)
{
    value f = arguments[0], item;
    run_check_callable(run, self, 1, f);
    struct sequence items;
    sequence_start(run, self, 2, &items, arguments[1]);
    value result = vector_new(run->region, 0);
    struct caller caller;
    caller_start(&caller, run, f, 2);
    for (int64_t index = 0; sequence_step(&items, &item); index++) {
        value answer = caller_call2(&caller, value_integer(index), item);
        if (!skip_nil || !value_is_nil(answer))
            vector_add(run, &result, answer);
    }
    sequence_end(&items);
    value_release(run->region, f);
    return vector_as_seq(result);
}

value builtin_map_indexed(struct run *run, const struct builtin *self, value *arguments,
                          size_t count)
{
    value answer;
    if (transducer_answer(run, TRANSDUCER_MAP_INDEXED, arguments, count, 1, &answer))
        return answer;
    return map_with_index(run, self, arguments, false);
}

value builtin_keep_indexed(struct run *run, const struct builtin *self, value *arguments,
                           size_t count)
{
    value answer;
    if (transducer_answer(run, TRANSDUCER_KEEP_INDEXED, arguments, count, 1, &answer))
        return answer;
    return map_with_index(run, self, arguments, true);
}

value builtin_keep(struct run *run, const struct builtin *self, value *arguments, size_t count)
{
    value answer;
    if (transducer_answer(run, TRANSDUCER_KEEP, arguments, count, 1, &answer))
        return answer;
    value f = arguments[0], item;
    run_check_callable(run, self, 1, f);
    struct sequence items;
    sequence_start(run, self, 2, &items, arguments[1]);
    value result = vector_new(run->region, 0);
    while (sequence_step(&items, &item)) {
        answer = run_call1(run, f, item);
        if (!value_is_nil(answer))
            vector_add(run, &result, answer);
    }
    sequence_end(&items);
    value_release(run->region, f);
    return vector_as_seq(result);
}

// --- reduce --------------------------------------------------------------------------------------

static value reduce_nothing(struct run *run, value f)
{
    const struct builtin *builtin = function_builtin(f);
    if (builtin && (builtin->flags & BUILTIN_ZERO))
        return run_call(run, f, NULL, 0);
    return value_nil();
}

value builtin_reduce(struct run *run, const struct builtin *self, value *arguments, size_t count)
{
    value f = arguments[0], accumulator, item;
    run_check_callable(run, self, 1, f);
    struct sequence items;
    sequence_start(run, self, (unsigned)count, &items, arguments[count - 1]);
    if (count == 3)
        accumulator = arguments[1];
    else if (!sequence_step(&items, &accumulator))
        accumulator = reduce_nothing(run, f);
    struct caller caller;
    caller_start(&caller, run, f, 2);
    while (sequence_step(&items, &item)) {
        accumulator = caller_call2(&caller, accumulator, item);
        if (__builtin_expect(accumulator.tag == VALUE_FUNCTION, 0) && value_is_reduced(accumulator))
            break;
    }
    accumulator = unreduced(run, accumulator);
    sequence_end(&items);
    value_release(run->region, f);
    return accumulator;
}

// --- tests ---------------------------------------------------------------------------------------

value builtin_some(struct run *run, const struct builtin *self, value *arguments, size_t count)
{
    (void)count;
    value f = arguments[0], item, answer = value_nil();
    run_check_callable(run, self, 1, f);
    struct sequence items;
    sequence_start(run, self, 2, &items, arguments[1]);
    while (sequence_step(&items, &item)) {
        answer = run_call1(run, f, item);
        if (value_is_true(answer))
            break;
        answer = value_nil();
    }
    sequence_end(&items);
    value_release(run->region, f);
    return answer;
}

// Is there an item on which f's truth is `truth`?
static bool any_item(struct run *run, const struct builtin *self, value *arguments, bool truth)
{
    value f = arguments[0], item;
    run_check_callable(run, self, 1, f);
    struct sequence items;
    sequence_start(run, self, 2, &items, arguments[1]);
    bool found = false;
    while (!found && sequence_step(&items, &item)) {
        found = run_test(run, f, item) == truth;
        value_release(run->region, item);
    }
    sequence_end(&items);
    value_release(run->region, f);
    return found;
}

value builtin_every(struct run *run, const struct builtin *self, value *arguments, size_t count)
{
    (void)count;
    return value_boolean(!any_item(run, self, arguments, false));
}

value builtin_not_any(struct run *run, const struct builtin *self, value *arguments, size_t count)
{
    (void)count;
    return value_boolean(!any_item(run, self, arguments, true));
}

value builtin_not_every(struct run *run, const struct builtin *self, value *arguments, size_t count)
{
    (void)count;
    return value_boolean(any_item(run, self, arguments, false));
}

// --- prefixes ------------------------------------------------------------------------------------

// All items as a vector; *ret_length gets the length of the prefix on which f is true.
static value measure_prefix(struct run *run, const struct builtin *self, value *arguments,
                            size_t *ret_length)
{
    value f = arguments[0];
    run_check_callable(run, self, 1, f);
    value items = sequence_vector(run, self, 2, arguments[1]);
    size_t length = 0;
    while (length < vector_count(items) && run_test(run, f, vector_at(items, length))) {
        run_spend(run, 1);
        length++;
    }
    value_release(run->region, f);
    *ret_length = length;
    return items;
}

value builtin_take_while(struct run *run, const struct builtin *self, value *arguments,
                         size_t count)
{
    value answer;
    if (transducer_answer(run, TRANSDUCER_TAKE_WHILE, arguments, count, 1, &answer))
        return answer;
    size_t length;
    value items = measure_prefix(run, self, arguments, &length);
    return vector_as_seq(vector_slice(run->region, items, 0, length));
}

value builtin_drop_while(struct run *run, const struct builtin *self, value *arguments,
                         size_t count)
{
    value answer;
    if (transducer_answer(run, TRANSDUCER_DROP_WHILE, arguments, count, 1, &answer))
        return answer;
    size_t length;
    value items = measure_prefix(run, self, arguments, &length);
    return vector_as_seq(vector_slice(run->region, items, length, vector_count(items)));
}

value builtin_split_with(struct run *run, const struct builtin *self, value *arguments,
                         size_t count)
{
    (void)count;
    size_t length;
    value items = measure_prefix(run, self, arguments, &length);
    size_t total = vector_count(items);
    value left = vector_as_seq(vector_slice(run->region, value_retain(items), 0, length));
    value right = vector_as_seq(vector_slice(run->region, items, length, total));
    return vector_pair(run, left, right);
}
