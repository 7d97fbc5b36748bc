// Evaluating names, literals, branches and bindings.
#include "program/builtin/support.h"
#include "program/builtin/where.h"
#include "program/eval/eval.h"
#include "program/run/run_memory.h"

value eval_immediate(const struct expression *expression, struct frame *frame, struct run *run)
{
    (void)frame;
    (void)run;
    return ((const struct expression_immediate *)expression)->value;
}

value eval_constant(const struct expression *expression, struct frame *frame, struct run *run)
{
    (void)run;
    return value_retain(
        frame->instance->constants[((const struct expression_index *)expression)->index]);
}

value eval_local_copy(const struct expression *expression, struct frame *frame, struct run *run)
{
    (void)run;
    return value_retain(*slot_at(frame, ((const struct expression_index *)expression)->place));
}

value eval_local_move(const struct expression *expression, struct frame *frame, struct run *run)
{
    (void)run;
    value *place = slot_at(frame, ((const struct expression_index *)expression)->place);
    value v = *place;
    *place = value_nil();
    return v;
}

value eval_capture(const struct expression *expression, struct frame *frame, struct run *run)
{
    (void)run;
    return value_retain(
        frame->closure->captures[((const struct expression_index *)expression)->index]);
}

value eval_self(const struct expression *expression, struct frame *frame, struct run *run)
{
    (void)expression;
    (void)run;
    object_retain(&frame->closure->foreign.header);
    return (value){.tag = VALUE_FUNCTION, .object = &frame->closure->foreign.header};
}

value eval_global(const struct expression *expression, struct frame *frame, struct run *run)
{
    (void)frame;
    uint32_t index = ((const struct expression_index *)expression)->index;
    const struct global_slot *slot = &run->state->branch.globals[index];
    if (__builtin_expect(!slot->is_bound, 0)) {
        run->site = expression;
        run_memory_fail_unbound(run, index);
    }
    return value_retain(slot->value);
}

value eval_global_or_nil(const struct expression *expression, struct frame *frame, struct run *run)
{
    (void)frame;
    uint32_t index = ((const struct expression_index *)expression)->index;
    return value_retain(run->state->branch.globals[index].value);
}

value eval_memory(const struct expression *expression, struct frame *frame, struct run *run)
{
    uint32_t name = ((const struct expression_index *)expression)->index;
    return run_memory_read(run, frame->instance->constants[name]);
}

// --- branches ------------------------------------------------------------------------------------

bool test_any(const struct expression *expression, struct frame *frame, struct run *run)
{
    value v = evaluate(expression, frame, run);
    bool yes = value_is_true(v);
    value_release(run->region, v);
    return yes;
}

bool test_local(const struct expression *expression, struct frame *frame, struct run *run)
{
    (void)run;
    return value_is_true(*slot_at(frame, ((const struct expression_index *)expression)->place));
}

bool test_and(const struct expression *expression, struct frame *frame, struct run *run)
{
    PART(list, list);
    struct expression **item = list->items, **last = item + list->count - 1;
    for (; item < last; item++) {
        if (!evaluate_test(*item, frame, run))
            return false;
    }
    return evaluate_test(*last, frame, run);
}

bool test_or(const struct expression *expression, struct frame *frame, struct run *run)
{
    PART(list, list);
    struct expression **item = list->items, **last = item + list->count - 1;
    for (; item < last; item++) {
        if (evaluate_test(*item, frame, run))
            return true;
    }
    return evaluate_test(*last, frame, run);
}

value eval_if(const struct expression *expression, struct frame *frame, struct run *run)
{
    return evaluate(if_choose(expression, frame, run), frame, run);
}

value eval_do(const struct expression *expression, struct frame *frame, struct run *run)
{
    PART(list, list);
    for (uint32_t i = 0; i + 1 < list->count; i++)
        value_release(run->region, evaluate(list->items[i], frame, run));
    return evaluate(list->items[list->count - 1], frame, run);
}

value eval_and(const struct expression *expression, struct frame *frame, struct run *run)
{
    PART(list, list);
    for (uint32_t i = 0; i + 1 < list->count; i++) {
        value v = evaluate(list->items[i], frame, run);
        if (!value_is_true(v))
            return v;
        value_release(run->region, v);
    }
    return evaluate(list->items[list->count - 1], frame, run);
}

value eval_or(const struct expression *expression, struct frame *frame, struct run *run)
{
    PART(list, list);
    for (uint32_t i = 0; i + 1 < list->count; i++) {
        value v = evaluate(list->items[i], frame, run);
        if (value_is_true(v))
            return v;
        value_release(run->region, v);
    }
    return evaluate(list->items[list->count - 1], frame, run);
}

enum { NO_CLAUSE_SHOWN = 200 };  // bytes

// case or condp without a default, and no clause is the subject's.
static _Noreturn void fail_no_clause(struct run *run, const struct expression *expression,
                                     const char *name, value subject)
{
    run->site = expression;
    value text = text_of_all(run, &subject, 1, false);
    struct span shown = value_text(text);
    run_raise(run, RUNTIME_ERROR, name, "No matching clause: %.*s",
              shown.length > NO_CLAUSE_SHOWN ? NO_CLAUSE_SHOWN : (int)shown.length, shown.data);
}

// No constant matched, perhaps because the subject is a key of JSON data.
static void warn_case(const struct expression_case *branch, value subject, struct frame *frame,
                      struct run *run)
{
    if (subject.tag != VALUE_STRING && subject.tag != VALUE_KEYWORD)
        return;
    run->site = branch;
    for (uint32_t i = 0; i < branch->count; i++)
        run_warn_comparison(run, subject, frame->instance->constants[branch->constants[i]]);
}

value eval_case(const struct expression *expression, struct frame *frame, struct run *run)
{
    PART(case, branch);
    value subject = evaluate(branch->subject, frame, run);
    const struct expression *result = branch->base.flag ? branch->otherwise : NULL;
    for (uint32_t i = 0; i < branch->count; i++) {
        if (value_equal(subject, frame->instance->constants[branch->constants[i]])) {
            result = branch->results[i];
            break;
        }
    }
    run_spend(run, branch->count / 4 + 1);
    if (!result || result == branch->otherwise)
        warn_case(branch, subject, frame, run);
    if (!result)
        fail_no_clause(run, expression, "case", subject);
    value_release(run->region, subject);
    return evaluate(result, frame, run);
}

// The function behind :>> gets what the test gave.
static value call_receiver(const struct expression *function, struct frame *frame, struct run *run,
                           value answer)
{
    value f = evaluate(function, frame, run);
    run->site = function;
    value result = run_call1(run, f, answer);
    value_release(run->region, f);
    return result;
}

value eval_condp(const struct expression *expression, struct frame *frame, struct run *run)
{
    PART(condp, branch);
    value predicate = evaluate(branch->predicate, frame, run);
    value subject = evaluate(branch->subject, frame, run);
    const struct expression *result = branch->base.flag ? branch->otherwise : NULL;
    value answer = value_nil();
    bool receives = false;
    for (uint32_t i = 0; i < branch->count; i += 2) {
        value test = evaluate(branch->items[i], frame, run);
        run->site = expression;
        answer = run_call2(run, predicate, test, value_retain(subject));
        if (value_is_true(answer)) {
            result = branch->items[i + 1];
            receives = branch->receives[i / 2];
            break;
        }
        value_release(run->region, answer);
        answer = value_nil();
    }
    if (!result)
        fail_no_clause(run, expression, "condp", subject);
    value_release(run->region, predicate);
    value_release(run->region, subject);
    if (receives)
        return call_receiver(result, frame, run, answer);
    value_release(run->region, answer);
    return evaluate(result, frame, run);
}

// The first element of a non-empty collection; consumes it.
static bool first_item(struct run *run, value collection, value *ret_first)
{
    struct sequence items;
    static const struct builtin self = {.name = "when-first"};
    sequence_start(run, &self, 1, &items, collection);
    bool found = sequence_next(&items, ret_first);
    sequence_end(&items);
    return found;
}

value eval_bind_if(const struct expression *expression, struct frame *frame, struct run *run)
{
    PART(bind_if, branch);
    value v = evaluate(branch->value, frame, run);
    bool binds = branch->test == BIND_IF_TRUE ? value_is_true(v) : !value_is_nil(v);
    if (branch->test == BIND_IF_FIRST) {
        run->site = expression;
        binds = first_item(run, v, &v);
    } else if (!binds) {
        value_release(run->region, v);
    }
    if (!binds)
        return evaluate(branch->otherwise, frame, run);
    slot_store(run, frame, branch->slot, v);
    return evaluate(branch->then, frame, run);
}

// --- bindings ------------------------------------------------------------------------------------

value eval_let(const struct expression *expression, struct frame *frame, struct run *run)
{
    PART(let, let);
    for (uint32_t i = 0; i < let->count; i++)
        pattern_bind_inline(run, frame, let->steps[i].pattern,
                            evaluate(let->steps[i].value, frame, run));
    return evaluate(let->body, frame, run);
}

value eval_let_one(const struct expression *expression, struct frame *frame, struct run *run)
{
    PART(let, let);
    value v = evaluate(let->steps[0].value, frame, run);
    slot_store(run, frame, let->steps[0].pattern->slot, v);
    return evaluate(let->body, frame, run);
}

value eval_thread_some(const struct expression *expression, struct frame *frame, struct run *run)
{
    PART(thread, thread);
    slot_store(run, frame, thread->slot, evaluate(thread->start, frame, run));
    for (uint32_t i = 0; i < thread->count; i++) {
        if (value_is_nil(frame->slots[thread->slot]))
            return value_nil();
        slot_store(run, frame, thread->slot, evaluate(thread->items[i], frame, run));
    }
    value v = frame->slots[thread->slot];
    frame->slots[thread->slot] = value_nil();
    return v;
}

value eval_thread_cond(const struct expression *expression, struct frame *frame, struct run *run)
{
    PART(thread, thread);
    slot_store(run, frame, thread->slot, evaluate(thread->start, frame, run));
    for (uint32_t i = 0; i < thread->count; i += 2) {
        if (evaluate_test(thread->items[i], frame, run))
            slot_store(run, frame, thread->slot, evaluate(thread->items[i + 1], frame, run));
    }
    value v = frame->slots[thread->slot];
    frame->slots[thread->slot] = value_nil();
    return v;
}

// --- collections ---------------------------------------------------------------------------------

value eval_vector(const struct expression *expression, struct frame *frame, struct run *run)
{
    PART(list, list);
    value vector = vector_new(run->region, list->count);
    for (uint32_t i = 0; i < list->count; i++)
        vector = vector_push(run->region, vector, evaluate(list->items[i], frame, run));
    return vector;
}

value eval_map(const struct expression *expression, struct frame *frame, struct run *run)
{
    PART(list, list);
    value map = map_new(run->region);
    for (uint32_t i = 0; i < list->count; i += 2) {
        value key = evaluate(list->items[i], frame, run);
        map = map_put(run->region, map, key, evaluate(list->items[i + 1], frame, run));
    }
    return map;
}

value eval_set(const struct expression *expression, struct frame *frame, struct run *run)
{
    PART(list, list);
    value set = set_new(run->region);
    for (uint32_t i = 0; i < list->count; i++)
        set = set_add(run->region, set, evaluate(list->items[i], frame, run));
    return set;
}

value eval_where(const struct expression *expression, struct frame *frame, struct run *run)
{
    PART(where, where);
    value operand = where->value ? evaluate(where->value, frame, run) : value_nil();
    return where_predicate(run, where->operation,
                           value_retain(frame->instance->constants[where->field]), operand);
}

// --- memory, leaving -----------------------------------------------------------------------------

value eval_def(const struct expression *expression, struct frame *frame, struct run *run)
{
    PART(def, def);
    struct span name = run->state->program->globals[def->global].name;
    value key = value_keyword(run->region, name);
    value present;
    if (!expression->flag || !map_find(run->state->branch.memory, key, &present)) {
        value v = evaluate(def->value, frame, run);
        run_memory_define(run, def->global, value_retain(key), v);
    }
    value_release(run->region, key);
    return value_var(run->region, name);
}

value eval_memory_put(const struct expression *expression, struct frame *frame, struct run *run)
{
    PART(call, call);
    value name = evaluate(call->items[0], frame, run);
    value v = evaluate(call->items[1], frame, run);
    run->site = expression;
    run_memory_write(run, run_memory_name(run, "memory/put", name), value_retain(v));
    return v;
}

value eval_memory_get(const struct expression *expression, struct frame *frame, struct run *run)
{
    PART(call, call);
    value name = evaluate(call->items[0], frame, run);
    value otherwise = call->count > 1 ? evaluate(call->items[1], frame, run) : value_nil();
    run->site = expression;
    return run_memory_lookup(run, run_memory_name(run, "memory/get", name), otherwise);
}

value eval_return(const struct expression *expression, struct frame *frame, struct run *run)
{
    PART(call, call);
    value v = evaluate(call->items[0], frame, run);
    run->site = expression;
    run_return(run, v);
}

value eval_fail(const struct expression *expression, struct frame *frame, struct run *run)
{
    PART(call, call);
    value v = evaluate(call->items[0], frame, run);
    run->site = expression;
    run_fail_value(run, v);
}
