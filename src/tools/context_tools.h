// The context domain over MCP: five tools, two resources, a template with completion, and a prompt.
// Changes of the store are announced to subscribers, also those made by other processes.
#pragma once

#include "tools/tools.h"

struct context_tools;

// Registers what the selection takes (resources and prompt always). The result must be freed before
// the store and after the server stopped.
struct context_tools *tools_register_context(struct tools *tools);
void context_tools_free(struct context_tools *context);
