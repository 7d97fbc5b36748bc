// The syntax tree of a program, as the reader gives it: forms in an arena, each with the place in the
// source where it begins. Symbols are interned: one struct symbol per name and program.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/span.h"

struct builtin;
struct binding;

enum special {  // special forms, recognised in head position
    SPECIAL_NONE,
#define SPECIAL(name, symbol, signature, doc) SPECIAL_##symbol,
#include "program/compile/specials.def"
#undef SPECIAL
    SPECIAL_COUNT,
};

// --- compilation.c: special forms ----------------------------------------------------------------
const char *special_name(enum special special);
const char *special_signature(enum special special);
const char *special_doc(enum special special);

struct symbol {
    struct span name;
    uint64_t hash;
    const struct builtin *builtin;  // of this name, or NULL
    enum special special;
    bool is_defined;              // by a def, defn or defonce of this program
    bool is_field;                // .name or .-name of a field of a record
    int32_t global;               // index in the program's list of global names, or -1
    struct binding *binding;      // innermost local binding while the program is analysed
    const char *namespace;        // that it is an alias of, or NULL
    struct symbol *referred;      // what it means by :refer, or NULL
    const struct form *fallback;  // its :or value while a map pattern is analysed
};

enum form_kind {
    FORM_NIL,
    FORM_BOOLEAN,
    FORM_INTEGER,
    FORM_BIG_INTEGER,  // text: the digits
    FORM_FLOAT,
    FORM_STRING,
    FORM_KEYWORD,
    FORM_SYMBOL,
    FORM_REGEX,
    FORM_LIST,
    FORM_VECTOR,
    FORM_MAP,  // items: key, value, key, value …
    FORM_SET,
    FORM_SHORT_FN,  // #( … )
    FORM_VAR,       // #'x, one item
    FORM_QUOTE,     // 'x, one item
};

struct form {
    enum form_kind kind;
    uint32_t offset;  // byte position in the source
    union {
        bool boolean;
        int64_t integer;
        double number;
        struct span text;
        struct symbol *symbol;
        struct {
            struct form **items;
            size_t count;
        };
    };
};

// The special form that a list is.
static inline enum special form_special(const struct form *form)
{
    return form->items[0]->symbol->special;
}

static inline bool form_is_symbol(const struct form *form, const char *name)
{
    return form->kind == FORM_SYMBOL && span_equal_text(form->symbol->name, name);
}

static inline bool form_is_keyword(const struct form *form, const char *name)
{
    return form->kind == FORM_KEYWORD && span_equal_text(form->text, name);
}
