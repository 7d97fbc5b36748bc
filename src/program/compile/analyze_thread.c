// Threading: -> ->> as-> cond-> cond->> some-> some->> (docs/reference/language.md 4).
#include <string.h>

#include "program/compile/analysis.h"

// A chain of more steps than this is cut: the value is kept in a slot, so that the depth of the
// expression stays bounded however long the chain is.
enum { MAX_NESTED_STEPS = 32 };

// The call (s x) or (f x a…) or (f a… x).
static struct form *thread_step(struct analysis *analysis, struct form *x, struct form *step,
                                bool last)
{
    struct form *call = analysis_alloc(analysis, sizeof(*call));
    bool is_list = step->kind == FORM_LIST;
    size_t count = is_list ? step->count : 1;
    if (count == 0)
        analysis_fail(analysis, INVALID_FORM, step, NULL, "() is not a step");
    struct form **source = is_list ? step->items : &step;
    struct form **items = analysis_alloc(analysis, (count + 1) * sizeof(void *));
    size_t position = last ? count : 1;
    memcpy(items, source, position * sizeof(void *));
    items[position] = x;
    memcpy(items + position + 1, source + position, (count - position) * sizeof(void *));
    *call = (struct form){
        .kind = FORM_LIST, .offset = step->offset, .items = items, .count = count + 1};
    return call;
}

static struct form *symbol_form(struct analysis *analysis, struct symbol *symbol,
                                const struct form *around)
{
    struct form *form = analysis_alloc(analysis, sizeof(*form));
    *form = (struct form){.kind = FORM_SYMBOL, .offset = around->offset, .symbol = symbol};
    return form;
}

static struct form *nest_steps(struct analysis *analysis, struct form *x, struct form **steps,
                               size_t count, bool last)
{
    for (size_t i = 0; i < count; i++)
        x = thread_step(analysis, x, steps[i], last);
    return x;
}

static struct expression *analyze_first_or_last(struct analysis *analysis, const struct form *form,
                                                bool last, bool tail)
{
    struct form **steps = form->items + 2;
    size_t count = form->count - 2;
    if (count <= MAX_NESTED_STEPS)
        return analyze(analysis, nest_steps(analysis, form->items[1], steps, count, last), tail);
    struct expression_let *let = expression_new(analysis, EXPRESSION_LET, sizeof(*let), form);
    struct scope scope = scope_enter(analysis);
    let->steps = analysis_alloc(analysis, (count / MAX_NESTED_STEPS + 1) * sizeof(*let->steps));
    struct form *x = form->items[1];
    while (count > MAX_NESTED_STEPS) {
        x = nest_steps(analysis, x, steps, MAX_NESTED_STEPS, last);
        steps += MAX_NESTED_STEPS;
        count -= MAX_NESTED_STEPS;
        struct binding_step *step = &let->steps[let->count++];
        step->value = analyze(analysis, x, false);
        x = symbol_form(analysis, symbol_hidden(analysis->compilation, "->"), form);
        step->pattern = analyze_pattern(analysis, &scope, x);
    }
    let->body = analyze(analysis, nest_steps(analysis, x, steps, count, last), false);
    scope_leave(analysis, &scope);
    return &let->base;
}

static struct expression *analyze_thread_as(struct analysis *analysis, const struct form *form)
{
    if (form->count < 3 || form->items[2]->kind != FORM_SYMBOL)
        analysis_fail(analysis, INVALID_THREAD, form, "as->", "as->: expected a value and a name");
    size_t count = form->count - 3;
    struct expression_let *let = expression_new(analysis, EXPRESSION_LET, sizeof(*let), form);
    struct scope scope = scope_enter(analysis);
    let->count = (uint32_t)count + 1;
    let->steps = analysis_alloc(analysis, (count + 1) * sizeof(*let->steps));
    for (size_t i = 0; i <= count; i++) {
        const struct form *part = i == 0 ? form->items[1] : form->items[2 + i];
        let->steps[i].value = analyze(analysis, part, false);
        let->steps[i].pattern = analyze_pattern(analysis, &scope, form->items[2]);
    }
    let->body = analyze(analysis, form->items[2], false);
    scope_leave(analysis, &scope);
    return &let->base;
}

// cond-> and some->: the value is kept in a slot that only the steps can name.
static struct expression *analyze_slot_thread(struct analysis *analysis, const struct form *form,
                                              bool conditional, bool last)
{
    struct expression_thread *thread =
        expression_new(analysis, conditional ? EXPRESSION_THREAD_COND : EXPRESSION_THREAD_SOME,
                       sizeof(*thread), form);
    thread->start = analyze(analysis, form->items[1], false);
    struct scope scope = scope_enter(analysis);
    struct symbol *symbol = symbol_hidden(analysis->compilation, "x");
    thread->slot = slot_new(analysis);
    scope_bind(analysis, &scope, symbol, thread->slot);
    thread->count = (uint32_t)form->count - 2;
    thread->items = analysis_alloc(analysis, (thread->count + 1) * sizeof(void *));
    for (uint32_t i = 0; i < thread->count; i++) {
        struct form *part = form->items[2 + i];
        if (!conditional || i % 2)
            part = thread_step(analysis, symbol_form(analysis, symbol, part), part, last);
        thread->items[i] = analyze(analysis, part, false);
    }
    scope_leave(analysis, &scope);
    return &thread->base;
}

struct expression *analyze_thread(struct analysis *analysis, const struct form *form, bool tail)
{
    enum special special = form_special(form);
    const char *op = special_name(special);
    if (special == SPECIAL_THREAD_AS)
        return analyze_thread_as(analysis, form);
    if (form->count < 2)
        analysis_fail(analysis, INVALID_THREAD, form, op, "%s: the value to thread is missing", op);
    bool conditional = special == SPECIAL_THREAD_COND_FIRST || special == SPECIAL_THREAD_COND_LAST;
    if (conditional && form->count % 2)
        analysis_fail(analysis, INVALID_THREAD, form, op, "%s: tests and steps must come in pairs",
                      op);
    bool last = special == SPECIAL_THREAD_LAST || special == SPECIAL_THREAD_COND_LAST ||
                special == SPECIAL_THREAD_SOME_LAST;
    if (special == SPECIAL_THREAD_FIRST || special == SPECIAL_THREAD_LAST)
        return analyze_first_or_last(analysis, form, last, tail);
    return analyze_slot_thread(analysis, form, conditional, last);
}
