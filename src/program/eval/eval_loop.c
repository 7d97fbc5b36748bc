// Evaluating loop, recur, for and doseq.
//
// An iteration follows the body from expression to expression in tail position, without recursion,
// until it comes to a recur or to the loop's value.
#include <stdio.h>

#include "program/eval/eval.h"
#include "value/text/text.h"

// --- iterations ----------------------------------------------------------------------------------

static __attribute__((noinline)) _Noreturn void fail_jumps(struct run *run)
{
    char message[80];
    snprintf(message, sizeof(message), "a loop exceeded %lld recur jumps",
             (long long)run->limits.loop_limit);
    run_raise_limit(run, LOOP_LIMIT, "recur", "loop_limit", run->limits.loop_limit, message);
}

static const struct expression *loop_do(const struct expression *expression, struct frame *frame,
                                        struct run *run)
{
    PART(list, list);
    for (uint32_t i = 0; i + 1 < list->count; i++)
        value_release(run->region, evaluate(list->items[i], frame, run));
    return list->items[list->count - 1];
}

static inline const struct expression *loop_let(const struct expression *expression,
                                                struct frame *frame, struct run *run)
{
    PART(let, let);
    for (uint32_t i = 0; i < let->count; i++)
        pattern_bind_inline(run, frame, let->steps[i].pattern,
                            evaluate(let->steps[i].value, frame, run));
    return let->body;
}

// All values are known before the first is stored. The count is a constant where this is inlined, so
// that the values stay in registers: this avoids a store-to-load forwarding stall.
static inline __attribute__((always_inline)) void loop_recur(const struct expression *expression,
                                                             struct frame *frame, struct run *run,
                                                             uint32_t count)
{
    PART(recur, recur);
    spend_cheap(run);
    value a = evaluate(recur->items[0], frame, run);
    value b = count > 1 ? evaluate(recur->items[1], frame, run) : value_nil();
    value c = count > 2 ? evaluate(recur->items[2], frame, run) : value_nil();
    value d = count > 3 ? evaluate(recur->items[3], frame, run) : value_nil();
    run->site = recur;  // where too many jumps are reported
    slot_store_at(run, slot_at(frame, recur->places[0]), a);
    if (count > 1)
        slot_store_at(run, slot_at(frame, recur->places[1]), b);
    if (count > 2)
        slot_store_at(run, slot_at(frame, recur->places[2]), c);
    if (count > 3)
        slot_store_at(run, slot_at(frame, recur->places[3]), d);
    if (__builtin_expect(run->fuel < 0, 0))
        run_refill(run);
}

value loop_run(const struct expression *body, struct frame *frame, struct run *run, int64_t jumps)
{
    // -1, no limit, is more than can be counted to.
    uint64_t left = (uint64_t)run->limits.loop_limit - (uint64_t)jumps;
    const struct expression *next = body;
    if ((uint64_t)jumps > (uint64_t)run->limits.loop_limit)
        fail_jumps(run);
    for (;;) {
        switch ((enum loop_kind)next->loop_kind) {
        case LOOP_IF: next = if_choose(next, frame, run); continue;
        case LOOP_DO: next = loop_do(next, frame, run); continue;
        case LOOP_LET: next = loop_let(next, frame, run); continue;
        case LOOP_RECUR1: loop_recur(next, frame, run, 1); break;
        case LOOP_RECUR2: loop_recur(next, frame, run, 2); break;
        case LOOP_RECUR3: loop_recur(next, frame, run, 3); break;
        case LOOP_RECUR4: loop_recur(next, frame, run, 4); break;
        case LOOP_VALUE: {
            value v = evaluate(next, frame, run);
            if (v.tag != VALUE_RECUR)
                return v;
            break;
        }
        default: __builtin_unreachable();
        }
        if (__builtin_expect(__builtin_sub_overflow(left, 1, &left), 0))
            fail_jumps(run);
        next = body;
    }
}

value eval_loop(const struct expression *expression, struct frame *frame, struct run *run)
{
    PART(loop, loop);
    for (uint32_t i = 0; i < loop->count; i++)
        pattern_bind_inline(run, frame, loop->steps[i].pattern,
                            evaluate(loop->steps[i].value, frame, run));
    return loop_run(loop->body, frame, run, 0);
}

// --- recur ---------------------------------------------------------------------------------------

// Every pattern is a slot: the new values are computed, then stored.
value eval_recur_slots(const struct expression *expression, struct frame *frame, struct run *run)
{
    PART(recur, recur);
    value values[RECUR_SLOTS_MAX];
    spend_call(run);
    for (uint32_t i = 0; i < recur->count; i++)
        values[i] = evaluate(recur->items[i], frame, run);
    run->site = expression;
    for (uint32_t i = 0; i < recur->count; i++)
        slot_store(run, frame, recur->patterns[i]->slot, values[i]);
    return value_recur();
}

value eval_recur(const struct expression *expression, struct frame *frame, struct run *run)
{
    PART(recur, recur);
    spend_call(run);
    value values = vector_new(run->region, recur->count);
    for (uint32_t i = 0; i < recur->count; i++)
        values = vector_push(run->region, values, evaluate(recur->items[i], frame, run));
    run->site = expression;
    if (recur->count != recur->wanted)
        run_raise(run, ARITY_MISMATCH, "recur", "recur: expected %u value%s, got %u",
                  (unsigned)recur->wanted, recur->wanted == 1 ? "" : "s", (unsigned)recur->count);
    for (uint32_t i = 0; i < recur->count; i++) {
        value v = value_retain(vector_at(values, i));
        if (recur->has_rest && i + 1 == recur->count)
            pattern_bind_rest(run, frame, recur->patterns[i], v);
        else
            pattern_bind_inline(run, frame, recur->patterns[i], v);
    }
    value_release(run->region, values);
    run->site = expression;
    return value_recur();
}

// --- for, doseq ----------------------------------------------------------------------------------

struct comprehension {
    const struct expression_for *loop;
    struct frame *frame;
    struct run *run;
    value result;  // vector, or nil for doseq
};

enum progress { GO_ON, STOP_BINDING };

static enum progress run_clauses(struct comprehension *comprehension, uint32_t index);

static void run_each(struct comprehension *comprehension, uint32_t index)
{
    const struct clause *clause = &comprehension->loop->clauses[index];
    struct run *run = comprehension->run;
    struct builtin self = {.name = comprehension->loop->base.flag ? "for" : "doseq"};
    value collection = evaluate(clause->value, comprehension->frame, run);
    struct sequence items;
    run->site = clause->value;
    sequence_start(run, &self, 1, &items, collection);
    value item;
    while (sequence_next(&items, &item)) {
        pattern_bind_inline(run, comprehension->frame, clause->pattern, item);
        if (run_clauses(comprehension, index + 1) == STOP_BINDING)
            break;
    }
    sequence_end(&items);
}

// The clauses from `index` to the end, and the body. :while stops the binding just before it.
static enum progress run_clauses(struct comprehension *comprehension, uint32_t index)
{
    const struct expression_for *loop = comprehension->loop;
    struct run *run = comprehension->run;
    struct frame *frame = comprehension->frame;
    for (; index < loop->count; index++) {
        const struct clause *clause = &loop->clauses[index];
        switch ((enum clause_kind)clause->kind) {
        case CLAUSE_EACH: run_each(comprehension, index); return GO_ON;
        case CLAUSE_LET:
            for (uint32_t i = 0; i < clause->count; i++)
                pattern_bind_inline(run, frame, clause->steps[i].pattern,
                                    evaluate(clause->steps[i].value, frame, run));
            break;
        case CLAUSE_WHEN:
            if (!evaluate_test(clause->value, frame, run))
                return GO_ON;
            break;
        case CLAUSE_WHILE:
            if (!evaluate_test(clause->value, frame, run))
                return STOP_BINDING;
            break;
        }
    }
    value v = evaluate(loop->body, frame, run);
    if (loop->base.flag)
        comprehension->result = vector_push(run->region, comprehension->result, v);
    else
        value_release(run->region, v);
    return GO_ON;
}

value eval_for(const struct expression *expression, struct frame *frame, struct run *run)
{
    PART(for, loop);
    struct comprehension comprehension = {
        .loop = loop,
        .frame = frame,
        .run = run,
        .result = expression->flag ? vector_new(run->region, 0) : value_nil(),
    };
    run_clauses(&comprehension, 0);
    return expression->flag ? vector_as_seq(comprehension.result) : value_nil();
}
