// Tools: what a program may call outside itself (docs/reference/language.md 14). A table of tools is
// filled once by the host and then only read, so that several runs may share it.
#pragma once

#include "base/arena.h"
#include "signature/signature.h"

struct diagnostic;
struct name_list;
struct tool_call;

// Returns true and sets call->result, or false by way of tool_call_fail().
typedef bool tool_fn(void *data, struct tool_call *call);

enum tool_flags {
    TOOL_SKIP = 1,     // has no signature on purpose
    TOOL_CACHE = 2,    // equal arguments, equal result within one run
    TOOL_PROGRAM = 4,  // a program that calls tools of this table
};

struct tool {
    char *name;
    tool_fn *function;
    void *data;
    const struct signature *signature;  // or NULL
    char *signature_text;               // or NULL
    char *description;                  // or NULL
    unsigned flags;
};

struct tool_table {
    struct arena arena;
    struct tool *tools;
    size_t count;
    size_t capacity;
};

void tool_table_init(struct tool_table *table);
void tool_table_release(struct tool_table *table);

struct tool_definition {
    struct span name;
    tool_fn *function;
    void *data;
    struct span signature;    // empty: none
    struct span description;  // empty: none
    unsigned flags;
};
// False and a diagnostic of kind INVALID_TOOL when the definition is wrong.
bool tool_table_add(struct tool_table *table, const struct tool_definition *definition,
                    struct diagnostic *ret_diagnostic);

// Is it a symbol without a namespace?
bool name_is_symbol(struct span name);
// -1: no such tool.
int tool_table_find(const struct tool_table *table, struct span name);
// Adds the names, sorted.
void tool_table_names(const struct tool_table *table, struct name_list *list);
// Adds the closest name to the suggestions of a diagnostic.
void tool_table_suggest(const struct tool_table *table, struct span name,
                        struct diagnostic *diagnostic);
// A diagnostic of kind INVALID_TOOL: why the tool cannot be added. Always false.
bool tool_table_refuse(struct diagnostic *diagnostic, struct span name, const char *why);
