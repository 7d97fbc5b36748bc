// What the parts of the reader of JSON Schemas share.
#pragma once

#include "signature/problems.h"
#include "signature/signature.h"

struct reader {
    struct arena *arena;
    struct region *region;
    value root;  // where references start
    size_t types;
    unsigned depth;
    struct problems lost;
    struct error *error;
};

// References being followed, to notice one that leads to itself.
struct following {
    const struct following *outer;
    struct span reference;
};

// The context of one schema: its place, and the references that led to it.
struct at {
    const struct place *place;
    const struct following *following;
};

// --- schema_read.c -------------------------------------------------------------------------------

bool reader_fail_memory(struct reader *reader);
bool reader_become_any(struct reader *reader, const struct place *place, struct span what,
                       struct signature_type *ret_type);
bool reader_schema(struct reader *reader, value schema, struct at at,
                   struct signature_type *ret_type);
// A line for each keyword that says something about values of the kind, and is not in `handled`.
void reader_report_rest(struct reader *reader, value schema, const struct place *place,
                        enum signature_kind kind, const char *const *handled, const char *message);

// --- schema_constraint.c -------------------------------------------------------------------------

// minimum, maxLength, pattern … of a number or string
bool reader_limits(struct reader *reader, value schema, const struct place *place,
                   struct signature_type *type);
// "enum" and "const"
bool reader_enum(struct reader *reader, value schema, const struct place *place,
                 struct signature_type *ret_type);

// Types of which one has to fit, while they are read.
struct alternatives {
    struct alternative *first;
    struct alternative *last;
    size_t count;
};

// NULL when the arena is full.
struct signature_type *alternatives_add(struct reader *reader, struct alternatives *list);
// One alternative is the type itself; without any it is :any.
bool alternatives_finish(struct reader *reader, const struct place *place,
                         const struct alternatives *list, const char *keyword,
                         struct signature_type *ret_type);
