// A tenant: a client of the server with all that belongs to it and to nobody else: tools, protocol
// sessions, tasks, Lisp sessions, context items and named memories. The user is the tenant "", whose
// files are where they always were; those of others are in clients/NAME of the state directory. Who
// uses several workspaces is a tenant in each.
#pragma once

#include "daemon/service.h"

// What all tenants of a server share or get a copy of; outlives them.
struct tenant_setup {
    struct event_base *base;
    struct program_pool *programs;
    const struct toolbox *toolbox;
    const struct session_config *sessions;
    const char *selection;
    const char *auto_context;
    const char *context_db;  // of the user; NULL: the usual place
    bool structured_results;
    bool has_inspector;
    int64_t yield;
};

struct tenant {
    char *name;
    char *workspace;   // real path; NULL: the server's
    char *context_db;  // NULL: the usual place
    char *memories;
    struct session_manager *sessions;
    struct inspector *inspector;  // NULL: there is none
    struct service service;
};

// Who a tenant is, and the most it may do.
struct tenant_identity {
    const char *name;
    const char *workspace;  // real path. NULL: of the user the server's, else a scratch directory
    bool is_other;          // not the usual workspace of this name
    enum sandbox_mode sandbox;  // the widest
};

// 0, or the exit status with a message. To be released either way.
int tenant_open(struct tenant *tenant, const struct tenant_setup *setup,
                const struct tenant_identity *identity, struct error *error);
// After the transports and the pool of programs were freed.
void tenant_release(struct tenant *tenant);
