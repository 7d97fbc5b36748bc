// The clients of a server that serves several: each token's holder in each of its workspaces is a
// tenant. Their tools for programs are the same.
#pragma once

#include "daemon/http/tenant.h"
#include "daemon/http/tokens.h"

enum { TENANTS_MAX = TOKENS_MAX + 1 + 64 };  // with those of other workspaces

struct tenants {
    struct tenant_setup setup;
    struct toolbox *toolbox;
    struct tokens *tokens;  // NULL: the user is there alone
    struct tenant list[TENANTS_MAX];
    size_t count;
};

// Opens one for each token. `setup` lacks the toolbox; `tokens` outlives the tenants. 0, or the exit
// status with a message. To be released either way.
int tenants_open(struct tenants *tenants, const struct tenant_setup *setup, struct tokens *tokens,
                 struct error *error);
// The tenant of this token in another workspace, a real path. NULL: it may not, or it could not be
// opened, which is logged.
struct tenant *tenants_open_workspace(struct tenants *tenants, const char *name,
                                      const char *workspace, struct error *error);
// Whether nothing runs that would answer to one of them.
bool tenants_are_idle(const struct tenants *tenants);
// After the transports, and what answers to tenants that share the daemon's sessions, have ended.
// Before the sessions of the tenants end, `programs` has to.
void tenants_release(struct tenants *tenants);
