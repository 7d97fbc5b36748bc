// A compiled program: parsed, analysed, ready to run any number of times, from several threads at
// once. Immutable once made and counted: a holder of values of its runs keeps a reference, because
// strings and functions may point into it.
#pragma once

#include "base/arena.h"
#include "program/compile/compilation.h"
#include "program/compile/suggest.h"
#include "program/eval/expression.h"
#include "program/run/run_limits.h"
#include "signature/signature.h"

struct inner_run;
struct step;
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
};

struct compile_options {
    struct span source;       // copied
    size_t definition_bytes;  // at its start: functions kept in memory
    const struct run_limits *limits;
    const struct tool_table *tools;
    const struct span *functions;  // names of functions in memory: they shadow builtins
    size_t function_count;
    bool unoptimised;     // no moves, no specialised functions; for tests
    const value *memory;  // that it will run with, or NULL: not known
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

// What a run is given besides its program. All values live in `region`, which becomes the step's.
struct program_inputs {
    struct region *region;
    value context;                             // map or nil
    value memory;                              // map or nil
    value history;                             // vector, oldest first, or nil
    value clock;                               // of the run that is resumed (replay.h), or nil
    struct span signature;                     // text; data NULL: none
    const struct signature *parsed_signature;  // of that text, or NULL
    enum signature_mode validation;
    struct run_options options;
    void *user;                // for the tools
    const bool *is_cancelled;  // set atomically by another thread, or NULL
    // of a run inside of another one (run/tool.h), whose call has that key; else NULL and 0
    const struct inner_run *inner;
    uint64_t inner_key;
    // for program_compile_and_run() only
    struct span source;
    size_t definition_bytes;  // at the start of the source: functions kept in memory
    const struct tool_table *tools;
};
// Checks the names and runs. The step is filled whatever happens; it owns the region and a reference
// to the program from now on.
void program_run(struct program *program, const struct program_inputs *inputs,
                 struct step *ret_step);
// Parses the signature into the arena, which must live as long as the step; compiles and runs.
void program_compile_and_run(const struct program_inputs *inputs, struct arena *arena,
                             struct step *ret_step);
