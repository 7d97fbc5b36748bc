#include "program/run/parallel/parallel.h"

#include "program/builtin/builtins.h"
#include "program/builtin/support.h"
#include "program/eval/eval.h"
#include "program/run/parallel/isolation.h"
#include "program/run/parallel/scheduler.h"

value parallel_call(struct run *run, const struct parallel_calls *calls, size_t index)
{
    return run_call(run, calls->functions[calls->one_function ? 0 : index],
                    calls->items + index * calls->width, calls->width);
}

// Prints and ledger of the branch are the outer ones; memory is put back after each.
static value run_in_order(struct run *run, const struct parallel_calls *calls)
{
    struct run_state *state = run->state;
    bool outermost = state->branch_depth == 0;
    value results = vector_new(run->region, calls->count);
    struct run_random random = state->branch.random;
    state->branch_depth++;
    for (size_t i = 0; i < calls->count; i++) {
        if (outermost) {
            state->branch_op = calls->op;
            state->branch_index = i;
        }
        struct branch_state outer = isolation_begin(run, i);
        value_release(run->region, state->branch.prints);
        state->branch.prints = outer.prints;
        state->branch.line_open = outer.line_open;
        state->branch.captures = outer.captures;
        state->branch.random = run_random_branch(random, i);
        state->branch.ledger = outer.ledger;
        results = vector_push(run->region, results, parallel_call(run, calls, i));
        outer.prints = state->branch.prints;
        outer.line_open = state->branch.line_open;
        outer.captures = state->branch.captures;
        outer.ledger = state->branch.ledger;
        run_random_join(&outer.random, &state->branch.random);
        state->branch.prints = state->branch.captures = value_nil();
        isolation_drop(run, &state->branch);
        state->branch = outer;
    }
    state->branch_depth--;
    if (outermost)
        state->branch_op = NULL;
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
    struct parallel_calls calls = {
        .op = self->name,
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
    return results;
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
