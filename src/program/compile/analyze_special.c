// Special forms other than bindings, functions and threading (docs/reference/language.md 4 and 7).
#include "program/builtin/where.h"
#include "program/compile/forms.h"

static void check_parts(struct analysis *analysis, const struct form *form, size_t least,
                        size_t highest)
{
    size_t count = form->count - 1;
    if (count >= least && count <= highest)
        return;
    const char *op = special_name(form_special(form));
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

static struct expression *nil_new(struct analysis *analysis, const struct form *form)
{
    return immediate_new(analysis, value_nil(), form);
}

// Room for that many clauses and the last one.
static struct expression_if *if_new(struct analysis *analysis, const struct form *form, size_t most)
{
    struct expression_if *branch;
    size_t size = sizeof(*branch) + (most + 1) * sizeof(branch->clauses[0]);
    return expression_new(analysis, EXPRESSION_IF, size, form);
}

static struct expression *if_of_two(struct analysis *analysis, const struct form *form,
                                    struct expression *test, struct expression *then,
                                    struct expression *otherwise)
{
    struct expression_if *branch = if_new(analysis, form, 1);
    branch->count = 1;
    branch->clauses[0] = (struct if_clause){.test = test, .result = then};
    branch->clauses[1] = (struct if_clause){.result = otherwise};
    return &branch->base;
}

// if, if-not
static struct expression *analyze_if(struct analysis *analysis, const struct form *form, bool tail)
{
    check_parts(analysis, form, 2, 3);
    struct expression *test = analyze(analysis, form->items[1], false);
    struct expression *first = analyze(analysis, form->items[2], tail);
    struct expression *second =
        form->count == 4 ? analyze(analysis, form->items[3], tail) : nil_new(analysis, form);
    return form_special(form) == SPECIAL_IF_NOT ? if_of_two(analysis, form, test, second, first)
                                                : if_of_two(analysis, form, test, first, second);
}

// when, when-not
static struct expression *analyze_when(struct analysis *analysis, const struct form *form,
                                       bool tail)
{
    check_parts(analysis, form, 1, SIZE_MAX);
    struct expression *test = analyze(analysis, form->items[1], false);
    struct expression *body = analyze_body(analysis, form->items + 2, form->count - 2, form, tail);
    struct expression *nothing = nil_new(analysis, form);
    return form_special(form) == SPECIAL_WHEN_NOT ? if_of_two(analysis, form, test, nothing, body)
                                                  : if_of_two(analysis, form, test, body, nothing);
}

// :else, true and the like.
static bool is_true_literal(const struct form *form)
{
    return form->kind == FORM_KEYWORD || form->kind == FORM_STRING || form->kind == FORM_INTEGER ||
           (form->kind == FORM_BOOLEAN && form->boolean);
}

static struct expression *analyze_cond(struct analysis *analysis, const struct form *form,
                                       bool tail)
{
    size_t count = form->count - 1;
    if (count % 2)
        analysis_fail(analysis, INVALID_COND, form, "cond",
                      "cond: tests and results must come in pairs");
    struct expression_if *branch = if_new(analysis, form, count / 2);
    struct expression *otherwise = nil_new(analysis, form);
    bool is_decided = false;  // what follows is checked, but never evaluated
    for (size_t i = 0; i < count; i += 2) {
        struct if_clause clause = {
            .test = analyze(analysis, form->items[i + 1], false),
            .result = analyze(analysis, form->items[i + 2], tail),
        };
        if (is_decided)
            continue;
        is_decided = is_true_literal(form->items[i + 1]);
        if (is_decided)
            otherwise = clause.result;
        else
            branch->clauses[branch->count++] = clause;
    }
    branch->clauses[branch->count].result = otherwise;
    return branch->count ? &branch->base : otherwise;
}

// and, or
static struct expression *analyze_logic(struct analysis *analysis, const struct form *form,
                                        bool tail)
{
    bool is_or = form_special(form) == SPECIAL_OR;
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
    return form->kind <= FORM_KEYWORD || form->kind == FORM_QUOTE || form_is_constant(form);
}

static void add_case_constant(struct analysis *analysis, struct pointer_list *constants,
                              const struct form *form)
{
    if (!is_case_constant(form))
        analysis_fail(analysis, INVALID_FORM, form, "case",
                      "case: values must be constant scalars or lists of them");
    pointer_list_push(analysis->compilation, constants, (void *)form);
}

// A symbol among the values of case is data.
static struct form *case_constant(struct analysis *analysis, struct form *form)
{
    return form->kind == FORM_SYMBOL ? form_items(analysis, FORM_QUOTE, form, 1, form) : form;
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
                add_case_constant(analysis, &constants, case_constant(analysis, test->items[j]));
        } else {
            add_case_constant(analysis, &constants, case_constant(analysis, form->items[i]));
        }
        struct expression *result = analyze(analysis, form->items[i + 1], tail);
        for (; first < constants.count; first++)
            pointer_list_push(analysis->compilation, &results, result);
    }
    expression->base.flag = i < form->count;
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
    size_t next = 3;
    condp->items = analysis_alloc(analysis, form->count * sizeof(void *));
    condp->receives = analysis_alloc(analysis, form->count * sizeof(bool));
    while (next + 1 < form->count) {
        bool receives = form_is_keyword(form->items[next + 1], ">>");
        size_t result = next + 1 + receives;
        if (result >= form->count)
            analysis_fail(analysis, INVALID_FORM, form->items[next + 1], "condp",
                          "condp: :>> must be followed by a function of what the test gives");
        condp->receives[condp->count / 2] = receives;
        condp->items[condp->count++] = analyze(analysis, form->items[next], false);
        condp->items[condp->count++] = analyze(analysis, form->items[result], tail && !receives);
        next = result + 1;
    }
    condp->base.flag = next < form->count;
    condp->otherwise =
        next < form->count ? analyze(analysis, form->items[next], tail) : nil_new(analysis, form);
    return &condp->base;
}

static enum bind_if_test bind_if_test_of(enum special special)
{
    switch (special) {
    case SPECIAL_IF_SOME:
    case SPECIAL_WHEN_SOME: return BIND_IF_SOME;
    case SPECIAL_WHEN_FIRST: return BIND_IF_FIRST;
    default: return BIND_IF_TRUE;
    }
}

// (if-let [pattern e] then else) is (if-let [h e] (let [pattern h] then) else).
static struct form *bind_if_pattern(struct analysis *analysis, const struct form *form,
                                    bool has_else)
{
    const struct form *binding = form->items[1];
    struct form *name =
        form_of_symbol(analysis, symbol_hidden(analysis->compilation, "bound"), form);
    struct form *let =
        form_items(analysis, FORM_LIST, form, 2, form_name(analysis, "let", form),
                   form_items(analysis, FORM_VECTOR, form, 2, binding->items[0], name));
    form_with_tail(analysis, let, form->items + 2, has_else ? 1 : form->count - 2);
    struct form *whole =
        form_items(analysis, FORM_LIST, form, 3, form->items[0],
                   form_items(analysis, FORM_VECTOR, form, 2, name, binding->items[1]), let);
    return has_else && form->count == 4 ? form_with_tail(analysis, whole, form->items + 3, 1)
                                        : whole;
}

// if-let, when-let, if-some, when-some, when-first
static struct expression *analyze_bind_if(struct analysis *analysis, const struct form *form,
                                          bool tail)
{
    enum special special = form_special(form);
    bool has_else = special == SPECIAL_IF_LET || special == SPECIAL_IF_SOME;
    check_parts(analysis, form, has_else ? 2 : 1, has_else ? 3 : SIZE_MAX);
    const char *op = special_name(form_special(form));
    const struct form *binding = form->items[1];
    if (binding->kind != FORM_VECTOR)
        analysis_fail(analysis, INVALID_ARITY, binding, op, "%s: the binding must be a vector", op);
    if (binding->count != 2)
        analysis_fail(analysis, INVALID_FORM, binding, op,
                      "%s: the binding must be one pattern and one value", op);
    if (binding->items[0]->kind != FORM_SYMBOL)
        return analyze(analysis, bind_if_pattern(analysis, form, has_else), tail);
    struct expression_bind_if *expression =
        expression_new(analysis, EXPRESSION_BIND_IF, sizeof(*expression), form);
    expression->test = (uint8_t)bind_if_test_of(special);
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

static struct expression *analyze_do(struct analysis *analysis, const struct form *form, bool tail)
{
    return analyze_body(analysis, form->items + 1, form->count - 1, form, tail);
}

static struct expression *analyze_comment(struct analysis *analysis, const struct form *form,
                                          bool tail)
{
    (void)tail;
    return nil_new(analysis, form);
}

// (call "tool" …)
static struct expression *analyze_tool_by_name(struct analysis *analysis, const struct form *form,
                                               bool tail)
{
    (void)tail;
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

// return, fail
static struct expression *analyze_exit(struct analysis *analysis, const struct form *form,
                                       bool tail)
{
    (void)tail;
    check_parts(analysis, form, 1, 1);
    enum expression_kind kind =
        form_special(form) == SPECIAL_RETURN ? EXPRESSION_RETURN : EXPRESSION_FAIL;
    struct expression_call *exit = expression_new(analysis, kind, sizeof(*exit), form);
    exit->count = 1;
    exit->items = analyze_all(analysis, form->items + 1, 1);
    return &exit->base;
}

static struct expression *analyze_quote(struct analysis *analysis, const struct form *form,
                                        bool tail)
{
    (void)tail;
    check_parts(analysis, form, 1, 1);
    struct form *quote = analysis_alloc(analysis, sizeof(*quote));
    *quote = (struct form){
        .kind = FORM_QUOTE, .offset = form->offset, .items = form->items + 1, .count = 1};
    return analyze(analysis, quote, false);
}

static bool is_path(const struct form *form)
{
    if (form->kind == FORM_KEYWORD)
        return true;
    if (form->kind != FORM_VECTOR || form->count == 0)
        return false;
    for (size_t i = 0; i < form->count; i++) {
        if (form->items[i]->kind != FORM_KEYWORD && form->items[i]->kind != FORM_STRING)
            return false;
    }
    return true;
}

// (where field) and (where field op value)
static struct expression *analyze_where(struct analysis *analysis, const struct form *form,
                                        bool tail)
{
    (void)tail;
    size_t count = form->count - 1;
    if (count != 1 && count != 3)
        analysis_fail(analysis, INVALID_WHERE, form, "where",
                      "where: expected (where field) or (where field op value)");
    if (!is_path(form->items[1]))
        analysis_fail(analysis, INVALID_WHERE, form->items[1], "where",
                      "where: the field must be a keyword or a vector of keywords and strings");
    struct expression_where *where =
        expression_new(analysis, EXPRESSION_WHERE, sizeof(*where), form);
    where->field =
        constant_add(analysis, (struct constant){.kind = CONSTANT_PATH, .form = form->items[1]});
    if (count == 1)
        return &where->base;
    const struct form *operation = form->items[2];
    int found = operation->kind == FORM_SYMBOL ? where_operator_find(operation->symbol->name) : -1;
    if (found < 0)
        analysis_fail(analysis, INVALID_WHERE_OPERATOR, operation, "where",
                      "where: the operator must be one of = not= > < >= <= includes in");
    where->operation = (uint8_t)found;
    where->value = analyze(analysis, form->items[3], false);
    return &where->base;
}

static special_fn *const analyzers[SPECIAL_COUNT] = {
    [SPECIAL_LET] = analyze_let,
    [SPECIAL_IF] = analyze_if,
    [SPECIAL_IF_NOT] = analyze_if,
    [SPECIAL_WHEN] = analyze_when,
    [SPECIAL_WHEN_NOT] = analyze_when,
    [SPECIAL_COND] = analyze_cond,
    [SPECIAL_CASE] = analyze_case,
    [SPECIAL_CONDP] = analyze_condp,
    [SPECIAL_IF_LET] = analyze_bind_if,
    [SPECIAL_WHEN_LET] = analyze_bind_if,
    [SPECIAL_IF_SOME] = analyze_bind_if,
    [SPECIAL_WHEN_SOME] = analyze_bind_if,
    [SPECIAL_WHEN_FIRST] = analyze_bind_if,
    [SPECIAL_DO] = analyze_do,
    [SPECIAL_COMMENT] = analyze_comment,
    [SPECIAL_AND] = analyze_logic,
    [SPECIAL_OR] = analyze_logic,
    [SPECIAL_FN] = analyze_fn,
    [SPECIAL_LOOP] = analyze_loop,
    [SPECIAL_RECUR] = analyze_recur,
    [SPECIAL_FOR] = analyze_for,
    [SPECIAL_DOSEQ] = analyze_for,
    [SPECIAL_DEF] = analyze_def,
    [SPECIAL_DEFONCE] = analyze_def,
    [SPECIAL_DEFN] = analyze_defn,
    [SPECIAL_THREAD_FIRST] = analyze_thread,
    [SPECIAL_THREAD_LAST] = analyze_thread,
    [SPECIAL_THREAD_AS] = analyze_thread,
    [SPECIAL_THREAD_COND_FIRST] = analyze_thread,
    [SPECIAL_THREAD_COND_LAST] = analyze_thread,
    [SPECIAL_THREAD_SOME_FIRST] = analyze_thread,
    [SPECIAL_THREAD_SOME_LAST] = analyze_thread,
    [SPECIAL_WHERE] = analyze_where,
    [SPECIAL_CALL] = analyze_tool_by_name,
    [SPECIAL_RETURN] = analyze_exit,
    [SPECIAL_FAIL] = analyze_exit,
    [SPECIAL_QUOTE] = analyze_quote,
    [SPECIAL_TRY] = analyze_try,
    [SPECIAL_ATTEMPT] = analyze_attempt,
    [SPECIAL_BINDING] = analyze_binding,
    [SPECIAL_ASSERT] = analyze_assert,
    [SPECIAL_DEFN_PRIVATE] = analyze_defn,
    [SPECIAL_DECLARE] = analyze_comment,
    [SPECIAL_NS] = analyze_namespace,
    [SPECIAL_REQUIRE] = analyze_namespace,
    [SPECIAL_USE] = analyze_namespace,
    [SPECIAL_IMPORT] = analyze_namespace,
    [SPECIAL_DOTIMES] = analyze_macro,
    [SPECIAL_WHILE] = analyze_macro,
    [SPECIAL_DOTO] = analyze_macro,
    [SPECIAL_LETFN] = analyze_macro,
    [SPECIAL_DEFMULTI] = analyze_macro,
    [SPECIAL_DEFMETHOD] = analyze_macro,
    [SPECIAL_DEFRECORD] = analyze_macro,
    [SPECIAL_INSTANCE] = analyze_macro,
    [SPECIAL_NEW] = analyze_macro,
    [SPECIAL_LAZY_SEQ] = analyze_macro,
    [SPECIAL_LAZY_CAT] = analyze_macro,
    [SPECIAL_DELAY] = analyze_macro,
    [SPECIAL_WITH_OUT_STR] = analyze_macro,
    [SPECIAL_TIME] = analyze_macro,
};

struct expression *analyze_special(struct analysis *analysis, const struct form *form, bool tail)
{
    return analyzers[form_special(form)](analysis, form, tail);
}
