// Signatures: the types of a program's inputs and result, and of a tool's arguments and result.
//
//     (user {:id :int :name :string}, limit :int?) -> [{order_id :int, total :float}]
//
// A signature is parsed once into an arena and is read-only from then on; its nodes live as long as
// the arena, not as long as the text. Checks run over values in the caller's region and recurse only
// along the signature, whose nesting is bounded, so hostile data cannot exhaust the stack.
// Grammar, messages, coercions and modes: docs/signatures.md.
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/buffer.h"
#include "base/error.h"
#include "base/span.h"
#include "value/value.h"

enum {
    SIGNATURE_MAX_BYTES = 65536,   // of text
    SIGNATURE_MAX_DEPTH = 64,      // nested lists, maps and alternatives
    SIGNATURE_MAX_CHOICES = 256,   // of one [:enum …] or [:or …]
    SIGNATURE_MAX_LITERAL = 1024,  // bytes of a string in [:enum …], or of a pattern
    SIGNATURE_MAX_PROBLEMS =
        1000,  // errors, and warnings, of one check; one more line counts the rest
};

enum signature_kind {
    SIGNATURE_STRING,
    SIGNATURE_INT,
    SIGNATURE_FLOAT,
    SIGNATURE_BOOL,
    SIGNATURE_KEYWORD,
    SIGNATURE_DATETIME,  // a string such as "2026-01-02T03:04:05Z"
    SIGNATURE_ANY,
    SIGNATURE_MAP,     // any map
    SIGNATURE_LIST,    // [T]
    SIGNATURE_RECORD,  // {field T …}; without fields it is any map
    SIGNATURE_ENUM,    // [:enum "a" "b"]
    SIGNATURE_UNION,   // [:or T T]
    SIGNATURE_KIND_COUNT,
};

struct signature_field;

struct signature_fields {
    const struct signature_field *items;  // in declaration order
    const size_t *by_name;                // indices of items, sorted by name, `-` as `_`
    size_t count;
};

// Of a number, or of the characters of a string.
struct signature_bound {
    value limit;    // an integer or a float; nil: none
    bool excluded;  // the limit itself does not fit
};

// [:int 1 100], [:float >0 _], [:string 1 80 #"^[a-z]"]
struct signature_limits {
    struct signature_bound low;
    struct signature_bound high;
    const struct signature_pattern *pattern;  // some part of the string fits it; NULL: none
};

// A string, or without one a number or boolean.
struct signature_choice {
    struct span text;
    value other;
};

struct signature_type {
    enum signature_kind kind;
    bool optional;                           // T?: nil is accepted; as a field, absence too
    const struct signature_limits *limits;   // of an int, float or string; NULL: none
    const struct signature_type *element;    // of a list; of a union the `count` alternatives
    const struct signature_choice *choices;  // of an enum
    size_t count;
    struct signature_fields fields;  // of a record
};

struct signature_field {
    struct span name;
    struct signature_type type;
};

struct signature {
    bool has_inputs;  // false for a bare type, which accepts any inputs
    struct signature_fields inputs;
    struct signature_type output;
};

// --- parse.c: from text --------------------------------------------------------------------------
// ERROR_SYNTAX and ERROR_LIMIT carry line and column; ERROR_MEMORY when the arena is full.
bool signature_parse(struct arena *arena, struct span text, const struct signature **ret_signature,
                     struct error *error);

// --- signature_text.c: to text -------------------------------------------------------------------
// The canonical text: names without colon, commas between fields, :bool for :boolean.
// Parsing it gives an equal signature, rendering that gives the same text.
void signature_render(struct buffer *buffer, const struct signature *signature);
void signature_render_type(struct buffer *buffer, const struct signature_type *type);
// The inputs of a text, "(q :string)"; empty when it has none.
struct span signature_inputs_text(struct span text);

// --- check.c: checking values --------------------------------------------------------------------

enum signature_mode {
    SIGNATURE_ENABLED,    // coerce inputs with warnings, fail on errors
    SIGNATURE_WARN_ONLY,  // the same, but errors become warnings
    SIGNATURE_DISABLED,   // check nothing
    SIGNATURE_STRICT,     // no coercion, no undeclared fields
};

const char *signature_mode_name(enum signature_mode mode);  // "enabled", "warn_only", …
bool signature_mode_from_name(struct span name, enum signature_mode *ret_mode);

struct signature_check {
    value result;    // the value that was checked, coerced where the mode says so
    value errors;    // vector of strings; the check failed when it is not empty
    value warnings;  // vector of strings
};

// Both consume `v` and allocate in `region`, where `v` lives; the three values returned are owned.
// Inputs: a program's context or a tool's arguments, a map. Output: a program's or a tool's result;
// it is never coerced. Messages have no prefix; callers add "tool t: ".
struct signature_check signature_check_inputs(const struct signature *signature,
                                              enum signature_mode mode, struct region *region,
                                              value v);
struct signature_check signature_check_output(const struct signature *signature,
                                              enum signature_mode mode, struct region *region,
                                              value v);

// --- schema_write.c: to JSON Schema (2020-12) ----------------------------------------------------
// An object schema of the inputs; of any object when the signature has no input list.
value signature_input_schema(const struct signature *signature, struct region *region);
value signature_output_schema(const struct signature *signature, struct region *region);

// --- schema_read.c: from JSON Schema (2020-12) ---------------------------------------------------
// The signature nearest to two schemas, which a tool's description holds; `output` may be nil.
// What a signature cannot express becomes :any, and other constraints are dropped; *ret_lost is a vector
// of one line for each, e.g. "input.when: not became :any", "input.tags: minItems is not checked".
// Borrows both schemas. ERROR_INVALID when a schema is neither an object nor a boolean.
bool signature_from_schema(struct arena *arena, struct region *region, value input, value output,
                           const struct signature **ret_signature, value *ret_lost,
                           struct error *error);
