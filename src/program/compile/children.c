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
    visit(branch->otherwise, visitor);
    for (size_t i = branch->count; i-- > 0;) {
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
    case EXPRESSION_IF: visit_if((struct expression_if *)expression, visitor); break;
    case EXPRESSION_DO:
    case EXPRESSION_AND:
    case EXPRESSION_OR:
    case EXPRESSION_VECTOR:
    case EXPRESSION_MAP:
    case EXPRESSION_SET: {
        struct expression_list *list = (struct expression_list *)expression;
        visit_list(list->items, list->count, visitor);
        break;
    }
    case EXPRESSION_LET: {
        struct expression_let *let = (struct expression_let *)expression;
        visit(let->body, visitor);
        visit_steps(let->steps, let->count, visitor);
        break;
    }
    case EXPRESSION_LOOP: {
        struct expression_loop *loop = (struct expression_loop *)expression;
        visit(loop->body, visitor);
        visit_steps(loop->steps, loop->count, visitor);
        break;
    }
    case EXPRESSION_RECUR: {
        struct expression_recur *recur = (struct expression_recur *)expression;
        visit_list(recur->items, recur->count, visitor);
        break;
    }
    case EXPRESSION_FOR: visit_for((struct expression_for *)expression, visitor); break;
    case EXPRESSION_CASE: visit_case((struct expression_case *)expression, visitor); break;
    case EXPRESSION_CONDP: {
        struct expression_condp *branch = (struct expression_condp *)expression;
        visit(branch->otherwise, visitor);
        visit_list(branch->items, branch->count, visitor);
        visit(branch->subject, visitor);
        visit(branch->predicate, visitor);
        break;
    }
    case EXPRESSION_BIND_IF: {
        struct expression_bind_if *branch = (struct expression_bind_if *)expression;
        visit(branch->otherwise, visitor);
        visit(branch->then, visitor);
        visit(branch->value, visitor);
        break;
    }
    case EXPRESSION_THREAD_SOME:
    case EXPRESSION_THREAD_COND: {
        struct expression_thread *thread = (struct expression_thread *)expression;
        visit_list(thread->items, thread->count, visitor);
        visit(thread->start, visitor);
        break;
    }
    case EXPRESSION_DEF: visit(((struct expression_def *)expression)->value, visitor); break;
    case EXPRESSION_WHERE: visit(((struct expression_where *)expression)->value, visitor); break;
    case EXPRESSION_CALL:
    case EXPRESSION_MEMORY_PUT:
    case EXPRESSION_MEMORY_GET:
    case EXPRESSION_RETURN:
    case EXPRESSION_FAIL: {
        struct expression_call *call = (struct expression_call *)expression;
        visit_list(call->items, call->count, visitor);
        visit(call->head, visitor);
        break;
    }
    case EXPRESSION_CALL_BUILTIN: {
        struct expression_builtin *call = (struct expression_builtin *)expression;
        visit_list(call->items, call->count, visitor);
        break;
    }
    case EXPRESSION_CALL_KEYWORD: {
        struct expression_keyword *call = (struct expression_keyword *)expression;
        visit(call->otherwise, visitor);
        visit(call->subject, visitor);
        break;
    }
    case EXPRESSION_CALL_TOOL: {
        struct expression_tool *call = (struct expression_tool *)expression;
        visit_list(call->items, call->count, visitor);
        break;
    }
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
