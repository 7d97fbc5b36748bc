// Special forms that stand for others: each is rewritten, and the result is analysed
// (docs/reference/language.md 4.2).
#include <string.h>

#include "base/array.h"
#include "program/compile/forms.h"

static struct form *call_of(struct analysis *analysis, const char *name, const struct form *around)
{
    return form_items(analysis, FORM_LIST, around, 1, form_name(analysis, name, around));
}

// (name form…) with the items of another form from `first` on.
static struct form *call_with(struct analysis *analysis, const char *name, const struct form *form,
                              size_t first)
{
    return form_with_tail(analysis, call_of(analysis, name, form), form->items + first,
                          form->count - first);
}

// (fn [] body…) of the items from `first` on.
static struct form *thunk(struct analysis *analysis, const struct form *form, size_t first)
{
    struct form *nothing = form_items(analysis, FORM_VECTOR, form, 0);
    struct form *fn =
        form_items(analysis, FORM_LIST, form, 2, form_name(analysis, "fn", form), nothing);
    return form_with_tail(analysis, fn, form->items + first, form->count - first);
}

static void check_binding(struct analysis *analysis, const struct form *form, size_t count)
{
    const char *op = special_name(form_special(form));
    if (form->count < 2 || form->items[1]->kind != FORM_VECTOR || form->items[1]->count != count)
        analysis_fail(analysis, INVALID_FORM, form, op, "%s: expected %s", op,
                      special_signature(form_special(form)));
}

// --- loops ---------------------------------------------------------------------------------------

// (doseq [i (range n)] body… nil)
static struct form *rewrite_dotimes(struct analysis *analysis, const struct form *form)
{
    check_binding(analysis, form, 2);
    struct form *range = call_of(analysis, "core/range", form);
    form_with_tail(analysis, range, form->items[1]->items + 1, 1);
    struct form *clauses =
        form_items(analysis, FORM_VECTOR, form, 2, form->items[1]->items[0], range);
    struct form *loop =
        form_items(analysis, FORM_LIST, form, 2, form_name(analysis, "doseq", form), clauses);
    struct form *nothing = form_make(analysis, FORM_NIL, form);
    form_with_tail(analysis, loop, form->items + 2, form->count - 2);
    return form_with_tail(analysis, loop, &nothing, 1);
}

// (loop [] (when test body… (recur)))
static struct form *rewrite_while(struct analysis *analysis, const struct form *form)
{
    if (form->count < 2)
        analysis_fail(analysis, INVALID_ARITY, form, "while", "while: a test is missing");
    struct form *again = call_of(analysis, "recur", form);
    struct form *when = call_with(analysis, "when", form, 1);
    form_with_tail(analysis, when, &again, 1);
    return form_items(analysis, FORM_LIST, form, 3, form_name(analysis, "loop", form),
                      form_items(analysis, FORM_VECTOR, form, 0), when);
}

// (let [h x] (f h a…) … h)
static struct form *rewrite_doto(struct analysis *analysis, const struct form *form)
{
    if (form->count < 2)
        analysis_fail(analysis, INVALID_ARITY, form, "doto", "doto: a value is missing");
    struct form *name =
        form_of_symbol(analysis, symbol_hidden(analysis->compilation, "doto"), form);
    struct form *steps = form_items(analysis, FORM_VECTOR, form, 2, name, form->items[1]);
    struct form *let =
        form_items(analysis, FORM_LIST, form, 2, form_name(analysis, "let", form), steps);
    for (size_t i = 2; i < form->count; i++) {
        struct form *thread = form_items(analysis, FORM_LIST, form, 3,
                                         form_name(analysis, "->", form), name, form->items[i]);
        form_with_tail(analysis, let, &thread, 1);
    }
    return form_with_tail(analysis, let, &name, 1);
}

// --- functions -----------------------------------------------------------------------------------

// The names of the other functions of a letfn that a form mentions: [name (group i) …].
static struct form *sibling_steps(struct analysis *analysis, const struct form *functions,
                                  struct symbol *group, const struct form *user, size_t self)
{
    struct form *steps = form_items(analysis, FORM_VECTOR, functions, 0);
    for (size_t i = 0; i < functions->count; i++) {
        struct form *name = functions->items[i]->items[0];
        if (i == self || (user && !form_mentions(user, name->symbol)))
            continue;
        struct form *index = form_make(analysis, FORM_INTEGER, name);
        index->integer = (int64_t)i;
        struct form *step[] = {name, form_items(analysis, FORM_LIST, name, 2,
                                                form_of_symbol(analysis, group, name), index)};
        form_with_tail(analysis, steps, step, 2);
    }
    return steps;
}

// (fn name [params] (let [sibling (group i) …] body…))
static struct form *letfn_function(struct analysis *analysis, const struct form *functions,
                                   struct symbol *group, size_t index)
{
    const struct form *function = functions->items[index];
    if (function->kind != FORM_LIST || function->count < 2 ||
        function->items[0]->kind != FORM_SYMBOL || function->items[1]->kind != FORM_VECTOR)
        analysis_fail(analysis, INVALID_FORM, function, "letfn",
                      "letfn: expected (name [params] body...)");
    struct form *let =
        form_items(analysis, FORM_LIST, function, 2, form_name(analysis, "let", function),
                   sibling_steps(analysis, functions, group, function, index));
    form_with_tail(analysis, let, function->items + 2, function->count - 2);
    return form_items(analysis, FORM_LIST, function, 4, form_name(analysis, "fn", function),
                      function->items[0], function->items[1], let);
}

// One function makes all of them, each when it is needed: so they refer to each other without cycles.
static struct form *rewrite_letfn(struct analysis *analysis, const struct form *form)
{
    if (form->count < 2 || form->items[1]->kind != FORM_VECTOR)
        analysis_fail(analysis, INVALID_FORM, form, "letfn",
                      "letfn: a vector of functions is missing");
    const struct form *functions = form->items[1];
    struct symbol *group = symbol_hidden(analysis->compilation, "letfn");
    struct symbol *index = symbol_hidden(analysis->compilation, "index");
    struct form *choice =
        form_items(analysis, FORM_LIST, form, 2, form_name(analysis, "case", form),
                   form_of_symbol(analysis, index, form));
    for (size_t i = 0; i < functions->count; i++) {
        struct form *number = form_make(analysis, FORM_INTEGER, form);
        number->integer = (int64_t)i;
        struct form *clause[] = {number, letfn_function(analysis, functions, group, i)};
        form_with_tail(analysis, choice, clause, 2);
    }
    struct form *parameters =
        form_items(analysis, FORM_VECTOR, form, 1, form_of_symbol(analysis, index, form));
    struct form *all = form_items(analysis, FORM_LIST, form, 4, form_name(analysis, "fn", form),
                                  form_of_symbol(analysis, group, form), parameters, choice);
    struct form *steps =
        form_items(analysis, FORM_VECTOR, form, 2, form_of_symbol(analysis, group, form), all);
    struct form *names = sibling_steps(analysis, functions, group, NULL, SIZE_MAX);
    form_with_tail(analysis, steps, names->items, names->count);
    struct form *let =
        form_items(analysis, FORM_LIST, form, 2, form_name(analysis, "let", form), steps);
    return form_with_tail(analysis, let, form->items + 2, form->count - 2);
}

// --- definitions ---------------------------------------------------------------------------------

// (def name (multi* dispatch "name"))
static struct form *rewrite_defmulti(struct analysis *analysis, const struct form *form)
{
    size_t dispatch = 2;
    while (dispatch + 1 < form->count &&
           (form->items[dispatch]->kind == FORM_STRING || form->items[dispatch]->kind == FORM_MAP))
        dispatch++;
    if (form->count < 3 || form->items[1]->kind != FORM_SYMBOL)
        analysis_fail(analysis, INVALID_FORM, form, "defmulti",
                      "defmulti: expected (defmulti name dispatch)");
    struct form *make =
        form_items(analysis, FORM_LIST, form, 3, form_name(analysis, "core/multi*", form),
                   form->items[dispatch],
                   form_text(analysis, FORM_STRING, form->items[1]->symbol->name, form));
    return form_items(analysis, FORM_LIST, form, 3, form_name(analysis, "def", form),
                      form->items[1], make);
}

// (add-method* name value (fn name [params] body…))
static struct form *rewrite_defmethod(struct analysis *analysis, const struct form *form)
{
    if (form->count < 4 || form->items[1]->kind != FORM_SYMBOL)
        analysis_fail(analysis, INVALID_FORM, form, "defmethod",
                      "defmethod: expected (defmethod name value [params] body...)");
    return form_items(analysis, FORM_LIST, form, 4, form_name(analysis, "core/add-method*", form),
                      form->items[1], form->items[2], call_with(analysis, "fn", form, 3));
}

static struct symbol *prefixed_symbol(struct analysis *analysis, const char *prefix,
                                      const struct form *name)
{
    struct span before = span_from(prefix), rest = name->symbol->name;
    char *text = analysis_alloc(analysis, before.length + rest.length);
    memcpy(text, before.data, before.length);
    memcpy(text + before.length, rest.data, rest.length);
    return symbol_intern(analysis->compilation, (struct span){text, before.length + rest.length},
                         name->offset);
}

void mark_constructor(struct analysis *analysis, const struct form *name)
{
    prefixed_symbol(analysis, "->", name)->is_defined = true;
}

static bool is_record(const struct form *form)
{
    return form->count >= 3 && form->items[1]->kind == FORM_SYMBOL &&
           form->items[2]->kind == FORM_VECTOR;
}

void mark_record(struct analysis *analysis, const struct form *form)
{
    if (!is_record(form))
        return;
    prefixed_symbol(analysis, "->", form->items[1])->is_defined = true;
    prefixed_symbol(analysis, "map->", form->items[1])->is_defined = true;
    const struct form *fields = form->items[2];
    for (size_t i = 0; i < fields->count; i++) {
        if (fields->items[i]->kind != FORM_SYMBOL)
            continue;
        prefixed_symbol(analysis, ".", fields->items[i])->is_field = true;
        prefixed_symbol(analysis, ".-", fields->items[i])->is_field = true;
    }
}

// (do (defn ->Name [a b] {:a a :b b}) (defn map->Name [m] (merge {:a nil :b nil} m)))
static struct form *rewrite_defrecord(struct analysis *analysis, const struct form *form)
{
    if (!is_record(form))
        analysis_fail(analysis, INVALID_FORM, form, "defrecord",
                      "defrecord: expected (defrecord Name [field ...])");
    if (form->count > 3)
        analysis_fail(analysis, INVALID_FORM, form->items[3], "defrecord",
                      "defrecord makes a map and has no methods; use defn or defmulti");
    const struct form *fields = form->items[2];
    struct form *record = form_items(analysis, FORM_MAP, form, 0);
    struct form *empty = form_items(analysis, FORM_MAP, form, 0);
    for (size_t i = 0; i < fields->count; i++) {
        if (fields->items[i]->kind != FORM_SYMBOL)
            analysis_fail(analysis, INVALID_FORM, fields->items[i], "defrecord",
                          "defrecord: a field must be a symbol");
        struct form *key =
            form_text(analysis, FORM_KEYWORD, fields->items[i]->symbol->name, fields->items[i]);
        struct form *entry[] = {key, fields->items[i]};
        struct form *nothing[] = {key, form_make(analysis, FORM_NIL, form)};
        form_with_tail(analysis, record, entry, 2);
        form_with_tail(analysis, empty, nothing, 2);
    }
    struct symbol *map = symbol_hidden(analysis->compilation, "m");
    struct form *merge =
        form_items(analysis, FORM_LIST, form, 3, form_name(analysis, "core/merge", form), empty,
                   form_of_symbol(analysis, map, form));
    struct form *positional =
        form_items(analysis, FORM_LIST, form, 4, form_name(analysis, "defn", form),
                   form_of_symbol(analysis, prefixed_symbol(analysis, "->", form->items[1]), form),
                   form->items[2], record);
    struct form *from_map = form_items(
        analysis, FORM_LIST, form, 4, form_name(analysis, "defn", form),
        form_of_symbol(analysis, prefixed_symbol(analysis, "map->", form->items[1]), form),
        form_items(analysis, FORM_VECTOR, form, 1, form_of_symbol(analysis, map, form)), merge);
    return form_items(analysis, FORM_LIST, form, 3, form_name(analysis, "do", form), positional,
                      from_map);
}

// (Name. x…) of a record.
const struct form *record_constructor(struct analysis *analysis, const struct form *form)
{
    struct span name = form->symbol->name;
    if (name.length < 2 || name.data[name.length - 1] != '.')
        return NULL;
    struct symbol bare = {.name = {name.data, name.length - 1}};
    struct form class = {.kind = FORM_SYMBOL, .offset = form->offset, .symbol = &bare};
    struct symbol *constructor = prefixed_symbol(analysis, "->", &class);
    return constructor->is_defined ? form_of_symbol(analysis, constructor, form) : NULL;
}

// --- others --------------------------------------------------------------------------------------

// (instance? Class x)
static struct form *rewrite_instance(struct analysis *analysis, const struct form *form)
{
    static const struct {
        const char *class;
        const char *predicate;
    } classes[] = {
        {"String", "core/string?"},
        {"Number", "core/number?"},
        {"Long", "core/int?"},
        {"Integer", "core/int?"},
        {"Double", "core/float?"},
        {"Boolean", "core/boolean?"},
        {"Character", "core/char?"},
        {"Keyword", "core/keyword?"},
        {"Symbol", "core/symbol?"},
        {"IPersistentMap", "core/map?"},
        {"IPersistentSet", "core/set?"},
        {"IPersistentVector", "core/vector?"},
        {"ISeq", "core/seq?"},
        {"IFn", "core/ifn?"},
        {"Map", "core/map?"},
        {"List", "core/sequential?"},
        {"Pattern", "core/regex?"},
        {"Exception", "core/exception?"},
        {"Throwable", "core/exception?"},
        {"ExceptionInfo", "core/exception?"},
    };
    const struct form *class = form->count == 3 ? form->items[1] : NULL;
    if (!class || class->kind != FORM_SYMBOL)
        analysis_fail(analysis, INVALID_FORM, form, "instance?",
                      "instance?: expected (instance? Class x)");
    struct span name = class->symbol->name;
    const char *dot = memrchr(name.data, '.', name.length);
    if (dot)
        name = (struct span){dot + 1, name.length - (size_t)(dot + 1 - name.data)};
    for (size_t i = 0; i < COUNT_OF(classes); i++) {
        if (span_equal_text(name, classes[i].class))
            return call_with(analysis, classes[i].predicate, form, 2);
    }
    analysis_fail(analysis, INVALID_FORM, class, "instance?",
                  "instance?: there are no host objects; use string?, number?, map? and the like");
}

// (new Class x…) is (Class. x…)
static struct form *rewrite_new(struct analysis *analysis, const struct form *form)
{
    if (form->count < 2 || form->items[1]->kind != FORM_SYMBOL)
        analysis_fail(analysis, INVALID_FORM, form, "new", "new: expected (new Class x ...)");
    struct span class = form->items[1]->symbol->name;
    char *name = analysis_alloc(analysis, class.length + 2);
    memcpy(name, class.data, class.length);
    name[class.length] = '.';
    struct symbol *symbol = symbol_intern(
        analysis->compilation, (struct span){name, class.length + 1}, form->items[1]->offset);
    struct form *call =
        form_items(analysis, FORM_LIST, form, 1, form_of_symbol(analysis, symbol, form->items[1]));
    return form_with_tail(analysis, call, form->items + 2, form->count - 2);
}

static struct form *rewrite_lazy_cat(struct analysis *analysis, const struct form *form)
{
    struct form *all = call_of(analysis, "core/concat", form);
    for (size_t i = 1; i < form->count; i++) {
        struct form *part = form_items(analysis, FORM_LIST, form, 2,
                                       form_name(analysis, "lazy-seq", form), form->items[i]);
        form_with_tail(analysis, all, &part, 1);
    }
    return all;
}

static struct form *call_thunk(struct analysis *analysis, const char *name, const struct form *form)
{
    return form_items(analysis, FORM_LIST, form, 2, form_name(analysis, name, form),
                      thunk(analysis, form, 1));
}

struct expression *analyze_macro(struct analysis *analysis, const struct form *form, bool tail)
{
    struct form *rewritten;
    switch (form_special(form)) {
    case SPECIAL_DOTIMES: rewritten = rewrite_dotimes(analysis, form); break;
    case SPECIAL_WHILE: rewritten = rewrite_while(analysis, form); break;
    case SPECIAL_DOTO: rewritten = rewrite_doto(analysis, form); break;
    case SPECIAL_LETFN: rewritten = rewrite_letfn(analysis, form); break;
    case SPECIAL_DEFMULTI: rewritten = rewrite_defmulti(analysis, form); break;
    case SPECIAL_DEFMETHOD: rewritten = rewrite_defmethod(analysis, form); break;
    case SPECIAL_DEFRECORD: rewritten = rewrite_defrecord(analysis, form); break;
    case SPECIAL_INSTANCE: rewritten = rewrite_instance(analysis, form); break;
    case SPECIAL_NEW: rewritten = rewrite_new(analysis, form); break;
    case SPECIAL_LAZY_SEQ: rewritten = call_thunk(analysis, "core/lazy*", form); break;
    case SPECIAL_LAZY_CAT: rewritten = rewrite_lazy_cat(analysis, form); break;
    case SPECIAL_WITH_OUT_STR: rewritten = call_thunk(analysis, "core/with-out-str*", form); break;
    case SPECIAL_DELAY: rewritten = call_thunk(analysis, "core/delay*", form); break;
    default: rewritten = call_with(analysis, "do", form, 1); break;  // time, locking
    }
    return analyze(analysis, rewritten, tail);
}
