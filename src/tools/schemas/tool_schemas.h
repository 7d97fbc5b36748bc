// What clients see of each tool: title, description and JSON Schemas. TOOL.json in this folder
// describes the tool of its name; shared/ holds parts that {"$include": …} inserts. The files are
// embedded at build by scripts/embed-schemas; tools_add() finds the entry of a tool.
//
// Ranges of arguments are stated in descriptions and checked by the handlers, so that the handlers'
// own messages are the ones seen.
#pragma once

#include <stddef.h>

struct tool_schema {
    const char *name;
    const char *title;
    const char *description;
    const char *set;       // the smallest that has it: core, default or full
    const char *input;     // JSON Schema of the arguments, in the subset that all model APIs take
    const char *accepted;  // a wider one, of what is accepted besides; or NULL
    const char *output;    // JSON Schema of the structured result
};

extern const struct tool_schema tool_schemas[];  // by name; the last entry has none
