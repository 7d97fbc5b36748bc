// The store as MCP resources and as a prompt.
#pragma once

#include "mcp/mcp.h"

#define CONTEXT_URI_ITEMS "context://items"
#define CONTEXT_URI_RENDERED "context://rendered"
#define CONTEXT_URI_ITEM "context://items/{id}"

struct context_queue;

void context_resources_register(struct mcp_server *server, struct context_queue *queue);
