// Checks values against JSON Schema, the part of it that Cadre's tools use: type (one or several),
// properties, required, additionalProperties (false or a schema), items, enum, const, minimum,
// maximum. Other keywords are not looked at, so a schema that uses them accepts more than it says.
#pragma once

#include "base/error.h"
#include "value/value.h"

// Errors name the place by `root` and path: "structuredContent.error.code must be a string, not 3".
bool schema_check(value schema, value instance, const char *root, struct error *error);

// The arguments of a tool: errors name the parameter, and for an unknown one the nearest known
// name. names_only leaves out all but the check for unknown names.
bool schema_check_arguments(value schema, value arguments, bool names_only, struct error *error);
