// What one client is served by: an MCP server with Cadre's tools over the sessions and the context
// store of its workspace.
#pragma once

#include "inspector/inspector.h"
#include "mcp/mcp.h"
#include "program_host/program_pool.h"
#include "session/session.h"
#include "tools/tools.h"

// All of it outlives the service.
struct service_setup {
    struct event_base *base;
    struct session_manager *sessions;
    struct program_pool *programs;
    const struct toolbox *toolbox;
    const char *context_db;        // NULL: the usual place
    struct output_store *outputs;  // of the sessions; NULL: the service has its own
    const struct ledger *ledger;   // is told what is kept; NULL: nobody
    const char *memories;          // directory of named memories, or NULL
    const char *selection;
    const char *auto_context;
    bool structured_results;
    int64_t yield;
    struct inspector *inspector;  // of the sessions, which sees what the service does; NULL: none
    bool has_page;                // the service has the resources and tools of the inspector's page
    struct session_client client;
    bool is_users;         // it serves the user, not the holder of another token
    bool imports_project;  // the MCP servers of the workspace are used
};

struct service {
    struct mcp_server *mcp;
    struct context_store *contexts;
    struct tools tools;
};

// False with a message. To be released either way.
bool service_open(struct service *service, const struct service_setup *setup, struct error *error);
// After its transport was freed.
void service_release(struct service *service);
