#include "daemon/service.h"

#include "config.h"
#include "tools/offered_text.h"

static struct mcp_server *new_server(const struct service_setup *setup)
{
    CLEANUP_BUFFER struct buffer instructions;
    buffer_init(&instructions, BUFFER_DEFAULT_LIMIT);
    offered_text_append(&instructions, tools_instructions, setup->selection);
    const struct mcp_server_info info = {
        .name = "cadre",
        .title = "Cadre",
        .version = CADRE_VERSION,
        .instructions = buffer_text(&instructions),
        .text_results = !setup->structured_results,
        .tools_change = toolbox_upstreams(setup->toolbox) != NULL,
        .subscribe = true,
        .tasks = true,
    };
    return mcp_server_new(setup->base, &info);
}

bool service_open(struct service *service, const struct service_setup *setup, struct error *error)
{
    *service = (struct service){.mcp = new_server(setup),
                                .contexts = context_store_new(setup->context_db)};
    context_store_set_ledger(service->contexts, setup->ledger);
    service->tools = (struct tools){
        .base = setup->base,
        .server = service->mcp,
        .sessions = setup->sessions,
        .contexts = service->contexts,
        .programs = setup->programs,
        .toolbox = setup->toolbox,
        .selection = setup->selection,
        .auto_context = setup->auto_context,
        .yield = setup->yield,
        .ledger = setup->ledger,
        .memories = setup->memories,
        .outputs = setup->outputs,
        .client = setup->client,
        .trust = {.is_users = setup->is_users, .with_servers = setup->imports_project},
        .observer = setup->inspector ? inspector_observer(setup->inspector) : NULL,
        .has_inspector = setup->has_page,
    };
    if (setup->has_page)
        inspector_register(setup->inspector, service->mcp);
    toolbox_allow_files(setup->toolbox, setup->sessions);
    return tools_register(&service->tools, error);
}

void service_release(struct service *service)
{
    if (!service->mcp)
        return;
    tools_release(&service->tools);
    mcp_server_free(service->mcp);
    context_store_free(service->contexts);
    *service = (struct service){0};
}
