// Evaluating calls.
#include <alloca.h>
#include <stddef.h>
#include <string.h>

#include "program/eval/eval.h"
#include "program/eval/range.h"
#include "program/eval/stack.h"
#include "program/run/tool.h"
#include "value/collection/hash_table.h"
#include "value/collection/key_lookup.h"

enum { STACK_ARGUMENTS = 6 };

// --- functions -----------------------------------------------------------------------------------

// The values of all items: on the given stack, or in the region when they are more.
static value *evaluate_all(struct expression *const *items, uint32_t count, struct frame *frame,
                           struct run *run, value on_stack[STACK_ARGUMENTS])
{
    value *values = on_stack;
    if (count > STACK_ARGUMENTS)
        values = region_alloc(run->region, count * sizeof(value));
    for (uint32_t i = 0; i < count; i++)
        values[i] = evaluate(items[i], frame, run);
    return values;
}

static void return_all(struct run *run, value *values, uint32_t count)
{
    if (count > STACK_ARGUMENTS)
        region_return(run->region, values, count * sizeof(value));
}

// Any callable, any number of arguments.
static __attribute__((noinline)) value call_generic(const struct expression_call *call, value f,
                                                    struct frame *frame, struct run *run)
{
    value on_stack[STACK_ARGUMENTS];
    value *arguments = evaluate_all(call->items, call->count, frame, run, on_stack);
    run->site = call;
    value result = run_call(run, f, arguments, call->count);
    return_all(run, arguments, call->count);
    value_release(run->region, f);
    return result;
}

static inline value enter(const struct expression_call *call, struct closure *closure,
                          struct frame *callee, struct frame *frame, struct run *run)
{
    const struct code *code = closure->code;
    callee->closure = closure;
    callee->instance = closure->instance;
    value *slot = callee->slots;
    for (struct expression **item = call->items, **end = item + call->count; item < end; item++)
        *slot++ = evaluate_operand(*item, frame, run);
    for (value *end = callee->slots + code->slot_count; slot < end; slot++)
        *slot = value_nil();
    spend_call(run);
    return closure_run(run, callee, code);
}

static __attribute__((noinline)) value call_large(const struct expression_call *call,
                                                  struct closure *closure, struct frame *frame,
                                                  struct run *run)
{
    struct frame *callee = alloca(sizeof(*callee) + closure->code->slot_count * sizeof(value));
    return enter(call, closure, callee, frame, run);
}

// The small frame is filled up to slot_count ≤ SMALL_FRAME, so the guard word that the compiler would
// put behind it could only cost time.
static inline __attribute__((always_inline)) value
call_value(const struct expression_call *call, value f, struct frame *frame, struct run *run)
{
    if (__builtin_expect(!value_is_foreign(f, &closure_type), 0))
        return call_generic(call, f, frame, run);
    struct closure *closure = (struct closure *)f.object;
    const struct code *code = closure->code;
    if (__builtin_expect(code->parameter_count != call->count || code->has_rest ||
                             stack_is_low(run->stack_end, code->stack_need),
                         0))
        return call_generic(call, f, frame, run);
    value result;
    if (__builtin_expect(code->slot_count <= SMALL_FRAME, 1)) {
        struct small_frame small;
        result = enter(call, closure, &small.frame, frame, run);
    } else {
        result = call_large(call, closure, frame, run);
    }
    object_release(run->region, &closure->foreign.header);
    return result;
}

__attribute__((no_stack_protector)) value eval_call(const struct expression *expression,
                                                    struct frame *frame, struct run *run)
{
    PART(call, call);
    return call_value(call, evaluate(call->head, frame, run), frame, run);
}

// The head is a global: usually a function of the program.
__attribute__((no_stack_protector)) value eval_call_global(const struct expression *expression,
                                                           struct frame *frame, struct run *run)
{
    PART(call, call);
    const struct expression_index *head = (const void *)call->head;
    const struct global_slot *slot = &run->state->branch.globals[head->index];
    value f = slot->is_bound ? value_retain(slot->value) : evaluate(call->head, frame, run);
    return call_value(call, f, frame, run);
}

static value capture_value(const struct capture *capture, struct frame *frame)
{
    if (capture->from_self) {
        object_retain(&frame->closure->foreign.header);
        return (value){.tag = VALUE_FUNCTION, .object = &frame->closure->foreign.header};
    }
    if (capture->from_capture)
        return value_retain(frame->closure->captures[capture->index]);
    value v = frame->slots[capture->index];
    if (capture->move)
        frame->slots[capture->index] = value_nil();
    else
        value_retain(v);
    return v;
}

value eval_function(const struct expression *expression, struct frame *frame, struct run *run)
{
    PART(fn, fn);
    const struct code *code = fn->code;
    struct closure *closure =
        region_alloc(run->region, sizeof(*closure) + code->capture_count * sizeof(value));
    closure->foreign.header = object_header(OBJECT_FOREIGN);
    closure->foreign.type = &closure_type;
    closure->code = code;
    closure->instance = frame->instance;
    for (uint32_t i = 0; i < code->capture_count; i++)
        closure->captures[i] = capture_value(&code->captures[i], frame);
    return (value){.tag = VALUE_FUNCTION, .object = &closure->foreign.header};
}

// --- builtins ------------------------------------------------------------------------------------

// An argument read where it is: local, constant or capture.
static inline value peek(const struct expression *expression, struct frame *frame)
{
    uint32_t index = ((const struct expression_index *)expression)->index;
    if (expression->kind == EXPRESSION_LOCAL)
        return frame->slots[index];
    return expression->kind == EXPRESSION_CONSTANT ? frame->instance->constants[index]
                                                   : frame->closure->captures[index];
}

static inline value argument(const struct expression_builtin *call, uint32_t i, struct frame *frame,
                             struct run *run)
{
    return call->borrowed >> i & 1 ? peek(call->items[i], frame)
                                   : evaluate(call->items[i], frame, run);
}

// A builtin that borrows one or two arguments: those that have a place are read there.
static inline __attribute__((always_inline)) value call_borrow(const struct expression *expression,
                                                               struct frame *frame, struct run *run,
                                                               uint32_t count)
{
    PART(builtin, call);
    value given[2], arguments[2];
    spend_call(run);
    for (uint32_t i = 0; i < count; i++)
        given[i] = arguments[i] = argument(call, i, frame, run);
    run->site = expression;
    value result = call->builtin->function(run, call->builtin, arguments, count);
    for (uint32_t i = 0; i < count; i++) {
        if (!(call->borrowed >> i & 1))
            value_release(run->region, given[i]);
    }
    return result;
}

// One that consumes up to three.
static inline __attribute__((always_inline)) value call_consume(const struct expression *expression,
                                                                struct frame *frame,
                                                                struct run *run, uint32_t count)
{
    PART(builtin, call);
    value arguments[3];
    spend_call(run);
    for (uint32_t i = 0; i < count; i++)
        arguments[i] = evaluate(call->items[i], frame, run);
    run->site = expression;
    return call->builtin->function(run, call->builtin, arguments, count);
}

#define BUILTIN_EVALUATOR(convention, count)                                                 \
    value eval_##convention##count(const struct expression *expression, struct frame *frame, \
                                   struct run *run)                                          \
    {                                                                                        \
        return call_##convention(expression, frame, run, count);                             \
    }
BUILTIN_EVALUATOR(borrow, 1)
BUILTIN_EVALUATOR(borrow, 2)
BUILTIN_EVALUATOR(consume, 1)
BUILTIN_EVALUATOR(consume, 2)
BUILTIN_EVALUATOR(consume, 3)

value eval_call_builtin(const struct expression *expression, struct frame *frame, struct run *run)
{
    PART(builtin, call);
    spend_call(run);
    value on_stack[STACK_ARGUMENTS];
    value *arguments = evaluate_all(call->items, call->count, frame, run, on_stack);
    run->site = expression;
    value result = builtin_apply(run, call->builtin, arguments, call->count);
    return_all(run, arguments, call->count);
    return result;
}

static __attribute__((noinline)) value assoc_any(const struct expression_builtin *call,
                                                 struct run *run, value container, value key,
                                                 value item)
{
    if (container.tag == VALUE_MAP)
        return map_put_flexible(run->region, container, key, item);
    value arguments[3] = {container, key, item};
    return call->builtin->function(run, call->builtin, arguments, 3);
}

// The collection with one element more. The count is changed within its whole word: to store a half of a word that
// is then read whole means a store-to-load forwarding stall, a tenth of the time of building a map.
static inline value with_another(value collection)
{
    uint64_t head;
    memcpy(&head, &collection, sizeof(head));
    head += UINT64_C(1) << (8 * offsetof(value, aux));
    memcpy(&collection, &head, sizeof(head));
    return collection;
}

// (assoc container key item), which builds most maps.
value eval_assoc(const struct expression *expression, struct frame *frame, struct run *run)
{
    PART(builtin, call);
    run->fuel--;        // the call
    run_spend(run, 1);  // and, as the builtin counts it, the work of one entry
    value container = evaluate_operand(call->items[0], frame, run);
    value key = evaluate_operand(call->items[1], frame, run);
    value item = evaluate_operand(call->items[2], frame, run);
    run->site = call;
    if (container.tag == VALUE_MAP && map_try_add(container, key, item))
        return with_another(container);
    return assoc_any(call, run, container, key, item);
}

// (range …) that the builtin around it only iterates over.
value eval_range(const struct expression *expression, struct frame *frame, struct run *run)
{
    PART(builtin, call);
    value arguments[3];
    spend_call(run);
    for (uint32_t i = 0; i < call->count; i++)
        arguments[i] = evaluate(call->items[i], frame, run);
    run->site = expression;
    return range_lazy(run, call->builtin, arguments, call->count);
}

// --- keywords ------------------------------------------------------------------------------------

// (:k x) where x is a local that stays, a constant or a capture.
value eval_keyword_slot(const struct expression *expression, struct frame *frame, struct run *run)
{
    PART(keyword, call);
    spend_cheap(run);
    value subject = peek(call->subject, frame);
    value item;
    if (__builtin_expect(subject.tag == VALUE_MAP, 1)) {
        if (lookup_find(&frame->instance->lookups[call->lookup], subject, &item))
            return value_retain(item);
        return value_nil();
    }
    return keyword_apply(run, frame->instance->lookups[call->lookup].key, value_retain(subject),
                         value_nil());
}

value eval_call_keyword(const struct expression *expression, struct frame *frame, struct run *run)
{
    PART(keyword, call);
    spend_call(run);
    value subject = evaluate(call->subject, frame, run);
    value otherwise = call->otherwise ? evaluate(call->otherwise, frame, run) : value_nil();
    struct lookup *lookup = &frame->instance->lookups[call->lookup];
    if (subject.tag != VALUE_MAP)
        return keyword_apply(run, lookup->key, subject, otherwise);
    value item;
    if (lookup_find(lookup, subject, &item)) {
        value_retain(item);
        value_release(run->region, otherwise);
    } else {
        item = otherwise;
    }
    value_release(run->region, subject);
    return item;
}

// --- tools ---------------------------------------------------------------------------------------

// The argument map of (tool/t :k v …), whose values lie in a vector.
static value pairs_map(struct run *run, const char *tool, value pairs)
{
    value map = map_new(run->region);
    for (size_t i = 0; i < vector_count(pairs); i += 2) {
        value key = vector_at(pairs, i);
        if (key.tag != VALUE_KEYWORD && key.tag != VALUE_STRING)
            run_raise(run, INVALID_TOOL_ARGS, tool,
                      "tool '%s': arguments must be one map or keyword value pairs", tool);
        map = map_put(run->region, map, value_retain(key), value_retain(vector_at(pairs, i + 1)));
    }
    return map;
}

value eval_call_tool(const struct expression *expression, struct frame *frame, struct run *run)
{
    PART(tool, call);
    spend_call(run);
    value values = vector_new(run->region, call->count);
    for (uint32_t i = 0; i < call->count; i++)
        values = vector_push(run->region, values, evaluate(call->items[i], frame, run));
    run->site = expression;
    value map = value_nil();
    size_t count = call->count;
    if (call->pairs) {
        map = pairs_map(run, tool_name(run, call->tool), values);
        count = 1;
    } else if (count == 1) {
        map = value_retain(vector_at(values, 0));
    }
    value_release(run->region, values);
    return tool_apply(run, call->tool, map, count);
}
