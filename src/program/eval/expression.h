// The compiled program: a tree of expressions, each with the C function that evaluates it. Analysis
// makes the tree (slots, captures and globals resolved), liveness marks the last use of each local,
// specialisation picks the functions. It lives in the program's arena, is never changed afterwards
// and is shared by all runs and threads.
//
// What differs per run is in the frame (locals) and in the instance (constants, inline caches).
// Evaluating gives an owned value. A local that is read for the last time is moved out of its slot,
// so that a collection with one owner is updated in place.
#pragma once

#include "program/builtin/builtin.h"
#include "program/compile/form.h"
#include "program/eval/lookup.h"
#include "program/run/run.h"
#include "value/object.h"

struct expression;
struct frame;

typedef value eval_fn(const struct expression *expression, struct frame *frame, struct run *run);
typedef bool test_fn(const struct expression *expression, struct frame *frame, struct run *run);

enum expression_kind {
    EXPRESSION_IMMEDIATE,  // value
    EXPRESSION_CONSTANT,   // index into the instance's constants
    EXPRESSION_LOCAL,      // slot
    EXPRESSION_CAPTURE,    // index into the closure's captures
    EXPRESSION_SELF,       // the closure itself
    EXPRESSION_GLOBAL,     // index into the globals
    EXPRESSION_MEMORY,     // memory/x
    EXPRESSION_IF,         // if, if-not, when, when-not, cond
    EXPRESSION_DO,
    EXPRESSION_LET,
    EXPRESSION_AND,
    EXPRESSION_OR,
    EXPRESSION_CASE,
    EXPRESSION_CONDP,
    EXPRESSION_BIND_IF,  // if-let, when-let, if-some, when-some, when-first
    EXPRESSION_FN,
    EXPRESSION_LOOP,
    EXPRESSION_RECUR,
    EXPRESSION_FOR,  // for and doseq
    EXPRESSION_DEF,
    EXPRESSION_THREAD_SOME,
    EXPRESSION_THREAD_COND,
    EXPRESSION_WHERE,
    EXPRESSION_CALL,
    EXPRESSION_CALL_BUILTIN,
    EXPRESSION_CALL_KEYWORD,
    EXPRESSION_CALL_TOOL,
    EXPRESSION_MEMORY_PUT,
    EXPRESSION_MEMORY_GET,
    EXPRESSION_RETURN,
    EXPRESSION_FAIL,
    EXPRESSION_TRY,
    EXPRESSION_ATTEMPT,
    EXPRESSION_BINDING,
    EXPRESSION_VECTOR,
    EXPRESSION_MAP,
    EXPRESSION_SET,
    EXPRESSION_KIND_COUNT,
};

// How the iterations of a loop get through an expression in tail position (loop_run() in
// eval_loop.c): all but LOOP_VALUE lead to the next expression or the next iteration.
enum loop_kind {
    LOOP_VALUE,  // it is evaluated and is the loop's value, unless that is a recur
    LOOP_IF,
    LOOP_DO,
    LOOP_LET,
    LOOP_RECUR1,  // of so many slots
    LOOP_RECUR2,
    LOOP_RECUR3,
    LOOP_RECUR4,
};

struct expression {
    eval_fn *eval;
    test_fn *test;  // truth of the value, which is dropped
    uint8_t kind;
    uint8_t loop_kind;  // enum loop_kind
    bool flag;          // LOCAL: last use, move; GLOBAL: nil when unbound; see the structs below
    uint32_t offset;    // byte position in the source
};

static inline value evaluate(const struct expression *expression, struct frame *frame,
                             struct run *run)
{
    return expression->eval(expression, frame, run);
}

static inline bool evaluate_test(const struct expression *expression, struct frame *frame,
                                 struct run *run)
{
    return expression->test(expression, frame, run);
}

// --- patterns: what a binding binds (docs/reference/language.md 5) -------------------------------
enum pattern_kind { PATTERN_SLOT, PATTERN_VECTOR, PATTERN_MAP };

struct pattern_entry {  // of a map pattern
    uint32_t key;       // constant: a keyword or string
    struct pattern *pattern;
    struct expression *fallback;  // of :or, or NULL
};

struct pattern {
    uint8_t kind;
    bool has_rest;
    uint32_t offset;
    uint32_t slot;                  // PATTERN_SLOT
    struct pattern *whole;          // :as, or NULL
    struct pattern *rest;           // after &
    struct pattern **items;         // PATTERN_VECTOR
    struct pattern_entry *entries;  // PATTERN_MAP
    uint32_t count;
};

struct binding_step {  // pattern ← value
    struct pattern *pattern;
    struct expression *value;
};

// --- functions -----------------------------------------------------------------------------------
struct capture {
    bool from_capture;  // of the enclosing function's captures, otherwise of its slots
    bool from_self;     // the enclosing function itself
    bool move;          // last use of the slot
    uint32_t index;
};

struct code {  // what all closures of one fn have in common
    struct expression *body;
    struct pattern **parameters;  // NULL when every parameter is a plain symbol in its own slot
    struct program *program;
    uint32_t parameter_count;  // without the rest
    uint32_t slot_count;
    uint32_t stack_need;  // bytes of stack for one activation
    bool has_rest;
    bool has_recur;
    struct code *next_arity;  // of a function with several, which share their captures; or NULL
    uint32_t capture_count;
    struct capture *captures;
    struct span name;    // empty when it has none
    struct span source;  // of the parameter vector, for #fn[a b]
    uint32_t offset;
};

// --- the kinds -----------------------------------------------------------------------------------
struct expression_immediate {
    struct expression base;
    value value;
};

struct expression_index {  // CONSTANT, LOCAL, CAPTURE, SELF, GLOBAL, MEMORY
    struct expression base;
    uint32_t index;
    uint32_t place;  // LOCAL: of the slot, as slot_place() gives it
};

struct if_clause {
    struct expression *test;  // NULL for the last clause: otherwise
    struct expression *result;
};

struct expression_if {  // the first true test decides
    struct expression base;
    uint32_t count;  // clauses with a test, not 0; one without follows
    struct if_clause clauses[];
};

struct expression_list {  // DO, AND, OR, VECTOR, MAP (key, value …), SET
    struct expression base;
    uint32_t count;
    struct expression **items;
};

struct expression_let {
    struct expression base;
    uint32_t count;
    struct binding_step *steps;
    struct expression *body;
};

struct expression_case {  // flag: has a default
    struct expression base;
    struct expression *subject;
    uint32_t count;
    uint32_t *constants;           // one per entry
    struct expression **results;   // one per entry; entries of one clause share it
    struct expression *otherwise;  // or NULL: no match is an error
};

struct expression_condp {  // flag: has a default
    struct expression base;
    struct expression *predicate;
    struct expression *subject;
    uint32_t count;
    struct expression **items;  // test, result …
    bool *receives;             // by clause: the result is a function of what the test gave (:>>)
    struct expression *otherwise;  // or NULL: no match is an error
};

enum bind_if_test { BIND_IF_TRUE, BIND_IF_SOME, BIND_IF_FIRST };

struct expression_bind_if {
    struct expression base;
    uint8_t test;
    uint32_t slot;
    struct expression *value;
    struct expression *then;
    struct expression *otherwise;
};

struct expression_fn {
    struct expression base;
    struct code *code;
};

struct expression_loop {
    struct expression base;
    uint32_t count;
    struct binding_step *steps;
    struct expression *body;
    struct recur_target *target;   // while the program is analysed
    const struct slot_set *reads;  // slots of the surroundings that an iteration reads
};

enum {
    RECUR_IN_REGISTERS = 4,  // values that loop_run() keeps in registers
    RECUR_SLOTS_MAX = 8,     // values that eval_recur_slots keeps on the stack
};

struct expression_recur {
    struct expression base;
    uint32_t count;
    uint32_t wanted;                   // another count is an arity_mismatch
    uint32_t places[RECUR_SLOTS_MAX];  // of the slots, for LOOP_RECUR_DIRECT and 1 to 4
    struct expression **items;
    struct pattern **patterns;
    bool slots_only;  // every pattern is a slot
    bool has_rest;    // the last pattern is the rest of a function's arguments
    struct recur_target *target;
};

enum clause_kind { CLAUSE_EACH, CLAUSE_LET, CLAUSE_WHEN, CLAUSE_WHILE };

struct clause {
    uint8_t kind;
    struct pattern *pattern;     // EACH
    struct expression *value;    // EACH: collection; WHEN, WHILE: test
    struct binding_step *steps;  // LET
    uint32_t count;
};

struct expression_for {  // flag: collects (for), otherwise doseq
    struct expression base;
    const struct code *code;  // of the function it stands in
    uint32_t count;
    struct clause *clauses;
    struct expression *body;
    const struct slot_set *reads;  // as for LOOP
};

struct expression_def {  // flag: once
    struct expression base;
    uint32_t global;
    struct expression *value;
};

struct expression_thread {  // SOME: steps; COND: test, step …
    struct expression base;
    uint32_t slot;
    uint32_t count;
    struct expression *start;
    struct expression **items;
};

struct expression_where {
    struct expression base;
    uint8_t operation;
    uint32_t field;            // constant: vector, the path
    struct expression *value;  // NULL: (where field)
};

struct
    expression_call {  // CALL, and RETURN, FAIL, MEMORY_PUT, MEMORY_GET with their parts as items
    struct expression base;
    struct expression *head;  // CALL only
    uint32_t count;
    struct expression **items;
};

// Operands of arithmetic and comparison. A constant is a 64-bit integer.
enum operands {
    OPERANDS_ANY,
    OPERANDS_CONSTANT,  // a local and a constant
    OPERANDS_LOCALS,
    OPERANDS_LOCAL,         // a local and any
    OPERANDS_ANY_CONSTANT,  // any but a local, and a constant
    OPERANDS_COUNT,
};

struct expression_builtin {
    struct expression base;
    const struct builtin *builtin;
    uint32_t count;
    uint32_t borrowed;          // of a builtin that borrows: bit i = argument i is read where it is
    uint32_t place_a, place_b;  // of operands that are locals, as slot_place() gives them
    uint32_t operand;           // beside a constant: 1 when that comes first
    int64_t constant;   // of OPERANDS_CONSTANT and _ANY_CONSTANT; with a local, negated for -
    eval_fn *eval_any;  // for other operands than those expected, or NULL
    test_fn *test_any;  // the same for comparisons
    struct expression **items;
};

struct catch_clause {
    struct span class;  // "Exception"; "default" of :default
    uint32_t slot;      // of the exception
    struct expression *body;
};

struct expression_try {  // TRY, ATTEMPT: only the body
    struct expression base;
    struct expression *body;
    uint32_t count;
    struct catch_clause *clauses;
    struct expression *finally;  // or NULL
};

struct expression_binding {
    struct expression base;
    uint32_t count;
    uint32_t *globals;
    struct expression **values;
    struct expression *body;
};

struct expression_keyword {
    struct expression base;
    uint32_t lookup;  // of the instance
    struct expression *subject;
    struct expression *otherwise;  // or NULL
};

struct expression_tool {
    struct expression base;
    uint32_t tool;
    bool pairs;  // items are :k v …, otherwise none or one map
    uint32_t count;
    struct expression **items;
};

// --- running -------------------------------------------------------------------------------------
struct instance {  // of one program in one run
    const struct program *program;
    value *constants;
    struct lookup *lookups;  // one for each (:k m)
};

struct closure {
    struct foreign foreign;
    const struct code *code;
    struct instance *instance;
    value captures[];
};

struct frame {
    struct closure *closure;  // NULL at top level
    struct instance *instance;
    value slots[];
};

// Where a slot lies in its frame, in bytes: so it is found without arithmetic.
static inline uint32_t slot_place(uint32_t slot)
{
    return (uint32_t)(offsetof(struct frame, slots) + slot * sizeof(value));
}
static inline value *slot_at(struct frame *frame, uint32_t place)
{
    return (value *)((char *)frame + place);
}

// What recur gives to its loop.
static inline value value_recur(void)
{
    return (value){.tag = VALUE_RECUR};
}
