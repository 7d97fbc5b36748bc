// Calls of one function by a builtin, one or many: what a call of a closure needs is prepared once.
#include "program/builtin/support.h"
#include "program/eval/eval.h"
#include "program/eval/stack.h"

// Is this a closure of `count` plain arguments whose frame is small, and is there stack for it?
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

void caller_start(struct caller *caller, struct run *run, value f, uint32_t count)
{
    caller->run = run;
    caller->f = f;
    caller->site = run->site;
    caller->code = NULL;
    if (!is_small_closure(run, f, count))
        return;
    struct closure *closure = (struct closure *)f.object;
    struct frame *frame = caller_frame(caller);
    caller->code = closure->code;
    frame->closure = closure;
    frame->instance = closure->instance;
}

// The arguments are in the first slots. An array of them, as run_call takes it, would be written in
// halves and read as wholes, for which the processor has to wait.
static inline value caller_enter(struct caller *caller, uint32_t count)
{
    struct run *run = caller->run;
    struct frame *frame = caller_frame(caller);
    if (__builtin_expect(--run->fuel < 0, 0))
        run_refill(run);
    for (uint32_t i = count; i < caller->code->slot_count; i++)
        frame->slots[i] = value_nil();
    value result = closure_run(run, frame, caller->code);
    run->site = caller->site;
    return result;
}

value caller_call1(struct caller *caller, value a)
{
    if (__builtin_expect(caller->code == NULL, 0))
        return run_call(caller->run, caller->f, &a, 1);
    caller_frame(caller)->slots[0] = a;
    return caller_enter(caller, 1);
}

value caller_call2(struct caller *caller, value a, value b)
{
    if (__builtin_expect(caller->code == NULL, 0)) {
        value arguments[2] = {a, b};
        return run_call(caller->run, caller->f, arguments, 2);
    }
    caller_frame(caller)->slots[0] = a;
    caller_frame(caller)->slots[1] = b;
    return caller_enter(caller, 2);
}

// A single call: f may be dropped meanwhile by whoever lent it.
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
