// Bindings: slots, scopes, destructuring patterns (docs/reference/language.md 5), let, loop, recur,
// for, doseq.
#include <string.h>

#include "program/compile/forms.h"

uint32_t slot_new(struct analysis *analysis)
{
    struct function_scope *function = analysis->function;
    uint32_t slot = function->next_slot++;
    if (function->next_slot > function->slot_count)
        function->slot_count = function->next_slot;
    return slot;
}

struct binding *bind_local(struct analysis *analysis, struct symbol *symbol, uint32_t slot)
{
    struct binding *binding = analysis_alloc(analysis, sizeof(*binding));
    *binding = (struct binding){
        .symbol = symbol,
        .shadowed = symbol->binding,
        .function = analysis->function,
        .kind = BINDING_SLOT,
        .index = slot,
        .number = analysis->bound++,
    };
    symbol->binding = binding;
    return binding;
}

void unbind(struct binding *binding)
{
    binding->symbol->binding = binding->shadowed;
}

struct scope scope_enter(struct analysis *analysis)
{
    return (struct scope){.first_slot = analysis->function->next_slot};
}

void scope_bind(struct analysis *analysis, struct scope *scope, struct symbol *symbol,
                uint32_t slot)
{
    pointer_list_push(analysis->compilation, &scope->bindings, bind_local(analysis, symbol, slot));
}

void scope_leave(struct analysis *analysis, struct scope *scope)
{
    for (size_t i = scope->bindings.count; i-- > 0;)
        unbind(scope->bindings.items[i]);
    analysis->function->next_slot = scope->first_slot;
}

// --- patterns ------------------------------------------------------------------------------------

static struct pattern *pattern_new(struct analysis *analysis, enum pattern_kind kind,
                                   const struct form *form)
{
    struct pattern *pattern = analysis_alloc(analysis, sizeof(*pattern));
    pattern->kind = (uint8_t)kind;
    pattern->offset = form->offset;
    return pattern;
}

static struct pattern *symbol_pattern(struct analysis *analysis, struct scope *scope,
                                      const struct form *form)
{
    if (symbol_is_placeholder(form->symbol))
        analysis_fail(analysis, INVALID_PLACEHOLDER, form, NULL, "a placeholder cannot be bound");
    if (symbol_is_qualified(form->symbol))
        analysis_fail(analysis, INVALID_FORM, form, NULL, "a qualified name cannot be bound: %.*s",
                      (int)(form->symbol->name.length > 80 ? 80 : form->symbol->name.length),
                      form->symbol->name.data);
    struct pattern *pattern = pattern_new(analysis, PATTERN_SLOT, form);
    pattern->slot = slot_new(analysis);
    scope_bind(analysis, scope, form->symbol, pattern->slot);
    return pattern;
}

static struct pattern *as_pattern(struct analysis *analysis, struct scope *scope,
                                  const struct form *form)
{
    if (form->kind != FORM_SYMBOL)
        analysis_fail(analysis, INVALID_FORM, form, NULL, ":as must be followed by a symbol");
    return symbol_pattern(analysis, scope, form);
}

static struct pattern *vector_pattern(struct analysis *analysis, struct scope *scope,
                                      const struct form *form)
{
    struct pattern *pattern = pattern_new(analysis, PATTERN_VECTOR, form);
    pattern->items = analysis_alloc(analysis, (form->count + 1) * sizeof(void *));
    for (size_t i = 0; i < form->count; i++) {
        const struct form *item = form->items[i];
        bool is_rest = form_is_symbol(item, "&");
        bool is_as = form_is_keyword(item, "as");
        if (!is_rest && !is_as) {
            if (pattern->rest || pattern->whole)
                analysis_fail(analysis, INVALID_FORM, item, NULL,
                              "only :as name may follow the rest of a vector pattern");
            pattern->items[pattern->count++] = analyze_pattern(analysis, scope, item);
            continue;
        }
        if (i + 1 == form->count || (is_rest && (pattern->rest || pattern->whole)) ||
            (is_as && pattern->whole))
            analysis_fail(analysis, INVALID_FORM, item, NULL, "%s must be followed by one pattern",
                          is_rest ? "&" : ":as");
        const struct form *target = form->items[++i];
        if (is_rest)
            pattern->rest = analyze_pattern(analysis, scope, target);
        else
            pattern->whole = as_pattern(analysis, scope, target);
    }
    return pattern;
}

struct map_pattern_parts {
    struct scope *scope;
    struct pattern *pattern;
};

static void add_entry(struct analysis *analysis, struct map_pattern_parts *parts,
                      struct constant key, const struct form *target)
{
    struct pattern_entry *entry = &parts->pattern->entries[parts->pattern->count++];
    entry->key = constant_add(analysis, key);
    // The default may use the names bound before, not its own.
    if (target->kind == FORM_SYMBOL) {
        if (target->symbol->fallback)
            entry->fallback = analyze(analysis, target->symbol->fallback, false);
    }
    entry->pattern = analyze_pattern(analysis, parts->scope, target);
}

// Bytes of the namespace of a name, with its slash; 0: none.
static size_t namespace_length(struct span name)
{
    const char *slash = name.length > 1 ? memchr(name.data, '/', name.length - 1) : NULL;
    return slash && slash > name.data ? (size_t)(slash - name.data) + 1 : 0;
}

// The name that the key has: that of the list comes before its own, as user in :user/keys [name].
static struct span key_name(struct analysis *analysis, struct span space, struct span name)
{
    if (space.length == 0 || namespace_length(name))
        return name;
    char *text = analysis_alloc(analysis, space.length + name.length);
    memcpy(text, space.data, space.length);
    memcpy(text + space.length, name.data, name.length);
    return (struct span){text, space.length + name.length};
}

static struct constant key_constant(struct analysis *analysis, const struct form *form,
                                    struct span list, struct span name)
{
    if (span_equal_text(list, "keys"))
        return (struct constant){.kind = CONSTANT_KEYWORD, .name = name};
    struct form *key = analysis_alloc(analysis, sizeof(*key));
    *key = (struct form){.kind = FORM_STRING, .offset = form->offset, .text = name};
    if (span_equal_text(list, "strs"))
        return (struct constant){.kind = CONSTANT_FORM, .form = key};
    struct form *symbol =
        form_of_symbol(analysis, symbol_intern(analysis->compilation, name, form->offset), form);
    return (struct constant){.kind = CONSTANT_FORM,
                             .form = form_items(analysis, FORM_QUOTE, form, 1, symbol)};
}

// :keys [a :b user/c], :user/keys [d], :strs [e], :syms [f]
static void add_names(struct analysis *analysis, struct map_pattern_parts *parts,
                      const struct form *key, const struct form *names)
{
    struct span space = {key->text.data, namespace_length(key->text)};
    struct span list = {key->text.data + space.length, key->text.length - space.length};
    if (names->kind != FORM_VECTOR)
        analysis_fail(analysis, INVALID_FORM, names, NULL, ":%.*s must be followed by a vector",
                      (int)list.length, list.data);
    for (size_t i = 0; i < names->count; i++) {
        const struct form *form = names->items[i];
        if (form->kind != FORM_SYMBOL && form->kind != FORM_KEYWORD)
            analysis_fail(analysis, INVALID_FORM, form, NULL, ":%.*s takes symbols or keywords",
                          (int)list.length, list.data);
        struct span name = form->kind == FORM_SYMBOL ? form->symbol->name : form->text;
        size_t skipped = namespace_length(name);
        struct span local = {name.data + skipped, name.length - skipped};
        struct symbol *symbol = symbol_intern(analysis->compilation, local, form->offset);
        add_entry(analysis, parts,
                  key_constant(analysis, form, list, key_name(analysis, space, name)),
                  form_of_symbol(analysis, symbol, form));
    }
}

// Is it :keys, :strs or :syms, perhaps with a namespace?
static bool is_name_list(const struct form *key)
{
    size_t skipped = namespace_length(key->text);
    struct span list = {key->text.data + skipped, key->text.length - skipped};
    return span_equal_text(list, "keys") || span_equal_text(list, "strs") ||
           span_equal_text(list, "syms");
}

// The values of :or are noted in their symbols while the pattern is analysed. Returns what was noted
// there before.
static const struct form **note_defaults(struct analysis *analysis, const struct form *defaults)
{
    if (defaults->kind != FORM_MAP)
        analysis_fail(analysis, INVALID_FORM, defaults, NULL, ":or must be followed by a map");
    const struct form **before =
        analysis_alloc(analysis, (defaults->count / 2 + 1) * sizeof(void *));
    for (size_t i = 0; i < defaults->count; i += 2) {
        if (defaults->items[i]->kind != FORM_SYMBOL)
            analysis_fail(analysis, INVALID_FORM, defaults->items[i], NULL,
                          "the keys of :or are symbols");
        before[i / 2] = defaults->items[i]->symbol->fallback;
        defaults->items[i]->symbol->fallback = defaults->items[i + 1];
    }
    return before;
}

static void forget_defaults(const struct form *defaults, const struct form **before)
{
    for (size_t i = defaults->count; i > 0; i -= 2)
        defaults->items[i - 2]->symbol->fallback = before[i / 2 - 1];
}

static size_t count_entries(const struct form *form)
{
    size_t count = 0;
    for (size_t i = 0; i < form->count; i += 2)
        count += form->items[i + 1]->kind == FORM_VECTOR ? form->items[i + 1]->count + 1 : 1;
    return count;
}

static void add_map_part(struct analysis *analysis, struct map_pattern_parts *parts,
                         const struct form *key, const struct form *target)
{
    if (key->kind == FORM_KEYWORD) {
        if (is_name_list(key))
            add_names(analysis, parts, key, target);
        else if (form_is_keyword(key, "as"))
            parts->pattern->whole = as_pattern(analysis, parts->scope, target);
        else if (!form_is_keyword(key, "or"))
            analysis_fail(analysis, UNSUPPORTED_PATTERN, key, NULL,
                          "unsupported key in a map pattern: :%.*s",
                          (int)(key->text.length > 80 ? 80 : key->text.length), key->text.data);
        return;
    }
    if (target->kind == FORM_KEYWORD)
        add_entry(analysis, parts,
                  (struct constant){.kind = CONSTANT_KEYWORD, .name = target->text}, key);
    else if (form_is_constant(target) || target->kind < FORM_SYMBOL || target->kind == FORM_QUOTE)
        add_entry(analysis, parts, (struct constant){.kind = CONSTANT_FORM, .form = target}, key);
    else
        analysis_fail(analysis, INVALID_FORM, target, NULL,
                      "a map pattern takes its values from constant keys; use (get m key)");
}

static struct pattern *map_pattern(struct analysis *analysis, struct scope *scope,
                                   const struct form *form)
{
    struct map_pattern_parts parts = {
        .scope = scope,
        .pattern = pattern_new(analysis, PATTERN_MAP, form),
    };
    parts.pattern->entries =
        analysis_alloc(analysis, (count_entries(form) + 1) * sizeof(*parts.pattern->entries));
    const struct form *defaults = NULL;
    const struct form **before = NULL;
    for (size_t i = 0; i < form->count && !defaults; i += 2) {
        if (form_is_keyword(form->items[i], "or"))
            before = note_defaults(analysis, defaults = form->items[i + 1]);
    }
    for (size_t i = 0; i < form->count; i += 2)
        add_map_part(analysis, &parts, form->items[i], form->items[i + 1]);
    if (defaults)
        forget_defaults(defaults, before);
    return parts.pattern;
}

struct pattern *analyze_pattern(struct analysis *analysis, struct scope *scope,
                                const struct form *form)
{
    switch (form->kind) {
    case FORM_SYMBOL: return symbol_pattern(analysis, scope, form);
    case FORM_VECTOR: return vector_pattern(analysis, scope, form);
    case FORM_MAP: return map_pattern(analysis, scope, form);
    default:
        analysis_fail(analysis, UNSUPPORTED_PATTERN, form, NULL,
                      "a binding takes a symbol, a vector pattern or a map pattern");
    }
}

// --- let, loop -----------------------------------------------------------------------------------

struct binding_step *analyze_steps(struct analysis *analysis, struct scope *scope,
                                   const struct form *vector, const char *op)
{
    if (vector->kind != FORM_VECTOR)
        analysis_fail(analysis, INVALID_FORM, vector, op, "%s: bindings must be a vector", op);
    if (vector->count % 2)
        analysis_fail(analysis, INVALID_FORM, vector, op,
                      "%s: bindings need an even number of forms", op);
    struct binding_step *steps = analysis_alloc(analysis, (vector->count / 2 + 1) * sizeof(*steps));
    for (size_t i = 0; i < vector->count / 2; i++) {
        steps[i].value = analyze(analysis, vector->items[2 * i + 1], false);
        steps[i].pattern = analyze_pattern(analysis, scope, vector->items[2 * i]);
    }
    return steps;
}

struct expression *analyze_let(struct analysis *analysis, const struct form *form, bool tail)
{
    if (form->count < 2)
        analysis_fail(analysis, INVALID_ARITY, form, "let", "let: bindings are missing");
    struct expression_let *let = expression_new(analysis, EXPRESSION_LET, sizeof(*let), form);
    struct scope scope = scope_enter(analysis);
    let->steps = analyze_steps(analysis, &scope, form->items[1], "let");
    let->count = (uint32_t)form->items[1]->count / 2;
    let->body = analyze_body(analysis, form->items + 2, form->count - 2, form, tail);
    scope_leave(analysis, &scope);
    return &let->base;
}

// Collects the slots that a loop reads. reads_end() gives those that were bound before it.
static struct slot_set reads_begin(struct analysis *analysis)
{
    struct slot_set outer = analysis->function->reads;
    analysis->function->reads = (struct slot_set){0};
    return outer;
}

static const struct slot_set *reads_end(struct analysis *analysis, struct slot_set *outer,
                                        uint32_t first_slot)
{
    struct slot_set *reads = analysis_alloc(analysis, sizeof(*reads));
    *reads = analysis->function->reads;
    slot_set_merge(outer, reads);
    slot_set_keep_below(reads, first_slot);
    analysis->function->reads = *outer;
    return reads;
}

struct expression *analyze_loop(struct analysis *analysis, const struct form *form, bool tail)
{
    (void)tail;  // the body has its own
    if (form->count < 2)
        analysis_fail(analysis, INVALID_ARITY, form, "loop", "loop: bindings are missing");
    struct expression_loop *loop = expression_new(analysis, EXPRESSION_LOOP, sizeof(*loop), form);
    struct scope scope = scope_enter(analysis);
    loop->steps = analyze_steps(analysis, &scope, form->items[1], "loop");
    loop->count = (uint32_t)form->items[1]->count / 2;
    struct recur_target *target = analysis_alloc(analysis, sizeof(*target));
    target->wanted = loop->count;
    target->patterns = analysis_alloc(analysis, (loop->count + 1) * sizeof(void *));
    target->slots_only = true;
    for (uint32_t i = 0; i < loop->count; i++) {
        target->patterns[i] = loop->steps[i].pattern;
        target->slots_only &= target->patterns[i]->kind == PATTERN_SLOT;
    }
    loop->target = target;
    struct recur_target *outer = analysis->target;
    analysis->target = target;
    struct slot_set outer_reads = reads_begin(analysis);
    loop->body = analyze_body(analysis, form->items + 2, form->count - 2, form, true);
    loop->reads = reads_end(analysis, &outer_reads, scope.first_slot);
    analysis->target = outer;
    scope_leave(analysis, &scope);
    return &loop->base;
}

struct expression *analyze_recur(struct analysis *analysis, const struct form *form, bool tail)
{
    struct recur_target *target = analysis->target;
    if (!tail || !target)
        analysis_fail(analysis, INVALID_FORM, form, "recur",
                      target ? "recur: only in tail position of the nearest loop or fn"
                             : "recur: no loop or fn around it");
    struct expression_recur *recur =
        expression_new(analysis, EXPRESSION_RECUR, sizeof(*recur), form);
    recur->count = (uint32_t)form->count - 1;
    recur->items = analyze_all(analysis, form->items + 1, recur->count);
    recur->wanted = target->wanted;
    recur->patterns = target->patterns;
    recur->slots_only = target->slots_only;
    recur->has_rest = target->has_rest;
    recur->target = target;
    target->used = true;
    return &recur->base;
}

// --- for, doseq ----------------------------------------------------------------------------------

static void analyze_modifier(struct analysis *analysis, struct scope *scope, struct clause *clause,
                             const struct form *name, const struct form *part, const char *op)
{
    if (form_is_keyword(name, "let")) {
        clause->kind = CLAUSE_LET;
        clause->steps = analyze_steps(analysis, scope, part, op);
        clause->count = (uint32_t)part->count / 2;
    } else if (form_is_keyword(name, "when") || form_is_keyword(name, "while")) {
        clause->kind = form_is_keyword(name, "when") ? CLAUSE_WHEN : CLAUSE_WHILE;
        clause->value = analyze(analysis, part, false);
    } else {
        analysis_fail(analysis, INVALID_FORM, name, op,
                      "%s: unknown modifier :%.*s; :let, :when and :while exist", op,
                      (int)(name->text.length > 80 ? 80 : name->text.length), name->text.data);
    }
}

static void analyze_clause(struct analysis *analysis, struct scope *scope, struct clause *clause,
                           const struct form *clauses, size_t i, const char *op)
{
    const struct form *first = clauses->items[i];
    if (first->kind == FORM_KEYWORD) {
        if (i == 0)
            analysis_fail(analysis, INVALID_FORM, first, op,
                          "%s: the first clause must bind a collection", op);
        if (i + 1 == clauses->count)
            analysis_fail(analysis, INVALID_FORM, first, op, "%s: :%.*s needs a value", op,
                          (int)(first->text.length > 80 ? 80 : first->text.length),
                          first->text.data);
        analyze_modifier(analysis, scope, clause, first, clauses->items[i + 1], op);
        return;
    }
    if (i + 1 == clauses->count)
        analysis_fail(analysis, INVALID_FORM, first, op, "%s: a binding needs a collection", op);
    size_t limit = analysis->compilation->limits->max_nesting;
    if (++analysis->for_depth > limit)
        compilation_fail_limit(analysis->compilation, NESTING_LIMIT, first->offset, "max_nesting",
                               limit, "loops are nested deeper than");
    clause->kind = CLAUSE_EACH;
    clause->value = analyze(analysis, clauses->items[i + 1], false);
    clause->pattern = analyze_pattern(analysis, scope, first);
}

struct expression *analyze_for(struct analysis *analysis, const struct form *form, bool tail)
{
    (void)tail;
    bool collects = form_special(form) == SPECIAL_FOR;
    const char *op = collects ? "for" : "doseq";
    if (form->count < 2 || form->items[1]->kind != FORM_VECTOR)
        analysis_fail(analysis, INVALID_ARITY, form, op, "%s: a vector of clauses is missing", op);
    if (form->count < 3)
        analysis_fail(analysis, INVALID_ARITY, form, op, "%s: the body is missing", op);
    const struct form *clauses = form->items[1];
    if (clauses->count == 0)
        analysis_fail(analysis, INVALID_FORM, clauses, op, "%s: no clauses", op);
    struct expression_for *loop = expression_new(analysis, EXPRESSION_FOR, sizeof(*loop), form);
    loop->base.flag = collects;
    loop->clauses = analysis_alloc(analysis, (clauses->count / 2 + 1) * sizeof(*loop->clauses));
    struct scope scope = scope_enter(analysis);
    size_t outer_depth = analysis->for_depth;
    // The first collection is evaluated once, before the iterations. What the last collection's iterations
    // read again includes what the clauses before it have bound.
    analyze_clause(analysis, &scope, &loop->clauses[loop->count++], clauses, 0, op);
    uint32_t boundary = scope.first_slot;
    struct slot_set outer_reads = reads_begin(analysis);
    for (size_t i = 2; i < clauses->count; i += 2) {
        uint32_t bound_before = analysis->function->next_slot;
        struct clause *clause = &loop->clauses[loop->count++];
        analyze_clause(analysis, &scope, clause, clauses, i, op);
        if (clause->kind == CLAUSE_EACH)
            boundary = bound_before;
    }
    loop->body = analyze_body(analysis, form->items + 2, form->count - 2, form, false);
    loop->reads = reads_end(analysis, &outer_reads, boundary);
    analysis->for_depth = outer_depth;
    scope_leave(analysis, &scope);
    return &loop->base;
}
