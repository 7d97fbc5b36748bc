#include "program/compile/children.h"

static void visit(struct expression *child, const struct child_visitor *visitor)
{
    if (child)
        visitor->expression(child, visitor->data);
}

static void visit_list(struct expression **items, size_t count, const struct child_visitor *visitor)
{
    for (size_t i = count; i-- > 0;)
        visit(items[i], visitor);
}

static void visit_steps(struct binding_step *steps, size_t count,
                        const struct child_visitor *visitor)
{
    for (size_t i = count; i-- > 0;) {
        visitor->pattern(steps[i].pattern, visitor->data);
        visit(steps[i].value, visitor);
    }
}

static void visit_if(struct expression_if *branch, const struct child_visitor *visitor)
{
    for (size_t i = branch->count + 1; i-- > 0;) {
        visit(branch->clauses[i].result, visitor);
        visit(branch->clauses[i].test, visitor);
    }
}

static void visit_case(struct expression_case *branch, const struct child_visitor *visitor)
{
    visit(branch->otherwise, visitor);
    for (size_t i = branch->count; i-- > 0;) {
        if (i == 0 || branch->results[i] != branch->results[i - 1])
            visit(branch->results[i], visitor);
    }
    visit(branch->subject, visitor);
}

static void visit_for(struct expression_for *loop, const struct child_visitor *visitor)
{
    visit(loop->body, visitor);
    for (size_t i = loop->count; i-- > 0;) {
        struct clause *clause = &loop->clauses[i];
        visit_steps(clause->steps, clause->count, visitor);
        if (clause->pattern)
            visitor->pattern(clause->pattern, visitor->data);
        visit(clause->value, visitor);
    }
}

static void visit_let(struct expression_let *let, const struct child_visitor *visitor)
{
    visit(let->body, visitor);
    visit_steps(let->steps, let->count, visitor);
}

static void visit_loop(struct expression_loop *loop, const struct child_visitor *visitor)
{
    visit(loop->body, visitor);
    visit_steps(loop->steps, loop->count, visitor);
}

static void visit_condp(struct expression_condp *branch, const struct child_visitor *visitor)
{
    visit(branch->otherwise, visitor);
    visit_list(branch->items, branch->count, visitor);
    visit(branch->subject, visitor);
    visit(branch->predicate, visitor);
}

static void visit_bind_if(struct expression_bind_if *branch, const struct child_visitor *visitor)
{
    visit(branch->otherwise, visitor);
    visit(branch->then, visitor);
    visit(branch->value, visitor);
}

static void visit_thread(struct expression_thread *thread, const struct child_visitor *visitor)
{
    visit_list(thread->items, thread->count, visitor);
    visit(thread->start, visitor);
}

static void visit_call(struct expression_call *call, const struct child_visitor *visitor)
{
    visit_list(call->items, call->count, visitor);
    visit(call->head, visitor);
}

static void visit_keyword(struct expression_keyword *call, const struct child_visitor *visitor)
{
    visit(call->otherwise, visitor);
    visit(call->subject, visitor);
}

static void visit_try(struct expression_try *try, const struct child_visitor *visitor)
{
    visit(try->finally, visitor);
    for (size_t i = try->count; i-- > 0;)
        visit(try->clauses[i].body, visitor);
    visit(try->body, visitor);
}

static void visit_binding(struct expression_binding *binding, const struct child_visitor *visitor)
{
    visit(binding->body, visitor);
    visit_list(binding->values, binding->count, visitor);
}

// The expression as what it is, and its list of items.
#define AS(type) ((struct expression_##type *)expression)
#define VISIT_ITEMS(type) visit_list(AS(type)->items, AS(type)->count, visitor)

// One switch over all kinds of expressions: cutting it would hide that each is there.
// NOLINTNEXTLINE(readability-function-size)
void expression_children(struct expression *expression, const struct child_visitor *visitor)
{
    switch ((enum expression_kind)expression->kind) {
    case EXPRESSION_IMMEDIATE:
    case EXPRESSION_CONSTANT:
    case EXPRESSION_LOCAL:
    case EXPRESSION_CAPTURE:
    case EXPRESSION_SELF:
    case EXPRESSION_GLOBAL:
    case EXPRESSION_MEMORY:
    case EXPRESSION_FN:
    case EXPRESSION_KIND_COUNT: break;
    case EXPRESSION_DO:
    case EXPRESSION_AND:
    case EXPRESSION_OR:
    case EXPRESSION_VECTOR:
    case EXPRESSION_MAP:
    case EXPRESSION_SET: VISIT_ITEMS(list); break;
    case EXPRESSION_RECUR: VISIT_ITEMS(recur); break;
    case EXPRESSION_CALL_BUILTIN: VISIT_ITEMS(builtin); break;
    case EXPRESSION_CALL_TOOL: VISIT_ITEMS(tool); break;
    case EXPRESSION_CALL:
    case EXPRESSION_MEMORY_PUT:
    case EXPRESSION_MEMORY_GET:
    case EXPRESSION_RETURN:
    case EXPRESSION_FAIL: visit_call(AS(call), visitor); break;
    case EXPRESSION_CALL_KEYWORD: visit_keyword(AS(keyword), visitor); break;
    case EXPRESSION_IF: visit_if(AS(if), visitor); break;
    case EXPRESSION_CASE: visit_case(AS(case), visitor); break;
    case EXPRESSION_CONDP: visit_condp(AS(condp), visitor); break;
    case EXPRESSION_BIND_IF: visit_bind_if(AS(bind_if), visitor); break;
    case EXPRESSION_LET: visit_let(AS(let), visitor); break;
    case EXPRESSION_LOOP: visit_loop(AS(loop), visitor); break;
    case EXPRESSION_FOR: visit_for(AS(for), visitor);
        break;
    case EXPRESSION_THREAD_SOME:
    case EXPRESSION_THREAD_COND: visit_thread(AS(thread), visitor); break;
    case EXPRESSION_TRY:
    case EXPRESSION_ATTEMPT: visit_try(AS(try), visitor); break;
    case EXPRESSION_BINDING: visit_binding(AS(binding), visitor); break;
    case EXPRESSION_DEF: visit(AS(def)->value, visitor); break;
    case EXPRESSION_WHERE: visit(AS(where)->value, visitor); break;
    }
}

void pattern_children(struct pattern *pattern, const struct child_visitor *visitor)
{
    if (pattern->kind == PATTERN_SLOT)
        return;
    if (pattern->rest)
        visitor->pattern(pattern->rest, visitor->data);
    for (size_t i = pattern->count; i-- > 0;) {
        if (pattern->kind == PATTERN_VECTOR) {
            visitor->pattern(pattern->items[i], visitor->data);
        } else {
            visitor->pattern(pattern->entries[i].pattern, visitor->data);
            visit(pattern->entries[i].fallback, visitor);
        }
    }
    if (pattern->whole)
        visitor->pattern(pattern->whole, visitor->data);
}
