// The functions that evaluate expressions, and what they share. See expression.h.
#pragma once

#include "program/eval/expression.h"
#include "program/run/run_state.h"
#include "value/layout.h"

// In an evaluator: its expression as what it is.
#define PART(type, name) const struct expression_##type *name = (const void *)expression

// --- eval_basic.c: names, literals, branches, bindings -------------------------------------------
eval_fn eval_immediate, eval_constant, eval_local_copy, eval_local_move, eval_capture, eval_self;
eval_fn eval_global, eval_global_or_nil, eval_memory;
eval_fn eval_if, eval_do, eval_and, eval_or, eval_case, eval_condp, eval_bind_if;
eval_fn eval_let, eval_let_one, eval_thread_some, eval_thread_cond;
eval_fn eval_vector, eval_map, eval_set, eval_where;
eval_fn eval_def, eval_memory_put, eval_memory_get, eval_return, eval_fail;
test_fn test_any, test_local, test_and, test_or;

// The result of the first clause whose test is true.
static inline const struct expression *if_choose(const struct expression *expression,
                                                 struct frame *frame, struct run *run)
{
    PART(if, branch);
    const struct if_clause *clause = branch->clauses;
    do {
        if (evaluate_test(clause->test, frame, run))
            break;
    } while ((++clause)->test);
    return clause->result;
}

// evaluate() with the most common kind of operand in line.
static inline value evaluate_operand(const struct expression *expression, struct frame *frame,
                                     struct run *run)
{
    if (expression->kind != EXPRESSION_LOCAL)
        return evaluate(expression, frame, run);
    value *slot = slot_at(frame, ((const struct expression_index *)expression)->place);
    value v = *slot;
    if (expression->flag)
        *slot = value_nil();
    else
        value_retain(v);
    return v;
}

// --- eval_try.c: failures that are caught --------------------------------------------------------
eval_fn eval_try, eval_attempt, eval_binding;

typedef void guarded_fn(struct run *run, void *data);
// Calls the function; false when it failed or the program was left: state->failure says why. What the
// function held then stays in the region until the run ends.
bool run_guarded(struct run *run, guarded_fn *function, void *data);
// {:ok v}, or {:error {…}} of the failure; limits, return and fail go on. Consumes v.
value attempt_result(struct run *run, bool ok, value v);

// --- eval_call.c: calls --------------------------------------------------------------------------
eval_fn eval_call, eval_call_global, eval_function;
eval_fn eval_call_builtin, eval_borrow1, eval_borrow2, eval_consume1, eval_consume2, eval_consume3;
eval_fn eval_assoc, eval_range, eval_call_keyword, eval_keyword_slot, eval_call_tool;

// --- eval_arithmetic.c: specialised evaluators ---------------------------------------------------
struct specialized_builtin {
    eval_fn *eval;  // NULL: there is none
    test_fn *test;
};
// The evaluators of a call, by the builtin's operation and the kinds of its operands, whose places are
// noted in the call.
struct specialized_builtin builtin_specialize(struct expression_builtin *call);

// --- eval_pattern.c: destructuring ---------------------------------------------------------------

// Puts a value into a slot, releasing what was there.
static inline void slot_store_at(struct run *run, value *place, value v)
{
    if (__builtin_expect(value_is_counted(*place), 0))
        object_release(run->region, place->object);
    *place = v;
}
static inline void slot_store(struct run *run, struct frame *frame, uint32_t slot, value v)
{
    slot_store_at(run, &frame->slots[slot], v);
}

// Binds a pattern to a value, which is consumed.
void pattern_bind(struct run *run, struct frame *frame, const struct pattern *pattern, value v);
// The same for the vector of rest arguments, which `& {map}` reads as keys and values.
void pattern_bind_rest(struct run *run, struct frame *frame, const struct pattern *pattern,
                       value rest);
// Binds the parameters of a function, which lie in the first slots, to its patterns.
void closure_bind_parameters(struct run *run, struct frame *frame, const struct code *code);

static inline void pattern_bind_inline(struct run *run, struct frame *frame,
                                       const struct pattern *pattern, value v)
{
    if (pattern->kind == PATTERN_SLOT)
        slot_store(run, frame, pattern->slot, v);
    else
        pattern_bind(run, frame, pattern, v);
}

// --- fuel ----------------------------------------------------------------------------------------

// One unit of fuel for a call; when it has run out, the clock is read.
static inline void spend_call(struct run *run)
{
    if (__builtin_expect(--run->fuel < 0, 0))
        run_refill(run);
}

// The same without that check: for cheap operations, which have calls and jumps around them.
static inline void spend_cheap(struct run *run)
{
    run->fuel--;
}

// --- eval_loop.c: loops --------------------------------------------------------------------------
eval_fn eval_loop, eval_recur, eval_recur_slots, eval_for;

// The value of a body that may end in recur: each recur jumps back to its start. `jumps` were made
// before.
value loop_run(const struct expression *body, struct frame *frame, struct run *run, int64_t jumps);
// What a `for` over a generator (eval/generator.h) gives for the next item, which is consumed: a vector.
value for_results(struct run *run, value suspended, value item);

// --- function.c: callables -----------------------------------------------------------------------
extern const struct object_type closure_type;
extern const struct object_type composed_type;
extern const struct object_type tool_type;

static inline bool value_is_foreign(value v, const struct object_type *type)
{
    return v.tag == VALUE_FUNCTION && !(v.flags & VALUE_BORROWED) &&
           ((const struct foreign *)v.object)->type == type;
}

value tool_function(struct run *run, uint32_t tool);
uint32_t function_tool(value f);  // of such a value
// The arity of a function that takes so many arguments, or NULL.
const struct code *closure_code(const struct closure *closure, size_t count);

// Calls a builtin whose arity is right; consumes the arguments whatever its convention is.
value builtin_apply(struct run *run, const struct builtin *builtin, value *arguments, size_t count);
// (:k subject otherwise); consumes subject and otherwise.
value keyword_apply(struct run *run, value key, value subject, value otherwise);
// (keyword subject) for one subject after another; consumes it.
value keyword_call(struct run *run, value keyword, value subject);

// Frames up to this many slots have a fixed place, which is faster than a variable one.
enum { SMALL_FRAME = 6 };

struct small_frame {
    struct frame frame;
    value slots[SMALL_FRAME];
};

// Runs a closure whose arguments lie in the first slots of a frame, the other slots being nil.
static inline value closure_run(struct run *run, struct frame *frame, const struct code *code)
{
    if (__builtin_expect(code->parameters != NULL, 0))
        closure_bind_parameters(run, frame, code);
    value result = evaluate(code->body, frame, run);
    if (__builtin_expect(result.tag == VALUE_RECUR, 0))
        result = loop_run(code->body, frame, run, 1);
    for (value *slot = frame->slots, *end = slot + code->slot_count; slot < end; slot++)
        if (__builtin_expect(slot->tag >= VALUE_BIGNUM, 0))
            value_release(run->region, *slot);
    return result;
}
