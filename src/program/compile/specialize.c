// Picks the function that evaluates each expression, and measures how deep the tree is.
#include "program/builtin/builtins.h"
#include "program/compile/analysis.h"
#include "program/eval/eval.h"
#include "program/eval/stack.h"

// What one level of expressions takes of the C stack, at most.
enum { BYTES_PER_LEVEL = STACK_SANITIZED ? 1536 : 320 };

static unsigned select_one(struct expression *expression, bool plain);

static unsigned deeper(unsigned a, unsigned b)
{
    return a > b ? a : b;
}

static unsigned select_maybe(struct expression *expression, bool plain)
{
    return expression ? select_one(expression, plain) : 0;
}

static unsigned select_list(struct expression **items, size_t count, bool plain)
{
    unsigned depth = 0;
    for (size_t i = 0; i < count; i++)
        depth = deeper(depth, select_one(items[i], plain));
    return depth;
}

static unsigned select_pattern(const struct pattern *pattern, bool plain)
{
    unsigned depth = 0;
    if (pattern->kind == PATTERN_SLOT)
        return 0;
    if (pattern->rest)
        depth = select_pattern(pattern->rest, plain);
    for (uint32_t i = 0; i < pattern->count; i++) {
        if (pattern->kind == PATTERN_VECTOR) {
            depth = deeper(depth, select_pattern(pattern->items[i], plain));
        } else {
            depth = deeper(depth, select_pattern(pattern->entries[i].pattern, plain));
            depth = deeper(depth, select_maybe(pattern->entries[i].fallback, plain));
        }
    }
    return depth + 1;
}

static unsigned select_steps(struct binding_step *steps, size_t count, bool plain)
{
    unsigned depth = 0;
    for (size_t i = 0; i < count; i++) {
        depth = deeper(depth, select_one(steps[i].value, plain));
        depth = deeper(depth, select_pattern(steps[i].pattern, plain));
    }
    return depth;
}

// An expression whose value is only walked through.
static void select_walked(struct expression *expression)
{
    const struct expression_builtin *call = (const void *)expression;
    if (expression->kind == EXPRESSION_CALL_BUILTIN && call->builtin->function == builtin_range)
        expression->eval = eval_range;
}

static unsigned select_builtin(struct expression_builtin *call, bool plain)
{
    static eval_fn *const looks[] = {eval_call_builtin, eval_looks1, eval_looks2};
    static eval_fn *const takes[] = {eval_call_builtin, eval_takes1, eval_takes2, eval_takes3};
    unsigned depth = select_list(call->items, call->count, plain);
    if (plain)
        return depth;
    if (call->builtin->flags & BUILTIN_ITERATES)
        select_walked(call->items[call->count - 1]);
    struct fast_builtin fast = fast_builtin_select(call);
    if (fast.eval)
        call->base.eval = fast.eval;
    else if (call->builtin->flags & BUILTIN_BORROWS)
        call->base.eval = call->count < 3 ? looks[call->count] : eval_call_builtin;
    else
        call->base.eval = call->count < 4 ? takes[call->count] : eval_call_builtin;
    if (fast.test)
        call->base.test = fast.test;
    return depth;
}

static unsigned select_keyword(struct expression_keyword *call, bool plain)
{
    unsigned depth = select_one(call->subject, plain);
    depth = deeper(depth, select_maybe(call->otherwise, plain));
    const struct expression *subject = call->subject;
    bool stays = (subject->kind == EXPRESSION_LOCAL && !subject->flag) ||
                 subject->kind == EXPRESSION_CONSTANT || subject->kind == EXPRESSION_CAPTURE;
    if (stays && !call->otherwise && !plain)
        call->base.eval = eval_keyword_slot;
    return depth;
}

static unsigned select_case(struct expression_case *branch, bool plain)
{
    unsigned depth = select_one(branch->subject, plain);
    for (uint32_t i = 0; i < branch->count; i++) {
        if (i == 0 || branch->results[i] != branch->results[i - 1])
            depth = deeper(depth, select_one(branch->results[i], plain));
    }
    return deeper(depth, select_one(branch->otherwise, plain));
}

static unsigned select_for(struct expression_for *loop, bool plain)
{
    unsigned depth = select_one(loop->body, plain);
    for (uint32_t i = 0; i < loop->count; i++) {
        struct clause *clause = &loop->clauses[i];
        depth = deeper(depth, select_maybe(clause->value, plain));
        depth = deeper(depth, select_steps(clause->steps, clause->count, plain));
        if (clause->pattern)
            depth = deeper(depth, select_pattern(clause->pattern, plain));
        if (clause->kind == CLAUSE_EACH && !plain)
            select_walked(clause->value);
    }
    return depth + 2 * loop->count;  // each clause is a round of two functions
}

// How the rounds of a loop walk through this expression, which may be in tail position.
static enum walk walk_of(const struct expression *expression)
{
    switch ((enum expression_kind)expression->kind) {
    case EXPRESSION_IF: return fast_walk_select(((const struct expression_if *)expression)->test);
    case EXPRESSION_COND: return WALK_COND;
    case EXPRESSION_DO:
        return ((const struct expression_list *)expression)->count ? WALK_DO : WALK_VALUE;
    case EXPRESSION_LET: return WALK_LET;
    default: return WALK_VALUE;
    }
}

static void select_recur(struct expression_recur *recur, bool plain)
{
    if (!recur->plain || recur->count != recur->wanted)
        return;
    if (recur->count <= RECUR_PLAIN_MAX)
        recur->base.eval = eval_recur_plain;
    if (recur->count > RECUR_FEW || plain)
        return;
    recur->base.walk = WALK_RECUR;
    for (uint32_t i = 0; i < recur->count; i++)
        recur->slots[i] = recur->patterns[i]->slot;
}

static void select_if(struct expression_if *branch)
{
    branch->base.eval = fast_if_select(branch);
    branch->base.walk = (uint8_t)fast_walk_select(branch->test);
}

static unsigned select_children(struct expression *expression, bool plain)
{
    switch ((enum expression_kind)expression->kind) {
    case EXPRESSION_IF: {
        struct expression_if *branch = (struct expression_if *)expression;
        unsigned depth = select_one(branch->test, plain);
        depth = deeper(depth, select_one(branch->then, plain));
        depth = deeper(depth, select_one(branch->otherwise, plain));
        if (!plain)
            select_if(branch);
        return depth;
    }
    case EXPRESSION_AND:
    case EXPRESSION_OR:
        expression->test = expression->kind == EXPRESSION_AND ? test_and : test_or;
        __attribute__((fallthrough));
    case EXPRESSION_DO:
    case EXPRESSION_COND:
    case EXPRESSION_VECTOR:
    case EXPRESSION_MAP:
    case EXPRESSION_SET: {
        struct expression_list *list = (struct expression_list *)expression;
        return select_list(list->items, list->count, plain);
    }
    case EXPRESSION_LET: {
        struct expression_let *let = (struct expression_let *)expression;
        if (let->count == 1 && let->steps[0].pattern->kind == PATTERN_SLOT && !plain)
            expression->eval = eval_let_one;
        unsigned depth = select_steps(let->steps, let->count, plain);
        return deeper(depth, select_one(let->body, plain));
    }
    case EXPRESSION_CASE: return select_case((struct expression_case *)expression, plain);
    case EXPRESSION_CONDP: {
        struct expression_condp *branch = (struct expression_condp *)expression;
        unsigned depth = select_list(branch->items, branch->count, plain);
        depth = deeper(depth, select_one(branch->predicate, plain));
        depth = deeper(depth, select_one(branch->subject, plain));
        return deeper(depth, select_one(branch->otherwise, plain));
    }
    case EXPRESSION_BIND_IF: {
        struct expression_bind_if *branch = (struct expression_bind_if *)expression;
        unsigned depth = select_one(branch->value, plain);
        depth = deeper(depth, select_one(branch->then, plain));
        return deeper(depth, select_one(branch->otherwise, plain));
    }
    case EXPRESSION_FN:
        selection_apply(((struct expression_fn *)expression)->code, plain);
        return 0;
    case EXPRESSION_LOOP: {
        struct expression_loop *loop = (struct expression_loop *)expression;
        unsigned depth = select_steps(loop->steps, loop->count, plain);
        return deeper(depth, select_one(loop->body, plain));
    }
    case EXPRESSION_RECUR: {
        struct expression_recur *recur = (struct expression_recur *)expression;
        select_recur(recur, plain);
        return select_list(recur->items, recur->count, plain);
    }
    case EXPRESSION_FOR: return select_for((struct expression_for *)expression, plain);
    case EXPRESSION_DEF: return select_one(((struct expression_def *)expression)->value, plain);
    case EXPRESSION_THREAD_SOME:
    case EXPRESSION_THREAD_COND: {
        struct expression_thread *thread = (struct expression_thread *)expression;
        unsigned depth = select_list(thread->items, thread->count, plain);
        return deeper(depth, select_one(thread->start, plain));
    }
    case EXPRESSION_WHERE:
        return select_maybe(((struct expression_where *)expression)->value, plain);
    case EXPRESSION_CALL:
        if (((struct expression_call *)expression)->head->kind == EXPRESSION_GLOBAL && !plain)
            expression->eval = eval_call_global;
        __attribute__((fallthrough));
    case EXPRESSION_MEMORY_PUT:
    case EXPRESSION_MEMORY_GET:
    case EXPRESSION_RETURN:
    case EXPRESSION_FAIL: {
        struct expression_call *call = (struct expression_call *)expression;
        unsigned depth = select_maybe(call->head, plain);
        return deeper(depth, select_list(call->items, call->count, plain));
    }
    case EXPRESSION_CALL_BUILTIN:
        return select_builtin((struct expression_builtin *)expression, plain);
    case EXPRESSION_CALL_KEYWORD:
        return select_keyword((struct expression_keyword *)expression, plain);
    case EXPRESSION_CALL_TOOL: {
        struct expression_tool *call = (struct expression_tool *)expression;
        return select_list(call->items, call->count, plain);
    }
    case EXPRESSION_LOCAL:
        expression->eval = expression->flag ? eval_local_move : eval_local_copy;
        expression->quick = expression->flag ? QUICK_LOCAL_MOVE : QUICK_LOCAL_COPY;
        expression->test = test_local;
        return 0;
    case EXPRESSION_GLOBAL:
        if (expression->flag)
            expression->eval = eval_global_or_nil;
        return 0;
    case EXPRESSION_IMMEDIATE: expression->quick = QUICK_IMMEDIATE; return 0;
    case EXPRESSION_CONSTANT:
    case EXPRESSION_CAPTURE:
    case EXPRESSION_SELF:
    case EXPRESSION_MEMORY:
    case EXPRESSION_KIND_COUNT: return 0;
    }
    __builtin_unreachable();
}

static unsigned select_one(struct expression *expression, bool plain)
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
        [EXPRESSION_COND] = eval_cond,
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
        [EXPRESSION_VECTOR] = eval_vector,
        [EXPRESSION_MAP] = eval_map,
        [EXPRESSION_SET] = eval_set,
    };
    expression->eval = evaluators[expression->kind];
    expression->test = test_any;
    unsigned depth = select_children(expression, plain) + 1;
    if (!plain && expression->walk == WALK_VALUE)
        expression->walk = (uint8_t)walk_of(expression);
    return depth;
}

void selection_apply(struct code *code, bool plain)
{
    unsigned depth = select_one(code->body, plain);
    for (uint32_t i = 0; code->parameters && i < code->parameter_count + code->has_rest; i++)
        depth = deeper(depth, select_pattern(code->parameters[i], plain));
    size_t levels = (size_t)depth + 4;
    code->stack_need = (uint32_t)(levels * BYTES_PER_LEVEL + code->slot_count * sizeof(value));
}
