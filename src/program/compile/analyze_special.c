// Special forms other than bindings, functions and threading (docs/reference/language.md 4).
#include "program/compile/analysis.h"

static void check_parts(struct analysis *analysis, const struct form *form, size_t least,
                        size_t highest)
{
    size_t count = form->count - 1;
    if (count >= least && count <= highest)
        return;
    const char *op = special_name(form->items[0]->symbol->special);
    if (highest == SIZE_MAX)
        analysis_fail(analysis, INVALID_ARITY, form, op,
                      "%s: expected at least %zu part%s, got %zu", op, least, least == 1 ? "" : "s",
                      count);
    if (least == highest)
        analysis_fail(analysis, INVALID_ARITY, form, op, "%s: expected %zu part%s, got %zu", op,
                      least, least == 1 ? "" : "s", count);
    analysis_fail(analysis, INVALID_ARITY, form, op, "%s: expected %zu to %zu parts, got %zu", op,
                  least, highest, count);
}

// --- branching -----------------------------------------------------------------------------------

static struct expression *if_new(struct analysis *analysis, const struct form *form,
                                 struct expression *test, struct expression *then,
                                 struct expression *otherwise)
{
    struct expression_if *expression =
        expression_new(analysis, EXPRESSION_IF, sizeof(*expression), form);
    expression->test = test;
    expression->then = then;
    expression->otherwise = otherwise;
    return &expression->base;
}

static struct expression *nil_new(struct analysis *analysis, const struct form *form)
{
    return immediate_new(analysis, value_nil(), form);
}

static struct expression *analyze_if(struct analysis *analysis, const struct form *form,
                                     bool negated, bool tail)
{
    check_parts(analysis, form, 2, 3);
    struct expression *test = analyze(analysis, form->items[1], false);
    struct expression *first = analyze(analysis, form->items[2], tail);
    struct expression *second =
        form->count == 4 ? analyze(analysis, form->items[3], tail) : nil_new(analysis, form);
    return negated ? if_new(analysis, form, test, second, first)
                   : if_new(analysis, form, test, first, second);
}

static struct expression *analyze_when(struct analysis *analysis, const struct form *form,
                                       bool negated, bool tail)
{
    check_parts(analysis, form, 1, SIZE_MAX);
    struct expression *test = analyze(analysis, form->items[1], false);
    struct expression *body = analyze_body(analysis, form->items + 2, form->count - 2, form, tail);
    struct expression *nothing = nil_new(analysis, form);
    return negated ? if_new(analysis, form, test, nothing, body)
                   : if_new(analysis, form, test, body, nothing);
}

static struct expression *analyze_cond(struct analysis *analysis, const struct form *form,
                                       bool tail)
{
    size_t count = form->count - 1;
    if (count % 2)
        analysis_fail(analysis, INVALID_COND, form, "cond",
                      "cond: tests and results must come in pairs");
    struct expression_list *cond = expression_new(analysis, EXPRESSION_COND, sizeof(*cond), form);
    cond->count = (uint32_t)count;
    cond->items = analysis_alloc(analysis, (count + 1) * sizeof(void *));
    for (size_t i = 0; i < count; i++)
        cond->items[i] = analyze(analysis, form->items[i + 1], tail && i % 2);
    return &cond->base;
}

static struct expression *analyze_logic(struct analysis *analysis, const struct form *form,
                                        bool is_or, bool tail)
{
    size_t count = form->count - 1;
    if (count == 0)
        return immediate_new(analysis, is_or ? value_nil() : value_boolean(true), form);
    struct expression_list *list =
        expression_new(analysis, is_or ? EXPRESSION_OR : EXPRESSION_AND, sizeof(*list), form);
    list->count = (uint32_t)count;
    list->items = analysis_alloc(analysis, count * sizeof(void *));
    for (size_t i = 0; i < count; i++) {
        const struct form *part = form->items[i + 1];
        list->items[i] = is_or && part->kind == FORM_SYMBOL
                             ? analyze_symbol(analysis, part, true)
                             : analyze(analysis, part, tail && i + 1 == count);
    }
    return &list->base;
}

static bool is_case_constant(const struct form *form)
{
    return form->kind <= FORM_KEYWORD;
}

static void add_case_constant(struct analysis *analysis, struct pointer_list *constants,
                              const struct form *form)
{
    if (!is_case_constant(form))
        analysis_fail(analysis, INVALID_FORM, form, "case",
                      "case: values must be constant scalars or lists of them");
    pointer_list_push(analysis->compilation, constants, (void *)form);
}

static struct expression *analyze_case(struct analysis *analysis, const struct form *form,
                                       bool tail)
{
    check_parts(analysis, form, 1, SIZE_MAX);
    struct expression_case *expression =
        expression_new(analysis, EXPRESSION_CASE, sizeof(*expression), form);
    expression->subject = analyze(analysis, form->items[1], false);
    struct pointer_list constants = {0};
    struct pointer_list results = {0};
    size_t i = 2;
    for (; i + 1 < form->count; i += 2) {
        const struct form *test = form->items[i];
        size_t first = constants.count;
        if (test->kind == FORM_LIST) {
            for (size_t j = 0; j < test->count; j++)
                add_case_constant(analysis, &constants, test->items[j]);
        } else {
            add_case_constant(analysis, &constants, test);
        }
        struct expression *result = analyze(analysis, form->items[i + 1], tail);
        for (; first < constants.count; first++)
            pointer_list_push(analysis->compilation, &results, result);
    }
    expression->otherwise =
        i < form->count ? analyze(analysis, form->items[i], tail) : nil_new(analysis, form);
    expression->count = (uint32_t)constants.count;
    expression->results = (struct expression **)results.items;
    expression->constants =
        analysis_alloc(analysis, (constants.count + 1) * sizeof(*expression->constants));
    for (size_t j = 0; j < constants.count; j++)
        expression->constants[j] = constant_add(
            analysis, (struct constant){.kind = CONSTANT_FORM, .form = constants.items[j]});
    return &expression->base;
}

static struct expression *analyze_condp(struct analysis *analysis, const struct form *form,
                                        bool tail)
{
    check_parts(analysis, form, 2, SIZE_MAX);
    struct expression_condp *condp =
        expression_new(analysis, EXPRESSION_CONDP, sizeof(*condp), form);
    condp->predicate = analyze(analysis, form->items[1], false);
    condp->subject = analyze(analysis, form->items[2], false);
    size_t count = form->count - 3;
    for (size_t i = 3; i < form->count; i++) {
        if (form_is_keyword(form->items[i], ">>"))
            analysis_fail(analysis, INVALID_FORM, form->items[i], "condp",
                          "condp: :>> is not supported");
    }
    condp->count = (uint32_t)(count - count % 2);
    condp->items = analysis_alloc(analysis, (count + 1) * sizeof(void *));
    for (size_t i = 0; i < condp->count; i++)
        condp->items[i] = analyze(analysis, form->items[3 + i], tail && i % 2);
    condp->otherwise =
        count % 2 ? analyze(analysis, form->items[form->count - 1], tail) : nil_new(analysis, form);
    return &condp->base;
}

// if-let, when-let, if-some, when-some, when-first
static struct expression *analyze_bind_if(struct analysis *analysis, const struct form *form,
                                          enum bind_if_test test, bool has_else, bool tail)
{
    check_parts(analysis, form, has_else ? 2 : 1, has_else ? 3 : SIZE_MAX);
    const char *op = special_name(form->items[0]->symbol->special);
    const struct form *binding = form->items[1];
    if (binding->kind != FORM_VECTOR)
        analysis_fail(analysis, INVALID_ARITY, binding, op, "%s: the binding must be a vector", op);
    if (binding->count != 2 || binding->items[0]->kind != FORM_SYMBOL)
        analysis_fail(analysis, INVALID_FORM, binding, op,
                      "%s: the binding must be one symbol and one value", op);
    struct expression_bind_if *expression =
        expression_new(analysis, EXPRESSION_BIND_IF, sizeof(*expression), form);
    expression->test = (uint8_t)test;
    expression->value = analyze(analysis, binding->items[1], false);
    struct scope scope = scope_enter(analysis);
    expression->slot = analyze_pattern(analysis, &scope, binding->items[0])->slot;
    expression->then = has_else
                           ? analyze(analysis, form->items[2], tail)
                           : analyze_body(analysis, form->items + 2, form->count - 2, form, tail);
    scope_leave(analysis, &scope);
    expression->otherwise = has_else && form->count == 4 ? analyze(analysis, form->items[3], tail)
                                                         : nil_new(analysis, form);
    return &expression->base;
}

// --- others --------------------------------------------------------------------------------------

static struct expression *analyze_tool_by_name(struct analysis *analysis, const struct form *form)
{
    check_parts(analysis, form, 1, 2);
    const struct form *name = form->items[1];
    if (name->kind != FORM_STRING)
        analysis_fail(analysis, INVALID_CALL, name, "call",
                      "call: the tool's name must be a string literal");
    struct expression *gone = analyze_gone_tool(analysis, name->text, name);
    if (gone)
        return gone;
    struct expression_tool *call =
        expression_new(analysis, EXPRESSION_CALL_TOOL, sizeof(*call), form);
    call->tool = tool_index(analysis, name->text, name);
    call->count = (uint32_t)form->count - 2;
    call->items = analyze_all(analysis, form->items + 2, call->count);
    return &call->base;
}

static struct expression *analyze_exit(struct analysis *analysis, const struct form *form,
                                       enum expression_kind kind)
{
    check_parts(analysis, form, 1, 1);
    struct expression_call *exit = expression_new(analysis, kind, sizeof(*exit), form);
    exit->count = 1;
    exit->items = analyze_all(analysis, form->items + 1, 1);
    return &exit->base;
}

static struct expression *analyze_quote(struct analysis *analysis, const struct form *form)
{
    check_parts(analysis, form, 1, 1);
    if (form->items[1]->kind != FORM_SYMBOL)
        analysis_fail(analysis, INVALID_FORM, form->items[1], "quote",
                      "quote: only symbols can be quoted");
    struct form *quote = analysis_alloc(analysis, sizeof(*quote));
    *quote = (struct form){
        .kind = FORM_QUOTE, .offset = form->offset, .items = form->items + 1, .count = 1};
    return analyze(analysis, quote, false);
}

struct expression *analyze_special(struct analysis *analysis, const struct form *form,
                                   enum special special, bool tail)
{
    switch (special) {
    case SPECIAL_LET: return analyze_let(analysis, form, tail);
    case SPECIAL_IF:
    case SPECIAL_IF_NOT: return analyze_if(analysis, form, special == SPECIAL_IF_NOT, tail);
    case SPECIAL_WHEN:
    case SPECIAL_WHEN_NOT: return analyze_when(analysis, form, special == SPECIAL_WHEN_NOT, tail);
    case SPECIAL_COND: return analyze_cond(analysis, form, tail);
    case SPECIAL_CASE: return analyze_case(analysis, form, tail);
    case SPECIAL_CONDP: return analyze_condp(analysis, form, tail);
    case SPECIAL_IF_LET: return analyze_bind_if(analysis, form, BIND_IF_TRUE, true, tail);
    case SPECIAL_WHEN_LET: return analyze_bind_if(analysis, form, BIND_IF_TRUE, false, tail);
    case SPECIAL_IF_SOME: return analyze_bind_if(analysis, form, BIND_IF_SOME, true, tail);
    case SPECIAL_WHEN_SOME: return analyze_bind_if(analysis, form, BIND_IF_SOME, false, tail);
    case SPECIAL_WHEN_FIRST: return analyze_bind_if(analysis, form, BIND_IF_FIRST, false, tail);
    case SPECIAL_DO: return analyze_body(analysis, form->items + 1, form->count - 1, form, tail);
    case SPECIAL_COMMENT: return nil_new(analysis, form);
    case SPECIAL_AND:
    case SPECIAL_OR: return analyze_logic(analysis, form, special == SPECIAL_OR, tail);
    case SPECIAL_FN: return analyze_fn(analysis, form);
    case SPECIAL_LOOP: return analyze_loop(analysis, form);
    case SPECIAL_RECUR: return analyze_recur(analysis, form, tail);
    case SPECIAL_FOR:
    case SPECIAL_DOSEQ: return analyze_for(analysis, form, special == SPECIAL_FOR);
    case SPECIAL_DEF:
    case SPECIAL_DEFONCE: return analyze_def(analysis, form, special == SPECIAL_DEFONCE);
    case SPECIAL_DEFN: return analyze_defn(analysis, form);
    case SPECIAL_THREAD_FIRST:
    case SPECIAL_THREAD_LAST:
    case SPECIAL_THREAD_AS:
    case SPECIAL_THREAD_COND_FIRST:
    case SPECIAL_THREAD_COND_LAST:
    case SPECIAL_THREAD_SOME_FIRST:
    case SPECIAL_THREAD_SOME_LAST: return analyze_thread(analysis, form, special, tail);
    case SPECIAL_WHERE: return analyze_where(analysis, form);
    case SPECIAL_CALL: return analyze_tool_by_name(analysis, form);
    case SPECIAL_RETURN: return analyze_exit(analysis, form, EXPRESSION_RETURN);
    case SPECIAL_FAIL: return analyze_exit(analysis, form, EXPRESSION_FAIL);
    case SPECIAL_QUOTE: return analyze_quote(analysis, form);
    case SPECIAL_NONE:
    case SPECIAL_COUNT: break;
    }
    __builtin_unreachable();
}
