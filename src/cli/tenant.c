#include "cli/tenant.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/path.h"
#include "cli/commands.h"

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

// Where the files of the tenant are: those of the user where they always were.
static void choose_files(struct tenant *tenant, const char *context_db)
{
    const char *name = tenant->name;
    CLEANUP_FREE char *memories =
        *name ? memory_format("clients/%s/programs", name) : memory_copy_string("programs");
    tenant->memories = path_in_state(memories);
    if (!*name || (context_db && strcmp(context_db, ":memory:") == 0)) {
        tenant->context_db = memory_copy_string(context_db);
        return;
    }
    CLEANUP_FREE char *file = memory_format("clients/%s/context.db", name);
    tenant->context_db = path_in_state(file);
    if (!tenant->context_db)
        tenant->context_db = memory_copy_string("");
}

int tenant_open(struct tenant *tenant, const struct tenant_setup *setup, const char *name)
{
    struct error error;
    *tenant = (struct tenant){.name = memory_copy_string(name)};
    int status = start_sessions(tenant, setup);
    if (status)
        return status;
    choose_files(tenant, setup->context_db);
    const struct service_setup service = {
        .base = setup->base,
        .sessions = tenant->sessions,
        .programs = setup->programs,
        .toolbox = setup->toolbox,
        .context_db = tenant->context_db,
        .memories = tenant->memories,
        .selection = setup->selection,
        .auto_context = setup->auto_context,
        .structured_results = setup->structured_results,
        .yield = setup->yield,
    };
    if (service_open(&tenant->service, &service, &error))
        return 0;
    fprintf(stderr, "cadre serve: %s\n", error.message);
    return EXIT_USAGE;
}

void tenant_release(struct tenant *tenant)
{
    session_manager_free(tenant->sessions);
    service_release(&tenant->service);
    memory_free(tenant->context_db);
    memory_free(tenant->memories);
    memory_free(tenant->name);
}
