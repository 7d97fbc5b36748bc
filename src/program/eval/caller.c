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
static inline value enter(struct run *run, struct frame *frame, const struct code *code,
                          uint32_t count, const void *site)
{
    spend_call(run);
    for (uint32_t i = count; i < code->slot_count; i++)
        frame->slots[i] = value_nil();
    value result = closure_run(run, frame, code);
    run->site = site;
    return result;
}

static value call_closure1(struct caller *caller, value a)
{
    caller_frame(caller)->slots[0] = a;
    return enter(caller->run, caller_frame(caller), caller->code, 1, caller->site);
}

static value call_closure2(struct caller *caller, value a, value b)
{
    caller_frame(caller)->slots[0] = a;
    caller_frame(caller)->slots[1] = b;
    return enter(caller->run, caller_frame(caller), caller->code, 2, caller->site);
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

static value call_keyword1(struct caller *caller, value a)
{
    spend_call(caller->run);
    return keyword_call(caller->run, caller->f, a);
}

void caller_start(struct caller *caller, struct run *run, value f, uint32_t count)
{
    caller->run = run;
    caller->f = f;
    caller->site = run->site;
    caller->code = NULL;
    caller->builtin = function_builtin(f);
    caller->call1 = f.tag == VALUE_KEYWORD ? call_keyword1 : call_any1;
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

// A single call: its owner may drop f during the call. Of a small closure nothing is prepared but its
// frame; that is filled up to slot_count ≤ SMALL_FRAME, so the guard word that the compiler would put
// behind it could only cost time.
static __attribute__((no_stack_protector, noinline)) value
call_small(struct run *run, value f, value a, value b, uint32_t count)
{
    struct closure *closure = (struct closure *)f.object;
    struct small_frame small;
    struct frame *frame = &small.frame;
    frame->closure = closure;
    frame->instance = closure->instance;
    frame->slots[0] = a;
    if (count > 1)
        frame->slots[1] = b;
    object_retain(&closure->foreign.header);
    value result = enter(run, frame, closure->code, count, run->site);
    object_release(run->region, &closure->foreign.header);
    return result;
}

static __attribute__((noinline)) value call_once(struct run *run, value f, value a, value b,
                                                 uint32_t count)
{
    struct caller caller;
    caller_start(&caller, run, f, count);
    value_retain(f);
    value result = count == 1 ? caller_call1(&caller, a) : caller_call2(&caller, a, b);
    value_release(run->region, f);
    return result;
}

value run_call1(struct run *run, value f, value a)
{
    if (is_small_closure(run, f, 1))
        return call_small(run, f, a, value_nil(), 1);
    return call_once(run, f, a, value_nil(), 1);
}

value run_call2(struct run *run, value f, value a, value b)
{
    if (is_small_closure(run, f, 2))
        return call_small(run, f, a, b, 2);
    return call_once(run, f, a, b, 2);
}
