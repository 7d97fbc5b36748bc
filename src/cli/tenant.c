#include "cli/tenant.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/path.h"
#include "cli/commands.h"
#include "config.h"
#include "tools/offered_text.h"

static int start_sessions(struct tenant *tenant, const struct tenant_setup *setup)
{
    int failed = session_manager_new(setup->base, setup->sessions, &tenant->sessions);
    if (failed < 0) {
        fprintf(stderr, "cadre serve: cannot start: %s\n", strerror(-failed));
        return EXIT_FAILURE;
    }
    struct error error;
    if (session_limits_check(&setup->sessions->limits, session_heap_mb(tenant->sessions), &error))
        return 0;
    fprintf(stderr, "cadre serve: %s\n", error.message);
    return EXIT_USAGE;
}

static struct context_store *open_contexts(const char *name, const char *context_db)
{
    if (!*name || (context_db && strcmp(context_db, ":memory:") == 0))
        return context_store_new(context_db);
    CLEANUP_FREE char *file = memory_format("clients/%s/context.db", name);
    CLEANUP_FREE char *path = path_in_state(file);
    return context_store_new(path ? path : "");
}

int tenant_open(struct tenant *tenant, const struct tenant_setup *setup, const char *name)
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
        .subscribe = true,
        .tasks = true,
    };
    struct error error;
    *tenant = (struct tenant){.name = memory_copy_string(name)};
    int status = start_sessions(tenant, setup);
    if (status)
        return status;
    toolbox_allow_files(setup->toolbox, tenant->sessions);
    tenant->mcp = mcp_server_new(setup->base, &info);
    tenant->contexts = open_contexts(name, setup->context_db);
    tenant->tools = (struct tools){
        .base = setup->base,
        .server = tenant->mcp,
        .sessions = tenant->sessions,
        .contexts = tenant->contexts,
        .programs = setup->programs,
        .toolbox = setup->toolbox,
        .selection = setup->selection,
        .auto_context = setup->auto_context,
        .yield = setup->yield,
        .owner = tenant->name,
    };
    if (tools_register(&tenant->tools, &error))
        return 0;
    fprintf(stderr, "cadre serve: %s\n", error.message);
    return EXIT_USAGE;
}

void tenant_release(struct tenant *tenant)
{
    session_manager_free(tenant->sessions);
    tools_release(&tenant->tools);
    mcp_server_free(tenant->mcp);
    context_store_free(tenant->contexts);
    memory_free(tenant->name);
}
