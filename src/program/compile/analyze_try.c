// try, attempt, binding, and the assertions of functions (docs/reference/language.md 4.1).
#include "program/compile/forms.h"

static bool is_list_of(const struct form *form, const char *head)
{
    return form->kind == FORM_LIST && form->count > 0 && form_is_symbol(form->items[0], head);
}

// (catch Class name body…), (catch :default name body…) or (catch name body…)
static void analyze_catch(struct analysis *analysis, const struct form *form,
                          struct catch_clause *clause)
{
    bool has_class = form->count > 2 && form->items[2]->kind == FORM_SYMBOL &&
                     (form->items[1]->kind == FORM_SYMBOL || form->items[1]->kind == FORM_KEYWORD);
    size_t name = has_class ? 2 : 1;
    if (form->count <= name || form->items[name]->kind != FORM_SYMBOL)
        analysis_fail(analysis, INVALID_FORM, form, "catch",
                      "catch: expected (catch Exception e body...)");
    clause->class = SPAN("default");
    if (has_class && form->items[1]->kind == FORM_SYMBOL)
        clause->class = form->items[1]->symbol->name;
    struct scope scope = scope_enter(analysis);
    clause->slot = analyze_pattern(analysis, &scope, form->items[name])->slot;
    clause->body =
        analyze_body(analysis, form->items + name + 1, form->count - name - 1, form, false);
    scope_leave(analysis, &scope);
}

struct expression *analyze_try(struct analysis *analysis, const struct form *form, bool tail)
{
    (void)tail;  // the body is left before what follows it
    struct expression_try *try = expression_new(analysis, EXPRESSION_TRY, sizeof(*try), form);
    size_t body = 1;
    while (body < form->count && !is_list_of(form->items[body], "catch") &&
           !is_list_of(form->items[body], "finally"))
        body++;
    struct recur_target *target = analysis->target;
    analysis->target = NULL;
    try->body = analyze_body(analysis, form->items + 1, body - 1, form, false);
    try->clauses = analysis_alloc(analysis, (form->count + 1) * sizeof(*try->clauses));
    for (size_t i = body; i < form->count; i++) {
        const struct form *part = form->items[i];
        bool is_finally = is_list_of(part, "finally") && i + 1 == form->count;
        if (is_finally)
            try->finally = analyze_body(analysis, part->items + 1, part->count - 1, part, false);
        else if (is_list_of(part, "catch"))
            analyze_catch(analysis, part, &try->clauses[try->count++]);
        else
            analysis_fail(analysis, INVALID_FORM, part, "try",
                          "try: after the body come catch clauses and then finally");
    }
    analysis->target = target;
    return &try->base;
}

struct expression *analyze_attempt(struct analysis *analysis, const struct form *form, bool tail)
{
    (void)tail;
    struct expression_try *attempt =
        expression_new(analysis, EXPRESSION_ATTEMPT, sizeof(*attempt), form);
    struct recur_target *target = analysis->target;
    analysis->target = NULL;
    attempt->body = analyze_body(analysis, form->items + 1, form->count - 1, form, false);
    analysis->target = target;
    return &attempt->base;
}

struct expression *analyze_binding(struct analysis *analysis, const struct form *form, bool tail)
{
    (void)tail;
    const struct form *pairs = form->count > 1 ? form->items[1] : NULL;
    if (!pairs || pairs->kind != FORM_VECTOR || pairs->count % 2)
        analysis_fail(analysis, INVALID_FORM, pairs ? pairs : form, "binding",
                      "binding: expected a vector of names and values");
    struct expression_binding *binding =
        expression_new(analysis, EXPRESSION_BINDING, sizeof(*binding), form);
    binding->count = (uint32_t)pairs->count / 2;
    binding->globals = analysis_alloc(analysis, (binding->count + 1) * sizeof(uint32_t));
    binding->values = analysis_alloc(analysis, (binding->count + 1) * sizeof(void *));
    for (size_t i = 0; i < binding->count; i++) {
        const struct form *name = pairs->items[2 * i];
        if (name->kind != FORM_SYMBOL || name->symbol->binding || !name->symbol->is_defined)
            analysis_fail(analysis, INVALID_FORM, name, "binding",
                          "binding: the name must be one that a def of this program defines");
        binding->globals[i] = global_intern(analysis, name->symbol, name->offset);
        binding->values[i] = analyze(analysis, pairs->items[2 * i + 1], false);
    }
    struct recur_target *target = analysis->target;
    analysis->target = NULL;
    binding->body = analyze_body(analysis, form->items + 2, form->count - 2, form, false);
    analysis->target = target;
    return &binding->base;
}

// --- assertions ----------------------------------------------------------------------------------

// (if test nil (throw (AssertionError. (str "Assert failed: " message "\n" text))))
static struct form *assertion(struct analysis *analysis, struct form *test, struct form *message)
{
    struct form *text = form_text(analysis, FORM_STRING, form_source(analysis, test), test);
    struct form *start = form_text(analysis, FORM_STRING, SPAN("Assert failed: "), test);
    struct form *str =
        form_items(analysis, FORM_LIST, test, 2, form_name(analysis, "core/str", test), start);
    if (message) {
        struct form *more[] = {message, form_text(analysis, FORM_STRING, SPAN("\n"), test)};
        form_with_tail(analysis, str, more, 2);
    }
    form_with_tail(analysis, str, &text, 1);
    struct form *error = form_items(analysis, FORM_LIST, test, 2,
                                    form_name(analysis, "core/AssertionError.", test), str);
    struct form *throw =
        form_items(analysis, FORM_LIST, test, 2, form_name(analysis, "core/throw", test), error);
    return form_items(analysis, FORM_LIST, test, 4, form_name(analysis, "if", test), test,
                      form_make(analysis, FORM_NIL, test), throw);
}

struct expression *analyze_assert(struct analysis *analysis, const struct form *form, bool tail)
{
    (void)tail;
    if (form->count < 2 || form->count > 3)
        analysis_fail(analysis, INVALID_ARITY, form, "assert",
                      "assert: expected a test and perhaps a message");
    return analyze(analysis,
                   assertion(analysis, form->items[1], form->count == 3 ? form->items[2] : NULL),
                   false);
}

static const struct form *conditions_of(const struct form *map, const char *key)
{
    for (size_t i = 0; i + 1 < map->count; i += 2) {
        if (form_is_keyword(map->items[i], key) && map->items[i + 1]->kind == FORM_VECTOR)
            return map->items[i + 1];
    }
    return NULL;
}

static struct form *assertions(struct analysis *analysis, const struct form *conditions,
                               const struct form *around)
{
    struct form *all =
        form_items(analysis, FORM_LIST, around, 1, form_name(analysis, "do", around));
    for (size_t i = 0; conditions && i < conditions->count; i++) {
        struct form *one = assertion(analysis, conditions->items[i], NULL);
        form_with_tail(analysis, all, &one, 1);
    }
    return all;
}

struct form *function_conditions(struct analysis *analysis, struct form **body, size_t count,
                                 const struct form *around)
{
    if (count < 2 || body[0]->kind != FORM_MAP)
        return NULL;
    const struct form *before = conditions_of(body[0], "pre");
    const struct form *after = conditions_of(body[0], "post");
    if (!before && !after)
        return NULL;
    struct form *all = assertions(analysis, before, around);
    if (!after)
        return form_with_tail(analysis, all, body + 1, count - 1);
    struct symbol *result = symbol_hidden(analysis->compilation, "result");
    struct symbol *placeholder = symbol_intern(analysis->compilation, SPAN("%"), around->offset);
    struct form *tests =
        form_replace(analysis, assertions(analysis, after, around), placeholder, result);
    struct form *work =
        form_items(analysis, FORM_LIST, around, 1, form_name(analysis, "do", around));
    form_with_tail(analysis, work, body + 1, count - 1);
    struct form *steps = form_items(analysis, FORM_VECTOR, around, 2,
                                    form_of_symbol(analysis, result, around), work);
    struct form *let =
        form_items(analysis, FORM_LIST, around, 4, form_name(analysis, "let", around), steps, tests,
                   form_of_symbol(analysis, result, around));
    return form_with_tail(analysis, all, &let, 1);
}
