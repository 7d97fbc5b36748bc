// Checks values against JSON Schema, the part of it that Cadre's tools use: type (one or several),
// properties, required, additionalProperties (false or a schema), items, enum, const, minimum,
// maximum. Other keywords are ignored, so a schema that uses them accepts more than it says.
//
// A schema is compiled once and used by every call, so a check is cheap: it does not read the JSON
// of the schema, allocates nothing, and writes a path only for an error.
#pragma once

#include "base/error.h"
#include "value/value.h"

struct schema;

// --- schema_compile.c: compiling -----------------------------------------------------------------

// The compiled schema lives in the region and borrows from the parsed one, which must live as long.
// A keyword with a value of the wrong kind is a programming error.
const struct schema *schema_compile(struct region *region, value parsed);

// --- schema.c: checking a value ------------------------------------------------------------------

// Errors name the place by `root` and path: "structuredContent.error.code must be a string, not 3".
bool schema_check(const struct schema *schema, value instance, const char *root,
                  struct error *error);

// --- schema_arguments.c: the arguments of a tool -------------------------------------------------

// Errors name the parameter, and for an unknown one the nearest known name. names_only checks only
// that all names are known.
bool schema_check_arguments(const struct schema *schema, value arguments, bool names_only,
                            struct error *error);

// Returns the arguments without optional ones that are null: some clients write out every parameter
// and mean by null that it is not given.
value schema_drop_nulls(const struct schema *schema, struct region *region, value arguments);

// Returns the arguments with integers where the schema demands them and the call has whole floats:
// in JSON Schema 5.0 is an integer, to handlers it is not.
value schema_integers(const struct schema *schema, struct region *region, value arguments);
