// Arithmetic and comparison without a call of the builtin where the operands are small numbers.
// Everything else goes to the builtin itself, so the results are the same.
//
// Each operation has versions by the kinds of its operands. Those for locals and constants read the
// slots; when they do not find 64-bit integers there, or the result needs more bits, they leave the
// call to the version for any operands, which evaluates them.
#include <math.h>

#include "base/array.h"
#include "program/eval/eval.h"
#include "program/eval/integers.h"

// The builtin on values, which are consumed.
static __attribute__((noinline)) value apply1(const struct expression_builtin *call,
                                              struct run *run, value a)
{
    value arguments[1] = {a};
    run->site = call;
    return builtin_apply(run, call->builtin, arguments, 1);
}

static __attribute__((noinline)) value apply2(const struct expression_builtin *call,
                                              struct run *run, value a, value b)
{
    value arguments[2] = {a, b};
    run->site = call;
    return builtin_apply(run, call->builtin, arguments, 2);
}

// The builtin on the value of the operand that is no constant, and the constant as it was written.
static __attribute__((noinline)) value apply_constant(const struct expression_builtin *call,
                                                      struct frame *frame, struct run *run, value a)
{
    value constant = evaluate(call->items[!call->operand], frame, run);
    return call->operand ? apply2(call, run, constant, a) : apply2(call, run, a, constant);
}

// --- arithmetic ----------------------------------------------------------------------------------

// The operations on floats; not finite: the builtin has to do it.
static inline double add_floats(double a, double b)
{
    return a + b;
}

static inline double subtract_floats(double a, double b)
{
    return a - b;
}

static inline double multiply_floats(double a, double b)
{
    return a * b;
}

static inline double no_floats(double a, double b)
{
    (void)a;
    (void)b;
    return NAN;
}

#define ANY_OPERANDS(name, floats)                                                    \
    static value name##_any(const struct expression *expression, struct frame *frame, \
                            struct run *run)                                          \
    {                                                                                 \
        PART(builtin, call);                                                          \
        spend_cheap(run);                                                             \
        value a = evaluate(call->items[0], frame, run);                               \
        value b = evaluate(call->items[1], frame, run);                               \
        int64_t result;                                                               \
        if (__builtin_expect(a.tag == VALUE_INTEGER && b.tag == VALUE_INTEGER, 1)) {  \
            if (__builtin_expect(name##_integers(a.integer, b.integer, &result), 1))  \
                return value_integer(result);                                         \
        } else if (a.tag == VALUE_FLOAT && b.tag == VALUE_FLOAT) {                    \
            double number = floats(a.number, b.number);                               \
            if (isfinite(number))                                                     \
                return value_float(number);                                           \
        }                                                                             \
        return apply2(call, run, a, b);                                               \
    }

#define LOCAL_AND_CONSTANT(name)                                                           \
    static value name##_constant(const struct expression *expression, struct frame *frame, \
                                 struct run *run)                                          \
    {                                                                                      \
        PART(builtin, call);                                                               \
        const value *a = slot_at(frame, call->place_a);                                    \
        int64_t result;                                                                    \
        if (__builtin_expect(a->tag != VALUE_INTEGER ||                                    \
                                 !name##_integers(a->integer, call->constant, &result),    \
                             0))                                                           \
            return call->eval_any(expression, frame, run);                                 \
        spend_cheap(run);                                                                  \
        return value_integer(result);                                                      \
    }

#define TWO_LOCALS(name)                                                                 \
    static value name##_locals(const struct expression *expression, struct frame *frame, \
                               struct run *run)                                          \
    {                                                                                    \
        PART(builtin, call);                                                             \
        const value *a = slot_at(frame, call->place_a);                                  \
        const value *b = slot_at(frame, call->place_b);                                  \
        int64_t result;                                                                  \
        if (__builtin_expect(a->tag != VALUE_INTEGER || b->tag != VALUE_INTEGER ||       \
                                 !name##_integers(a->integer, b->integer, &result),      \
                             0))                                                         \
            return call->eval_any(expression, frame, run);                               \
        spend_cheap(run);                                                                \
        return value_integer(result);                                                    \
    }

#define LOCAL_AND_ANY(name)                                                                     \
    static value name##_local(const struct expression *expression, struct frame *frame,         \
                              struct run *run)                                                  \
    {                                                                                           \
        PART(builtin, call);                                                                    \
        const value *place = slot_at(frame, call->place_a);                                     \
        int64_t a = place->integer, result;                                                     \
        if (__builtin_expect(place->tag != VALUE_INTEGER, 0))                                   \
            return call->eval_any(expression, frame, run);                                      \
        spend_cheap(run);                                                                       \
        value b = evaluate(call->items[1], frame, run);                                         \
        if (__builtin_expect(b.tag != VALUE_INTEGER || !name##_integers(a, b.integer, &result), \
                             0))                                                                \
            return apply2(call, run, value_integer(a), b);                                      \
        return value_integer(result);                                                           \
    }

#define ANY_AND_CONSTANT(name)                                                                 \
    static value name##_any_constant(const struct expression *expression, struct frame *frame, \
                                     struct run *run)                                          \
    {                                                                                          \
        PART(builtin, call);                                                                   \
        spend_cheap(run);                                                                      \
        value a = evaluate(call->items[call->operand], frame, run);                            \
        int64_t result;                                                                        \
        if (__builtin_expect(a.tag != VALUE_INTEGER ||                                         \
                                 !name##_integers(a.integer, call->constant, &result),         \
                             0))                                                               \
            return apply_constant(call, frame, run, a);                                        \
        return value_integer(result);                                                          \
    }

#define ARITHMETIC(name, floats) \
    ANY_OPERANDS(name, floats)   \
    LOCAL_AND_CONSTANT(name)     \
    TWO_LOCALS(name)             \
    LOCAL_AND_ANY(name)          \
    ANY_AND_CONSTANT(name)

ARITHMETIC(add, add_floats)
ANY_OPERANDS(subtract, subtract_floats)
TWO_LOCALS(subtract)
LOCAL_AND_ANY(subtract)
ANY_AND_CONSTANT(subtract)
ARITHMETIC(multiply, multiply_floats)
ARITHMETIC(maximum, no_floats)
ARITHMETIC(minimum, no_floats)
ARITHMETIC(quotient, no_floats)
ARITHMETIC(remainder, no_floats)
ARITHMETIC(modulo, no_floats)

// inc and dec of any operand; of a local they are add_constant.
static value step_any(const struct expression *expression, struct frame *frame, struct run *run)
{
    PART(builtin, call);
    spend_cheap(run);
    value a = evaluate(call->items[0], frame, run);
    int64_t result;
    if (__builtin_expect(a.tag == VALUE_INTEGER && add_integers(a.integer, call->constant, &result),
                         1))
        return value_integer(result);
    return apply1(call, run, a);
}

// --- comparison ----------------------------------------------------------------------------------

static bool compare_others(const struct expression_builtin *call, struct run *run, value a, value b)
{
    return value_is_true(apply2(call, run, a, b));
}

// Texts are compared most often.
static bool equal_others(const struct expression_builtin *call, struct run *run, value a, value b)
{
    if (a.tag != VALUE_STRING || b.tag != VALUE_STRING)
        return compare_others(call, run, a, b);
    run_spend(run, 2);  // as the builtin does
    bool is_same = value_equal(a, b);
    value_release(run->region, a);
    value_release(run->region, b);
    return is_same;
}

#define COMPARISON(name, operator, otherwise)                                                    \
    static bool test_##name##_any(const struct expression *expression, struct frame *frame,      \
                                  struct run *run)                                               \
    {                                                                                            \
        PART(builtin, call);                                                                     \
        spend_cheap(run);                                                                        \
        value a = evaluate(call->items[0], frame, run);                                          \
        value b = evaluate(call->items[1], frame, run);                                          \
        if (__builtin_expect(a.tag == VALUE_INTEGER && b.tag == VALUE_INTEGER, 1))               \
            return a.integer operator b.integer;                                                 \
        if (a.tag == VALUE_FLOAT && b.tag == VALUE_FLOAT)                                        \
            return a.number operator b.number;                                                   \
        return otherwise(call, run, a, b);                                                       \
    }                                                                                            \
    static bool test_##name##_constant(const struct expression *expression, struct frame *frame, \
                                       struct run *run)                                          \
    {                                                                                            \
        PART(builtin, call);                                                                     \
        const value *a = slot_at(frame, call->place_a);                                          \
        if (__builtin_expect(a->tag != VALUE_INTEGER, 0))                                        \
            return call->test_any(expression, frame, run);                                       \
        spend_cheap(run);                                                                        \
        return a->integer operator call->constant;                                               \
    }                                                                                            \
    static bool test_##name##_locals(const struct expression *expression, struct frame *frame,   \
                                     struct run *run)                                            \
    {                                                                                            \
        PART(builtin, call);                                                                     \
        const value *a = slot_at(frame, call->place_a);                                          \
        const value *b = slot_at(frame, call->place_b);                                          \
        if (__builtin_expect(a->tag != VALUE_INTEGER || b->tag != VALUE_INTEGER, 0))             \
            return call->test_any(expression, frame, run);                                       \
        spend_cheap(run);                                                                        \
        return a->integer operator b->integer;                                                   \
    }                                                                                            \
    static bool test_##name##_any_constant(const struct expression *expression,                  \
                                           struct frame *frame, struct run *run)                 \
    {                                                                                            \
        PART(builtin, call);                                                                     \
        spend_cheap(run);                                                                        \
        value a = evaluate(call->items[call->operand], frame, run);                              \
        if (__builtin_expect(a.tag != VALUE_INTEGER, 0))                                         \
            return value_is_true(apply_constant(call, frame, run, a));                           \
        return a.integer operator call->constant;                                                \
    }

COMPARISON(less, <, compare_others)
COMPARISON(greater, >, compare_others)
COMPARISON(less_equal, <=, compare_others)
COMPARISON(greater_equal, >=, compare_others)
COMPARISON(equal, ==, equal_others)

// --- tests of one operand ------------------------------------------------------------------------

#define PREDICATE(name, condition)                                                    \
    static bool test_##name(const struct expression *expression, struct frame *frame, \
                            struct run *run)                                          \
    {                                                                                 \
        PART(builtin, call);                                                          \
        spend_cheap(run);                                                             \
        value v = evaluate(call->items[0], frame, run);                               \
        if (__builtin_expect(v.tag == VALUE_INTEGER, 1))                              \
            return condition;                                                         \
        return value_is_true(apply1(call, run, v));                                   \
    }

PREDICATE(zero, v.integer == 0)
PREDICATE(positive, v.integer > 0)
PREDICATE(negative, v.integer < 0)
PREDICATE(even, v.integer % 2 == 0)
PREDICATE(odd, v.integer % 2 != 0)

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

// The value of an expression that has a test of its own.
static value eval_from_test(const struct expression *expression, struct frame *frame,
                            struct run *run)
{
    return value_boolean(evaluate_test(expression, frame, run));
}

// --- choosing ------------------------------------------------------------------------------------

struct versions {
    uint32_t count;  // of operands
    eval_fn *eval[OPERANDS_COUNT];
    test_fn *test[OPERANDS_COUNT];
    bool is_symmetric;  // (+ 1 x) is (+ x 1)
    int64_t constant;   // of one operand: what it is added to or compared with
};

#define ARITHMETIC_VERSIONS(op) \
    .count = 2, .eval = {op##_any, op##_constant, op##_locals, op##_local, op##_any_constant}
#define COMPARISON_VERSIONS(op)                                                           \
    .count = 2, .test = {test_##op##_any, test_##op##_constant, test_##op##_locals, NULL, \
                         test_##op##_any_constant}

static const struct versions versions[OPERATION_COUNT] = {
    [OPERATION_ADD] = {ARITHMETIC_VERSIONS(add), .is_symmetric = true},
    [OPERATION_SUBTRACT] = {.count = 2,
                            .eval = {subtract_any, add_constant, subtract_locals, subtract_local,
                                     subtract_any_constant}},
    [OPERATION_MULTIPLY] = {ARITHMETIC_VERSIONS(multiply), .is_symmetric = true},
    [OPERATION_MAXIMUM] = {ARITHMETIC_VERSIONS(maximum), .is_symmetric = true},
    [OPERATION_MINIMUM] = {ARITHMETIC_VERSIONS(minimum), .is_symmetric = true},
    [OPERATION_QUOTIENT] = {ARITHMETIC_VERSIONS(quotient)},
    [OPERATION_REMAINDER] = {ARITHMETIC_VERSIONS(remainder)},
    [OPERATION_MODULO] = {ARITHMETIC_VERSIONS(modulo)},
    [OPERATION_INCREMENT] = {.count = 1, .eval = {step_any, add_constant}, .constant = 1},
    [OPERATION_DECREMENT] = {.count = 1, .eval = {step_any, add_constant}, .constant = -1},
    [OPERATION_LESS] = {COMPARISON_VERSIONS(less)},
    [OPERATION_GREATER] = {COMPARISON_VERSIONS(greater)},
    [OPERATION_LESS_EQUAL] = {COMPARISON_VERSIONS(less_equal)},
    [OPERATION_GREATER_EQUAL] = {COMPARISON_VERSIONS(greater_equal)},
    [OPERATION_EQUAL] = {COMPARISON_VERSIONS(equal), .is_symmetric = true},
    [OPERATION_IS_ZERO] = {.count = 1, .test = {test_zero, test_equal_constant}},
    [OPERATION_IS_POSITIVE] = {.count = 1, .test = {test_positive, test_greater_constant}},
    [OPERATION_IS_NEGATIVE] = {.count = 1, .test = {test_negative, test_less_constant}},
    [OPERATION_IS_EVEN] = {.count = 1, .test = {test_even}},
    [OPERATION_IS_ODD] = {.count = 1, .test = {test_odd}},
    [OPERATION_IS_NIL] = {.count = 1, .test = {test_nil}},
    [OPERATION_IS_SOME] = {.count = 1, .test = {test_some}},
    [OPERATION_NOT] = {.count = 1, .test = {test_not}},
    [OPERATION_ASSOC] = {.count = 3, .eval = {eval_assoc}},
};

static bool is_local(const struct expression *expression)
{
    return expression->kind == EXPRESSION_LOCAL;
}

static int64_t integer_of(const struct expression *expression)
{
    return ((const struct expression_immediate *)expression)->value.integer;
}

// The smallest integer cannot be negated.
static bool is_small_integer(const struct expression *expression)
{
    return expression->kind == EXPRESSION_IMMEDIATE &&
           ((const struct expression_immediate *)expression)->value.tag == VALUE_INTEGER &&
           integer_of(expression) != INT64_MIN;
}

// (+ 1 x) is taken as (+ x 1).
static bool is_swapped(const struct expression_builtin *call, const struct versions *operation)
{
    return operation->is_symmetric && call->count == 2 && is_small_integer(call->items[0]) &&
           !is_small_integer(call->items[1]);
}

static enum operands operands_of(const struct expression_builtin *call,
                                 const struct versions *operation)
{
    if (!operation->eval[OPERANDS_CONSTANT] && !operation->test[OPERANDS_CONSTANT])
        return OPERANDS_ANY;
    bool swapped = is_swapped(call, operation), is_first_local = is_local(call->items[swapped]);
    if (call->count == 2 && (swapped || is_small_integer(call->items[1])))
        return is_first_local ? OPERANDS_CONSTANT : OPERANDS_ANY_CONSTANT;
    if (!is_first_local)
        return OPERANDS_ANY;
    if (call->count == 1)
        return OPERANDS_CONSTANT;
    if (is_local(call->items[1]))
        return OPERANDS_LOCALS;
    return operation->eval[OPERANDS_LOCAL] ? OPERANDS_LOCAL : OPERANDS_ANY;
}

// Copies the operands to where the versions for them find them.
static void note_operands(struct expression_builtin *call, const struct versions *operation,
                          enum operands operands)
{
    call->constant = operation->constant;
    if (operands == OPERANDS_ANY)
        return;
    call->operand = is_swapped(call, operation);
    if (operands != OPERANDS_ANY_CONSTANT)
        call->place_a = ((const struct expression_index *)call->items[call->operand])->place;
    if (operands == OPERANDS_LOCALS)
        call->place_b = ((const struct expression_index *)call->items[1])->place;
    else if (operands != OPERANDS_LOCAL && call->count == 2)
        call->constant = integer_of(call->items[!call->operand]);
    if (operands == OPERANDS_CONSTANT && builtin_operation(call->builtin) == OPERATION_SUBTRACT)
        call->constant = -call->constant;
}

struct specialized_builtin builtin_specialize(struct expression_builtin *call)
{
    const struct versions *operation = &versions[builtin_operation(call->builtin)];
    if (operation->count != call->count)
        return (struct specialized_builtin){0};
    enum operands operands = operands_of(call, operation);
    note_operands(call, operation, operands);
    call->eval_any = operation->eval[OPERANDS_ANY];
    // cppcheck-suppress assignBoolToPointer  // it is a function that returns bool
    call->test_any = operation->test[OPERANDS_ANY];
    return (struct specialized_builtin){
        .eval = operation->test[operands] ? eval_from_test : operation->eval[operands],
        .test = operation->test[operands],
    };
}
