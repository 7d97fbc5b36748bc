// Inside the analyzer: scopes and the functions of its files. See program.h for what comes out.
#pragma once

#include "program/compile/slot_set.h"
#include "program/program.h"

struct binding {
    struct symbol *symbol;
    struct binding *shadowed;
    struct function_scope *function;
    enum { BINDING_SLOT, BINDING_CAPTURE, BINDING_SELF } kind;
    uint32_t index;
    size_t number;  // bindings are counted, so that those of a part that failed can be undone
};

struct function_scope {
    struct function_scope *parent;
    uint32_t next_slot;
    uint32_t slot_count;
    struct slot_set reads;                 // slots read so far in the innermost loop
    struct pointer_list captures;          // of struct capture
    struct pointer_list capture_bindings;  // to be undone when the function ends
};

struct recur_target {
    uint32_t wanted;  // values
    struct pattern **patterns;
    bool slots_only;
    bool has_rest;
    bool used;
    struct slot_set *entry;  // what is alive where recur jumps to, while liveness is in the loop
};

struct analysis {
    struct compilation *compilation;
    struct program *program;
    const struct compile_options *options;
    struct function_scope *function;
    struct recur_target *target;  // of recur
    bool in_short_fn;
    size_t for_depth;
    struct pointer_list constants;
    uint32_t
        *tool_constants;  // by tool: its constant + 1, so that a tool is equal to itself; or NULL
    struct pointer_list lookups;  // of struct span
    struct pointer_list globals;
    unsigned hinted;  // globals that may be misspelt locals
    size_t bound;     // bindings made so far
};

#define analysis_fail(analysis, kind, form, ...) \
    compilation_fail((analysis)->compilation, (kind), (form)->offset, __VA_ARGS__)

// The analysis of one special form; `tail`: its value is that of the function or loop around it.
typedef struct expression *special_fn(struct analysis *analysis, const struct form *form,
                                      bool tail);

// --- analyze.c: literals, calls, bodies ----------------------------------------------------------
// The whole program.
void analyze_program(struct compilation *compilation, struct program *program,
                     const struct compile_options *options);
void *analysis_alloc(struct analysis *analysis, size_t size);
void *expression_new(struct analysis *analysis, enum expression_kind kind, size_t size,
                     const struct form *form);
struct expression *analyze(struct analysis *analysis, const struct form *form, bool tail);
struct expression **analyze_all(struct analysis *analysis, struct form **forms, size_t count);
// Forms in order, value of the last: nil, the form itself, or a DO.
struct expression *analyze_body(struct analysis *analysis, struct form **forms, size_t count,
                                const struct form *around, bool tail);
struct expression *immediate_new(struct analysis *analysis, value v, const struct form *form);
uint32_t constant_add(struct analysis *analysis, struct constant constant);
uint32_t global_intern(struct analysis *analysis, struct symbol *symbol, uint32_t offset);

// --- analyze_name.c: symbols ---------------------------------------------------------------------
// Is a function of this name in the memory that the program is compiled with?
bool memory_has_function(const struct analysis *analysis, struct span name);
struct expression *analyze_symbol(struct analysis *analysis, const struct form *form,
                                  bool unbound_is_nil);
bool symbol_is_qualified(const struct symbol *symbol);
// "tool/x" → x; an empty span when the symbol is not in this namespace.
struct span symbol_member(const struct symbol *symbol, const char *namespace);
// Whether names of programs may begin with it and a slash: str, json, ctx.
bool program_has_namespace(struct span name);
// The tool that a symbol names, or empty.
struct span tool_member(const struct analysis *analysis, const struct symbol *symbol);
uint32_t tool_index(struct analysis *analysis, struct span name, const struct form *form);
// What stands for a tool that a function kept in memory names and that is gone; NULL when it is not.
struct expression *analyze_gone_tool(struct analysis *analysis, struct span name,
                                     const struct form *form);
bool symbol_is_placeholder(const struct symbol *symbol);

// --- analyze_bind.c: bindings and loops ----------------------------------------------------------
uint32_t slot_new(struct analysis *analysis);
struct binding *bind_local(struct analysis *analysis, struct symbol *symbol, uint32_t slot);
void unbind(struct binding *binding);
// The bindings made since; scope_leave() undoes them and frees their slots.
struct scope {
    struct pointer_list bindings;
    uint32_t first_slot;
};
struct scope scope_enter(struct analysis *analysis);
void scope_leave(struct analysis *analysis, struct scope *scope);
void scope_bind(struct analysis *analysis, struct scope *scope, struct symbol *symbol,
                uint32_t slot);
struct pattern *analyze_pattern(struct analysis *analysis, struct scope *scope,
                                const struct form *form);
struct binding_step *analyze_steps(struct analysis *analysis, struct scope *scope,
                                   const struct form *vector, const char *op);
special_fn analyze_let, analyze_loop, analyze_recur, analyze_for;

// --- analyze_function.c: functions and definitions -----------------------------------------------
special_fn analyze_fn, analyze_def, analyze_defn;
struct expression *analyze_short_fn(struct analysis *analysis, const struct form *form);

// --- analyze_try.c: failures, assertions ---------------------------------------------------------
special_fn analyze_try, analyze_attempt, analyze_binding, analyze_assert;
// The body of a function that begins with {:pre […] :post […]} as one form, or NULL.
struct form *function_conditions(struct analysis *analysis, struct form **body, size_t count,
                                 const struct form *around);

// --- analyze_macro.c: forms that stand for others ------------------------------------------------
special_fn analyze_macro;
// Marks the names that (defrecord Name [field …]) defines.
void mark_record(struct analysis *analysis, const struct form *form);
// What deftype would define beside the name: (Name. x…), (->Name x…).
void mark_constructor(struct analysis *analysis, const struct form *name);
// ->Name for the symbol Name. of a record; NULL for any other.
const struct form *record_constructor(struct analysis *analysis, const struct form *form);

// --- analyze_namespace.c: aliases ----------------------------------------------------------------
special_fn analyze_namespace;
// What a name means by an alias, the name of a library or :refer; NULL when it stands for itself.
struct symbol *symbol_resolve_alias(struct analysis *analysis, const struct form *form);

// --- analyze_special.c: the other special forms --------------------------------------------------
special_fn analyze_special;

// --- analyze_thread.c: threading -----------------------------------------------------------------
special_fn analyze_thread;

// --- literals.c: checks --------------------------------------------------------------------------
bool form_is_constant(const struct form *form);
// Regexes must be valid, constant keys of a map or set different: of this form, of all forms in it.
void check_literal(struct analysis *analysis, const struct form *form);
void check_constant(struct analysis *analysis, const struct form *form);

// --- liveness.c: last uses -----------------------------------------------------------------------
void liveness_mark(struct code *code);

// --- specialize.c: evaluators --------------------------------------------------------------------
void specialize(struct code *code, bool unoptimised);
