// What reader, analyzer and specialisation share while one program is compiled, and their common way
// out: the first problem fills the diagnostic and jumps to the end of the compilation.
#pragma once

#include "base/arena.h"
#include "program/compile/form.h"
#include "program/compile/problem_list.h"
#include "program/run/failure_kind.h"
#include "program/run/run.h"

enum { DIAGNOSTIC_MESSAGE_SIZE = 512, DIAGNOSTIC_OP_SIZE = 96, DIAGNOSTIC_SUGGESTIONS = 4 };
enum { COMPILATION_EXIT_SIZE = 5 };

struct diagnostic {
    enum failure_kind kind;
    uint32_t offset;  // byte position in the source
    char op[DIAGNOSTIC_OP_SIZE];
    char message[DIAGNOSTIC_MESSAGE_SIZE];
    char suggestions[DIAGNOSTIC_SUGGESTIONS][DIAGNOSTIC_OP_SIZE];
    unsigned suggestion_count;
    const char *limit_option;  // NULL unless a limit was reached
    int64_t limit_value;
    struct problem_list problems;  // all of them, when there are several
};

struct symbol_table {
    struct symbol **slots;
    size_t capacity;  // a power of two
    size_t count;
    size_t counted;  // against max_symbols: neither builtins nor special forms
};

struct compilation {
    struct arena *arena;
    struct span source;
    const struct run_limits *limits;
    struct symbol_table symbols;
    bool has_defs;           // a def, defn or defonce may be in the program
    struct region *scratch;  // for values needed while compiling; NULL until needed
    struct diagnostic *diagnostic;
    struct problem_list *problems;      // of a collecting compilation, or NULL
    void *exit[COMPILATION_EXIT_SIZE];  // __builtin_setjmp buffer
};

// --- compilation.c: positions, failures, memory, symbols -----------------------------------------

// Line and column (1-based, code points) of a byte position.
void source_position(struct span source, size_t offset, unsigned *ret_line, unsigned *ret_column);

_Noreturn void compilation_fail(struct compilation *compilation, enum failure_kind kind,
                                uint32_t offset, const char *op, const char *format, ...)
    __attribute__((format(printf, 5, 6)));
_Noreturn void compilation_fail_limit(struct compilation *compilation, enum failure_kind kind,
                                      uint32_t offset, const char *option, size_t limit,
                                      const char *message);
// Memory of the compilation; fails with memory_exceeded.
void *compilation_alloc(struct compilation *compilation, size_t size);  // zeroed

struct region *compilation_scratch(struct compilation *compilation);

struct symbol *symbol_intern(struct compilation *compilation, struct span name, uint32_t offset);
// A symbol that no source text can name.
struct symbol *symbol_hidden(struct compilation *compilation, const char *name);
// Keywords count against max_symbols too.
void symbol_count_keyword(struct compilation *compilation, struct span name, uint32_t offset);

// A growing list of pointers in the compilation's arena.
struct pointer_list {
    void **items;
    size_t count;
    size_t capacity;
};
void pointer_list_push(struct compilation *compilation, struct pointer_list *list, void *item);

// --- reader.c: text to forms ---------------------------------------------------------------------
// Reads the whole source: the forms in order.
struct form **program_read(struct compilation *compilation, size_t *ret_count);
