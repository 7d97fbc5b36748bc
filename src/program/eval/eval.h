// The functions that evaluate expressions, and what they share. See expression.h.
#pragma once

#include "program/eval/expression.h"
#include "program/run/state.h"
#include "value/layout.h"

#define EVALUATORS(X)                                                                            \
    X(immediate) X(constant) X(local_copy) X(local_move) X(capture) X(self) X(global)      \
    X(global_or_nil) X(memory) X(if) X(do) X(let) X(and) X(or) X(cond) X(case) X(condp)    \
    X(bind_if) X(function) X(loop) X(recur) X(for) X(def) X(thread_some) X(thread_cond) X(where) \
    X(call) X(call_builtin) X(call_keyword) X(call_tool) X(memory_put) X(memory_get)       \
    X(return) X(fail) X(vector) X(map) X(set) X(let_one) X(recur_plain) X(looks1) X(looks2) \
    X(takes1) X(takes2) X(takes3) X(keyword_slot) X(call_global) X(range) X(assoc)

#define X(name) eval_fn eval_##name;
EVALUATORS(X)
#undef X

// In an evaluator: its expression as what it is.
#define PART(type, name) const struct expression_##type *name = (const void *)expression

test_fn test_any;
test_fn test_local;
test_fn test_and;
test_fn test_or;

// Specialised evaluators of arithmetic and comparison, by builtin name; NULL when there is none.
struct fast_builtin {
    eval_fn *eval;
    test_fn *test;
};
struct fast_builtin fast_builtin_select(struct expression_builtin *call);
// The evaluator of an if, fused with its test where that is a comparison.
eval_fn *fast_if_select(const struct expression_if *branch);
// How the rounds of a loop walk through an if with this test.
enum walk fast_walk_select(const struct expression *test);

// Puts a value into a slot, releasing what was there.
static inline void slot_store(struct run *run, struct frame *frame, uint32_t slot, value v)
{
    value old = frame->slots[slot];
    frame->slots[slot] = v;
    value_release(run->region, old);
}

// Destructuring: binds a pattern to a value, which is consumed.
void pattern_bind(struct run *run, struct frame *frame, const struct pattern *pattern, value v);

static inline void pattern_bind_fast(struct run *run, struct frame *frame,
                                     const struct pattern *pattern, value v)
{
    if (pattern->kind == PATTERN_SLOT)
        slot_store(run, frame, pattern->slot, v);
    else
        pattern_bind(run, frame, pattern, v);
}

// One unit of fuel for a call; looks at the clock when it is used up.
static inline void spend_call(struct run *run)
{
    if (__builtin_expect(--run->fuel < 0, 0))
        run_refill(run);
}

// The same without looking: for cheap operations, which calls and jumps surround.
static inline void spend_cheap(struct run *run)
{
    run->fuel--;
}

// The value of an expression that is so short that it needs no call; false when it is not, or when
// its operands are not 64-bit integers. Adds the units of fuel it costs to *spent.
static inline __attribute__((always_inline)) bool quick_value(const struct expression *expression,
                                                              struct frame *frame, value *ret_value,
                                                              int64_t *spent)
{
    const struct expression_builtin *call = (const void *)expression;
    const struct expression_index *local = (const void *)expression;
    uint8_t quick = expression->quick;
    int64_t result;
    if (quick == QUICK_NONE)
        return false;
    if (quick == QUICK_ADD_CONSTANT) {
        const value a = frame->slots[call->slot_a];
        if (a.tag != VALUE_INTEGER || __builtin_add_overflow(a.integer, call->constant, &result))
            return false;
        *ret_value = value_integer(result);
        *spent += 1;
    } else if (quick == QUICK_LOCAL_MOVE) {
        *ret_value = frame->slots[local->index];
        frame->slots[local->index] = value_nil();
    } else if (quick == QUICK_LOCAL_COPY) {
        // Looked at where it is: the parts of a copy would be spilled one by one.
        const value *place = &frame->slots[local->index];
        if (value_is_counted(*place))
            object_retain(place->object);
        *ret_value = *place;
    } else if (quick == QUICK_IMMEDIATE) {
        *ret_value = ((const struct expression_immediate *)expression)->value;
    } else {
        const value a = frame->slots[call->slot_a];
        const value b = frame->slots[call->slot_b];
        if (a.tag != VALUE_INTEGER || b.tag != VALUE_INTEGER ||
            __builtin_add_overflow(a.integer, b.integer, &result))
            return false;
        *ret_value = value_integer(result);
        *spent += 1;
    }
    return true;
}

// The value of an expression, without a call when it is very short.
static inline value evaluate_quick(const struct expression *expression, struct frame *frame,
                                   struct run *run)
{
    value v;
    int64_t spent = 0;
    if (!quick_value(expression, frame, &v, &spent))
        return evaluate(expression, frame, run);
    if (spent)
        run->fuel -= spent;
    return v;
}

// Does a comparison that accepts some orders accept that of these two?
static inline bool order_accepts(uint8_t accepts, int64_t a, int64_t b)
{
    return accepts >> ((a >= b) + (a > b)) & 1;
}

// --- loops (eval_round.c) ------------------------------------------------------------------------

// The value of a body that may end in recur: each recur jumps back to its start. `jumps` were made
// before.
value rounds_run(const struct expression *body, struct frame *frame, struct run *run,
                 int64_t jumps);

// --- functions (function.c) ----------------------------------------------------------------------
extern const struct object_type closure_type;
extern const struct object_type composed_type;
extern const struct object_type tool_type;

static inline bool value_is_foreign(value v, const struct object_type *type)
{
    return v.tag == VALUE_FUNCTION && !(v.flags & VALUE_BORROWED) &&
           ((const struct foreign *)v.object)->type == type;
}

value tool_function(struct run *run, uint32_t tool);

// Calls a builtin whose arity is right; consumes the arguments whatever its convention is.
value builtin_apply(struct run *run, const struct builtin *builtin, value *arguments, size_t count);
// (:k subject otherwise); consumes subject and otherwise.
value keyword_apply(struct run *run, value key, value subject, value otherwise);

// Frames up to this many slots have a fixed place, which is faster than a variable one.
enum { SMALL_FRAME = 6 };

struct small_frame {
    struct frame frame;
    value slots[SMALL_FRAME];
};

void closure_bind_parameters(struct run *run, struct frame *frame, const struct code *code);

// Runs a closure whose arguments lie in the first slots of a frame, the other slots being nil.
static inline value closure_run(struct run *run, struct frame *frame, const struct code *code)
{
    if (__builtin_expect(code->parameters != NULL, 0))
        closure_bind_parameters(run, frame, code);
    value result = evaluate(code->body, frame, run);
    if (__builtin_expect(result.tag == VALUE_RECUR, 0))
        result = rounds_run(code->body, frame, run, 1);
    for (uint32_t i = 0; i < code->slot_count; i++)
        value_release(run->region, frame->slots[i]);
    return result;
}
