// Functions: fn, #(), def, defonce, defn.
#include <stdlib.h>
#include <string.h>

#include "program/compile/analysis.h"
#include "program/compile/forms.h"

enum { MAX_PLACEHOLDER = 20 };

// A function being analysed: what must be put back when it ends.
struct function_frame {
    struct function_scope scope;
    struct recur_target *outer_target;
    struct scope parameters;
    struct binding *self;
};

static void function_enter(struct analysis *analysis, struct function_frame *frame)
{
    *frame = (struct function_frame){
        .scope = {.parent = analysis->function},
        .outer_target = analysis->target,
    };
    analysis->function = &frame->scope;
    frame->parameters = scope_enter(analysis);
}

static void function_leave(struct analysis *analysis, struct function_frame *frame,
                           struct code *code)
{
    scope_leave(analysis, &frame->parameters);
    // Capture bindings lie below the function's own name, which shadows.
    for (size_t i = frame->scope.capture_bindings.count; i-- > 0;)
        unbind(frame->scope.capture_bindings.items[i]);
    if (frame->self)
        unbind(frame->self);
    code->slot_count = frame->scope.slot_count;
    code->capture_count = (uint32_t)frame->scope.captures.count;
    code->captures = analysis_alloc(analysis, (code->capture_count + 1) * sizeof(*code->captures));
    for (uint32_t i = 0; i < code->capture_count; i++)
        code->captures[i] = *(struct capture *)frame->scope.captures.items[i];
    analysis->function = frame->scope.parent;
    analysis->target = frame->outer_target;
}

static struct code *code_new(struct analysis *analysis, const struct form *form)
{
    struct code *code = analysis_alloc(analysis, sizeof(*code));
    code->program = analysis->program;
    code->offset = form->offset;
    return code;
}

static struct expression *fn_expression(struct analysis *analysis, struct code *code,
                                        const struct form *form)
{
    struct expression_fn *fn = expression_new(analysis, EXPRESSION_FN, sizeof(*fn), form);
    fn->code = code;
    return &fn->base;
}

// Arguments arrive in the slots 0 … n-1, the rest in slot n; other patterns are bound from there.
static void analyze_parameters(struct analysis *analysis, struct function_frame *frame,
                               struct code *code, const struct form *vector)
{
    size_t count = vector->count;
    for (size_t i = 0; i < count; i++) {
        if (!form_is_symbol(vector->items[i], "&"))
            continue;
        if (i + 2 != count)
            analysis_fail(analysis, INVALID_FORM, vector->items[i], "fn",
                          "fn: & must be followed by exactly one pattern");
        code->has_rest = true;
        count = i;
    }
    code->parameter_count = (uint32_t)count;
    size_t total = count + code->has_rest;
    struct pattern **patterns = analysis_alloc(analysis, (total + 1) * sizeof(void *));
    bool slots_only = true;
    for (size_t i = 0; i < total; i++)
        slot_new(analysis);
    for (size_t i = 0; i < total; i++) {
        const struct form *form = vector->items[i < count ? i : count + 1];
        if (form->kind == FORM_SYMBOL && !symbol_is_qualified(form->symbol) &&
            !symbol_is_placeholder(form->symbol)) {
            patterns[i] = analysis_alloc(analysis, sizeof(struct pattern));
            *patterns[i] =
                (struct pattern){.kind = PATTERN_SLOT, .offset = form->offset, .slot = (uint32_t)i};
            scope_bind(analysis, &frame->parameters, form->symbol, (uint32_t)i);
        } else {
            patterns[i] = analyze_pattern(analysis, &frame->parameters, form);
            slots_only = false;
        }
    }
    code->parameters = slots_only ? NULL : patterns;
    struct recur_target *target = analysis_alloc(analysis, sizeof(*target));
    *target = (struct recur_target){
        .wanted = (uint32_t)total,
        .patterns = patterns,
        .slots_only = slots_only,
        .has_rest = code->has_rest,
    };
    analysis->target = target;
}

// The text of the parameter vector without its brackets, as it stands in the source.
static struct span parameter_source(const struct analysis *analysis, const struct form *vector)
{
    struct span source = analysis->compilation->source;
    size_t start = vector->offset + 1;
    size_t depth = 1;
    for (size_t i = start; i < source.length; i++) {
        char c = source.data[i];
        if (c == '"') {
            for (i++; i < source.length && source.data[i] != '"'; i++)
                i += source.data[i] == '\\';
        } else if (c == '[' || c == '{' || c == '(') {
            depth++;
        } else if ((c == ']' || c == '}' || c == ')') && --depth == 0) {
            return (struct span){source.data + start, i - start};
        }
    }
    return (struct span){"", 0};
}

// [params] body… in the function that was entered.
static struct code *analyze_arity(struct analysis *analysis, struct function_frame *frame,
                                  const struct form *form, struct form **parts, size_t count,
                                  const char *op)
{
    const struct form *vector = count > 0 ? parts[0] : form;
    if (count == 0 || vector->kind != FORM_VECTOR)
        analysis_fail(analysis, INVALID_FORM, vector, op, "%s: parameters must be a vector", op);
    struct code *code = code_new(analysis, form);
    code->source = parameter_source(analysis, vector);
    analyze_parameters(analysis, frame, code, vector);
    struct form *conditions = function_conditions(analysis, parts + 1, count - 1, form);
    code->body = conditions ? analyze(analysis, conditions, true)
                            : analyze_body(analysis, parts + 1, count - 1, form, true);
    code->has_recur = analysis->target->used;
    return code;
}

// ([params] body…) … from item `first` on. All arities have the same captures.
static struct code *analyze_arities(struct analysis *analysis, struct function_frame *frame,
                                    const struct form *form, size_t first, const char *op)
{
    struct code *code = NULL, **next = &code;
    for (size_t i = first; i < form->count; i++) {
        const struct form *arity = form->items[i];
        if (arity->kind != FORM_LIST)
            analysis_fail(analysis, INVALID_FORM, arity, op,
                          "%s: an arity is a list ([params] body...)", op);
        if (i > first) {
            scope_leave(analysis, &frame->parameters);
            frame->parameters = scope_enter(analysis);
        }
        *next = analyze_arity(analysis, frame, form, arity->items, arity->count, op);
        next = &(*next)->next_arity;
    }
    return code;
}

// [params] body… or several arities, from item `first` on.
static struct code *analyze_function(struct analysis *analysis, const struct form *form,
                                     size_t first, const struct form *name, const char *op)
{
    struct function_frame frame;
    function_enter(analysis, &frame);
    if (name) {
        frame.self = bind_local(analysis, name->symbol, 0);
        frame.self->kind = BINDING_SELF;
    }
    bool several = first < form->count && form->items[first]->kind == FORM_LIST;
    struct code *code = several ? analyze_arities(analysis, &frame, form, first, op)
                                : analyze_arity(analysis, &frame, form, form->items + first,
                                                first < form->count ? form->count - first : 0, op);
    function_leave(analysis, &frame, code);
    for (struct code *arity = code; arity; arity = arity->next_arity) {
        arity->name = name ? name->symbol->name : (struct span){0};
        arity->slot_count = code->slot_count;
        arity->captures = code->captures;
        arity->capture_count = code->capture_count;
    }
    return code;
}

// The first item behind the documentation and the map of attributes.
static size_t skip_attributes(const struct form *form, size_t first)
{
    for (int i = 0; i < 2; i++) {
        if (first + 1 < form->count &&
            (form->items[first]->kind == FORM_STRING || form->items[first]->kind == FORM_MAP))
            first++;
    }
    return first;
}

struct expression *analyze_fn(struct analysis *analysis, const struct form *form, bool tail)
{
    (void)tail;
    if (form->count < 2)
        analysis_fail(analysis, INVALID_ARITY, form, "fn", "fn: parameters are missing");
    const struct form *name = form->items[1]->kind == FORM_SYMBOL ? form->items[1] : NULL;
    struct code *code =
        analyze_function(analysis, form, skip_attributes(form, name ? 2 : 1), name, "fn");
    return fn_expression(analysis, code, form);
}

// --- #( … ) --------------------------------------------------------------------------------------

struct placeholders {
    struct pointer_list symbols;
    unsigned highest;
    bool has_rest;
};

static void note_placeholder(struct analysis *analysis, struct placeholders *placeholders,
                             const struct form *form)
{
    struct symbol *symbol = form->symbol;
    unsigned index = 1;
    if (symbol->name.length == 2 && symbol->name.data[1] == '&') {
        placeholders->has_rest = true;
    } else if (symbol->name.length > 1) {
        index = symbol->name.length > 3 ? MAX_PLACEHOLDER + 1 : 0;
        for (size_t i = 1; i < symbol->name.length && symbol->name.length <= 3; i++)
            index = index * 10 + (unsigned)(symbol->name.data[i] - '0');
        if (index < 1 || index > MAX_PLACEHOLDER)
            analysis_fail(analysis, INVALID_FORM, form, NULL, "placeholders go from %%1 to %%%d",
                          MAX_PLACEHOLDER);
    }
    bool is_rest = symbol->name.length == 2 && symbol->name.data[1] == '&';
    if (!is_rest && index > placeholders->highest)
        placeholders->highest = index;
    pointer_list_push(analysis->compilation, &placeholders->symbols, symbol);
}

static void find_placeholders(struct analysis *analysis, struct placeholders *placeholders,
                              const struct form *form)
{
    if (form->kind == FORM_SYMBOL && symbol_is_placeholder(form->symbol))
        note_placeholder(analysis, placeholders, form);
    if (form->kind < FORM_LIST || form->kind > FORM_SET)
        return;
    for (size_t i = 0; i < form->count; i++)
        find_placeholders(analysis, placeholders, form->items[i]);
}

static uint32_t placeholder_slot(const struct symbol *symbol, unsigned highest)
{
    if (symbol->name.length == 1)
        return 0;
    if (symbol->name.data[1] == '&')
        return highest;
    uint32_t index = 0;
    for (size_t i = 1; i < symbol->name.length; i++)
        index = index * 10 + (uint32_t)(symbol->name.data[i] - '0');
    return index - 1;
}

static struct span short_fn_source(struct analysis *analysis, unsigned highest, bool has_rest)
{
    char *text = analysis_alloc(analysis, MAX_PLACEHOLDER * 4 + 8);
    size_t length = 0;
    for (unsigned i = 1; i <= highest; i++) {
        if (i > 1)
            text[length++] = ' ';
        text[length++] = '%';
        if (i >= 10)
            text[length++] = (char)('0' + i / 10);
        text[length++] = (char)('0' + i % 10);
    }
    struct span rest = highest ? SPAN(" & %&") : SPAN("& %&");
    if (has_rest) {
        memcpy(text + length, rest.data, rest.length);
        length += rest.length;
    }
    return (struct span){text, length};
}

// #(%): a function is called; anything else, which Clojure could not call, is the result.
static struct form *short_fn_of_placeholder(struct analysis *analysis, struct form *placeholder)
{
    struct form *test = form_items(analysis, FORM_LIST, placeholder, 2,
                                   form_name(analysis, "core/fn?", placeholder), placeholder);
    struct form *call = form_items(analysis, FORM_LIST, placeholder, 1, placeholder);
    return form_items(analysis, FORM_LIST, placeholder, 4, form_name(analysis, "if", placeholder),
                      test, call, placeholder);
}

// One form that is not a plain symbol is the result; otherwise the forms are one call.
static struct expression *short_fn_body(struct analysis *analysis, const struct form *form)
{
    struct form *only = form->count == 1 ? form->items[0] : NULL;
    if (form->count == 0)
        return immediate_new(analysis, value_nil(), form);
    if (only && only->kind != FORM_SYMBOL)
        return analyze(analysis, only, true);
    if (only && symbol_is_placeholder(only->symbol))
        return analyze(analysis, short_fn_of_placeholder(analysis, only), true);
    struct form *call = analysis_alloc(analysis, sizeof(*call));
    *call = *form;
    call->kind = FORM_LIST;
    return analyze(analysis, call, true);
}

struct expression *analyze_short_fn(struct analysis *analysis, const struct form *form)
{
    if (analysis->in_short_fn)
        analysis_fail(analysis, INVALID_FORM, form, NULL, "#() inside #(); use (fn [x] ...)");
    struct placeholders placeholders = {0};
    for (size_t i = 0; i < form->count; i++)
        find_placeholders(analysis, &placeholders, form->items[i]);
    struct code *code = code_new(analysis, form);
    code->parameter_count = placeholders.highest;
    code->has_rest = placeholders.has_rest;
    code->source = short_fn_source(analysis, placeholders.highest, placeholders.has_rest);
    struct function_frame frame;
    function_enter(analysis, &frame);
    uint32_t total = placeholders.highest + placeholders.has_rest;
    struct pattern **patterns = analysis_alloc(analysis, (total + 1) * sizeof(void *));
    for (uint32_t i = 0; i < total; i++) {
        patterns[i] = analysis_alloc(analysis, sizeof(struct pattern));
        *patterns[i] = (struct pattern){.kind = PATTERN_SLOT, .slot = slot_new(analysis)};
    }
    for (size_t i = 0; i < placeholders.symbols.count; i++) {
        struct symbol *symbol = placeholders.symbols.items[i];
        if (!symbol->binding || symbol->binding->function != analysis->function)
            scope_bind(analysis, &frame.parameters, symbol,
                       placeholder_slot(symbol, placeholders.highest));
    }
    struct recur_target *target = analysis_alloc(analysis, sizeof(*target));
    *target = (struct recur_target){.wanted = total, .patterns = patterns, .slots_only = true};
    analysis->target = target;
    analysis->in_short_fn = true;
    code->body = short_fn_body(analysis, form);
    analysis->in_short_fn = false;
    code->has_recur = target->used;
    function_leave(analysis, &frame, code);
    return fn_expression(analysis, code, form);
}

// --- def -----------------------------------------------------------------------------------------

static struct expression *def_expression(struct analysis *analysis, const struct form *form,
                                         const char *op, bool once)
{
    const struct form *name = form->items[1];
    if (name->kind != FORM_SYMBOL)
        analysis_fail(analysis, INVALID_FORM, name, op, "%s: the name must be a symbol", op);
    struct symbol *symbol = name->symbol;
    bool is_history = symbol->name.length == 2 && symbol->name.data[0] == '*' &&
                      symbol->name.data[1] >= '1' && symbol->name.data[1] <= '3';
    if (symbol_is_qualified(symbol) || symbol_is_placeholder(symbol) || is_history)
        analysis_fail(analysis, INVALID_FORM, name, op, "%s: %.*s cannot be defined", op,
                      (int)(symbol->name.length > 80 ? 80 : symbol->name.length),
                      symbol->name.data);
    struct expression_def *def = expression_new(analysis, EXPRESSION_DEF, sizeof(*def), form);
    def->base.flag = once;
    symbol->is_defined = true;
    def->global = global_intern(analysis, symbol, name->offset);
    ((struct global *)analysis->globals.items[def->global])->is_defined = true;
    return &def->base;
}

struct expression *analyze_def(struct analysis *analysis, const struct form *form, bool tail)
{
    (void)tail;
    bool once = form_special(form) == SPECIAL_DEFONCE;
    const char *op = once ? "defonce" : "def";
    if (form->count < 3 || form->count > 4)
        analysis_fail(analysis, INVALID_ARITY, form, op, "%s: expected a name and a value", op);
    if (form->count == 4 && form->items[2]->kind != FORM_STRING)
        analysis_fail(analysis, INVALID_FORM, form->items[2], op,
                      "%s: the documentation must be a string", op);
    struct expression_def *def = (struct expression_def *)def_expression(analysis, form, op, once);
    def->value = analyze(analysis, form->items[form->count - 1], false);
    return &def->base;
}

struct expression *analyze_defn(struct analysis *analysis, const struct form *form, bool tail)
{
    (void)tail;
    if (form->count < 3)
        analysis_fail(analysis, INVALID_ARITY, form, "defn",
                      "defn: expected a name, parameters and a body");
    struct expression_def *def =
        (struct expression_def *)def_expression(analysis, form, "defn", false);
    struct code *code = analyze_function(analysis, form, skip_attributes(form, 2), NULL, "defn");
    for (struct code *arity = code; arity; arity = arity->next_arity)
        arity->name = form->items[1]->symbol->name;
    def->value = fn_expression(analysis, code, form);
    return &def->base;
}
