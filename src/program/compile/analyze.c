// The analyzer's centre: literals, calls, bodies, and the whole program.
#include <string.h>

#include "program/compile/analysis.h"
#include "program/compile/clojure_hints.h"

void *analysis_alloc(struct analysis *analysis, size_t size)
{
    return compilation_alloc(analysis->compilation, size);
}

void *expression_new(struct analysis *analysis, enum expression_kind kind, size_t size,
                     const struct form *form)
{
    struct expression *expression = analysis_alloc(analysis, size);
    expression->kind = (uint8_t)kind;
    expression->offset = form->offset;
    return expression;
}

struct expression *immediate_new(struct analysis *analysis, value v, const struct form *form)
{
    struct expression_immediate *expression =
        expression_new(analysis, EXPRESSION_IMMEDIATE, sizeof(*expression), form);
    expression->value = v;
    return &expression->base;
}

static struct expression *index_new(struct analysis *analysis, enum expression_kind kind,
                                    uint32_t index, const struct form *form)
{
    struct expression_index *expression = expression_new(analysis, kind, sizeof(*expression), form);
    expression->index = index;
    return &expression->base;
}

uint32_t constant_add(struct analysis *analysis, struct constant constant)
{
    struct constant *copy = analysis_alloc(analysis, sizeof(*copy));
    *copy = constant;
    pointer_list_push(analysis->compilation, &analysis->constants, copy);
    return (uint32_t)analysis->constants.count - 1;
}

uint32_t global_intern(struct analysis *analysis, struct symbol *symbol, uint32_t offset)
{
    if (symbol->global < 0) {
        struct global *global = analysis_alloc(analysis, sizeof(*global));
        *global = (struct global){.name = symbol->name, .offset = offset};
        symbol->global = (int32_t)analysis->globals.count;
        pointer_list_push(analysis->compilation, &analysis->globals, global);
    }
    return (uint32_t)symbol->global;
}

static struct expression *constant_new(struct analysis *analysis, const struct form *form)
{
    uint32_t index = constant_add(analysis, (struct constant){.kind = CONSTANT_FORM, .form = form});
    return index_new(analysis, EXPRESSION_CONSTANT, index, form);
}

struct expression **analyze_all(struct analysis *analysis, struct form **forms, size_t count)
{
    struct expression **items = analysis_alloc(analysis, (count ? count : 1) * sizeof(void *));
    for (size_t i = 0; i < count; i++)
        items[i] = analyze(analysis, forms[i], false);
    return items;
}

struct expression *analyze_body(struct analysis *analysis, struct form **forms, size_t count,
                                const struct form *around, bool tail)
{
    if (count == 0)
        return immediate_new(analysis, value_nil(), around);
    if (count == 1)
        return analyze(analysis, forms[0], tail);
    struct expression_list *list = expression_new(analysis, EXPRESSION_DO, sizeof(*list), around);
    list->count = (uint32_t)count;
    list->items = analysis_alloc(analysis, count * sizeof(void *));
    for (size_t i = 0; i < count; i++)
        list->items[i] = analyze(analysis, forms[i], tail && i + 1 == count);
    return &list->base;
}

static struct expression *analyze_collection(struct analysis *analysis, const struct form *form)
{
    if (form_is_constant(form)) {
        check_constant(analysis, form);
        return constant_new(analysis, form);
    }
    check_literal(analysis, form);
    enum expression_kind kind = form->kind == FORM_VECTOR ? EXPRESSION_VECTOR
                                : form->kind == FORM_MAP  ? EXPRESSION_MAP
                                                          : EXPRESSION_SET;
    struct expression_list *list = expression_new(analysis, kind, sizeof(*list), form);
    list->count = (uint32_t)form->count;
    list->items = analyze_all(analysis, form->items, form->count);
    return &list->base;
}

// --- calls ---------------------------------------------------------------------------------------

static struct expression *analyze_keyword_call(struct analysis *analysis, const struct form *form)
{
    struct expression_keyword *call =
        expression_new(analysis, EXPRESSION_CALL_KEYWORD, sizeof(*call), form);
    struct span *name = analysis_alloc(analysis, sizeof(*name));
    *name = form->items[0]->text;
    call->lookup = (uint32_t)analysis->lookups.count;
    pointer_list_push(analysis->compilation, &analysis->lookups, name);
    call->subject = analyze(analysis, form->items[1], false);
    if (form->count == 3)
        call->otherwise = analyze(analysis, form->items[2], false);
    return &call->base;
}

// (.name x) and (.-name x) of a field of a record are (:name x).
static struct expression *analyze_field(struct analysis *analysis, const struct form *form)
{
    struct span name = form->items[0]->symbol->name;
    size_t skipped = name.data[1] == '-' ? 2 : 1;
    struct form key = {.kind = FORM_KEYWORD,
                       .offset = form->offset,
                       .text = {name.data + skipped, name.length - skipped}};
    struct form *items[] = {&key, form->items[1]};
    struct form call = {.kind = FORM_LIST, .offset = form->offset, .items = items, .count = 2};
    return analyze_keyword_call(analysis, &call);
}

static struct expression *analyze_builtin_call(struct analysis *analysis, const struct form *form,
                                               const struct builtin *builtin)
{
    struct expression_builtin *call =
        expression_new(analysis, EXPRESSION_CALL_BUILTIN, sizeof(*call), form);
    call->builtin = builtin;
    call->count = (uint32_t)form->count - 1;
    call->items = analyze_all(analysis, form->items + 1, call->count);
    return &call->base;
}

static struct expression *analyze_tool_call(struct analysis *analysis, const struct form *form,
                                            struct span name)
{
    struct expression *gone = analyze_gone_tool(analysis, name, form->items[0]);
    if (gone)
        return gone;
    struct expression_tool *call =
        expression_new(analysis, EXPRESSION_CALL_TOOL, sizeof(*call), form);
    call->tool = tool_index(analysis, name, form->items[0]);
    call->count = (uint32_t)form->count - 1;
    call->pairs = call->count >= 2 && call->count % 2 == 0 && form->items[1]->kind == FORM_KEYWORD;
    call->items = analyze_all(analysis, form->items + 1, call->count);
    return &call->base;
}

// (memory/put k v) and (memory/get k d?)
static struct expression *analyze_memory_call(struct analysis *analysis, const struct form *form,
                                              bool put)
{
    size_t count = form->count - 1;
    if (put ? count != 2 : count < 1 || count > 2)
        analysis_fail(analysis, INVALID_ARITY, form, put ? "memory/put" : "memory/get",
                      "%s expected, got %zu",
                      put ? "memory/put: 2 arguments" : "memory/get: 1 or 2 arguments", count);
    struct expression_call *call = expression_new(
        analysis, put ? EXPRESSION_MEMORY_PUT : EXPRESSION_MEMORY_GET, sizeof(*call), form);
    call->count = (uint32_t)count;
    call->items = analyze_all(analysis, form->items + 1, count);
    return &call->base;
}

// An unknown name that is a macro in Clojure: what follows it would be no problem of its own.
static bool is_refused_macro(const struct analysis *analysis, const struct form *head)
{
    return head->kind == FORM_SYMBOL && !head->symbol->binding && !head->symbol->is_defined &&
           clojure_macro_is_refused(head->symbol->name) &&
           !memory_has_function(analysis, head->symbol->name);
}

static struct expression *analyze_call(struct analysis *analysis, const struct form *form,
                                       bool tail)
{
    if (form->count == 0)
        return constant_new(analysis, form);
    const struct form *head = form->items[0];
    if (head->kind == FORM_KEYWORD && (form->count == 2 || form->count == 3))
        return analyze_keyword_call(analysis, form);
    if (head->kind == FORM_SYMBOL && !head->symbol->binding) {
        struct symbol *symbol = head->symbol;
        if (symbol->special != SPECIAL_NONE)
            return analyze_special(analysis, form, tail);
        struct span tool = tool_member(analysis, symbol);
        if (tool.length)
            return analyze_tool_call(analysis, form, tool);
        if (symbol->is_field && form->count == 2)
            return analyze_field(analysis, form);
        if (span_equal_text(symbol->name, "memory/put"))
            return analyze_memory_call(analysis, form, true);
        if (span_equal_text(symbol->name, "memory/get"))
            return analyze_memory_call(analysis, form, false);
    }
    struct expression *function = analyze(analysis, head, false);
    if (function->kind == EXPRESSION_IMMEDIATE) {
        const struct builtin *builtin =
            function_builtin(((struct expression_immediate *)function)->value);
        if (builtin && builtin_accepts(builtin, form->count - 1))
            return analyze_builtin_call(analysis, form, builtin);
    }
    struct expression_call *call = expression_new(analysis, EXPRESSION_CALL, sizeof(*call), form);
    call->head = function;
    call->count = is_refused_macro(analysis, head) ? 0 : (uint32_t)form->count - 1;
    call->items = analyze_all(analysis, form->items + 1, call->count);
    return &call->base;
}

static struct expression *analyze_form(struct analysis *analysis, const struct form *form,
                                       bool tail)
{
    switch (form->kind) {
    case FORM_NIL: return immediate_new(analysis, value_nil(), form);
    case FORM_BOOLEAN: return immediate_new(analysis, value_boolean(form->boolean), form);
    case FORM_INTEGER: return immediate_new(analysis, value_integer(form->integer), form);
    case FORM_FLOAT: return immediate_new(analysis, value_float(form->number), form);
    case FORM_STRING:
        // The bytes live in the program, so the value needs no region.
        return immediate_new(analysis, value_string_borrow(NULL, form->text), form);
    case FORM_BIG_INTEGER:
    case FORM_KEYWORD:
    case FORM_QUOTE: return constant_new(analysis, form);
    case FORM_REGEX: check_literal(analysis, form); return constant_new(analysis, form);
    case FORM_SYMBOL: return analyze_symbol(analysis, form, false);
    case FORM_VAR: return analyze_symbol(analysis, form->items[0], false);
    case FORM_SHORT_FN: return analyze_short_fn(analysis, form);
    case FORM_VECTOR:
    case FORM_MAP:
    case FORM_SET: return analyze_collection(analysis, form);
    case FORM_LIST: return analyze_call(analysis, form, tail);
    }
    __builtin_unreachable();
}

// --- collecting problems -------------------------------------------------------------------------

struct analysis_part {
    struct analysis *analysis;
    const struct form *form;
    bool tail;
    struct expression *result;
};

static void analyze_part(void *data)
{
    struct analysis_part *part = data;
    part->result = analyze_form(part->analysis, part->form, part->tail);
}

// What a part that failed has bound.
static void undo_bindings(struct analysis *analysis, size_t first)
{
    const struct symbol_table *symbols = &analysis->compilation->symbols;
    for (size_t i = 0; i < symbols->capacity; i++) {
        struct symbol *symbol = symbols->slots[i];
        while (symbol && symbol->binding && symbol->binding->number >= first)
            symbol->binding = symbol->binding->shadowed;
    }
}

// The form, or nil in its place when it is wrong.
static struct expression *analyze_or_note(struct analysis *analysis, const struct form *form,
                                          bool tail)
{
    struct analysis before = *analysis;
    struct analysis_part part = {analysis, form, tail, NULL};
    if (compilation_try(analysis->compilation, analyze_part, &part))
        return part.result;
    undo_bindings(analysis, before.bound);
    analysis->function = before.function;
    analysis->target = before.target;
    analysis->in_short_fn = before.in_short_fn;
    analysis->for_depth = before.for_depth;
    return immediate_new(analysis, value_nil(), form);
}

struct expression *analyze(struct analysis *analysis, const struct form *form, bool tail)
{
    return analysis->compilation->problems ? analyze_or_note(analysis, form, tail)
                                           : analyze_form(analysis, form, tail);
}

// --- the whole program ---------------------------------------------------------------------------

static bool special_defines(enum special special)
{
    return special == SPECIAL_DEF || special == SPECIAL_DEFN || special == SPECIAL_DEFONCE ||
           special == SPECIAL_DEFN_PRIVATE || special == SPECIAL_DEFMULTI;
}

// The names that a refused macro would define: (defprotocol P (m [x])), (deftype T [a]), (defmacro m [x] …).
static void mark_refused(struct analysis *analysis, const struct form *form)
{
    for (size_t i = 1; i < form->count; i++) {
        const struct form *item = form->items[i];
        if (item->kind == FORM_LIST && item->count > 0)
            item = item->items[0];
        if (item->kind != FORM_SYMBOL)
            continue;
        item->symbol->is_defined = true;
        mark_constructor(analysis, item);
    }
}

// Marks the names that def, defn and their kin define anywhere.
static void mark_definitions(struct analysis *analysis, const struct form *form)
{
    if (form->kind < FORM_LIST || form->kind > FORM_SHORT_FN)
        return;
    if (form->kind == FORM_LIST && form->count > 0 && form->items[0]->kind == FORM_SYMBOL) {
        enum special special = form->items[0]->symbol->special;
        if (special == SPECIAL_COMMENT)
            return;
        if (special_defines(special) && form->count > 1 && form->items[1]->kind == FORM_SYMBOL)
            form->items[1]->symbol->is_defined = true;
        if (special == SPECIAL_DEFRECORD)
            mark_record(analysis, form);
        if (is_refused_macro(analysis, form->items[0]))
            mark_refused(analysis, form);
    }
    for (size_t i = 0; i < form->count; i++)
        mark_definitions(analysis, form->items[i]);
}

static void finish_tables(struct analysis *analysis)
{
    struct program *program = analysis->program;
    program->constant_count = analysis->constants.count;
    program->constants =
        analysis_alloc(analysis, (program->constant_count + 1) * sizeof(*program->constants));
    for (size_t i = 0; i < program->constant_count; i++)
        program->constants[i] = *(struct constant *)analysis->constants.items[i];
    program->lookup_count = analysis->lookups.count;
    program->lookups =
        analysis_alloc(analysis, (program->lookup_count + 1) * sizeof(*program->lookups));
    for (size_t i = 0; i < program->lookup_count; i++)
        program->lookups[i] = *(struct span *)analysis->lookups.items[i];
    program->global_count = analysis->globals.count;
    program->globals =
        analysis_alloc(analysis, (program->global_count + 1) * sizeof(*program->globals));
    for (size_t i = 0; i < program->global_count; i++)
        program->globals[i] = *(struct global *)analysis->globals.items[i];
}

void analyze_program(struct compilation *compilation, struct program *program,
                     const struct compile_options *options)
{
    size_t count;
    struct form **forms = program_read(compilation, &count);
    struct function_scope function = {0};
    struct analysis analysis = {
        .compilation = compilation,
        .program = program,
        .options = options,
        .function = &function,
    };
    if (compilation->has_defs) {
        for (size_t i = 0; i < count; i++)
            mark_definitions(&analysis, forms[i]);
    }
    struct form around = {.kind = FORM_NIL};
    struct code *code = analysis_alloc(&analysis, sizeof(*code));
    code->body = analyze_body(&analysis, forms, count, &around, false);
    code->slot_count = function.slot_count;
    code->program = program;
    program->code = code;
    finish_tables(&analysis);
    if (compilation->problems)
        return;
    if (!options->unoptimised)
        liveness_mark(code);
    specialize(code, options->unoptimised);
}
