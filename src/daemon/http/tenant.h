// A tenant: a client of the server with all that belongs to it and to nobody else: tools, protocol
// sessions, tasks, Lisp sessions, context items and named memories. The user is the tenant "", whose
// files are those of the workspace, and whose sessions are the daemon's where there is one; those of
// others are in clients/NAME of the state directory, and their sessions end with the tenant. Who uses
// several workspaces is a tenant in each.
#pragma once

#include "daemon/client_settings.h"
#include "daemon/service.h"

// What all tenants of a server share or get a copy of; outlives them.
struct mcp_http_router;

struct tenant_setup {
    struct event_base *base;
    struct daemon *daemon;  // NULL: there is none
    struct program_pool *programs;
    const struct toolbox *toolbox;
    const struct settings *settings;  // with the daemon they name the workspace
    bool has_inspector;
    struct session_client client;  // with the daemon
    bool joins;  // workspaces that are open are taken as they are, whatever the settings
    const struct mcp_http_router *router;  // of the listener: answers all requests; NULL: none
    const struct ledger *ledger;           // is told what is kept; NULL: nobody
};

struct daemon_workspace;

struct tenant {
    struct daemon *daemon;      // NULL: there is none
    const struct token *token;  // NULL: the user's, of whom none is asked
    char *name;
    char *workspace;   // real path; NULL: the server's
    char *context_db;  // NULL: the usual place
    char *memories;
    struct daemon_workspace *shared;  // of the daemon; NULL: the sessions are its own
    struct session_manager *sessions;
    struct inspector *own_inspector;  // of its own sessions; NULL: that of the workspace, or none
    struct service service;
};

// Who a tenant is, and the most it may do.
struct tenant_identity {
    const char *name;
    const struct token *token;  // NULL: the user's, of whom none is asked
    const char *workspace;  // real path. NULL: of the user the server's, else a scratch directory
    bool is_other;          // not the usual workspace of this name
    enum sandbox_mode sandbox;  // the widest
};

// 0, or the exit status with a message. To be released either way.
int tenant_open(struct tenant *tenant, const struct tenant_setup *setup,
                const struct tenant_identity *identity, struct error *error);
// After its transport has ended, and when nothing runs that would answer to it, or all sessions have ended.
void tenant_release(struct tenant *tenant);
