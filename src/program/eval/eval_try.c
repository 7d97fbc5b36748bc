// try, attempt and binding: what must happen however an expression is left
// (docs/reference/language.md 4.1).
#include "program/eval/eval.h"
#include "program/eval/exception.h"
#include "program/eval/stack.h"
#include "program/run/output.h"
#include "program/run/parallel/scheduler.h"
#include "program/run/run_memory.h"

// --- guards --------------------------------------------------------------------------------------

// Not inlined, and without variables that are needed after the jump.
static __attribute__((noinline)) bool call_guarded(struct run *run, guarded_fn *function,
                                                   void *data)
{
    void *registers[5];
    run->state->exit = (struct run_exit){
        .registers = registers, .stack = stack_mark(run), .level = run->state->in_order};
    if (__builtin_setjmp(registers)) {
        stack_landed(run);
        return false;
    }
    function(run, data);
    return true;
}

bool run_guarded(struct run *run, guarded_fn *function, void *data)
{
    struct run_exit outer = run->state->exit;
    const void *site = run->site;
    unsigned guards = run->state->guards++;
    size_t captures = output_depth(run);
    bool ok = call_guarded(run, function, data);
    run->state->exit = outer;
    run->state->guards = guards;
    if (!ok) {
        run->site = site;
        output_unwind(run, captures);
        scheduler_key_finished(run);
    }
    return ok;
}

struct evaluation {
    const struct expression *expression;
    struct frame *frame;
    value result;
};

static void evaluate_it(struct run *run, void *data)
{
    struct evaluation *evaluation = data;
    evaluation->result = evaluate(evaluation->expression, evaluation->frame, run);
}

static bool evaluate_guarded(const struct expression *expression, struct frame *frame,
                             struct run *run, value *ret_value)
{
    struct evaluation evaluation = {expression, frame, value_nil()};
    bool ok = run_guarded(run, evaluate_it, &evaluation);
    *ret_value = evaluation.result;
    return ok;
}

static void evaluate_finally(const struct expression *finally, struct frame *frame, struct run *run)
{
    if (finally)
        value_release(run->region, evaluate(finally, frame, run));
}

// return and fail go on to the end of the program, by way of `finally`; a limit goes there at once.
static _Noreturn __attribute__((noinline)) void leave_finally(const struct expression *finally,
                                                              struct frame *frame, struct run *run)
{
    struct run_state *state = run->state;
    bool is_limit = state->failure.limit_option || state->failure.kind == TIMEOUT ||
                    state->failure.kind == MEMORY_EXCEEDED || state->failure.kind == PAUSED;
    if (finally && !is_limit) {
        struct failure failure = state->failure;
        bool returned = state->returned;
        state->failure = (struct failure){0};
        state->returned = false;
        evaluate_finally(finally, frame, run);
        state->failure = failure;
        state->returned = returned;
    }
    run_leave(run);
}

// --- try -----------------------------------------------------------------------------------------

static const struct catch_clause *find_clause(const struct expression_try *try, value exception)
{
    for (uint32_t i = 0; i < try->count; i++) {
        if (exception_is(exception, try->clauses[i].class))
            return &try->clauses[i];
    }
    return NULL;
}

// The value of the clause that takes the exception; without one it is thrown again.
static value handle(const struct expression_try *try, struct frame *frame, struct run *run,
                    value exception)
{
    const struct catch_clause *clause = find_clause(try, exception);
    value result = value_nil();
    bool ok = false;
    if (clause) {
        slot_store(run, frame, clause->slot, exception);
        if (!try->finally)
            return evaluate(clause->body, frame, run);
        ok = evaluate_guarded(clause->body, frame, run, &result);
        if (!ok && failure_is_final(run))
            leave_finally(try->finally, frame, run);
        if (!ok)
            exception = exception_from_failure(run);
    }
    evaluate_finally(try->finally, frame, run);
    if (!ok)
        exception_throw(run, exception);
    return result;
}

value eval_try(const struct expression *expression, struct frame *frame, struct run *run)
{
    PART(try, try);
    value result;
    spend_call(run);
    if (evaluate_guarded(try->body, frame, run, &result)) {
        evaluate_finally(try->finally, frame, run);
        return result;
    }
    run->site = expression;
    if (failure_is_final(run))
        leave_finally(try->finally, frame, run);
    return handle(try, frame, run, exception_from_failure(run));
}

// --- attempt -------------------------------------------------------------------------------------

value attempt_result(struct run *run, bool ok, value v)
{
    if (!ok && failure_is_final(run))
        run_leave(run);
    if (!ok) {
        value exception = exception_from_failure(run);
        v = exception_summary(run, exception);
        value_release(run->region, exception);
    }
    value key = value_keyword(run->region, ok ? SPAN("ok") : SPAN("error"));
    return map_put(run->region, map_new(run->region), key, v);
}

value eval_attempt(const struct expression *expression, struct frame *frame, struct run *run)
{
    PART(try, try);
    value result;
    spend_call(run);
    bool ok = evaluate_guarded(try->body, frame, run, &result);
    run->site = expression;
    return attempt_result(run, ok, result);
}

// --- binding -------------------------------------------------------------------------------------

// The values of the globals; exchanged with `values`.
static void exchange_globals(const struct expression_binding *binding, struct run *run,
                             struct global_slot *values)
{
    run_memory_own_globals(run);
    for (uint32_t i = 0; i < binding->count; i++) {
        struct global_slot *slot = &run->state->branch.globals[binding->globals[i]];
        struct global_slot before = *slot;
        *slot = values[i];
        values[i] = before;
    }
}

value eval_binding(const struct expression *expression, struct frame *frame, struct run *run)
{
    PART(binding, binding);
    size_t size = (binding->count + 1) * sizeof(struct global_slot);
    struct global_slot *values = region_alloc(run->region, size);
    value result;
    spend_call(run);
    for (uint32_t i = 0; i < binding->count; i++)
        values[i] = (struct global_slot){evaluate(binding->values[i], frame, run), true};
    exchange_globals(binding, run, values);
    bool ok = evaluate_guarded(binding->body, frame, run, &result);
    exchange_globals(binding, run, values);
    if (!ok)
        run_leave(run);
    for (uint32_t i = 0; i < binding->count; i++)
        value_release(run->region, values[i].value);
    region_return(run->region, values, size);
    return result;
}
