// Last uses. Walks each function backwards in the order of evaluation with the set of slots that are
// still read later: a read of a slot that is not in the set is the last one, and moves.
//
// Only the first SLOT_SET_SIZE slots of a function take part; the others are never moved. So the set
// has a fixed size and the walk is linear in the program.
#include <string.h>

#include "program/compile/analysis.h"

static void walk(struct expression *expression, struct slot_set *live);

static void walk_list(struct expression **items, size_t count, struct slot_set *live)
{
    for (size_t i = count; i-- > 0;)
        walk(items[i], live);
}

// --- bindings ------------------------------------------------------------------------------------

static void walk_pattern(struct pattern *pattern, struct slot_set *live)
{
    if (pattern->kind == PATTERN_SLOT) {
        slot_set_remove(live, pattern->slot);
        return;
    }
    if (pattern->rest)
        walk_pattern(pattern->rest, live);
    if (pattern->kind == PATTERN_VECTOR) {
        for (size_t i = pattern->count; i-- > 0;)
            walk_pattern(pattern->items[i], live);
    } else {
        for (size_t i = pattern->count; i-- > 0;) {
            walk_pattern(pattern->entries[i].pattern, live);
            if (pattern->entries[i].fallback) {
                struct slot_set without = *live;
                walk(pattern->entries[i].fallback, live);
                slot_set_merge(live, &without);
            }
        }
    }
    if (pattern->whole)
        walk_pattern(pattern->whole, live);
}

static void walk_steps(struct binding_step *steps, size_t count, struct slot_set *live)
{
    for (size_t i = count; i-- > 0;) {
        walk_pattern(steps[i].pattern, live);
        walk(steps[i].value, live);
    }
}

// --- loops: what a round reads is alive at the end of the round before ---------------------------

static void walk_loop(struct expression_loop *loop, struct slot_set *live)
{
    // What is alive where recur jumps to, besides the loop's own slots.
    struct slot_set entry = *live;
    slot_set_merge(&entry, loop->reads);
    loop->target->entry = &entry;
    walk(loop->body, live);
    slot_set_merge(live, &entry);
    walk_steps(loop->steps, loop->count, live);
    loop->target->entry = NULL;
}

static void walk_recur(struct expression_recur *recur, struct slot_set *live)
{
    *live = (struct slot_set){0};
    if (recur->target->entry)
        *live = *recur->target->entry;
    for (size_t i = recur->target->wanted; i-- > 0;)
        walk_pattern(recur->patterns[i], live);
    walk_list(recur->items, recur->count, live);
}

static void walk_for(struct expression_for *loop, struct slot_set *live)
{
    slot_set_merge(live, loop->reads);
    walk(loop->body, live);
    for (size_t i = loop->count; i-- > 0;) {
        struct clause *clause = &loop->clauses[i];
        if (clause->kind == CLAUSE_LET)
            walk_steps(clause->steps, clause->count, live);
        if (clause->kind == CLAUSE_EACH)
            walk_pattern(clause->pattern, live);
        if (clause->value)
            walk(clause->value, live);
    }
}

// --- branches ------------------------------------------------------------------------------------

static void walk_if(struct expression_if *branch, struct slot_set *live)
{
    struct slot_set other = *live;
    walk(branch->then, live);
    walk(branch->otherwise, &other);
    slot_set_merge(live, &other);
    walk(branch->test, live);
}

// and, or: evaluation may end after each item.
static void walk_logic(struct expression_list *list, struct slot_set *live)
{
    struct slot_set after = *live;
    for (size_t i = list->count; i-- > 0;) {
        slot_set_merge(live, &after);
        walk(list->items[i], live);
    }
}

// test, result, test, result …; `live` holds what is alive when no test was true.
static void walk_pairs(struct expression **items, size_t count, const struct slot_set *after,
                       struct slot_set *live)
{
    for (size_t i = count; i >= 2; i -= 2) {
        struct slot_set taken = *after;
        walk(items[i - 1], &taken);
        slot_set_merge(live, &taken);
        walk(items[i - 2], live);
    }
}

static void walk_case(struct expression_case *branch, struct slot_set *live)
{
    struct slot_set after = *live;
    walk(branch->otherwise, live);
    for (size_t i = 0; i < branch->count; i++) {
        if (i > 0 && branch->results[i] == branch->results[i - 1])
            continue;
        struct slot_set taken = after;
        walk(branch->results[i], &taken);
        slot_set_merge(live, &taken);
    }
    walk(branch->subject, live);
}

static void walk_condp(struct expression_condp *branch, struct slot_set *live)
{
    struct slot_set after = *live;
    walk(branch->otherwise, live);
    walk_pairs(branch->items, branch->count, &after, live);
    walk(branch->subject, live);
    walk(branch->predicate, live);
}

static void walk_bind_if(struct expression_bind_if *branch, struct slot_set *live)
{
    struct slot_set other = *live;
    walk(branch->then, live);
    slot_set_remove(live, branch->slot);
    walk(branch->otherwise, &other);
    slot_set_merge(live, &other);
    walk(branch->value, live);
}

static void walk_thread(struct expression_thread *thread, struct slot_set *live)
{
    // The slot is read by each step and, at the end, by the form itself.
    struct slot_set after = *live;
    slot_set_add(live, thread->slot);
    for (size_t i = thread->count; i-- > 0;) {
        bool is_step = thread->base.kind == EXPRESSION_THREAD_SOME || i % 2;
        struct slot_set skipped = *live;
        if (is_step)
            slot_set_remove(live, thread->slot);
        walk(thread->items[i], live);
        if (thread->base.kind == EXPRESSION_THREAD_SOME)
            slot_set_merge(live, &after);
        else if (is_step)
            slot_set_merge(live, &skipped);
    }
    slot_set_remove(live, thread->slot);
    walk(thread->start, live);
}

// --- functions and calls -------------------------------------------------------------------------

static void walk_code(struct code *code)
{
    struct slot_set live = {0};
    walk(code->body, &live);
    if (!code->parameters)
        return;
    for (size_t i = code->parameter_count + code->has_rest; i-- > 0;) {
        if (code->parameters[i]->kind != PATTERN_SLOT)
            walk_pattern(code->parameters[i], &live);
    }
}

static void walk_fn(struct expression_fn *fn, struct slot_set *live)
{
    struct code *code = fn->code;
    for (uint32_t i = 0; i < code->capture_count; i++) {
        struct capture *capture = &code->captures[i];
        if (capture->from_capture || capture->from_self)
            continue;
        capture->move = !slot_set_has(live, capture->index);
        slot_set_add(live, capture->index);
    }
    walk_code(code);
}

static bool is_simple(const struct expression *expression)
{
    return expression->kind <= EXPRESSION_SELF;
}

// A builtin that only looks at its arguments reads locals where they are. Such a local must stay in
// its slot until the call, so what is evaluated after it must not move it.
static void walk_looks(struct expression_builtin *call, struct slot_set *live)
{
    call->borrowed = 0;
    bool simple_after = true;
    uint32_t pinned = 0;
    for (size_t i = call->count; i-- > 0;) {
        struct expression *item = call->items[i];
        if (item->kind == EXPRESSION_LOCAL && !simple_after && i < 32) {
            slot_set_add(live, ((struct expression_index *)item)->index);
            pinned |= (uint32_t)1 << i;
        }
        simple_after = simple_after && is_simple(item);
    }
    for (size_t i = call->count; i-- > 0;) {
        struct expression *item = call->items[i];
        if (i < 32 && item->kind == EXPRESSION_LOCAL) {
            uint32_t slot = ((struct expression_index *)item)->index;
            if ((pinned >> i & 1) || slot_set_has(live, slot))
                call->borrowed |= (uint32_t)1 << i;
        } else if (i < 32 &&
                   (item->kind == EXPRESSION_CONSTANT || item->kind == EXPRESSION_CAPTURE)) {
            call->borrowed |= (uint32_t)1 << i;
        }
        walk(item, live);
    }
}

static void walk_builtin(struct expression_builtin *call, struct slot_set *live)
{
    if (call->builtin->flags & BUILTIN_BORROWS)
        walk_looks(call, live);
    else
        walk_list(call->items, call->count, live);
}

static void walk(struct expression *expression, struct slot_set *live)
{
    switch ((enum expression_kind)expression->kind) {
    case EXPRESSION_LOCAL: {
        uint32_t slot = ((struct expression_index *)expression)->index;
        expression->flag = !slot_set_has(live, slot);
        slot_set_add(live, slot);
        break;
    }
    case EXPRESSION_IF: walk_if((struct expression_if *)expression, live); break;
    case EXPRESSION_DO:
    case EXPRESSION_VECTOR:
    case EXPRESSION_MAP:
    case EXPRESSION_SET: {
        struct expression_list *list = (struct expression_list *)expression;
        walk_list(list->items, list->count, live);
        break;
    }
    case EXPRESSION_AND:
    case EXPRESSION_OR: walk_logic((struct expression_list *)expression, live); break;
    case EXPRESSION_COND: {
        struct expression_list *list = (struct expression_list *)expression;
        struct slot_set after = *live;
        walk_pairs(list->items, list->count, &after, live);
        break;
    }
    case EXPRESSION_LET: {
        struct expression_let *let = (struct expression_let *)expression;
        walk(let->body, live);
        walk_steps(let->steps, let->count, live);
        break;
    }
    case EXPRESSION_CASE: walk_case((struct expression_case *)expression, live); break;
    case EXPRESSION_CONDP: walk_condp((struct expression_condp *)expression, live); break;
    case EXPRESSION_BIND_IF: walk_bind_if((struct expression_bind_if *)expression, live); break;
    case EXPRESSION_FN: walk_fn((struct expression_fn *)expression, live); break;
    case EXPRESSION_LOOP: walk_loop((struct expression_loop *)expression, live); break;
    case EXPRESSION_RECUR: walk_recur((struct expression_recur *)expression, live); break;
    case EXPRESSION_FOR: walk_for((struct expression_for *)expression, live); break;
    case EXPRESSION_DEF: walk(((struct expression_def *)expression)->value, live); break;
    case EXPRESSION_THREAD_SOME:
    case EXPRESSION_THREAD_COND: walk_thread((struct expression_thread *)expression, live); break;
    case EXPRESSION_WHERE:
        if (((struct expression_where *)expression)->value)
            walk(((struct expression_where *)expression)->value, live);
        break;
    case EXPRESSION_CALL:
    case EXPRESSION_MEMORY_PUT:
    case EXPRESSION_MEMORY_GET:
    case EXPRESSION_RETURN:
    case EXPRESSION_FAIL: {
        struct expression_call *call = (struct expression_call *)expression;
        walk_list(call->items, call->count, live);
        if (call->head)
            walk(call->head, live);
        break;
    }
    case EXPRESSION_CALL_BUILTIN:
        walk_builtin((struct expression_builtin *)expression, live);
        break;
    case EXPRESSION_CALL_KEYWORD: {
        struct expression_keyword *call = (struct expression_keyword *)expression;
        if (call->otherwise)
            walk(call->otherwise, live);
        walk(call->subject, live);
        break;
    }
    case EXPRESSION_CALL_TOOL: {
        struct expression_tool *call = (struct expression_tool *)expression;
        walk_list(call->items, call->count, live);
        break;
    }
    case EXPRESSION_IMMEDIATE:
    case EXPRESSION_CONSTANT:
    case EXPRESSION_CAPTURE:
    case EXPRESSION_SELF:
    case EXPRESSION_GLOBAL:
    case EXPRESSION_MEMORY:
    case EXPRESSION_KIND_COUNT: break;
    }
}

void liveness_mark(struct code *code)
{
    walk_code(code);
}
