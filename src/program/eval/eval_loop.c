// Evaluating loop, recur, for and doseq.
//
// An iteration follows the body from expression to expression in tail position, without recursion,
// until it comes to a recur or to the loop's value.
#include <alloca.h>
#include <stdio.h>

#include "program/eval/eval.h"
#include "program/eval/generator.h"
#include "program/eval/stack.h"
#include "value/text/sink.h"
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

// A :while of a binding may end its iteration.
static bool may_end(const struct expression_for *loop, uint32_t index)
{
    while (++index < loop->count && loop->clauses[index].kind != CLAUSE_EACH)
        if (loop->clauses[index].kind == CLAUSE_WHILE)
            return true;
    return false;
}

static value clause_collection(const struct comprehension *comprehension, uint32_t index)
{
    const struct clause *clause = &comprehension->loop->clauses[index];
    value collection = evaluate(clause->value, comprehension->frame, comprehension->run);
    comprehension->run->site = clause->value;
    return collection;
}

static void run_each(struct comprehension *comprehension, uint32_t index, value collection)
{
    const struct clause *clause = &comprehension->loop->clauses[index];
    struct run *run = comprehension->run;
    const struct expression_for *loop = comprehension->loop;
    struct builtin self = {.name = loop->base.flag ? "for" : "doseq"};
    if (loop->base.flag && value_is_generator(collection) && generator_is_endless(collection) &&
        !may_end(loop, index))
        fail_endless(run, &self);
    struct sequence items;
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
        case CLAUSE_EACH:
            run_each(comprehension, index, clause_collection(comprehension, index));
            return GO_ON;
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

// --- for over a generator ------------------------------------------------------------------------
//
// Its results are a generator as well: the first collection is iterated as they are wanted. What an
// iteration needs of the frame is kept beside it.

struct suspended {
    struct foreign foreign;
    const struct expression_for *loop;
    struct instance *instance;
    value closure;  // nil at top level
    value slots[];
};

static size_t suspended_size(const struct object *object)
{
    const struct suspended *suspended = (const struct suspended *)object;
    return sizeof(*suspended) + suspended->loop->code->slot_count * sizeof(value);
}

static value *suspended_children(struct object *object, size_t *ret_count)
{
    struct suspended *suspended = (struct suspended *)object;
    *ret_count = 1 + suspended->loop->code->slot_count;
    return &suspended->closure;
}

static void suspended_print(struct sink *sink, const struct object *object)
{
    (void)object;
    sink_text(sink, "#<for>");
}

static const struct object_type suspended_type = {
    .kind = "for",
    .size = suspended_size,
    .children = suspended_children,
    .print = suspended_print,
};

static value suspend(struct run *run, const struct expression_for *loop, const struct frame *frame)
{
    uint32_t count = loop->code->slot_count;
    struct suspended *suspended =
        region_alloc(run->region, sizeof(*suspended) + count * sizeof(value));
    *suspended = (struct suspended){
        .foreign = {.header = object_header(OBJECT_FOREIGN), .type = &suspended_type},
        .loop = loop,
        .instance = frame->instance,
        .closure = value_nil(),
    };
    if (frame->closure)
        suspended->closure =
            value_retain((value){.tag = VALUE_FUNCTION, .object = &frame->closure->foreign.header});
    for (uint32_t i = 0; i < count; i++)
        suspended->slots[i] = value_retain(frame->slots[i]);
    return (value){.tag = VALUE_FUNCTION, .object = &suspended->foreign.header};
}

struct resumption {
    struct run *run;
    const struct suspended *suspended;
    value item;
    value results;
};

static void resume(void *data)
{
    struct resumption *resumption = data;
    struct run *run = resumption->run;
    const struct suspended *suspended = resumption->suspended;
    const struct expression_for *loop = suspended->loop;
    uint32_t count = loop->code->slot_count;
    struct frame *frame = alloca(sizeof(*frame) + count * sizeof(value));
    frame->closure =
        value_is_nil(suspended->closure) ? NULL : (struct closure *)suspended->closure.object;
    frame->instance = suspended->instance;
    for (uint32_t i = 0; i < count; i++)
        frame->slots[i] = value_retain(suspended->slots[i]);
    struct comprehension comprehension = {loop, frame, run, vector_new(run->region, 0)};
    pattern_bind_inline(run, frame, loop->clauses[0].pattern, resumption->item);
    run_clauses(&comprehension, 1);
    for (uint32_t i = 0; i < count; i++)
        value_release(run->region, frame->slots[i]);
    resumption->results = comprehension.result;
}

value for_results(struct run *run, value suspended, value item)
{
    struct resumption resumption = {run, (const struct suspended *)suspended.object, item,
                                    value_nil()};
    size_t need = resumption.suspended->loop->code->stack_need;
    if (stack_is_low(run->stack_end, need))
        stack_call(run, need, resume, &resumption);
    else
        resume(&resumption);
    return resumption.results;
}

// --- the forms -----------------------------------------------------------------------------------

value eval_for(const struct expression *expression, struct frame *frame, struct run *run)
{
    PART(for, loop);
    struct comprehension comprehension = {
        .loop = loop,
        .frame = frame,
        .run = run,
        .result = expression->flag ? vector_new(run->region, 0) : value_nil(),
    };
    value collection = clause_collection(&comprehension, 0);
    if (expression->flag && value_is_generator(collection) && !may_end(loop, 0))
        return generator_new(run, GENERATOR_FOR, suspend(run, loop, frame), collection);
    run_each(&comprehension, 0, collection);
    return expression->flag ? vector_as_seq(comprehension.result) : value_nil();
}
