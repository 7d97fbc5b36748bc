// Rounds of a loop over integers: (if (< i n) (recur (inc i) (+ s i)) …), where every variable is a
// 64-bit integer and every new value is a local, a constant, or a sum, difference or product of two
// of them. Such rounds need no look at tags, no counting of references and no call. The first round
// that is different, because the test fails or a number grows too large, is left to rounds_run().
#include "program/eval.h"

struct term {  // a op b
    const int64_t *a;
    const int64_t *b;
    uint8_t operation;  // enum operation
};

struct integer_loop {
    struct term test;
    uint8_t accepts;
    bool recurs_when;  // the outcome of the test that leads to recur
    uint32_t count;
    int64_t units;  // of fuel for one round
    struct term terms[RECUR_FEW];
    int64_t *targets[RECUR_FEW];
};

static const int64_t zero;

static const int64_t *integer_slot(const struct frame *frame, uint32_t slot)
{
    const value *v = &frame->slots[slot];
    return v->tag == VALUE_INTEGER ? &v->integer : NULL;
}

static bool resolve_operands(struct term *term, const struct expression_builtin *call,
                             const struct frame *frame)
{
    term->a = integer_slot(frame, call->slot_a);
    term->b =
        call->operands == OPERANDS_LOCALS ? integer_slot(frame, call->slot_b) : &call->constant;
    return term->a && term->b;
}

static bool resolve_term(struct integer_loop *loop, struct term *term,
                         const struct expression *expression, const struct frame *frame)
{
    *term = (struct term){.b = &zero, .operation = OPERATION_ADD};
    if (expression->kind == EXPRESSION_LOCAL) {
        term->a = integer_slot(frame, ((const struct expression_index *)expression)->index);
    } else if (expression->kind == EXPRESSION_IMMEDIATE) {
        const value *v = &((const struct expression_immediate *)expression)->value;
        term->a = v->tag == VALUE_INTEGER ? &v->integer : NULL;
    } else {
        const struct expression_builtin *call = (const void *)expression;
        term->operation = call->operation;
        loop->units++;
        return resolve_operands(term, call, frame);
    }
    return term->a;
}

static bool resolve_loop(struct integer_loop *loop, const struct expression_if *branch,
                         struct frame *frame)
{
    const struct expression_builtin *test = (const void *)branch->test;
    loop->recurs_when = branch->then->walk == WALK_RECUR;
    const struct expression_recur *recur =
        (const void *)(loop->recurs_when ? branch->then : branch->otherwise);
    loop->accepts = test->accepts;
    loop->count = recur->count;
    loop->units = 2;  // the test and recur
    if (!resolve_operands(&loop->test, test, frame))
        return false;
    for (uint32_t i = 0; i < recur->count; i++) {
        value *target = &frame->slots[recur->slots[i]];
        loop->targets[i] = &target->integer;
        if (target->tag != VALUE_INTEGER ||
            !resolve_term(loop, &loop->terms[i], recur->items[i], frame))
            return false;
    }
    return true;
}

static inline bool overflows(const struct term *term, int64_t *ret_result)
{
    if (term->operation == OPERATION_ADD)
        return __builtin_add_overflow(*term->a, *term->b, ret_result);
    if (term->operation == OPERATION_SUBTRACT)
        return __builtin_sub_overflow(*term->a, *term->b, ret_result);
    return __builtin_mul_overflow(*term->a, *term->b, ret_result);
}

// One round; false, and nothing has changed, when it is not an integer round that ends in recur.
static inline bool integer_round(const struct integer_loop *loop)
{
    int64_t results[RECUR_FEW];
    if (order_accepts(loop->accepts, *loop->test.a, *loop->test.b) != loop->recurs_when)
        return false;
    for (uint32_t i = 0; i < loop->count; i++) {
        if (overflows(&loop->terms[i], &results[i]))
            return false;
    }
    for (uint32_t i = 0; i < loop->count; i++)
        *loop->targets[i] = results[i];
    return true;
}

int64_t integer_rounds(const struct expression_if *branch, struct frame *frame, struct run *run,
                       uint64_t most)
{
    struct integer_loop loop;
    uint64_t jumps = 0;
    if (!resolve_loop(&loop, branch, frame))
        return 0;
    while (jumps < most && integer_round(&loop)) {
        jumps++;
        if (__builtin_expect((run->fuel -= loop.units) < 0, 0))
            run_refuel(run);
    }
    return (int64_t)jumps;
}

static bool is_term(const struct expression *expression)
{
    const struct expression_builtin *call = (const void *)expression;
    return expression->kind == EXPRESSION_LOCAL || expression->kind == EXPRESSION_IMMEDIATE ||
           (expression->kind == EXPRESSION_CALL_BUILTIN && call->operation != OPERATION_OTHER);
}

bool integer_rounds_possible(const struct expression_if *branch)
{
    const struct expression *next =
        branch->then->walk == WALK_RECUR ? branch->then : branch->otherwise;
    const struct expression_recur *recur = (const void *)next;
    if (next->walk != WALK_RECUR)
        return false;
    for (uint32_t i = 0; i < recur->count; i++) {
        if (!is_term(recur->items[i]))
            return false;
    }
    return true;
}
