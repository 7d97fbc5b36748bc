#include "program/builtin/transducer.h"

#include "program/builtin/builtins.h"
#include "program/builtin/support.h"
#include "program/eval/cell.h"
#include "program/eval/generator.h"

// Parts of a transducer, and of the step function that it makes of another one.
enum { KIND, ARGUMENT, STEP, STATE, PARTS };

static const struct builtin self_of_transducers = {.name = "transduce"};

// --- reduced -------------------------------------------------------------------------------------

value reduced_new(struct run *run, value content)
{
    return cell_new(run, CELL_REDUCED, content);
}

bool value_is_reduced(value v)
{
    const struct cell *cell = v.tag == VALUE_FUNCTION ? value_cell(v) : NULL;
    return cell && cell->kind == CELL_REDUCED;
}

value unreduced(struct run *run, value v)
{
    if (!value_is_reduced(v))
        return v;
    value content = value_retain(value_cell(v)->content);
    value_release(run->region, v);
    return content;
}

static value ensure_reduced(struct run *run, value v)
{
    return value_is_reduced(v) ? v : reduced_new(run, v);
}

// --- steps ---------------------------------------------------------------------------------------

static value next_step(struct run *run, const value *parts, value result, value item)
{
    return run_call2(run, parts[STEP], result, item);
}

static value skip(struct run *run, value result, value item)
{
    value_release(run->region, item);
    return result;
}

static value *state_of(const value *parts)
{
    return &value_cell(parts[STATE])->content;
}

static value step_indexed(struct run *run, const value *parts, value result, value item,
                          bool skips_nil)
{
    int64_t index = state_of(parts)->integer++;
    value answer = run_call2(run, parts[ARGUMENT], value_integer(index), item);
    if (skips_nil && value_is_nil(answer))
        return result;
    return next_step(run, parts, result, answer);
}

// The items of a collection, up to the end or a reduced result.
static value step_cat(struct run *run, const value *parts, value result, value collection)
{
    struct sequence items;
    value item;
    sequence_start(run, &self_of_transducers, 1, &items, collection);
    while (!value_is_reduced(result) && sequence_next(&items, &item))
        result = next_step(run, parts, result, item);
    sequence_end(&items);
    return result;
}

static value step_take(struct run *run, const value *parts, value result, value item)
{
    int64_t left = state_of(parts)->integer--;
    result = left > 0 ? next_step(run, parts, result, item) : skip(run, result, item);
    return left <= 1 ? ensure_reduced(run, result) : result;
}

static value step_drop_while(struct run *run, const value *parts, value result, value item)
{
    value *is_over = state_of(parts);
    if (!value_is_true(*is_over) && run_test(run, parts[ARGUMENT], item))
        return skip(run, result, item);
    *is_over = value_boolean(true);
    return next_step(run, parts, result, item);
}

static value step_distinct(struct run *run, const value *parts, value result, value item)
{
    if (set_has(*state_of(parts), item))
        return skip(run, result, item);
    struct cell *cell = value_cell(parts[STATE]);
    value set = cell_exchange(cell, set_new(run->region));
    value_release(run->region, cell_exchange(cell, set_add(run->region, set, value_retain(item))));
    return next_step(run, parts, result, item);
}

// The state is a vector of the previous item, empty before the first.
static value step_dedupe(struct run *run, const value *parts, value result, value item)
{
    value *state = state_of(parts);
    if (vector_count(*state) > 0 && value_identical(vector_at(*state, 0), item))
        return skip(run, result, item);
    value_retain(item);
    value old = cell_exchange(value_cell(parts[STATE]), vector_from(run->region, &item, 1));
    value_release(run->region, old);
    return next_step(run, parts, result, item);
}

static value step_interpose(struct run *run, const value *parts, value result, value item)
{
    value *is_started = state_of(parts);
    if (value_is_true(*is_started))
        result = next_step(run, parts, result, value_retain(parts[ARGUMENT]));
    *is_started = value_boolean(true);
    return value_is_reduced(result) ? skip(run, result, item) : next_step(run, parts, result, item);
}

static value take_group(struct run *run, const value *parts)
{
    return cell_exchange(value_cell(parts[STATE]), vector_new(run->region, 0));
}

static void add_to_group(struct run *run, const value *parts, value item)
{
    value group = take_group(run, parts);
    cell_exchange(value_cell(parts[STATE]), vector_push(run->region, group, item));
}

static value step_partition(struct run *run, const value *parts, value result, value item)
{
    add_to_group(run, parts, item);
    if (vector_count(*state_of(parts)) < (uint64_t)parts[ARGUMENT].integer)
        return result;
    return next_step(run, parts, result, vector_as_seq(take_group(run, parts)));
}

// The first element of the group is the key of the others.
static value step_partition_by(struct run *run, const value *parts, value result, value item)
{
    value key = run_call_on(run, parts[ARGUMENT], item), group = *state_of(parts);
    if (vector_count(group) == 0 || value_identical(vector_at(group, 0), key)) {
        if (vector_count(group) == 0)
            add_to_group(run, parts, key);
        else
            value_release(run->region, key);
        add_to_group(run, parts, item);
        return result;
    }
    group = take_group(run, parts);
    group = vector_slice(run->region, group, 1, vector_count(group));
    result = next_step(run, parts, result, vector_as_seq(group));
    if (value_is_reduced(result)) {
        value_release(run->region, key);
        return skip(run, result, item);
    }
    add_to_group(run, parts, key);
    add_to_group(run, parts, item);
    return result;
}

static value step_test(struct run *run, const value *parts, value result, value item, bool wanted)
{
    return run_test(run, parts[ARGUMENT], item) == wanted ? next_step(run, parts, result, item)
                                                          : skip(run, result, item);
}

static value step(struct run *run, const value *parts, value result, value item)
{
    value answer;
    switch ((enum transducer_kind)parts[KIND].integer) {
    case TRANSDUCER_MAP:
        return next_step(run, parts, result, run_call1(run, parts[ARGUMENT], item));
    case TRANSDUCER_FILTER: return step_test(run, parts, result, item, true);
    case TRANSDUCER_REMOVE: return step_test(run, parts, result, item, false);
    case TRANSDUCER_KEEP:
        answer = run_call1(run, parts[ARGUMENT], item);
        return value_is_nil(answer) ? result : next_step(run, parts, result, answer);
    case TRANSDUCER_MAP_INDEXED: return step_indexed(run, parts, result, item, false);
    case TRANSDUCER_KEEP_INDEXED: return step_indexed(run, parts, result, item, true);
    case TRANSDUCER_MAPCAT:
        return step_cat(run, parts, result, run_call1(run, parts[ARGUMENT], item));
    case TRANSDUCER_CAT: return step_cat(run, parts, result, item);
    case TRANSDUCER_TAKE: return step_take(run, parts, result, item);
    case TRANSDUCER_TAKE_WHILE:
        if (run_test(run, parts[ARGUMENT], item))
            return next_step(run, parts, result, item);
        return ensure_reduced(run, skip(run, result, item));
    case TRANSDUCER_DROP:
        if (state_of(parts)->integer-- > 0)
            return skip(run, result, item);
        return next_step(run, parts, result, item);
    case TRANSDUCER_DROP_WHILE: return step_drop_while(run, parts, result, item);
    case TRANSDUCER_TAKE_NTH:
        if (state_of(parts)->integer++ % parts[ARGUMENT].integer)
            return skip(run, result, item);
        return next_step(run, parts, result, item);
    case TRANSDUCER_DEDUPE: return step_dedupe(run, parts, result, item);
    case TRANSDUCER_DISTINCT: return step_distinct(run, parts, result, item);
    case TRANSDUCER_INTERPOSE: return step_interpose(run, parts, result, item);
    case TRANSDUCER_PARTITION_ALL:
    case TRANSDUCER_PARTITION: return step_partition(run, parts, result, item);
    case TRANSDUCER_PARTITION_BY: return step_partition_by(run, parts, result, item);
    }
    __builtin_unreachable();
}

// What is left at the end goes on first.
static value complete(struct run *run, const value *parts, value result)
{
    enum transducer_kind kind = (enum transducer_kind)parts[KIND].integer;
    bool is_group = kind == TRANSDUCER_PARTITION_ALL || kind == TRANSDUCER_PARTITION_BY;
    if (is_group && vector_count(*state_of(parts)) > 0) {
        value group = take_group(run, parts);
        if (kind == TRANSDUCER_PARTITION_BY)
            group = vector_slice(run->region, group, 1, vector_count(group));
        result = unreduced(run, next_step(run, parts, result, vector_as_seq(group)));
    }
    return run_call1(run, parts[STEP], result);
}

static value call_step(struct run *run, const value *parts, size_t part_count, value *arguments,
                       size_t count)
{
    (void)part_count;
    if (count == 0)
        return run_call(run, parts[STEP], NULL, 0);
    if (count == 1)
        return complete(run, parts, arguments[0]);
    return step(run, parts, arguments[0], arguments[1]);
}

static const struct composed_type step_type = {
    .name = "transducer", .call = call_step, .least = 0, .highest = 2};

// --- transducers ---------------------------------------------------------------------------------

static value first_state(struct run *run, const value *parts)
{
    switch ((enum transducer_kind)parts[KIND].integer) {
    case TRANSDUCER_TAKE:
    case TRANSDUCER_DROP: return parts[ARGUMENT];
    case TRANSDUCER_MAP_INDEXED:
    case TRANSDUCER_KEEP_INDEXED:
    case TRANSDUCER_TAKE_NTH: return value_integer(0);
    case TRANSDUCER_DISTINCT: return set_new(run->region);
    case TRANSDUCER_DEDUPE:
    case TRANSDUCER_PARTITION:
    case TRANSDUCER_PARTITION_ALL:
    case TRANSDUCER_PARTITION_BY: return vector_new(run->region, 0);
    default: return value_nil();
    }
}

static value call_transducer(struct run *run, const value *parts, size_t part_count,
                             value *arguments, size_t count)
{
    (void)part_count;
    (void)count;
    value made[PARTS] = {parts[KIND], value_retain(parts[ARGUMENT]), arguments[0],
                         cell_new(run, CELL_VOLATILE, first_state(run, parts))};
    return function_compose(run, &step_type, made, PARTS);
}

static const struct composed_type transducer_type = {
    .name = "transducer", .call = call_transducer, .least = 1, .highest = 1};

value transducer_new(struct run *run, enum transducer_kind kind, value argument)
{
    value parts[] = {value_integer(kind), argument};
    return function_compose(run, &transducer_type, parts, 2);
}

bool transducer_ends(value transducer)
{
    const value *parts = function_parts(transducer, &transducer_type);
    return !parts || parts[KIND].integer == TRANSDUCER_TAKE ||
           parts[KIND].integer == TRANSDUCER_TAKE_WHILE;
}

bool transducer_answer(struct run *run, enum transducer_kind kind, value *arguments, size_t count,
                       size_t last, value *ret_result)
{
    value argument = last > 0 && count > 0 ? arguments[0] : value_nil();
    if (count > last + 1 || (count == last + 1 && !value_is_generator(arguments[last])))
        return false;
    bool is_function = kind != TRANSDUCER_TAKE && kind != TRANSDUCER_DROP &&
                       kind != TRANSDUCER_TAKE_NTH && kind != TRANSDUCER_PARTITION &&
                       kind != TRANSDUCER_PARTITION_ALL && kind != TRANSDUCER_INTERPOSE &&
                       kind != TRANSDUCER_DEDUPE && kind != TRANSDUCER_DISTINCT;
    if (is_function)
        run_check_callable(run, &self_of_transducers, 1, argument);
    else if (kind != TRANSDUCER_INTERPOSE && last > 0)
        argument = value_integer(argument_integer(run, &self_of_transducers, arguments, 0));
    if ((kind == TRANSDUCER_TAKE_NTH || kind == TRANSDUCER_PARTITION ||
         kind == TRANSDUCER_PARTITION_ALL) &&
        argument.integer < 1)
        run_type_error(run, &self_of_transducers, 1, "a positive integer", argument, NULL);
    value transducer = transducer_new(run, kind, argument);
    *ret_result = count == last
                      ? transducer
                      : generator_new(run, GENERATOR_TRANSFORM, transducer, arguments[last]);
    return true;
}

// --- ends of a pipeline --------------------------------------------------------------------------

static value call_push(struct run *run, const value *parts, size_t part_count, value *arguments,
                       size_t count)
{
    (void)part_count;
    if (count < 2)
        return count == 1 ? arguments[0] : value_nil();
    struct cell *cell = value_cell(parts[0]);
    value items = cell_exchange(cell, vector_new(run->region, 0));
    cell_exchange(cell, vector_push(run->region, items, arguments[1]));
    return arguments[0];
}

value transducer_into(struct run *run, value transducer, value cell)
{
    static const struct composed_type push_type = {
        .name = "sequence", .call = call_push, .least = 0, .highest = 2};
    value end = function_compose(run, &push_type, &cell, 1);
    return run_call1(run, transducer, end);
}

// The items of a collection through a step function; consumes all but f.
static value reduce_with(struct run *run, const struct builtin *self, unsigned place, value f,
                         value result, value collection)
{
    struct sequence items;
    value item;
    sequence_start(run, self, place, &items, collection);
    while (!value_is_reduced(result) && sequence_next(&items, &item))
        result = run_call2(run, f, result, item);
    sequence_end(&items);
    return run_call1(run, f, unreduced(run, result));
}

// (transduce xform f init? coll)
value builtin_transduce(struct run *run, const struct builtin *self, value *arguments, size_t count)
{
    run_check_callable(run, self, 1, arguments[0]);
    run_check_callable(run, self, 2, arguments[1]);
    value init = count == 4 ? arguments[2] : run_call(run, arguments[1], NULL, 0);
    value f = run_call1(run, arguments[0], arguments[1]);
    value result = reduce_with(run, self, (unsigned)count, f, init, arguments[count - 1]);
    value_release(run->region, f);
    value_release(run->region, arguments[0]);
    return result;
}

// All that the transducer gives, as a vector; consumes both.
value transduce_vector(struct run *run, const struct builtin *self, value transducer,
                       value collection)
{
    run_check_callable(run, self, 1, transducer);
    value cell = cell_new(run, CELL_VOLATILE, vector_new(run->region, 0));
    value f = transducer_into(run, transducer, value_retain(cell));
    value_release(run->region, reduce_with(run, self, 2, f, value_nil(), collection));
    value items = cell_exchange(value_cell(cell), value_nil());
    value_release(run->region, cell);
    value_release(run->region, f);
    value_release(run->region, transducer);
    return items;
}

// (sequence coll), (sequence xform coll), (eduction xform… coll)
value builtin_sequence(struct run *run, const struct builtin *self, value *arguments, size_t count)
{
    value source = arguments[count - 1];
    if (count == 1)
        return value_is_generator(source) ? source
                                          : vector_as_seq(sequence_vector(run, self, 1, source));
    for (size_t i = 0; i + 1 < count; i++) {
        if (value_is_generator(source) && generator_is_endless(source))
            source = generator_new(run, GENERATOR_TRANSFORM, arguments[i], source);
        else
            source = vector_as_seq(transduce_vector(run, self, arguments[i], source));
    }
    return source;
}

static value call_completing(struct run *run, const value *parts, size_t part_count,
                             value *arguments, size_t count)
{
    if (count == 1)
        return part_count == 2 ? run_call1(run, parts[1], arguments[0]) : arguments[0];
    return run_call(run, parts[0], arguments, count);
}

value builtin_completing(struct run *run, const struct builtin *self, value *arguments,
                         size_t count)
{
    static const struct composed_type type = {
        .name = "completing", .call = call_completing, .least = 0, .highest = 2};
    run_check_callable(run, self, 1, arguments[0]);
    return function_compose(run, &type, arguments, count);
}

value builtin_cat(struct run *run, const struct builtin *self, value *arguments, size_t count)
{
    (void)count;
    run_check_callable(run, self, 1, arguments[0]);
    value parts[] = {value_integer(TRANSDUCER_CAT), value_nil()};
    return call_transducer(run, parts, 2, arguments, 1);
}

value builtin_reduced(struct run *run, const struct builtin *self, value *arguments, size_t count)
{
    (void)self;
    (void)count;
    return reduced_new(run, arguments[0]);
}

value builtin_is_reduced(struct run *run, const struct builtin *self, value *arguments,
                         size_t count)
{
    (void)run;
    (void)self;
    (void)count;
    return value_boolean(value_is_reduced(arguments[0]));
}

value builtin_unreduced(struct run *run, const struct builtin *self, value *arguments, size_t count)
{
    (void)self;
    (void)count;
    return unreduced(run, arguments[0]);
}

value builtin_ensure_reduced(struct run *run, const struct builtin *self, value *arguments,
                             size_t count)
{
    (void)self;
    (void)count;
    return ensure_reduced(run, arguments[0]);
}
