#include "daemon/http/http_service.h"

#include <string.h>

#include "base/memory.h"
#include "daemon/daemon_internal.h"
#include "inspector/inspector.h"

enum { STATUS_USAGE = 2 };

struct http_service {
    struct listening *listening;
    struct tenants tenants;
    struct mcp_http *http;
};

static struct mcp_http_client describe_client(const struct http_service *service,
                                              const struct tenant *tenant)
{
    const struct token *token = tokens_find(&service->listening->tokens, tenant->name);
    return (struct mcp_http_client){.name = tenant->name,
                                    .token = token ? token->text : NULL,
                                    .server = tenant->service.mcp,
                                    .workspace = tenant->workspace};
}

// Of a router, which asks for the names of holders alone.
static struct mcp_http_client describe_holder(const struct http_service *service,
                                              const struct token *token)
{
    return (struct mcp_http_client){
        .name = token->name, .token = token->text, .server = service->tenants.list[0].service.mcp};
}

static bool open_workspace(void *data, const char *name, const char *workspace,
                           struct mcp_http_client *ret_client, struct error *error)
{
    struct http_service *service = data;
    struct tenant *tenant = tenants_open_workspace(&service->tenants, name, workspace, error);
    if (tenant)
        *ret_client = describe_client(service, tenant);
    return tenant != NULL;
}

static bool start(struct http_service *service, mcp_end_fn *on_end, void *data, struct error *error)
{
    const struct listening *listening = service->listening;
    struct mcp_http_client clients[TOKENS_MAX + 1];
    struct tenants *tenants = &service->tenants;
    size_t count = tenants->setup.router ? listening->tokens.count : tenants->count;
    for (size_t i = 0; i < count; i++)
        clients[i] = tenants->setup.router ? describe_holder(service, &listening->tokens.list[i])
                                           : describe_client(service, &tenants->list[i]);
    const struct mcp_http_options options = {.allow_hosts = listening->allow_hosts,
                                             .allow_origins = listening->allow_origins,
                                             .address = listening->host,
                                             .port = listening->port,
                                             .socket_path = listening->socket_path,
                                             .clients = clients,
                                             .client_count = count,
                                             .open_workspace = open_workspace,
                                             .pages = inspector_pages,
                                             .router = tenants->setup.router,
                                             .open_data = service};
    return mcp_http_start(tenants->list[0].service.mcp, &options, on_end, data, &service->http,
                          error);
}

int http_service_open(const struct tenant_setup *setup, struct listening *listening,
                      mcp_end_fn *on_end, void *data, struct http_service **ret_service,
                      struct error *error)
{
    struct http_service *service = memory_alloc_zero(sizeof(*service));
    service->listening = listening;
    int status = tenants_open(&service->tenants, setup, &listening->tokens, error);
    if (status == 0 && !start(service, on_end, data, error))
        status = STATUS_USAGE;
    if (status == 0)
        *ret_service = service;
    else
        http_service_free(service);
    return status;
}

bool http_service_has_token(const struct http_service *service, const char *token)
{
    const struct listening *listening = service->listening;
    const char *own = listening->tokens.list[0].text;
    return !listening->socket_path && own && token && strcmp(own, token) == 0;
}

bool http_service_shows(const struct http_service *service, const char *token,
                        const struct daemon_workspace *workspace)
{
    return http_service_has_token(service, token) &&
           (!workspace || workspaces_fit(workspace, service->tenants.setup.settings));
}

bool http_service_is_read(const struct http_service *service)
{
    return mcp_http_is_read(service->http);
}

const char *http_service_url(const struct http_service *service)
{
    return mcp_http_url(service->http);
}

void http_service_shutdown(struct http_service *service, unsigned grace_ms)
{
    for (size_t i = 0; i < service->tenants.count; i++)
        mcp_server_shutdown(service->tenants.list[i].service.mcp, grace_ms);
}

void http_service_hang_up(struct http_service *service)
{
    if (!service)
        return;
    mcp_http_free(service->http);
    service->http = NULL;
}

bool http_service_is_idle(const struct http_service *service)
{
    return tenants_are_idle(&service->tenants);
}

const struct tenants *http_service_tenants(const struct http_service *service)
{
    return &service->tenants;
}

void http_service_free(struct http_service *service)
{
    if (!service)
        return;
    http_service_hang_up(service);
    tenants_release(&service->tenants);
    memory_free(service);
}
