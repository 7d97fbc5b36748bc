// Rounds of a loop over integers: (if (< i n) (recur (inc i) (+ s i)) …), where every variable is a
// 64-bit integer and every new value is a term (term.h). The first round that is different, because
// the test fails or a number grows too large, is left to rounds_run().
#include "program/eval/term.h"

struct integer_loop {
    struct term test;
    uint8_t accepts;
    bool recurs_when;  // the outcome of the test that leads to recur
    uint32_t count;
    int64_t units;  // of fuel for one round
    struct term terms[RECUR_FEW];
    int64_t *targets[RECUR_FEW];
};

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
    if (!term_resolve_operands(&loop->test, test, frame))
        return false;
    for (uint32_t i = 0; i < recur->count; i++) {
        value *target = &frame->slots[recur->slots[i]];
        loop->targets[i] = &target->integer;
        if (target->tag != VALUE_INTEGER ||
            !term_resolve(&loop->terms[i], recur->items[i], frame, &loop->units))
            return false;
    }
    return true;
}

// One round; false, and nothing has changed, when it is not an integer round that ends in recur.
static inline bool integer_round(const struct integer_loop *loop)
{
    int64_t results[RECUR_FEW];
    if (order_accepts(loop->accepts, *loop->test.a, *loop->test.b) != loop->recurs_when)
        return false;
    for (uint32_t i = 0; i < loop->count; i++) {
        if (!term_evaluate(&loop->terms[i], &results[i]))
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
            run_refill(run);
    }
    return (int64_t)jumps;
}

bool integer_rounds_possible(const struct expression_if *branch)
{
    const struct expression *next =
        branch->then->walk == WALK_RECUR ? branch->then : branch->otherwise;
    const struct expression_recur *recur = (const void *)next;
    if (next->walk != WALK_RECUR)
        return false;
    for (uint32_t i = 0; i < recur->count; i++) {
        if (!term_is_possible(recur->items[i]))
            return false;
    }
    return true;
}
