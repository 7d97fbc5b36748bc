// The contract between the interpreter and the builtins (docs/reference/language.md 8 and 9).
//
// builtins.def has one row per name; builtins.h declares the functions, family by family. A function
// is given its row as `self`, because several rows may name one function (aliases).
//
// Calling. The interpreter has checked the arity before it calls. A builtin *consumes* its arguments:
// it owns arguments[0 … count-1] and must move each into its result or release it, so that a
// collection with one owner is updated in place. With BUILTIN_BORROWS it borrows them: they stay
// the caller's, and what is returned must be owned (value_retain what comes from an argument).
// The callee may overwrite the array. Nothing need be released before raising.
//
// Time. Loops over data call run_spend(run, n) with about one unit per 20–50 ns of work, at least once
// per 10,000 units; memory is bounded by the region by itself.
#pragma once

#include "program/run/run.h"

enum builtin_flags {
    BUILTIN_BORROWS = 1 << 0,   // does not consume its arguments
    BUILTIN_EVEN = 1 << 1,      // only even argument counts (hash-map)
    BUILTIN_ODD = 1 << 2,       // only odd argument counts (assoc)
    BUILTIN_ZERO = 1 << 3,      // (reduce f []) is (f)
    BUILTIN_CONSTANT = 1 << 4,  // the name stands for (f): Double/NaN
    BUILTIN_ITERATES = 1 << 5,  // only starts a sequence with its last argument
    // the namespaces in which the name may be written, besides clojure.core/ and core/
    BUILTIN_IN_STRING = 1 << 8,  // clojure.string/ str/ string/
    BUILTIN_IN_SET = 1 << 9,     // clojure.set/ set/
    BUILTIN_IN_WALK = 1 << 10,   // clojure.walk/ walk/
    BUILTIN_IN_REGEX = 1 << 11,  // regex/
    BUILTIN_IN_PRINT = 1 << 12,  // clojure.pprint/ pprint/
};

// What the interpreter does itself when the operands are small numbers (eval/eval_arithmetic.c). It
// stands in a row among the flags: BUILTIN_ZERO | OPERATION(ADD).
enum operation {
    OPERATION_NONE,
    OPERATION_ADD,
    OPERATION_SUBTRACT,
    OPERATION_MULTIPLY,
    OPERATION_MAXIMUM,
    OPERATION_MINIMUM,
    OPERATION_QUOTIENT,
    OPERATION_REMAINDER,
    OPERATION_MODULO,
    OPERATION_INCREMENT,
    OPERATION_DECREMENT,
    OPERATION_LESS,
    OPERATION_GREATER,
    OPERATION_LESS_EQUAL,
    OPERATION_GREATER_EQUAL,
    OPERATION_EQUAL,
    OPERATION_IS_ZERO,
    OPERATION_IS_POSITIVE,
    OPERATION_IS_NEGATIVE,
    OPERATION_IS_EVEN,
    OPERATION_IS_ODD,
    OPERATION_IS_NIL,
    OPERATION_IS_SOME,
    OPERATION_NOT,
    OPERATION_ASSOC,
    OPERATION_COUNT,
};
#define OPERATION(name) (OPERATION_##name << 16)

enum { BUILTIN_ANY = 255 };  // as the highest count: no upper bound

struct builtin {
    const char *name;
    builtin_fn *function;
    uint8_t least;          // arguments
    uint8_t highest;        // arguments, or BUILTIN_ANY
    uint32_t flags;         // enum builtin_flags and OPERATION()
    const char *signature;  // "(filter f coll)"
    const char *doc;        // one sentence
};

// --- builtin_table.c: the table ------------------------------------------------------------------
extern const struct builtin builtin_table[];  // in the order of builtins.def
extern const size_t builtin_count;

// The row of a name as written (`map`, `json/parse-string`, `.plusDays`), or NULL.
const struct builtin *builtin_find(struct span name);

static inline enum operation builtin_operation(const struct builtin *builtin)
{
    return (enum operation)(builtin->flags >> 16);
}

static inline bool builtin_accepts(const struct builtin *builtin, size_t count)
{
    return count >= builtin->least &&
           (builtin->highest == BUILTIN_ANY || count <= builtin->highest) &&
           !((builtin->flags & BUILTIN_EVEN) && count % 2) &&
           !((builtin->flags & BUILTIN_ODD) && count % 2 == 0);
}

// --- ../eval/function.c: calling back ------------------------------------------------------------
// F: closure, builtin, composed function, tool, keyword, map, set (docs/reference/language.md 6).
bool run_is_callable(value f);
bool value_is_function(value v);  // closure, builtin, composed function or tool
// type_error unless F; `argument` is its 1-based position.
void run_check_callable(struct run *run, const struct builtin *self, unsigned argument, value f);

// Calls F. Borrows f, consumes the arguments, returns an owned value. Not callable: NOT_CALLABLE.
value run_call(struct run *run, value f, value *arguments, size_t count);
// (f item) where the item stays the caller's: the cheapest way for predicates and key functions.
value run_call_on(struct run *run, value f, value item);
static inline bool run_test(struct run *run, value f, value item)
{
    value answer = run_call_on(run, f, item);
    bool yes = value_is_true(answer);
    value_release(run->region, answer);
    return yes;
}

// K: F, a string key, or a vector path. type_error unless K.
void run_check_key(struct run *run, const struct builtin *self, unsigned argument, value key);
// The key of an item, owned; borrows both.
value run_key(struct run *run, value key, value item);

// The row of a builtin function value, or NULL for any other value.
const struct builtin *function_builtin(value f);
value function_from_builtin(const struct builtin *builtin);

// Composed functions: comp, partial, juxt, constantly, all-of, …
// `parts` are what the function was made of (borrowed); arguments are consumed.
typedef value composed_fn(struct run *run, const value *parts, size_t part_count, value *arguments,
                          size_t count);
struct composed_type {
    const char *name;  // "comp", for error messages
    composed_fn *call;
    uint8_t least;  // arity_error outside, as for builtins
    uint8_t highest;
};
// Consumes the parts (not the array). The type is a static const of the builtin's file.
value function_compose(struct run *run, const struct composed_type *type, const value *parts,
                       size_t part_count);
// The parts of a function composed of this type, borrowed; NULL for any other value.
const value *function_parts(value f, const struct composed_type *type);

// --- ../eval/caller.c: calling often -------------------------------------------------------------
value run_call1(struct run *run, value f, value a);
value run_call2(struct run *run, value f, value a, value b);
// The same function with the same number of arguments again and again: what a call of a closure or a
// builtin needs is prepared once. Borrows f, which must live as long.
struct sequence;
enum { CALLER_FRAME = 7 };  // values; the frame of a small closure
struct caller {
    struct run *run;
    value f;
    const void *site;
    value (*call1)(struct caller *caller, value a);           // chosen by what f is
    value (*call2)(struct caller *caller, value a, value b);  // the same
    const struct code *code;                                  // of a closure, or NULL
    const struct builtin *builtin;                            // f, or NULL
    value frame[CALLER_FRAME];                                // struct frame of a closure
};
void caller_start(struct caller *caller, struct run *run, value f, uint32_t count);
static inline value caller_call1(struct caller *caller, value a)
{
    return caller->call1(caller, a);
}
static inline value caller_call2(struct caller *caller, value a, value b)
{
    return caller->call2(caller, a, b);
}

// The truth of (f item) where the item stays the caller's.
static inline bool caller_test(struct caller *caller, value item)
{
    if (!caller->code)
        return run_test(caller->run, caller->f, item);
    value answer = caller->call1(caller, value_retain(item));
    bool yes = value_is_true(answer);
    value_release(caller->run->region, answer);
    return yes;
}

// --- ../eval/sequence.c: sequences, class S ------------------------------------------------------
// Iterates nil, vector, string (characters), map ([k v] in key order), set (key order).
//     struct sequence items;
//     sequence_start(run, self, 2, &items, arguments[1]);   // consumes; type_error unless S
//     while (sequence_next(&items, &item)) …                // item is owned by the caller
//     sequence_end(&items);                                 // not needed before raising
// Each step spends one unit of fuel.
struct sequence {
    struct run *run;
    // vector of the items (maps and sets: sorted when started), a string, a range (range.h) or nil
    value source;
    value map;  // for maps: the map whose sorted keys are in `source`
    size_t position;
    size_t count;      // items; for strings that are not ASCII: SIZE_MAX, unknown
    bool is_borrowed;  // started by sequence_borrow: the source is the caller's
    int64_t number;    // of a range: the next one
    int64_t step;
};
void sequence_start(struct run *run, const struct builtin *self, unsigned argument,
                    struct sequence *ret_sequence, value v);
// The same without consuming v, which must stay alive.
void sequence_borrow(struct run *run, const struct builtin *self, unsigned argument,
                     struct sequence *ret_sequence, value v);
bool sequence_next(struct sequence *sequence, value *ret_item);
void sequence_end(struct sequence *sequence);
bool value_is_seqable(value v);
// All items as one vector; a vector is returned as it is. Consumes v; type_error unless S.
value sequence_vector(struct run *run, const struct builtin *self, unsigned argument, value v);
size_t sequence_count(struct run *run, value v);  // items of a seqable value; borrows

// --- ../eval/sequence.c: errors ------------------------------------------------------------------
// type_error "map: argument 2 must be a sequence, got int 5 (hint)"; hint may be NULL.
_Noreturn void run_type_error(struct run *run, const struct builtin *self, unsigned argument,
                              const char *wanted, value got, const char *hint);
_Noreturn void run_arity_error(struct run *run, const struct builtin *self, size_t count);
// Any kind, with the builtin's name as `op`: "name: " is put before the message.
_Noreturn void builtin_fail(struct run *run, const struct builtin *self, enum failure_kind kind,
                            const char *format, ...) __attribute__((format(printf, 4, 5)));

// "int 7", `string "abc"`, "vector", at most 80 characters of it.
enum { DESCRIBE_SIZE = 360 };
const char *value_describe(value v, char text[DESCRIBE_SIZE]);
