// Checks values against JSON Schema, the part of it that Cadre's tools use: type (one or several),
// properties, required, additionalProperties (false or a schema), items, enum, const, minimum,
// maximum. Other keywords are not looked at, so a schema that uses them accepts more than it says.
//
// A schema is compiled once and checked against with every call, so a check costs little: nothing
// is looked up in the schema's text, nothing is allocated, and a path is only written for an error.
#pragma once

#include "base/error.h"
#include "value/value.h"

struct schema;

// The compiled schema lives in the region and borrows from the parsed one, which must live as long.
// A keyword with a value of the wrong kind is a programming error.
const struct schema *schema_compile(struct region *region, value parsed);

// Errors name the place by `root` and path: "structuredContent.error.code must be a string, not 3".
bool schema_check(const struct schema *schema, value instance, const char *root,
                  struct error *error);

// The arguments of a tool: errors name the parameter, and for an unknown one the nearest known
// name. names_only leaves out all but the check for unknown names.
bool schema_check_arguments(const struct schema *schema, value arguments, bool names_only,
                            struct error *error);

// The arguments with integers where the schema wants them and the call has whole numbers of another
// form: to JSON Schema 5.0 is an integer, to handlers it is none.
value schema_integers(const struct schema *schema, struct region *region, value arguments);
