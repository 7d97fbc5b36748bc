// The rounds of a loop, or of a function that ends in recur. The way from the start of the body to the
// next recur is walked here, from expression to expression in tail position, instead of by calls: so
// a round of a short loop costs no call at all, and its fuel is taken in one piece.
#include <stdio.h>

#include "program/eval/eval.h"

struct round {
    struct frame *frame;
    struct run *run;
    int64_t spent;  // units of fuel not yet taken; none is left open when other code runs
};

static inline void settle(struct round *round)
{
    round->run->fuel -= round->spent;
    round->spent = 0;
}

static __attribute__((noinline)) _Noreturn void fail_jumps(struct run *run)
{
    char message[80];
    snprintf(message, sizeof(message), "a loop exceeded %lld recur jumps",
             (long long)run->limits.loop_limit);
    run_raise_limit(run, LOOP_LIMIT, "recur", "loop_limit", run->limits.loop_limit, message);
}

static inline bool test_any_way(struct round *round, const struct expression *test)
{
    settle(round);
    return evaluate_test(test, round->frame, round->run);
}

static inline bool test_compare(struct round *round, const struct expression *test)
{
    const struct expression_builtin *call = (const void *)test;
    const value *a = &round->frame->slots[call->slot_a];
    int64_t other = call->constant;
    if (call->operands == OPERANDS_LOCALS) {
        const value *b = &round->frame->slots[call->slot_b];
        if (__builtin_expect(b->tag != VALUE_INTEGER, 0))
            return test_any_way(round, test);
        other = b->integer;
    }
    if (__builtin_expect(a->tag != VALUE_INTEGER, 0))
        return test_any_way(round, test);
    round->spent++;
    return order_accepts(call->accepts, a->integer, other);
}

static inline const struct expression *walk_if(struct round *round,
                                               const struct expression *expression, bool compares)
{
    PART(if, branch);
    bool yes = compares ? test_compare(round, branch->test) : test_any_way(round, branch->test);
    return yes ? branch->then : branch->otherwise;
}

// NULL: no test was true.
static const struct expression *walk_cond(struct round *round, const struct expression *expression)
{
    PART(list, list);
    settle(round);
    for (uint32_t i = 0; i < list->count; i += 2) {
        if (evaluate_test(list->items[i], round->frame, round->run))
            return list->items[i + 1];
    }
    return NULL;
}

static const struct expression *walk_do(struct round *round, const struct expression *expression)
{
    PART(list, list);
    settle(round);
    for (uint32_t i = 0; i + 1 < list->count; i++)
        value_release(round->run->region, evaluate(list->items[i], round->frame, round->run));
    return list->items[list->count - 1];
}

static const struct expression *walk_let(struct round *round, const struct expression *expression)
{
    PART(let, let);
    settle(round);
    for (uint32_t i = 0; i < let->count; i++)
        pattern_bind_fast(round->run, round->frame, let->steps[i].pattern,
                          evaluate(let->steps[i].value, round->frame, round->run));
    return let->body;
}

static inline value recur_item(struct round *round, const struct expression *item)
{
    value v;
    if (quick_value(item, round->frame, &v, &round->spent))
        return v;
    settle(round);
    return evaluate(item, round->frame, round->run);
}

// All values are known before the first is stored. They stay in registers: an array of them would be
// written in halves and read as wholes, for which the processor has to wait.
static inline void walk_recur(struct round *round, const struct expression *expression)
{
    PART(recur, recur);
    value a = value_nil(), b = value_nil(), c = value_nil();
    round->spent++;
    if (recur->count > 0)
        a = recur_item(round, recur->items[0]);
    if (recur->count > 1)
        b = recur_item(round, recur->items[1]);
    if (recur->count > 2)
        c = recur_item(round, recur->items[2]);
    settle(round);
    round->run->site = expression;  // where too many jumps are reported
    if (recur->count > 0)
        slot_store(round->run, round->frame, recur->slots[0], a);
    if (recur->count > 1)
        slot_store(round->run, round->frame, recur->slots[1], b);
    if (recur->count > 2)
        slot_store(round->run, round->frame, recur->slots[2], c);
    if (__builtin_expect(round->run->fuel < 0, 0))
        run_refill(round->run);
}

value rounds_run(const struct expression *body, struct frame *frame, struct run *run, int64_t jumps)
{
    struct round round = {.frame = frame, .run = run};
    const uint64_t limit = (uint64_t)run->limits.loop_limit;  // -1 = none
    const struct expression *next = body;
    if ((uint64_t)jumps > limit)
        fail_jumps(run);
    for (;;) {
        switch ((enum walk)next->walk) {
        case WALK_IF: next = walk_if(&round, next, false); continue;
        case WALK_IF_COMPARE: next = walk_if(&round, next, true); continue;
        case WALK_DO: next = walk_do(&round, next); continue;
        case WALK_LET: next = walk_let(&round, next); continue;
        case WALK_COND:
            if (!(next = walk_cond(&round, next)))
                return value_nil();
            continue;
        case WALK_RECUR: walk_recur(&round, next); break;
        case WALK_VALUE:
            settle(&round);
            value v = evaluate(next, frame, run);
            if (v.tag != VALUE_RECUR)
                return v;
        }
        if ((uint64_t)++jumps > limit)
            fail_jumps(run);
        next = body;
    }
}
