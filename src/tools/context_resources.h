// The store as MCP resources and as a prompt.
#pragma once

#include "context/store.h"
#include "mcp/mcp.h"

#define CONTEXT_URI_ITEMS "context://items"
#define CONTEXT_URI_RENDERED "context://rendered"
#define CONTEXT_URI_ITEM "context://items/{id}"

void context_resources_register(struct mcp_server *server, struct context_store *store);
