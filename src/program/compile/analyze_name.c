// Names: locals and captures, globals, builtins, namespaces, tools (docs/reference/language.md 3).
#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "base/buffer.h"
#include "program/compile/analysis.h"
#include "program/compile/clojure_hints.h"
#include "program/compile/suggest.h"
#include "program/run/tool.h"

static struct expression *indexed(struct analysis *analysis, enum expression_kind kind,
                                  uint32_t index, const struct form *form)
{
    struct expression_index *expression = expression_new(analysis, kind, sizeof(*expression), form);
    expression->index = index;
    return &expression->base;
}

// --- locals --------------------------------------------------------------------------------------

// Makes a binding of an outer function known in `function`, through every function between.
static struct binding *capture(struct analysis *analysis, struct function_scope *function,
                               struct binding *binding)
{
    if (binding->function == function)
        return binding;
    struct binding *outer = capture(analysis, function->parent, binding);
    struct capture *captured = analysis_alloc(analysis, sizeof(*captured));
    captured->from_capture = outer->kind == BINDING_CAPTURE;
    captured->from_self = outer->kind == BINDING_SELF;
    captured->index = outer->index;
    if (outer->kind == BINDING_SLOT)
        slot_set_add(&outer->function->reads, outer->index);
    struct binding *inner = analysis_alloc(analysis, sizeof(*inner));
    *inner = (struct binding){
        .symbol = binding->symbol,
        .shadowed = binding->symbol->binding,
        .function = function,
        .kind = BINDING_CAPTURE,
        .index = (uint32_t)function->captures.count,
        .number = analysis->bound++,
    };
    binding->symbol->binding = inner;
    pointer_list_push(analysis->compilation, &function->captures, captured);
    pointer_list_push(analysis->compilation, &function->capture_bindings, inner);
    return inner;
}

static struct expression *analyze_local(struct analysis *analysis, const struct form *form)
{
    struct binding *binding = capture(analysis, analysis->function, form->symbol->binding);
    if (binding->kind == BINDING_SLOT)
        slot_set_add(&analysis->function->reads, binding->index);
    static const enum expression_kind kinds[] = {
        [BINDING_SLOT] = EXPRESSION_LOCAL,
        [BINDING_CAPTURE] = EXPRESSION_CAPTURE,
        [BINDING_SELF] = EXPRESSION_SELF,
    };
    return indexed(analysis, kinds[binding->kind], binding->index, form);
}

// --- qualified names -----------------------------------------------------------------------------

bool symbol_is_qualified(const struct symbol *symbol)
{
    return symbol->name.length > 1 && memchr(symbol->name.data, '/', symbol->name.length);
}

struct span symbol_member(const struct symbol *symbol, const char *namespace)
{
    size_t length = strlen(namespace);
    if (symbol->name.length > length + 1 && symbol->name.data[length] == '/' &&
        memcmp(symbol->name.data, namespace, length) == 0)
        return (struct span){symbol->name.data + length + 1, symbol->name.length - length - 1};
    return (struct span){0};
}

static const struct {
    const char *name;
    uint16_t flag;      // 0: any builtin
    const char *class;  // whose builtins come first: str/reverse is not reverse; or NULL
} namespaces[] = {
    {"clojure.core", 0, NULL},
    {"core", 0, NULL},
    {"clojure.string", BUILTIN_IN_STRING, "str"},
    {"str", BUILTIN_IN_STRING, "str"},
    {"string", BUILTIN_IN_STRING, "str"},
    {"clojure.set", BUILTIN_IN_SET, "set"},
    {"set", BUILTIN_IN_SET, "set"},
    {"clojure.walk", BUILTIN_IN_WALK, NULL},
    {"walk", BUILTIN_IN_WALK, NULL},
    {"regex", BUILTIN_IN_REGEX, NULL},
    {"clojure.pprint", BUILTIN_IN_PRINT, NULL},
    {"pprint", BUILTIN_IN_PRINT, NULL},
    {"pp", BUILTIN_IN_PRINT, NULL},
};

enum { INSTEAD_TEXT = SUGGESTION_TEXT + 4 };

// What to write instead of a name, at the end of a sentence: "; use x", ", did you mean x?", or ""
// when nothing is known.
static const char *instead(struct analysis *analysis, struct span name, struct suggestion best,
                           char text[INSTEAD_TEXT])
{
    const char *advice = clojure_hint_find(name);
    if (advice) {
        snprintf(text, INSTEAD_TEXT, "; %s", advice);
        return text;
    }
    char meant[SUGGESTION_TEXT];
    if (!suggest_text(analysis->compilation->diagnostic, best, meant))
        return "";
    snprintf(text, INSTEAD_TEXT, ", %s", meant);
    return text;
}

static int shown_length(const struct form *form)
{
    return form->symbol->name.length > 60 ? 60 : (int)form->symbol->name.length;
}

// Is it in a namespace whose builtins have the flag, or in a class (0), or a method (no namespace)?
static bool is_member(const struct builtin *builtin, const char *namespace, uint16_t flag)
{
    struct symbol whole = {.name = span_from(builtin->name)};
    if (!namespace)
        return whole.name.data[0] == '.';
    return flag ? builtin->flags & flag : symbol_member(&whole, namespace).length > 0;
}

// Lists the members there are.
static _Noreturn void fail_member(struct analysis *analysis, const struct form *form,
                                  const char *namespace, uint16_t flag)
{
    struct name_list names = {0};
    struct suggestion best = {0};
    struct span wanted = flag ? symbol_member(form->symbol, namespace) : form->symbol->name;
    for (size_t i = 0; i < builtin_count; i++) {
        struct span name = span_from(builtin_table[i].name);
        if (!is_member(&builtin_table[i], namespace, flag))
            continue;
        name_list_add(&names, " ", name, NULL);
        suggest_closer(&best, wanted, name);
    }
    char hint[INSTEAD_TEXT];
    const char *advice = instead(analysis, wanted, best, hint);
    if (advice[0])  // nothing is learnt from a long list then
        analysis_fail(analysis, INVALID_FORM, form, NULL, "%.*s does not exist%s",
                      shown_length(form), form->symbol->name.data, advice);
    analysis_fail(analysis, INVALID_FORM, form, NULL, "%.*s does not exist; %s%s: %s",
                  shown_length(form), form->symbol->name.data,
                  namespace ? namespace : "the methods are", namespace ? "/ has" : "",
                  name_list_text(&names));
}

static _Noreturn void fail_core_member(struct analysis *analysis, const struct form *form,
                                       struct span member)
{
    struct suggestion best = {0};
    suggest_builtin(&best, member);
    char hint[INSTEAD_TEXT];
    const char *advice = instead(analysis, member, best, hint);
    analysis_fail(analysis, INVALID_FORM, form, NULL, "%.*s does not exist%s", shown_length(form),
                  form->symbol->name.data,
                  advice[0] ? advice : "; (apropos \"text\") lists the builtins");
}

static const struct builtin *find_unqualified(struct span name)
{
    const struct builtin *builtin = builtin_find(name);
    bool qualified = name.length > 1 && memchr(name.data, '/', name.length);
    return qualified ? NULL : builtin;
}

// The builtin class/member, such as str/reverse.
static const struct builtin *find_in_class(const char *class, struct span member)
{
    char name[80];
    if (!class || member.length > 60)
        return NULL;
    int length = snprintf(name, sizeof(name), "%s/%.*s", class, (int)member.length, member.data);
    return builtin_find((struct span){name, (size_t)length});
}

// A name without the package of its class, and by the class that has the builtins.
static struct span without_package(struct span name)
{
    static const struct span packages[] = {SPAN("java.time.temporal."), SPAN("java.time."),
                                           SPAN("java.lang."),          SPAN("clojure.data."),
                                           SPAN("clojure.lang."),       SPAN("clojure.")};
    for (size_t i = 0; i < COUNT_OF(packages); i++) {
        if (span_starts_with(name, packages[i]))
            return (struct span){name.data + packages[i].length, name.length - packages[i].length};
    }
    return name;
}

static const char *const classes[] = {
    "json",      "edn",     "Math",     "StrictMath", "Double",          "Float",
    "Integer",   "Long",    "String",   "Boolean",    "Character",       "System",
    "LocalDate", "Instant", "Duration", "ChronoUnit", "PersistentQueue", "UUID"};

bool program_has_namespace(struct span name)
{
    static const char *const data[] = {"ctx", "data", "memory", "saved", "tool"};
    for (size_t i = 0; i < COUNT_OF(data); i++)
        if (span_equal_text(name, data[i]))
            return true;
    for (size_t i = 0; i < COUNT_OF(namespaces); i++)
        if (span_equal_text(name, namespaces[i].name))
            return true;
    for (size_t i = 0; i < COUNT_OF(classes); i++)
        if (span_equal_text(name, classes[i]))
            return true;
    return false;
}

// json/, Math/ and the other classes: the builtin's name is the whole qualified name.
static const struct builtin *find_class_member(struct analysis *analysis, const struct form *form)
{
    struct span name = without_package(form->symbol->name);
    struct symbol bare = {.name = name};
    const struct builtin *builtin = builtin_find(name);
    for (size_t i = 0; i < COUNT_OF(classes); i++) {
        if (!symbol_member(&bare, classes[i]).length)
            continue;
        if (!builtin)
            fail_member(analysis, form, classes[i], 0);
        return builtin;
    }
    return NULL;
}

static _Noreturn void fail_namespace(struct analysis *analysis, const struct form *form)
{
    struct span name = form->symbol->name;
    const char *slash = memchr(name.data, '/', name.length);
    int length = slash - name.data > 60 ? 60 : (int)(slash - name.data);
    analysis_fail(
        analysis, INVALID_FORM, form, NULL,
        "unknown namespace %.*s/; available: ctx/ data/ memory/ tool/ core/ str/ set/ "
        "walk/ regex/ json/ edn/ Math/ Double/ Integer/ Long/ String/ Boolean/ Character/ "
        "System/ LocalDate/ Instant/ Duration/",
        length, name.data);
}

static struct expression *builtin_value(struct analysis *analysis, const struct builtin *builtin,
                                        const struct form *form)
{
    if (builtin->flags & BUILTIN_CONSTANT) {
        struct expression_builtin *call =
            expression_new(analysis, EXPRESSION_CALL_BUILTIN, sizeof(*call), form);
        call->builtin = builtin;
        return &call->base;
    }
    return immediate_new(analysis, function_from_builtin(builtin), form);
}

static struct expression *constant_reference(struct analysis *analysis, const struct form *form,
                                             struct constant constant)
{
    return indexed(analysis, EXPRESSION_CONSTANT, constant_add(analysis, constant), form);
}

// tool/x is the tool x, or a builtin about tools where no tool has its name; a server's tool is called
// by its qualified name.
struct span tool_member(const struct analysis *analysis, const struct symbol *symbol)
{
    const struct tool_table *tools = analysis->program->tools;
    struct span member = symbol_member(symbol, "tool");
    if (!member.length && tool_table_find(tools, symbol->name) >= 0)
        return symbol->name;
    if (member.length && builtin_find(symbol->name) && tool_table_find(tools, member) < 0)
        return (struct span){0};
    return member;
}

static struct expression *tool_value(struct analysis *analysis, const struct form *form,
                                     struct span name)
{
    struct expression *gone = analyze_gone_tool(analysis, name, form);
    if (gone)
        return gone;
    uint32_t tool = tool_index(analysis, name, form);
    if (!analysis->tool_constants)
        analysis->tool_constants = analysis_alloc(analysis, analysis->program->tools->count *
                                                                sizeof(*analysis->tool_constants));
    uint32_t *constant = &analysis->tool_constants[tool];
    if (!*constant)
        *constant =
            constant_add(analysis, (struct constant){.kind = CONSTANT_TOOL, .index = tool}) + 1;
    return indexed(analysis, EXPRESSION_CONSTANT, *constant - 1, form);
}

static struct expression *analyze_qualified(struct analysis *analysis, const struct form *form)
{
    const struct symbol *symbol = form->symbol;
    struct span member = symbol_member(symbol, "ctx");
    if (!member.length)
        member = symbol_member(symbol, "data");
    if (member.length)
        return constant_reference(analysis, form,
                                  (struct constant){.kind = CONSTANT_CONTEXT, .name = member});
    member = symbol_member(symbol, "memory");
    if (member.length) {
        uint32_t name =
            constant_add(analysis, (struct constant){.kind = CONSTANT_KEYWORD, .name = member});
        return indexed(analysis, EXPRESSION_MEMORY, name, form);
    }
    member = tool_member(analysis, symbol);
    if (member.length)
        return tool_value(analysis, form, member);
    if (symbol_member(symbol, "tool").length)
        return builtin_value(analysis, builtin_find(symbol->name), form);
    for (size_t i = 0; i < COUNT_OF(namespaces); i++) {
        member = symbol_member(symbol, namespaces[i].name);
        if (!member.length)
            continue;
        const struct builtin *builtin = find_in_class(namespaces[i].class, member);
        if (builtin)
            return builtin_value(analysis, builtin, form);
        builtin = find_unqualified(member);
        if (!builtin || (namespaces[i].flag && !(builtin->flags & namespaces[i].flag))) {
            if (namespaces[i].flag)
                fail_member(analysis, form, namespaces[i].name, namespaces[i].flag);
            fail_core_member(analysis, form, member);
        }
        return builtin_value(analysis, builtin, form);
    }
    const struct builtin *builtin = find_class_member(analysis, form);
    if (!builtin)
        fail_namespace(analysis, form);
    return builtin_value(analysis, builtin, form);
}

uint32_t tool_index(struct analysis *analysis, struct span name, const struct form *form)
{
    const struct tool_table *tools = analysis->program->tools;
    int index = tool_table_find(tools, name);
    if (index >= 0)
        return (uint32_t)index;
    struct name_list names = {0};
    tool_table_names(tools, &names);
    const char *known = name_list_text(&names);
    struct diagnostic *diagnostic = analysis->compilation->diagnostic;
    tool_table_suggest(tools, name, diagnostic);
    char op[DIAGNOSTIC_OP_SIZE];
    int length = name.length > 80 ? 80 : (int)name.length;
    snprintf(op, sizeof(op), "%.*s", length, name.data);
    if (diagnostic->suggestion_count)
        analysis_fail(analysis, UNKNOWN_TOOL, form, op,
                      "unknown tool '%s', did you mean %s? Known tools: %s", op,
                      diagnostic->suggestions[0], known);
    analysis_fail(analysis, UNKNOWN_TOOL, form, op, "unknown tool '%s'. Known tools: %s", op,
                  known);
}

static struct form *text_form(struct analysis *analysis, enum form_kind kind, struct span text)
{
    struct form *form = analysis_alloc(analysis, sizeof(*form));
    *form = (struct form){.kind = kind, .text = text};
    return form;
}

// Only a call of the function may fail: (fail {:reason "unknown_tool" :message "…"}). Otherwise a
// memory would be lost to programs together with the tool.
struct expression *analyze_gone_tool(struct analysis *analysis, struct span name,
                                     const struct form *form)
{
    enum { MESSAGE_SIZE = 160 };
    if (form->offset >= analysis->options->definition_bytes ||
        tool_table_find(analysis->program->tools, name) >= 0)
        return NULL;
    char *message = analysis_alloc(analysis, MESSAGE_SIZE);
    snprintf(message, MESSAGE_SIZE, "unknown tool '%.*s' in a function kept in memory",
             name.length > 80 ? 80 : (int)name.length, name.data);
    struct form *parts[] = {
        text_form(analysis, FORM_KEYWORD, SPAN("reason")),
        text_form(analysis, FORM_STRING, SPAN("unknown_tool")),
        text_form(analysis, FORM_KEYWORD, SPAN("message")),
        text_form(analysis, FORM_STRING, span_from(message)),
    };
    struct form *failure = text_form(analysis, FORM_MAP, (struct span){0});
    failure->count = COUNT_OF(parts);
    failure->items = analysis_alloc(analysis, sizeof(parts));
    memcpy(failure->items, parts, sizeof(parts));
    struct expression_call *exit = expression_new(analysis, EXPRESSION_FAIL, sizeof(*exit), form);
    exit->count = 1;
    exit->items = analysis_alloc(analysis, sizeof(void *));
    exit->items[0] = constant_reference(analysis, form,
                                        (struct constant){.kind = CONSTANT_FORM, .form = failure});
    return &exit->base;
}

// --- unqualified names ---------------------------------------------------------------------------

bool symbol_is_placeholder(const struct symbol *symbol)
{
    struct span name = symbol->name;
    if (name.length == 0 || name.data[0] != '%')
        return false;
    if (name.length == 1 || (name.length == 2 && name.data[1] == '&'))
        return true;
    for (size_t i = 1; i < name.length; i++) {
        if (name.data[i] < '0' || name.data[i] > '9')
            return false;
    }
    return true;
}

static unsigned history_index(struct span name)
{
    bool matches =
        name.length == 2 && name.data[0] == '*' && name.data[1] >= '1' && name.data[1] <= '3';
    return matches ? (unsigned)(name.data[1] - '0') : 0;
}

bool memory_has_function(const struct analysis *analysis, struct span name)
{
    for (size_t i = 0; i < analysis->options->function_count; i++) {
        if (span_equal(analysis->options->functions[i], name))
            return true;
    }
    return false;
}

enum { HINTED_NAMES = 8 };  // for the others no local name is suggested

static struct suggestion closest_local(const struct analysis *analysis, struct span name)
{
    struct suggestion best = {0};
    const struct symbol_table *symbols = &analysis->compilation->symbols;
    for (size_t i = 0; i < symbols->capacity; i++) {
        if (symbols->slots[i] && symbols->slots[i]->binding)
            suggest_closer(&best, name, symbols->slots[i]->name);
    }
    return best;
}

static struct expression *analyze_global(struct analysis *analysis, const struct form *form,
                                         bool unbound_is_nil)
{
    uint32_t index = global_intern(analysis, form->symbol, form->offset);
    struct global *global = analysis->globals.items[index];
    if (form->symbol->is_defined)
        global->is_defined = true;
    if (!unbound_is_nil && !global->is_required) {
        global->is_required = true;
        global->offset = form->offset;
        if (!global->is_defined && analysis->hinted++ < HINTED_NAMES)
            global->local = closest_local(analysis, global->name);
    }
    struct expression *expression = indexed(analysis, EXPRESSION_GLOBAL, index, form);
    expression->flag = unbound_is_nil;
    return expression;
}

struct expression *analyze_symbol(struct analysis *analysis, const struct form *form,
                                  bool unbound_is_nil)
{
    struct symbol *symbol = form->symbol;
    if (symbol->binding)
        return analyze_local(analysis, form);
    if (symbol_is_placeholder(symbol))
        analysis_fail(analysis, INVALID_PLACEHOLDER, form, NULL, "placeholder %.*s outside #()",
                      (int)(symbol->name.length > 80 ? 80 : symbol->name.length),
                      symbol->name.data);
    if (history_index(symbol->name))
        return constant_reference(
            analysis, form,
            (struct constant){.kind = CONSTANT_HISTORY, .index = history_index(symbol->name)});
    if (symbol->is_defined)
        return analyze_global(analysis, form, unbound_is_nil);
    struct symbol *meant = symbol_resolve_alias(analysis, form);
    if (meant) {
        struct form other = *form;
        other.symbol = meant;
        return analyze_symbol(analysis, &other, unbound_is_nil);
    }
    if (symbol->builtin && !symbol_is_qualified(symbol) &&
        !memory_has_function(analysis, symbol->name))
        return builtin_value(analysis, symbol->builtin, form);
    if (symbol_is_qualified(symbol))
        return analyze_qualified(analysis, form);
    if (symbol->name.data[0] == '.' && symbol->name.length > 1)
        fail_member(analysis, form, NULL, 0);
    const struct form *constructor = record_constructor(analysis, form);
    if (constructor)
        return analyze_global(analysis, constructor, unbound_is_nil);
    return analyze_global(analysis, form, unbound_is_nil);
}
