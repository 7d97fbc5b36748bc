#include "daemon/http/tenants.h"

#include <stdlib.h>

#include "base/log.h"
#include "session/workspace/workspace.h"

enum { STATUS_USAGE = 2 };

static bool open_toolbox(struct tenants *tenants, struct error *error)
{
    const struct tenant_setup *setup = &tenants->setup;
    const struct settings *settings = setup->settings;
    if (!settings->program_tools)
        tenants->toolbox = toolbox_new();
    else if (!toolbox_load(settings->program_tools, &tenants->toolbox, error))
        return false;
    struct toolbox_place place = {setup->client.environment, settings->sessions.sandbox.workspace};
    if (!toolbox_add_servers(tenants->toolbox, settings->servers, settings->imports, &place, error))
        return false;
    toolbox_open_servers(tenants->toolbox, program_pool_reaper(setup->programs),
                         settings->sessions.sandbox.workspace);
    tenants->setup.toolbox = tenants->toolbox;
    return true;
}

static int open_tenant(struct tenants *tenants, const struct tenant_identity *identity,
                       struct error *error)
{
    return tenant_open(&tenants->list[tenants->count++], &tenants->setup, identity, error);
}

int tenants_open(struct tenants *tenants, const struct tenant_setup *setup, struct tokens *tokens,
                 struct error *error)
{
    *tenants = (struct tenants){.setup = *setup, .tokens = tokens};
    struct tenant_identity user = {.name = "", .sandbox = SANDBOX_OFF};
    if (!open_toolbox(tenants, error))
        return STATUS_USAGE;
    // A router needs the others' names and tokens alone.
    if (!tokens || setup->router)
        return open_tenant(tenants, &user, error);
    int status = 0;
    for (size_t i = 0; status == 0 && i < tokens->count; i++) {
        const struct token *token = &tokens->list[i];
        struct tenant_identity identity = {.name = token->name,
                                           .token = token,
                                           .workspace =
                                               token->workspace_count ? token->workspaces[0] : NULL,
                                           .sandbox = token->sandbox};
        status = open_tenant(tenants, &identity, error);
    }
    return status;
}

struct tenant *tenants_open_workspace(struct tenants *tenants, const char *name,
                                      const char *workspace, struct error *error)
{
    const struct token *token = tokens_find(tenants->tokens, name);
    if (!token || tenants->count == TENANTS_MAX || !token_allows(token, workspace) ||
        workspace_is_forbidden(workspace))
        return NULL;
    struct tenant *tenant = &tenants->list[tenants->count];
    struct tenant_identity identity = {.name = name,
                                       .token = token,
                                       .workspace = workspace,
                                       .is_other = true,
                                       .sandbox = token->sandbox};
    if (open_tenant(tenants, &identity, error) == 0)
        return tenant;
    log_warning("%s: %s", workspace, error->message);
    tenant_release(tenant);
    tenants->count--;
    return NULL;
}

bool tenants_are_idle(const struct tenants *tenants)
{
    for (size_t i = 0; i < tenants->count; i++)
        if (!mcp_server_is_idle(tenants->list[i].service.mcp))
            return false;
    return true;
}

void tenants_release(struct tenants *tenants)
{
    if (tenants->toolbox)
        toolbox_close_servers(tenants->toolbox);
    for (size_t i = 0; i < tenants->count; i++)
        tenant_release(&tenants->list[i]);
    toolbox_free(tenants->toolbox);
}
