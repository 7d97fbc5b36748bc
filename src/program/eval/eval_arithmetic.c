// Arithmetic and comparison without a call where the operands are small numbers. Everything else goes
// to the builtin itself, so the results are the same.
#include <math.h>
#include <string.h>

#include "base/array.h"
#include "program/eval/eval.h"

static inline value immediate_of(const struct expression *expression)
{
    return ((const struct expression_immediate *)expression)->value;
}

// The builtin on two values, which are consumed.
static __attribute__((noinline)) value apply2(const struct expression_builtin *call,
                                              struct run *run, value a, value b)
{
    value arguments[2] = {a, b};
    run->site = call;
    return builtin_apply(run, call->builtin, arguments, 2);
}

static __attribute__((noinline)) bool apply2_test(const struct expression_builtin *call,
                                                  struct run *run, value a, value b)
{
    return value_is_true(apply2(call, run, a, b));
}

// --- arithmetic ----------------------------------------------------------------------------------

// Each operation in three versions: any operands; a local and a constant; two locals. The last two
// look into the slots and fall back to the first unless they find 64-bit integers.
#define ARITHMETIC(name, overflows, operator, constant_overflows)                                 \
    static value fast_##name(const struct expression *expression, struct frame *frame,            \
                             struct run *run)                                                     \
    {                                                                                             \
        PART(builtin, call);                                                                      \
        spend_cheap(run);                                                                         \
        value a = evaluate_quick(call->items[0], frame, run);                                     \
        value b = evaluate_quick(call->items[1], frame, run);                                     \
        int64_t result;                                                                           \
        if (__builtin_expect(a.tag == VALUE_INTEGER && b.tag == VALUE_INTEGER, 1)) {              \
            if (!overflows(a.integer, b.integer, &result))                                        \
                return value_integer(result);                                                     \
        } else if (a.tag == VALUE_FLOAT && b.tag == VALUE_FLOAT) {                                \
            double number = a.number operator b.number;                                           \
            if (isfinite(number))                                                                 \
                return value_float(number);                                                       \
        }                                                                                         \
        return apply2(call, run, a, b);                                                           \
    }                                                                                             \
    static value fast_##name##_constant(const struct expression *expression, struct frame *frame, \
                                        struct run *run)                                          \
    {                                                                                             \
        PART(builtin, call);                                                                      \
        const value a = frame->slots[call->slot_a];                                               \
        int64_t result;                                                                           \
        if (__builtin_expect(a.tag == VALUE_INTEGER &&                                            \
                                 !constant_overflows(a.integer, call->constant, &result),         \
                             1)) {                                                                \
            spend_cheap(run);                                                                     \
            return value_integer(result);                                                         \
        }                                                                                         \
        return fast_##name(expression, frame, run);                                               \
    }                                                                                             \
    static value fast_##name##_locals(const struct expression *expression, struct frame *frame,   \
                                      struct run *run)                                            \
    {                                                                                             \
        PART(builtin, call);                                                                      \
        const value a = frame->slots[call->slot_a];                                               \
        const value b = frame->slots[call->slot_b];                                               \
        int64_t result;                                                                           \
        if (__builtin_expect(a.tag == VALUE_INTEGER && b.tag == VALUE_INTEGER &&                  \
                                 !overflows(a.integer, b.integer, &result),                       \
                             1)) {                                                                \
            spend_cheap(run);                                                                     \
            return value_integer(result);                                                         \
        }                                                                                         \
        return fast_##name(expression, frame, run);                                               \
    }

ARITHMETIC(add, __builtin_add_overflow, +, __builtin_add_overflow)
ARITHMETIC(subtract, __builtin_sub_overflow, -, __builtin_add_overflow)  // negated constant
ARITHMETIC(multiply, __builtin_mul_overflow, *, __builtin_mul_overflow)

static value fast_step(const struct expression *expression, struct frame *frame, struct run *run,
                       int64_t step)
{
    PART(builtin, call);
    spend_cheap(run);
    value a = evaluate_quick(call->items[0], frame, run);
    int64_t result;
    if (__builtin_expect(
            a.tag == VALUE_INTEGER && !__builtin_add_overflow(a.integer, step, &result), 1))
        return value_integer(result);
    value arguments[1] = {a};
    run->site = expression;
    return builtin_apply(run, call->builtin, arguments, 1);
}

// inc and dec of a local: the step is in call->constant.
static value fast_step_local(const struct expression *expression, struct frame *frame,
                             struct run *run)
{
    PART(builtin, call);
    const value a = frame->slots[call->slot_a];
    int64_t result;
    if (__builtin_expect(a.tag == VALUE_INTEGER &&
                             !__builtin_add_overflow(a.integer, call->constant, &result),
                         1)) {
        spend_cheap(run);
        return value_integer(result);
    }
    return fast_step(expression, frame, run, call->constant);
}

static value fast_inc(const struct expression *expression, struct frame *frame, struct run *run)
{
    return fast_step(expression, frame, run, 1);
}

static value fast_dec(const struct expression *expression, struct frame *frame, struct run *run)
{
    return fast_step(expression, frame, run, -1);
}

// --- comparison ----------------------------------------------------------------------------------

#define COMPARISON(name, operator)                                                               \
    static bool test_##name(const struct expression *expression, struct frame *frame,            \
                            struct run *run)                                                     \
    {                                                                                            \
        PART(builtin, call);                                                                     \
        spend_cheap(run);                                                                        \
        value a = evaluate_quick(call->items[0], frame, run);                                    \
        value b = evaluate_quick(call->items[1], frame, run);                                    \
        if (__builtin_expect(a.tag == VALUE_INTEGER && b.tag == VALUE_INTEGER, 1))               \
            return a.integer operator b.integer;                                                 \
        if (a.tag == VALUE_FLOAT && b.tag == VALUE_FLOAT)                                        \
            return a.number operator b.number;                                                   \
        return apply2_test(call, run, a, b);                                                     \
    }                                                                                            \
    static bool test_##name##_constant(const struct expression *expression, struct frame *frame, \
                                       struct run *run)                                          \
    {                                                                                            \
        PART(builtin, call);                                                                     \
        const value a = frame->slots[call->slot_a];                                              \
        if (__builtin_expect(a.tag == VALUE_INTEGER, 1)) {                                       \
            spend_cheap(run);                                                                    \
            return a.integer operator call->constant;                                            \
        }                                                                                        \
        return test_##name(expression, frame, run);                                              \
    }                                                                                            \
    static bool test_##name##_locals(const struct expression *expression, struct frame *frame,   \
                                     struct run *run)                                            \
    {                                                                                            \
        PART(builtin, call);                                                                     \
        const value a = frame->slots[call->slot_a];                                              \
        const value b = frame->slots[call->slot_b];                                              \
        if (__builtin_expect(a.tag == VALUE_INTEGER && b.tag == VALUE_INTEGER, 1)) {             \
            spend_cheap(run);                                                                    \
            return a.integer operator b.integer;                                                 \
        }                                                                                        \
        return test_##name(expression, frame, run);                                              \
    }

COMPARISON(less, <)
COMPARISON(greater, >)
COMPARISON(less_equal, <=)
COMPARISON(greater_equal, >=)
COMPARISON(equal, ==)

// A jump, which the processor predicts; choosing the branch by a conditional move would make
// everything that follows wait for the comparison. The empty statement keeps the two ways apart.
static inline __attribute__((always_inline)) value
take_branch(const struct expression_if *branch, bool yes, struct frame *frame, struct run *run)
{
    if (yes) {
        __asm__ volatile("");
        return evaluate_quick(branch->then, frame, run);
    }
    return evaluate_quick(branch->otherwise, frame, run);
}

// (if (< local constant) …) and (if (< local local) …) in one function.
#define BRANCH(name, operator)                                                                  \
    static value if_##name##_constant(const struct expression *expression, struct frame *frame, \
                                      struct run *run)                                          \
    {                                                                                           \
        PART(if, branch);                                                                       \
        const struct expression_builtin *call = (const void *)branch->test;                     \
        const value a = frame->slots[call->slot_a];                                             \
        bool yes;                                                                               \
        if (__builtin_expect(a.tag == VALUE_INTEGER, 1)) {                                      \
            spend_cheap(run);                                                                   \
            yes = a.integer operator call->constant;                                            \
        } else {                                                                                \
            yes = test_##name(branch->test, frame, run);                                        \
        }                                                                                       \
        return take_branch(branch, yes, frame, run);                                            \
    }                                                                                           \
    static value if_##name##_locals(const struct expression *expression, struct frame *frame,   \
                                    struct run *run)                                            \
    {                                                                                           \
        PART(if, branch);                                                                       \
        const struct expression_builtin *call = (const void *)branch->test;                     \
        const value a = frame->slots[call->slot_a];                                             \
        const value b = frame->slots[call->slot_b];                                             \
        bool yes;                                                                               \
        if (__builtin_expect(a.tag == VALUE_INTEGER && b.tag == VALUE_INTEGER, 1)) {            \
            spend_cheap(run);                                                                   \
            yes = a.integer operator b.integer;                                                 \
        } else {                                                                                \
            yes = test_##name(branch->test, frame, run);                                        \
        }                                                                                       \
        return take_branch(branch, yes, frame, run);                                            \
    }

BRANCH(less, <)
BRANCH(greater, >)
BRANCH(less_equal, <=)
BRANCH(greater_equal, >=)
BRANCH(equal, ==)

static bool test_not(const struct expression *expression, struct frame *frame, struct run *run)
{
    PART(builtin, call);
    spend_cheap(run);
    return !evaluate_test(call->items[0], frame, run);
}

static bool test_nil(const struct expression *expression, struct frame *frame, struct run *run)
{
    PART(builtin, call);
    spend_cheap(run);
    value v = evaluate(call->items[0], frame, run);
    value_release(run->region, v);
    return v.tag == VALUE_NIL;
}

static bool test_some(const struct expression *expression, struct frame *frame, struct run *run)
{
    return !test_nil(expression, frame, run);
}

static bool test_zero(const struct expression *expression, struct frame *frame, struct run *run)
{
    PART(builtin, call);
    spend_cheap(run);
    value v = evaluate(call->items[0], frame, run);
    if (__builtin_expect(v.tag == VALUE_INTEGER, 1))
        return v.integer == 0;
    value arguments[1] = {v};
    run->site = expression;
    return value_is_true(builtin_apply(run, call->builtin, arguments, 1));
}

// The value of an expression that has a test of its own.
static value eval_from_test(const struct expression *expression, struct frame *frame,
                            struct run *run)
{
    return value_boolean(evaluate_test(expression, frame, run));
}

// --- selection -----------------------------------------------------------------------------------

static bool is_local(const struct expression *expression)
{
    return expression->kind == EXPRESSION_LOCAL;
}

// The smallest integer cannot be negated.
static bool is_small_integer(const struct expression *expression)
{
    return expression->kind == EXPRESSION_IMMEDIATE &&
           immediate_of(expression).tag == VALUE_INTEGER &&
           immediate_of(expression).integer != INT64_MIN;
}

// (+ 1 x) is (+ x 1).
static bool is_swapped(const struct expression_builtin *call)
{
    return call->count == 2 && strchr("+*=", call->builtin->name[0]) &&
           is_small_integer(call->items[0]) && is_local(call->items[1]);
}

static enum operands operands_of(const struct expression_builtin *call)
{
    if (is_swapped(call))
        return OPERANDS_CONSTANT;
    if (!is_local(call->items[0]))
        return OPERANDS_ANY;
    if (call->count == 1)
        return OPERANDS_CONSTANT;  // inc and dec: the step
    if (is_local(call->items[1]))
        return OPERANDS_LOCALS;
    return is_small_integer(call->items[1]) ? OPERANDS_CONSTANT : OPERANDS_ANY;
}

#define ARITHMETIC_ROW(text, op)                                                                  \
    {                                                                                             \
        .name = text, .count = 2, .eval = { fast_##op, fast_##op##_constant, fast_##op##_locals } \
    }
#define COMPARISON_ROW(text, op, orders)                                                         \
    {                                                                                            \
        .name = text, .count = 2, .test = {test_##op, test_##op##_constant, test_##op##_locals}, \
        .branch = {NULL, if_##op##_constant, if_##op##_locals}, .accepts = orders,               \
    }

static const struct {
    const char *name;
    uint32_t count;
    eval_fn *eval[OPERANDS_COUNT];
    test_fn *test[OPERANDS_COUNT];
    eval_fn *branch[OPERANDS_COUNT];  // of an if with this test
    uint8_t accepts;
} fast_builtins[] = {
    ARITHMETIC_ROW("+", add),
    ARITHMETIC_ROW("-", subtract),
    ARITHMETIC_ROW("*", multiply),
    {.name = "inc", .count = 1, .eval = {fast_inc, fast_step_local}},
    {.name = "dec", .count = 1, .eval = {fast_dec, fast_step_local}},
    {.name = "assoc", .count = 3, .eval = {eval_assoc}},
    COMPARISON_ROW("<", less, ORDER_LESS),
    COMPARISON_ROW(">", greater, ORDER_GREATER),
    COMPARISON_ROW("<=", less_equal, ORDER_LESS | ORDER_SAME),
    COMPARISON_ROW(">=", greater_equal, ORDER_GREATER | ORDER_SAME),
    COMPARISON_ROW("=", equal, ORDER_SAME),
    {.name = "not", .count = 1, .test = {test_not}},
    {.name = "nil?", .count = 1, .test = {test_nil}},
    {.name = "some?", .count = 1, .test = {test_some}},
    {.name = "zero?", .count = 1, .test = {test_zero}},
};

enum { FAST_BUILTINS = COUNT_OF(fast_builtins) };

// Copies the operands to where the specialised functions look for them.
static void note_operands(struct expression_builtin *call, enum operands operands, eval_fn *eval)
{
    if (operands == OPERANDS_ANY)
        return;
    bool swapped = is_swapped(call);
    call->slot_a = ((const struct expression_index *)call->items[swapped])->index;
    if (eval == fast_step_local)
        call->constant = call->builtin->name[0] == 'i' ? 1 : -1;
    else if (operands == OPERANDS_LOCALS)
        call->slot_b = ((const struct expression_index *)call->items[1])->index;
    else
        call->constant = immediate_of(call->items[!swapped]).integer;
    if (eval == fast_subtract_constant)
        call->constant = -call->constant;
}

static enum operation operation_of(eval_fn *eval)
{
    if (eval == fast_add_constant || eval == fast_add_locals || eval == fast_step_local ||
        eval == fast_subtract_constant)
        return OPERATION_ADD;
    if (eval == fast_subtract_locals)
        return OPERATION_SUBTRACT;
    if (eval == fast_multiply_constant || eval == fast_multiply_locals)
        return OPERATION_MULTIPLY;
    return OPERATION_OTHER;
}

static enum quick quick_of(const struct expression_builtin *call)
{
    if (call->operation != OPERATION_ADD)
        return QUICK_NONE;
    return call->operands == OPERANDS_LOCALS ? QUICK_ADD_LOCALS : QUICK_ADD_CONSTANT;
}

struct fast_builtin fast_builtin_select(struct expression_builtin *call)
{
    for (size_t i = 0; i < FAST_BUILTINS; i++) {
        if (fast_builtins[i].count != call->count ||
            strcmp(fast_builtins[i].name, call->builtin->name) != 0)
            continue;
        enum operands operands = operands_of(call);
        if (!fast_builtins[i].eval[operands] && !fast_builtins[i].test[operands])
            operands = OPERANDS_ANY;
        struct fast_builtin fast = {
            .eval = fast_builtins[i].eval[operands],
            .test = fast_builtins[i].test[operands],
        };
        note_operands(call, operands, fast.eval);
        call->operands = (uint8_t)operands;
        call->accepts = fast_builtins[i].accepts;
        call->operation = (uint8_t)operation_of(fast.eval);
        call->base.quick = (uint8_t)quick_of(call);
        if (fast.test)
            fast.eval = eval_from_test;
        return fast;
    }
    return (struct fast_builtin){0};
}

eval_fn *fast_if_select(const struct expression_if *branch)
{
    for (size_t i = 0; i < FAST_BUILTINS; i++) {
        for (enum operands j = OPERANDS_CONSTANT; j < OPERANDS_COUNT; j++) {
            if (fast_builtins[i].branch[j] && fast_builtins[i].test[j] == branch->test->test)
                return fast_builtins[i].branch[j];
        }
    }
    return eval_if;
}

enum walk fast_walk_select(const struct expression *test)
{
    const struct expression_builtin *call = (const void *)test;
    bool compares = test->kind == EXPRESSION_CALL_BUILTIN && call->accepts;
    return compares && call->operands != OPERANDS_ANY ? WALK_IF_COMPARE : WALK_IF;
}
