// (where field) and (where field op value), docs/reference/language.md 7.
#include "program/builtin/where.h"
#include "program/compile/analysis.h"

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

struct expression *analyze_where(struct analysis *analysis, const struct form *form)
{
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
    const struct form *operator= form->items[2];
    int found = operator->kind == FORM_SYMBOL ? where_operator_find(operator->symbol->name) : - 1;
    if (found < 0)
        analysis_fail(analysis, INVALID_WHERE_OPERATOR, operator, "where",
                      "where: the operator must be one of = not= > < >= <= includes in");
    where->operator=(uint8_t) found;
    where->value = analyze(analysis, form->items[3], false);
    return &where->base;
}
