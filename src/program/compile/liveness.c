// Last uses. Visits each function backwards in the order of evaluation with the set of slots that are
// still read later: a read of a slot that is not in the set is the last one, and moves.
//
// Only the first SLOT_SET_SIZE slots of a function take part; the others are never moved. So the set
// has a fixed size and the pass is linear in the program.
#include <string.h>

#include "program/compile/analysis.h"
#include "program/compile/children.h"

static void visit(struct expression *expression, struct slot_set *live);

// --- bindings ------------------------------------------------------------------------------------

// A default of :or is evaluated or not.
static void visit_default(struct expression *expression, void *data)
{
    struct slot_set *live = data;
    struct slot_set without = *live;
    visit(expression, live);
    slot_set_merge(live, &without);
}

static void visit_pattern(struct pattern *pattern, void *data)
{
    struct child_visitor visitor = {visit_default, visit_pattern, data};
    if (pattern->kind == PATTERN_SLOT)
        slot_set_remove(data, pattern->slot);
    else
        pattern_children(pattern, &visitor);
}

static void visit_steps(struct binding_step *steps, size_t count, struct slot_set *live)
{
    for (size_t i = count; i-- > 0;) {
        visit_pattern(steps[i].pattern, live);
        visit(steps[i].value, live);
    }
}

static void visit_child(struct expression *child, void *data)
{
    visit(child, data);
}

// What is evaluated in order, without branches.
static void visit_children(struct expression *expression, struct slot_set *live)
{
    struct child_visitor visitor = {visit_child, visit_pattern, live};
    expression_children(expression, &visitor);
}

// --- loops: what an iteration reads is alive at the end of the one before ------------------------

static void visit_loop(struct expression_loop *loop, struct slot_set *live)
{
    // What is alive where recur jumps to, besides the loop's own slots.
    struct slot_set entry = *live;
    slot_set_merge(&entry, loop->reads);
    loop->target->entry = &entry;
    visit(loop->body, live);
    slot_set_merge(live, &entry);
    visit_steps(loop->steps, loop->count, live);
    loop->target->entry = NULL;
}

static void visit_recur(struct expression_recur *recur, struct slot_set *live)
{
    *live = (struct slot_set){0};
    if (recur->target->entry)
        *live = *recur->target->entry;
    for (size_t i = recur->target->wanted; i-- > 0;)
        visit_pattern(recur->patterns[i], live);
    visit_children(&recur->base, live);
}

static void visit_for(struct expression_for *loop, struct slot_set *live)
{
    slot_set_merge(live, loop->reads);
    visit_children(&loop->base, live);
}

// --- branches ------------------------------------------------------------------------------------

static void visit_if(struct expression_if *branch, struct slot_set *live)
{
    struct slot_set after = *live;
    visit(branch->clauses[branch->count].result, live);
    for (size_t i = branch->count; i-- > 0;) {
        struct slot_set taken = after;
        visit(branch->clauses[i].result, &taken);
        slot_set_merge(live, &taken);
        visit(branch->clauses[i].test, live);
    }
}

// and, or: evaluation may end after each item.
static void visit_logic(struct expression_list *list, struct slot_set *live)
{
    struct slot_set after = *live;
    for (size_t i = list->count; i-- > 0;) {
        slot_set_merge(live, &after);
        visit(list->items[i], live);
    }
}

static void visit_case(struct expression_case *branch, struct slot_set *live)
{
    struct slot_set after = *live;
    if (branch->otherwise)
        visit(branch->otherwise, live);
    for (size_t i = 0; i < branch->count; i++) {
        if (i > 0 && branch->results[i] == branch->results[i - 1])
            continue;
        struct slot_set taken = after;
        visit(branch->results[i], &taken);
        slot_set_merge(live, &taken);
    }
    visit(branch->subject, live);
}

static void visit_condp(struct expression_condp *branch, struct slot_set *live)
{
    struct slot_set after = *live;
    if (branch->otherwise)
        visit(branch->otherwise, live);
    for (size_t i = branch->count; i >= 2; i -= 2) {
        struct slot_set taken = after;
        visit(branch->items[i - 1], &taken);
        slot_set_merge(live, &taken);
        visit(branch->items[i - 2], live);
    }
    visit(branch->subject, live);
    visit(branch->predicate, live);
}

static void visit_bind_if(struct expression_bind_if *branch, struct slot_set *live)
{
    struct slot_set other = *live;
    visit(branch->then, live);
    slot_set_remove(live, branch->slot);
    visit(branch->otherwise, &other);
    slot_set_merge(live, &other);
    visit(branch->value, live);
}

static void visit_thread(struct expression_thread *thread, struct slot_set *live)
{
    // The slot is read by each step and, at the end, by the form itself.
    struct slot_set after = *live;
    slot_set_add(live, thread->slot);
    for (size_t i = thread->count; i-- > 0;) {
        bool is_step = thread->base.kind == EXPRESSION_THREAD_SOME || i % 2;
        struct slot_set skipped = *live;
        if (is_step)
            slot_set_remove(live, thread->slot);
        visit(thread->items[i], live);
        if (thread->base.kind == EXPRESSION_THREAD_SOME)
            slot_set_merge(live, &after);
        else if (is_step)
            slot_set_merge(live, &skipped);
    }
    slot_set_remove(live, thread->slot);
    visit(thread->start, live);
}

// What a handler or `finally` reads is alive all through the body, which may be left at any point.
static void visit_try(struct expression_try *try, struct slot_set *live)
{
    if (try->finally)
        visit(try->finally, live);
    struct slot_set after = *live;
    for (size_t i = 0; i < try->count; i++) {
        struct slot_set taken = after;
        visit(try->clauses[i].body, &taken);
        slot_set_remove(&taken, try->clauses[i].slot);
        slot_set_merge(live, &taken);
    }
    struct slot_set kept = *live;
    visit(try->body, live);
    slot_set_merge(live, &kept);
}

// --- functions and calls -------------------------------------------------------------------------

static void visit_code(struct code *code)
{
    struct slot_set live = {0};
    visit(code->body, &live);
    if (!code->parameters)
        return;
    for (size_t i = code->parameter_count + code->has_rest; i-- > 0;) {
        if (code->parameters[i]->kind != PATTERN_SLOT)
            visit_pattern(code->parameters[i], &live);
    }
}

static void visit_fn(struct expression_fn *fn, struct slot_set *live)
{
    struct code *code = fn->code;
    for (uint32_t i = 0; i < code->capture_count; i++) {
        struct capture *capture = &code->captures[i];
        if (capture->from_capture || capture->from_self)
            continue;
        capture->move = !slot_set_has(live, capture->index);
        slot_set_add(live, capture->index);
    }
    for (; code; code = code->next_arity)
        visit_code(code);
}

static bool is_simple(const struct expression *expression)
{
    return expression->kind <= EXPRESSION_SELF;
}

// A builtin that borrows its arguments reads locals where they are. Such a local must stay in its slot
// until the call, so what is evaluated after it must not move it.
static void visit_borrows(struct expression_builtin *call, struct slot_set *live)
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
        visit(item, live);
    }
}

// --- all kinds -----------------------------------------------------------------------------------

static void visit_local(struct expression_index *local, struct slot_set *live)
{
    local->base.flag = !slot_set_has(live, local->index);
    slot_set_add(live, local->index);
}

static void visit_builtin(struct expression_builtin *call, struct slot_set *live)
{
    if (call->builtin->flags & BUILTIN_BORROWS)
        visit_borrows(call, live);
    else
        visit_children(&call->base, live);
}

static void visit(struct expression *expression, struct slot_set *live)
{
    switch ((enum expression_kind)expression->kind) {
    case EXPRESSION_LOCAL: visit_local((struct expression_index *)expression, live); break;
    case EXPRESSION_IF: visit_if((struct expression_if *)expression, live); break;
    case EXPRESSION_AND:
    case EXPRESSION_OR: visit_logic((struct expression_list *)expression, live); break;
    case EXPRESSION_CASE: visit_case((struct expression_case *)expression, live); break;
    case EXPRESSION_CONDP: visit_condp((struct expression_condp *)expression, live); break;
    case EXPRESSION_BIND_IF: visit_bind_if((struct expression_bind_if *)expression, live); break;
    case EXPRESSION_FN: visit_fn((struct expression_fn *)expression, live); break;
    case EXPRESSION_LOOP: visit_loop((struct expression_loop *)expression, live); break;
    case EXPRESSION_RECUR: visit_recur((struct expression_recur *)expression, live); break;
    case EXPRESSION_FOR: visit_for((struct expression_for *)expression, live); break;
    case EXPRESSION_THREAD_SOME:
    case EXPRESSION_THREAD_COND: visit_thread((struct expression_thread *)expression, live); break;
    case EXPRESSION_TRY:
    case EXPRESSION_ATTEMPT: visit_try((struct expression_try *)expression, live); break;
    case EXPRESSION_CALL_BUILTIN:
        visit_builtin((struct expression_builtin *)expression, live);
        break;
    default: visit_children(expression, live); break;
    }
}

void liveness_mark(struct code *code)
{
    visit_code(code);
}
