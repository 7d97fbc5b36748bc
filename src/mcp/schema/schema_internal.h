// Private to src/mcp/schema: the compiled form of a schema.
#pragma once

#include "mcp/schema/schema.h"

enum schema_type {
    TYPE_STRING = 1 << 0,
    TYPE_INTEGER = 1 << 1,
    TYPE_NUMBER = 1 << 2,
    TYPE_BOOLEAN = 1 << 3,
    TYPE_ARRAY = 1 << 4,
    TYPE_OBJECT = 1 << 5,
    TYPE_NULL = 1 << 6,
};
enum { SCHEMA_TYPES = 7 };

struct schema_member {
    value key;
    struct span name;             // of the key
    const struct schema *schema;  // NULL: anything
    bool is_known;                // among the properties, not only required
    bool is_required;
};

struct schema {
    unsigned types;  // of enum schema_type; 0: any
    value options;   // enum; nil: any
    value constant;
    bool has_constant;
    value minimum;  // nil: none
    value maximum;
    const struct schema *items;       // of an array; NULL: anything
    const struct schema *additional;  // members that are no properties; NULL: anything
    bool is_closed;                   // no members that are no properties
    size_t required_count;
    size_t member_count;
    struct schema_member *members;
};

// A place in the instance, linked from the inside out; written only into messages.
struct schema_place {
    const struct schema_place *outer;
    const char *before;
    struct span name;  // without data: an element of an array
    const char *after;
    size_t index;
};

// --- schema.c: looking up members and checking places --------------------------------------------

// The members of an instance one by one, each with its member of the schema.
struct schema_cursor {
    const struct schema *schema;
    struct map_cursor entries;
    size_t hint;  // members mostly come in the order of their schema: where the last one was found
    value key;
    value item;
    struct span name;                    // of the key
    const struct schema_member *member;  // NULL: the schema does not name it
};

struct schema_cursor schema_iterate(const struct schema *schema, value instance);
bool schema_next(struct schema_cursor *cursor);
// The member of this name, or NULL. The search starts at *hint, which is set to its position.
const struct schema_member *schema_member_find(const struct schema *schema, struct span name,
                                               size_t *hint);
// A required member that the instance lacks, or NULL.
const struct schema_member *schema_missing_member(const struct schema *schema, value instance);
bool schema_check_place(const struct schema *schema, const struct schema_place *place,
                        value instance, struct error *error);

// --- schema_compile.c: the names of types --------------------------------------------------------

struct schema_type_name {
    const char *name;
    const char *with_article;  // for messages
};
extern const struct schema_type_name schema_type_names[SCHEMA_TYPES];  // in the order of the bits
