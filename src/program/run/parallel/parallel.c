#include "program/run/parallel/parallel.h"

#include "program/builtin/builtins.h"
#include "program/builtin/support.h"
#include "program/eval/eval.h"
#include "program/run/parallel/isolation.h"
#include "program/run/parallel/scheduler.h"
#include "value/collection/key_lookup.h"

struct settled_call {
    const struct parallel_calls *calls;
    size_t index;
    value result;
};

static value call(struct run *run, const struct parallel_calls *calls, size_t index)
{
    return run_call(run, calls->functions[calls->one_function ? 0 : index],
                    calls->items + index * calls->width, calls->width);
}

static void call_settled(struct run *run, void *data)
{
    struct settled_call *settled = data;
    settled->result = call(run, settled->calls, settled->index);
}

value parallel_call(struct run *run, const struct parallel_calls *calls, size_t index)
{
    if (!calls->settles)
        return call(run, calls, index);
    struct settled_call settled = {calls, index, value_nil()};
    bool ok = run_guarded(run, call_settled, &settled);
    return attempt_result(run, ok, settled.result);
}

// (pmap f xs {:settle true})
static bool is_option(value v)
{
    value item;
    return v.tag == VALUE_MAP && map_count(v) == 1 &&
           map_find_flexible(v, value_string_borrow(NULL, SPAN("settle")), &item) &&
           value_is_true(item);
}

// Prints and ledger of the branch are the outer ones; memory is put back after each.
static void branch_enter(struct run *run, struct in_order *level, size_t index)
{
    struct run_state *state = run->state;
    level->outer = state->in_order;
    level->state = isolation_begin(run, index);
    value_release(run->region, state->branch.prints);
    value_release(run->region, state->branch.comparisons);
    state->branch.prints = level->state.prints;
    state->branch.comparisons = level->state.comparisons;
    state->branch.line_open = level->state.line_open;
    state->branch.captures = level->state.captures;
    state->branch.ledger = level->state.ledger;
    state->in_order = level;
    state->branch_depth++;
}

static void branch_leave(struct run *run)
{
    struct run_state *state = run->state;
    struct in_order *level = state->in_order;
    struct branch_state branch = state->branch;
    state->branch = level->state;
    state->branch.prints = branch.prints;
    state->branch.comparisons = branch.comparisons;
    state->branch.line_open = branch.line_open;
    state->branch.captures = branch.captures;
    state->branch.ledger = branch.ledger;
    run_random_join(&state->branch.random, &branch.random);
    state->in_order = level->outer;
    state->branch_depth--;
    if (!state->in_order)
        state->branch_op = NULL;
    branch.prints = branch.comparisons = branch.captures = value_nil();
    isolation_drop(run, &branch);  // may leave by a jump, so it comes last
}

void parallel_leave(struct run *run, struct in_order *level)
{
    while (run->state->in_order != level)
        branch_leave(run);
}

static value run_in_order(struct run *run, const struct parallel_calls *calls)
{
    struct run_state *state = run->state;
    bool outermost = state->branch_depth == 0;
    value results = vector_new(run->region, calls->count);
    struct run_random random = state->branch.random;
    state->branch.course.groups++;
    for (size_t i = 0; i < calls->count; i++) {
        struct in_order level;
        branch_enter(run, &level, i);
        state->branch.random = run_random_branch(random, i);
        if (outermost) {
            state->branch_op = calls->op;
            state->branch_index = i;
        }
        value result = parallel_call(run, calls, i);
        branch_leave(run);
        results = vector_push(run->region, results, result);
    }
    return results;
}

static value run_branches(struct run *run, const struct parallel_calls *calls)
{
    const struct tool_table *tools = run->state->program->tools;
    bool together = tools && tools->count > 0 && calls->count > 1 && run->limits.max_parallel > 1;
    return together ? scheduler_run(run, calls) : run_in_order(run, calls);
}

value builtin_pmap(struct run *run, const struct builtin *self, value *arguments, size_t count)
{
    run_check_callable(run, self, 1, arguments[0]);
    bool settles = count > 2 && is_option(arguments[count - 1]);
    if (settles)
        value_release(run->region, arguments[--count]);
    struct parallel_calls calls = {
        .op = self->name,
        .settles = settles,
        .functions = &arguments[0],
        .one_function = true,
        .width = count - 1,
        .count = SIZE_MAX,
    };
    for (size_t i = 1; i < count; i++) {
        arguments[i] = sequence_vector(run, self, (unsigned)i + 1, arguments[i]);
        if (vector_count(arguments[i]) < calls.count)
            calls.count = vector_count(arguments[i]);
    }
    size_t size = (calls.count * calls.width + 1) * sizeof(value);
    calls.items = region_alloc(run->region, size);
    for (size_t i = 0; i < calls.count; i++) {
        for (size_t j = 0; j < calls.width; j++)
            calls.items[i * calls.width + j] = value_retain(vector_at(arguments[j + 1], i));
    }
    value results = run_branches(run, &calls);
    region_return(run->region, calls.items, size);
    values_release(run, arguments, count);
    return vector_as_seq(results);
}

// Can it be called without arguments?
static bool accepts_nothing(value f)
{
    const struct builtin *builtin = function_builtin(f);
    if (builtin)
        return builtin_accepts(builtin, 0);
    if (value_is_foreign(f, &closure_type))
        return ((const struct closure *)f.object)->code->parameter_count == 0;
    return f.tag == VALUE_FUNCTION;
}

value builtin_pcalls(struct run *run, const struct builtin *self, value *arguments, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (!accepts_nothing(arguments[i]))
            run_type_error(run, self, (unsigned)i + 1, "a function of no arguments", arguments[i],
                           NULL);
    }
    struct parallel_calls calls = {.op = self->name, .functions = arguments, .count = count};
    value results = run_branches(run, &calls);
    values_release(run, arguments, count);
    return results;
}
