// The product's MCP tools. A tool is thin: it checks its arguments, calls its domain once and renders
// the domain's result (tools/render.h and friends, shared with the CLI). One file per family; each
// registers its tools through tools_add(), which honours the selection of `cadre serve --tools`.
#pragma once

#include <stdbool.h>

#include "mcp/mcp.h"
#include "session/session.h"

struct tool_metrics {
    struct mcp_metric *evaluations;
    struct mcp_metric *errors;
    struct mcp_metric *rollbacks;
    struct mcp_metric *seconds;
};

// What the handlers work with. Filled by the caller; must outlive the server.
struct tools {
    struct mcp_server *server;
    struct session_manager *sessions;
    const char *selection;  // "full", "core", or names separated by commas
    struct tool_metrics metrics;
};

// Registers all families. False: the selection names an unknown tool.
bool tools_register(struct tools *tools, struct error *error);

// True if the selection takes the tool.
bool tools_selected(const struct tools *tools, const char *name);
// Registers one tool if it is selected; handler data is `tools`.
void tools_add(struct tools *tools, const struct mcp_tool *tool);

// What the model is told when it connects.
const char *tools_instructions(void);

void tools_register_evaluate(struct tools *tools);
void tools_register_errors(struct tools *tools);
void tools_register_debug(struct tools *tools);
void tools_register_session(struct tools *tools);
void tools_register_introspect(struct tools *tools);
void tools_register_load(struct tools *tools);
void tools_register_syntax(struct tools *tools);
