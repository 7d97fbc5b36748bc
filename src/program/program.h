// A compiled program: parsed, analysed, ready to run any number of times, from several threads at
// once. Immutable once made and counted: whoever keeps values of its runs keeps a reference, because
// strings and functions may point into it.
#pragma once

#include "base/arena.h"
#include "program/compile/compilation.h"
#include "program/compile/suggest.h"
#include "program/eval/expression.h"

struct tool_table;

enum constant_kind {
    CONSTANT_FORM,     // a literal
    CONSTANT_KEYWORD,  // by name
    CONSTANT_CONTEXT,  // ctx/x, found when the run starts
    CONSTANT_HISTORY,  // *1 *2 *3
    CONSTANT_TOOL,     // tool/x as a value
    CONSTANT_PATH,     // field of `where`: a vector of keywords and strings
};

struct constant {
    enum constant_kind kind;
    uint32_t index;  // HISTORY: 1–3; TOOL: number of the tool
    const struct form *form;
    struct span name;
};

struct global {
    struct span name;
    uint32_t offset;          // first reference
    bool is_defined;          // by this program
    bool is_required;         // must be in memory when the program does not define it
    struct suggestion local;  // of that reference: a name in scope that is close
};

struct program {
    _Atomic unsigned references;
    struct arena arena;
    struct span source;
    const struct tool_table *tools;  // of the host; outlives the program
    struct code *code;
    struct constant *constants;
    size_t constant_count;
    struct span *lookups;  // keyword names
    size_t lookup_count;
    struct global *globals;
    size_t global_count;
    bool is_plain;  // compiled without optimisations, for tests
};

struct compile_options {
    struct span source;       // copied
    size_t definition_bytes;  // at its start: functions kept in memory
    const struct run_limits *limits;
    const struct tool_table *tools;
    const struct span *functions;  // names of functions in memory: they shadow builtins
    size_t function_count;
    bool plain;  // no moves, no specialised functions
};

// Parses and analyses. NULL and a diagnostic when the program is wrong.
struct program *program_compile(const struct compile_options *options,
                                struct diagnostic *ret_diagnostic);
struct program *program_retain(struct program *program);
void program_release(struct program *program);

// Fills the diagnostic with the names that neither the program nor the given memory (a map with
// keyword keys, or nil) defines. True when there are none.
bool program_check_names(const struct program *program, value memory,
                         struct diagnostic *ret_diagnostic);

// Does the whole text hold one function expression, as a tools file wants it?
bool program_is_function(const struct program *program);
