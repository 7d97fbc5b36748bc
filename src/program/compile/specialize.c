// Picks the function that evaluates each expression, and measures how deep the tree is.
#include "base/array.h"
#include "program/builtin/builtins.h"
#include "program/compile/analysis.h"
#include "program/compile/children.h"
#include "program/eval/eval.h"
#include "program/eval/stack.h"

// What one level of expressions takes of the C stack, at most.
enum { BYTES_PER_LEVEL = STACK_SANITIZED ? 1536 : 320 };

// --- by kind: for optimised programs -------------------------------------------------------------

// An expression whose value is only iterated over.
static void specialize_iterated(struct expression *expression)
{
    const struct expression_builtin *call = (const void *)expression;
    if (expression->kind == EXPRESSION_CALL_BUILTIN && call->builtin->function == builtin_range)
        expression->eval = eval_range;
}

static void specialize_builtin(struct expression_builtin *call)
{
    static eval_fn *const borrow[] = {eval_call_builtin, eval_borrow1, eval_borrow2};
    static eval_fn *const consume[] = {eval_call_builtin, eval_consume1, eval_consume2,
                                       eval_consume3};
    if (call->builtin->flags & BUILTIN_ITERATES)
        specialize_iterated(call->items[call->count - 1]);
    struct specialized_builtin specialized = builtin_specialize(call);
    if (specialized.eval)
        call->base.eval = specialized.eval;
    else if (call->builtin->flags & BUILTIN_BORROWS)
        call->base.eval = call->count < COUNT_OF(borrow) ? borrow[call->count] : eval_call_builtin;
    else
        call->base.eval =
            call->count < COUNT_OF(consume) ? consume[call->count] : eval_call_builtin;
    if (specialized.test)
        call->base.test = specialized.test;
}

static void specialize_keyword(struct expression_keyword *call)
{
    const struct expression *subject = call->subject;
    bool stays = (subject->kind == EXPRESSION_LOCAL && !subject->flag) ||
                 subject->kind == EXPRESSION_CONSTANT || subject->kind == EXPRESSION_CAPTURE;
    if (stays && !call->otherwise)
        call->base.eval = eval_keyword_slot;
}

static void specialize_recur(struct expression_recur *recur)
{
    if (!recur->slots_only || recur->count != recur->wanted)
        return;
    if (recur->count <= RECUR_SLOTS_MAX)
        recur->base.eval = eval_recur_slots;
    if (recur->count == 0 || recur->count > RECUR_IN_REGISTERS)
        return;
    recur->base.loop_kind = (uint8_t)(LOOP_RECUR1 + recur->count - 1);
    for (uint32_t i = 0; i < recur->count; i++)
        recur->places[i] = slot_place(recur->patterns[i]->slot);
}

static void specialize_let(struct expression_let *let)
{
    if (let->count == 1 && let->steps[0].pattern->kind == PATTERN_SLOT)
        let->base.eval = eval_let_one;
    let->base.loop_kind = LOOP_LET;
}

static void specialize_for(struct expression_for *loop)
{
    for (uint32_t i = 0; i < loop->count; i++) {
        if (loop->clauses[i].kind == CLAUSE_EACH)
            specialize_iterated(loop->clauses[i].value);
    }
}

// The children are specialised already.
static void specialize_kind(struct expression *expression)
{
    switch ((enum expression_kind)expression->kind) {
    case EXPRESSION_IF: expression->loop_kind = LOOP_IF; break;
    case EXPRESSION_DO: expression->loop_kind = LOOP_DO; break;
    case EXPRESSION_LET: specialize_let((struct expression_let *)expression); break;
    case EXPRESSION_RECUR: specialize_recur((struct expression_recur *)expression); break;
    case EXPRESSION_FOR: specialize_for((struct expression_for *)expression); break;
    case EXPRESSION_CALL:
        if (((struct expression_call *)expression)->head->kind == EXPRESSION_GLOBAL)
            expression->eval = eval_call_global;
        break;
    case EXPRESSION_CALL_BUILTIN:
        specialize_builtin((struct expression_builtin *)expression);
        break;
    case EXPRESSION_CALL_KEYWORD:
        specialize_keyword((struct expression_keyword *)expression);
        break;
    default: break;
    }
}

// --- the tree ------------------------------------------------------------------------------------

struct specialization {
    const struct code *code;
    bool unoptimised;
    unsigned depth;  // of the deepest child so far
};

static void specialize_tree(struct expression *expression, void *data);

static void specialize_pattern(struct pattern *pattern, void *data)
{
    struct specialization *around = data;
    struct specialization inside = {.code = around->code, .unoptimised = around->unoptimised};
    struct child_visitor visitor = {specialize_tree, specialize_pattern, &inside};
    if (pattern->kind == PATTERN_SLOT)
        return;
    pattern_children(pattern, &visitor);
    if (inside.depth + 1 > around->depth)
        around->depth = inside.depth + 1;
}

// What every program needs, optimised or not.
static void specialize_always(struct expression *expression, bool unoptimised)
{
    static eval_fn *const evaluators[EXPRESSION_KIND_COUNT] = {
        [EXPRESSION_IMMEDIATE] = eval_immediate,
        [EXPRESSION_CONSTANT] = eval_constant,
        [EXPRESSION_LOCAL] = eval_local_copy,
        [EXPRESSION_CAPTURE] = eval_capture,
        [EXPRESSION_SELF] = eval_self,
        [EXPRESSION_GLOBAL] = eval_global,
        [EXPRESSION_MEMORY] = eval_memory,
        [EXPRESSION_IF] = eval_if,
        [EXPRESSION_DO] = eval_do,
        [EXPRESSION_LET] = eval_let,
        [EXPRESSION_AND] = eval_and,
        [EXPRESSION_OR] = eval_or,
        [EXPRESSION_CASE] = eval_case,
        [EXPRESSION_CONDP] = eval_condp,
        [EXPRESSION_BIND_IF] = eval_bind_if,
        [EXPRESSION_FN] = eval_function,
        [EXPRESSION_LOOP] = eval_loop,
        [EXPRESSION_RECUR] = eval_recur,
        [EXPRESSION_FOR] = eval_for,
        [EXPRESSION_DEF] = eval_def,
        [EXPRESSION_THREAD_SOME] = eval_thread_some,
        [EXPRESSION_THREAD_COND] = eval_thread_cond,
        [EXPRESSION_WHERE] = eval_where,
        [EXPRESSION_CALL] = eval_call,
        [EXPRESSION_CALL_BUILTIN] = eval_call_builtin,
        [EXPRESSION_CALL_KEYWORD] = eval_call_keyword,
        [EXPRESSION_CALL_TOOL] = eval_call_tool,
        [EXPRESSION_MEMORY_PUT] = eval_memory_put,
        [EXPRESSION_MEMORY_GET] = eval_memory_get,
        [EXPRESSION_RETURN] = eval_return,
        [EXPRESSION_FAIL] = eval_fail,
        [EXPRESSION_TRY] = eval_try,
        [EXPRESSION_ATTEMPT] = eval_attempt,
        [EXPRESSION_BINDING] = eval_binding,
        [EXPRESSION_VECTOR] = eval_vector,
        [EXPRESSION_MAP] = eval_map,
        [EXPRESSION_SET] = eval_set,
    };
    expression->eval = evaluators[expression->kind];
    expression->test = test_any;
    if (expression->kind == EXPRESSION_FN) {
        struct code *code = ((struct expression_fn *)expression)->code;
        for (; code; code = code->next_arity)
            specialize(code, unoptimised);
    }
    if (expression->kind == EXPRESSION_AND || expression->kind == EXPRESSION_OR)
        expression->test = expression->kind == EXPRESSION_AND ? test_and : test_or;
    if (expression->kind == EXPRESSION_LOCAL) {
        struct expression_index *local = (struct expression_index *)expression;
        local->place = slot_place(local->index);
        expression->eval = expression->flag ? eval_local_move : eval_local_copy;
        expression->test = test_local;
    }
    if (expression->kind == EXPRESSION_GLOBAL && expression->flag)
        expression->eval = eval_global_or_nil;
}

static void specialize_tree(struct expression *expression, void *data)
{
    struct specialization *around = data;
    struct specialization inside = {.code = around->code, .unoptimised = around->unoptimised};
    struct child_visitor visitor = {specialize_tree, specialize_pattern, &inside};
    expression_children(expression, &visitor);
    specialize_always(expression, around->unoptimised);
    if (!around->unoptimised)
        specialize_kind(expression);
    unsigned depth = inside.depth + 1;
    if (expression->kind == EXPRESSION_FOR) {
        ((struct expression_for *)expression)->code = around->code;
        depth += 2 * ((struct expression_for *)expression)->count;  // two functions for each clause
    }
    if (expression->kind == EXPRESSION_TRY || expression->kind == EXPRESSION_ATTEMPT ||
        expression->kind == EXPRESSION_BINDING)
        depth += 8;  // guards, and the failure while `finally` runs
    if (depth > around->depth)
        around->depth = depth;
}

void specialize(struct code *code, bool unoptimised)
{
    struct specialization all = {.code = code, .unoptimised = unoptimised};
    specialize_tree(code->body, &all);
    for (uint32_t i = 0; code->parameters && i < code->parameter_count + code->has_rest; i++)
        specialize_pattern(code->parameters[i], &all);
    size_t levels = (size_t)all.depth + 4;
    code->stack_need = (uint32_t)(levels * BYTES_PER_LEVEL + code->slot_count * sizeof(value));
}
