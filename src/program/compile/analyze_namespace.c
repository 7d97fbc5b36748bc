// ns, require, use, import: nothing is loaded, but aliases and referred names are respected
// (docs/reference/language.md 3).
#include <string.h>

#include "base/array.h"
#include "program/compile/forms.h"

// Libraries and the namespace that has their functions here.
static const struct {
    const char *library;
    const char *namespace;
} libraries[] = {
    {"clojure.core", "core"},
    {"clojure.string", "str"},
    {"clojure.set", "set"},
    {"clojure.walk", "walk"},
    {"clojure.edn", "edn"},
    {"clojure.data.json", "json"},
    {"cheshire.core", "json"},
    {"jsonista.core", "json"},
    {"clojure.math", "Math"},
    {"clojure.pprint", "core"},
    {"clojure.tools.reader.edn", "edn"},
};

static const char *namespace_of(struct span library)
{
    for (size_t i = 0; i < COUNT_OF(libraries); i++) {
        if (span_equal_text(library, libraries[i].library))
            return libraries[i].namespace;
    }
    return NULL;
}

// "json/x" for x of the library.
static struct symbol *member_symbol(struct analysis *analysis, const char *namespace,
                                    struct span member, uint32_t offset)
{
    struct span prefix = span_from(namespace);
    size_t length = prefix.length + 1 + member.length;
    char *text = analysis_alloc(analysis, length);
    memcpy(text, prefix.data, prefix.length);
    text[prefix.length] = '/';
    memcpy(text + prefix.length + 1, member.data, member.length);
    return symbol_intern(analysis->compilation, (struct span){text, length}, offset);
}

// [library :as alias :refer [name …]]
static void note_library(struct analysis *analysis, const struct form *spec)
{
    if (spec->kind == FORM_QUOTE)
        spec = spec->items[0];
    bool has_options = (spec->kind == FORM_VECTOR || spec->kind == FORM_LIST) && spec->count > 0;
    const struct form *library = has_options ? spec->items[0] : spec;
    if (library->kind != FORM_SYMBOL)
        return;
    const char *namespace = namespace_of(library->symbol->name);
    for (size_t i = 1; has_options && i + 1 < spec->count; i += 2) {
        const struct form *option = spec->items[i + 1];
        bool is_alias =
            form_is_keyword(spec->items[i], "as") || form_is_keyword(spec->items[i], "as-alias");
        if (is_alias && option->kind == FORM_SYMBOL)
            option->symbol->namespace = namespace;
        for (size_t j = 0;
             namespace && !is_alias && option->kind == FORM_VECTOR && j < option->count; j++) {
            struct form *name = option->items[j];
            if (name->kind == FORM_SYMBOL)
                name->symbol->referred =
                    member_symbol(analysis, namespace, name->symbol->name, name->offset);
        }
    }
}

static void note_all(struct analysis *analysis, const struct form *form)
{
    for (size_t i = 1; i < form->count; i++)
        note_library(analysis, form->items[i]);
}

struct expression *analyze_namespace(struct analysis *analysis, const struct form *form, bool tail)
{
    (void)tail;
    enum special special = form_special(form);
    if (special == SPECIAL_REQUIRE || special == SPECIAL_USE)
        note_all(analysis, form);
    for (size_t i = 1; special == SPECIAL_NS && i < form->count; i++) {
        const struct form *clause = form->items[i];
        if (clause->kind == FORM_LIST && clause->count > 0 &&
            (form_is_keyword(clause->items[0], "require") ||
             form_is_keyword(clause->items[0], "use")))
            note_all(analysis, clause);
    }
    return immediate_new(analysis, value_nil(), form);
}

struct symbol *symbol_resolve_alias(struct analysis *analysis, const struct form *form)
{
    struct span name = form->symbol->name;
    if (form->symbol->referred)
        return form->symbol->referred;
    const char *slash = name.length > 2 ? memchr(name.data + 1, '/', name.length - 2) : NULL;
    if (!slash)
        return NULL;
    struct span prefix = {name.data, (size_t)(slash - name.data)};
    struct span member = {slash + 1, name.length - prefix.length - 1};
    const char *target = namespace_of(prefix);
    if (!target)
        target = symbol_intern(analysis->compilation, prefix, form->offset)->namespace;
    if (!target || span_equal_text(prefix, target))
        return NULL;
    return member_symbol(analysis, target, member, form->offset);
}
