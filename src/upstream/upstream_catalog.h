// The tools of one server, as it lists them, and what programs call them.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/region.h"
#include "value/value.h"

enum {
    UPSTREAM_TOOLS_MAX = 4096,        // of one server
    UPSTREAM_TOOL_NAME_MAX = 128,     // bytes
    UPSTREAM_DESCRIPTION_MAX = 4096,  // bytes that are kept
    UPSTREAM_PARAMETERS_MAX = 16,     // of one tool that go into headers
    UPSTREAM_PARAMETER_DEPTH = 4,
};

// An argument that goes into a header, too.
struct upstream_parameter {
    const char *header;  // behind "Mcp-Param-"
    const char *path[UPSTREAM_PARAMETER_DEPTH];
    size_t depth;
};

struct upstream_tool {
    struct span name;          // the server's
    const char *program_name;  // "list-issues": the part after the slash
    const char *description;   // "" when it has none
    const char *signature;     // NULL: its schema cannot be expressed
    uint64_t schema_mark;      // of its schemas, as they are
    bool read_only;            // the server says so (readOnlyHint)
    struct upstream_parameter *parameters;
    size_t parameter_count;
};

struct upstream_catalog {
    struct region *region;
    struct upstream_tool *tools;
    size_t count;
    size_t capacity;
    uint32_t *index;  // by name, open addressing: a tool's number + 1; 0: free
    size_t slots;     // a power of two, or 0
    size_t refused;   // tools that were left out: names that are none, duplicates, too many
};

void upstream_catalog_init(struct upstream_catalog *catalog);
void upstream_catalog_release(struct upstream_catalog *catalog);
// Adds one page of tools/list.
void upstream_catalog_add(struct upstream_catalog *catalog, value tools);
bool upstream_catalog_equal(const struct upstream_catalog *a, const struct upstream_catalog *b);
// By the server's name or the program's, `-` and `_` alike. NULL: there is none.
const struct upstream_tool *upstream_catalog_find(const struct upstream_catalog *catalog,
                                                  struct span name);

// --- upstream_parameters.c: arguments in headers -------------------------------------------------
void upstream_parameters_read(struct upstream_catalog *catalog, struct upstream_tool *tool,
                              value schema);
// Appends a line per header. `arguments` is a JSON object.
void upstream_parameters_write(struct buffer *lines, const struct upstream_tool *tool,
                               struct span arguments);
