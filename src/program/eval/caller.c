// Calls of one function by a builtin, one or many: what a call needs is prepared once.
#include "program/builtin/support.h"
#include "program/eval/eval.h"
#include "program/eval/integers.h"
#include "program/eval/stack.h"

// Is this a closure of `count` arguments whose frame is small, and is there stack for it?
static inline bool is_small_closure(const struct run *run, value f, uint32_t count)
{
    if (!value_is_foreign(f, &closure_type))
        return false;
    const struct code *code = ((const struct closure *)f.object)->code;
    return code->parameter_count == count && !code->has_rest && code->slot_count <= SMALL_FRAME &&
           !stack_is_low(run->stack_end, code->stack_need);
}

static inline struct frame *caller_frame(struct caller *caller)
{
    return (struct frame *)caller->frame;
}

_Static_assert(sizeof(struct small_frame) <= CALLER_FRAME * sizeof(value), "a small frame fits");
_Static_assert(_Alignof(struct small_frame) <= _Alignof(value), "and is aligned");

// --- closures ------------------------------------------------------------------------------------

// The arguments are in the first slots: an array of them, as run_call has it, would mean a
// store-to-load forwarding stall.
static inline value enter(struct caller *caller, uint32_t count)
{
    struct run *run = caller->run;
    struct frame *frame = caller_frame(caller);
    spend_call(run);
    for (uint32_t i = count; i < caller->code->slot_count; i++)
        frame->slots[i] = value_nil();
    value result = closure_run(run, frame, caller->code);
    run->site = caller->site;
    return result;
}

static value call_closure1(struct caller *caller, value a)
{
    caller_frame(caller)->slots[0] = a;
    return enter(caller, 1);
}

static value call_closure2(struct caller *caller, value a, value b)
{
    caller_frame(caller)->slots[0] = a;
    caller_frame(caller)->slots[1] = b;
    return enter(caller, 2);
}

// --- builtins ------------------------------------------------------------------------------------

static value apply(struct caller *caller, value *arguments, size_t count)
{
    spend_call(caller->run);
    value result = builtin_apply(caller->run, caller->builtin, arguments, count);
    caller->run->site = caller->site;
    return result;
}

static value call_builtin1(struct caller *caller, value a)
{
    return apply(caller, &a, 1);
}

static __attribute__((noinline)) value call_builtin2(struct caller *caller, value a, value b)
{
    value arguments[2] = {a, b};
    return apply(caller, arguments, 2);
}

// One with an operation on integers.
static value call_operation(struct caller *caller, value a, value b)
{
    int64_t result;
    if (__builtin_expect(a.tag != VALUE_INTEGER || b.tag != VALUE_INTEGER ||
                             !operation_on_integers(builtin_operation(caller->builtin), a.integer,
                                                    b.integer, &result),
                         0))
        return call_builtin2(caller, a, b);
    spend_call(caller->run);
    return value_integer(result);
}

// --- others --------------------------------------------------------------------------------------

static value call_any1(struct caller *caller, value a)
{
    return run_call(caller->run, caller->f, &a, 1);
}

static value call_any2(struct caller *caller, value a, value b)
{
    value arguments[2] = {a, b};
    return run_call(caller->run, caller->f, arguments, 2);
}

void caller_start(struct caller *caller, struct run *run, value f, uint32_t count)
{
    caller->run = run;
    caller->f = f;
    caller->site = run->site;
    caller->builtin = function_builtin(f);
    caller->call1 = call_any1;
    caller->call2 = call_any2;
    if (is_small_closure(run, f, count)) {
        struct closure *closure = (struct closure *)f.object;
        struct frame *frame = caller_frame(caller);
        caller->code = closure->code;
        frame->closure = closure;
        frame->instance = closure->instance;
        caller->call1 = call_closure1;
        caller->call2 = call_closure2;
    } else if (caller->builtin && builtin_accepts(caller->builtin, count) &&
               !stack_is_low(run->stack_end, 0)) {
        bool has_operation = builtin_operation(caller->builtin) != OPERATION_NONE;
        caller->call1 = call_builtin1;
        caller->call2 = has_operation ? call_operation : call_builtin2;
    }
}

// --- single calls --------------------------------------------------------------------------------

// A single call: its owner may drop f during the call.
value run_call1(struct run *run, value f, value a)
{
    struct caller caller;
    caller_start(&caller, run, f, 1);
    value_retain(f);
    value result = caller_call1(&caller, a);
    value_release(run->region, f);
    return result;
}

value run_call2(struct run *run, value f, value a, value b)
{
    struct caller caller;
    caller_start(&caller, run, f, 2);
    value_retain(f);
    value result = caller_call2(&caller, a, b);
    value_release(run->region, f);
    return result;
}
