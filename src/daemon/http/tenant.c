#include "daemon/http/tenant.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/memory.h"
#include "base/path.h"
#include "base/private.h"
#include "daemon/context_place.h"
#include "daemon/daemon_internal.h"
#include "daemon/http/workspace_list.h"
#include "session/workspace/home.h"

enum { STATUS_USAGE = 2 };

static int start_sessions(struct tenant *tenant, const struct tenant_setup *setup,
                          enum sandbox_mode widest, struct error *error)
{
    struct session_config config = setup->settings->sessions;
    config.sandbox.mode = sandbox_mode_narrower(config.sandbox.mode, widest);
    if (tenant->workspace)
        config.sandbox.workspace = tenant->workspace;
    int failed = session_manager_new(setup->base, &config, &tenant->sessions);
    if (failed < 0) {
        error_set(error, ERROR_SYSTEM, "cannot start: %s", strerror(-failed));
        return EXIT_FAILURE;
    }
    bool fits = session_limits_check(&config.limits, session_heap_mb(tenant->sessions), error);
    return fits ? 0 : STATUS_USAGE;
}

// Where the files of the tenant are: those of the user where they always were, and in the home of
// another workspace. NULL: there is no state directory, or no home.
static char *choose_home(const struct tenant *tenant, bool is_other)
{
    struct error ignored;
    char *home = NULL;
    if (!*tenant->name && is_other)
        return workspace_home_open(tenant->workspace, &home, &ignored) ? home : NULL;
    CLEANUP_FREE char *label = is_other ? workspace_label(tenant->workspace) : NULL;
    CLEANUP_FREE char *name = is_other
                                  ? memory_format("clients/%s/workspaces/%s", tenant->name, label)
                                  : memory_format("clients/%s", tenant->name);
    return path_in_state(name);
}

// The items of the user are those of the workspace. Sessions do not need them: where there is no
// place for them, who asks is told.
static char *choose_own_items(const struct tenant_setup *setup)
{
    struct error error;
    char *place = context_place(setup->settings->context_db,
                                setup->settings->sessions.sandbox.workspace, &error);
    if (place)
        return place;
    log_warning("%s", error.message);
    return memory_copy_string("");
}

static void choose_files(struct tenant *tenant, bool is_other, const struct tenant_setup *setup)
{
    const char *context_db = setup->settings->context_db;
    bool in_memory = context_db && strcmp(context_db, ":memory:") == 0;
    if (!*tenant->name && !is_other) {
        struct error ignored;  // who asks for a memory is told
        tenant->memories = memories_place(setup->settings->sessions.sandbox.workspace, &ignored);
        tenant->context_db = choose_own_items(setup);
        return;
    }
    CLEANUP_FREE char *home = choose_home(tenant, is_other);
    tenant->memories = home ? memory_format("%s/programs", home) : NULL;
    tenant->context_db = in_memory ? memory_copy_string(context_db)
                         : home    ? memory_format("%s/context.db", home)
                                   : memory_copy_string("");
}

// A client without a workspace of its own gets an empty one: the server's is the user's.
static bool choose_workspace(struct tenant *tenant, const char *given, struct error *error)
{
    tenant->workspace = memory_copy_string(given);
    if (given || !*tenant->name)
        return true;
    char real[PATH_MAX];
    CLEANUP_FREE char *name = memory_format("clients/%s/scratch", tenant->name);
    CLEANUP_FREE char *path = path_in_state(name);
    if (!path)
        return error_set(error, ERROR_INVALID,
                         "no place for the workspace of %s: set HOME or XDG_STATE_HOME",
                         tenant->name);
    if (!private_make_directory(path, error))
        return false;
    if (!realpath(path, real))
        return error_set(error, ERROR_SYSTEM, "%s: %s", path, strerror(errno));
    tenant->workspace = memory_copy_string(real);
    return true;
}

// The user's sessions are those of the daemon's workspace.
static int share_sessions(struct tenant *tenant, const struct tenant_setup *setup, bool is_other,
                          struct error *error)
{
    const struct session_sandbox *sandbox = &setup->settings->sessions.sandbox;
    struct workspace_request request = {.path = sandbox->workspace,
                                        .directory = sandbox->directory,
                                        .refused = sandbox->refused,
                                        .settings = setup->settings,
                                        .joins = setup->joins,
                                        .ledger = setup->ledger};
    if (tenant->workspace) {
        request.path = request.directory = tenant->workspace;
        request.refused = NULL;
    }
    tenant->shared = workspaces_obtain(setup->daemon, &request, error);
    if (!tenant->shared)
        return STATUS_USAGE;
    tenant->shared->clients++;
    tenant->sessions = tenant->shared->sessions;
    const char *given = is_other ? NULL : setup->settings->context_db;
    tenant->context_db = memory_copy_string(given ? given : tenant->shared->context_db);
    tenant->memories = memory_copy_string(tenant->shared->memories);
    return 0;
}

static int open_sessions(struct tenant *tenant, const struct tenant_setup *setup,
                         const struct tenant_identity *identity, struct error *error)
{
    if (setup->daemon && !*tenant->name)
        return share_sessions(tenant, setup, identity->is_other, error);
    int status = start_sessions(tenant, setup, identity->sandbox, error);
    if (status == 0)
        choose_files(tenant, identity->is_other, setup);
    return status;
}

int tenant_open(struct tenant *tenant, const struct tenant_setup *setup,
                const struct tenant_identity *identity, struct error *error)
{
    const struct settings *settings = setup->settings;
    *tenant = (struct tenant){.daemon = setup->daemon,
                              .token = identity->token,
                              .name = memory_copy_string(identity->name)};
    if (!choose_workspace(tenant, identity->workspace, error))
        return STATUS_USAGE;
    int status = open_sessions(tenant, setup, identity, error);
    if (status)
        return status;
    if (setup->has_inspector && !tenant->shared)
        tenant->own_inspector = inspector_new(setup->base, tenant->sessions);
    const struct service_setup service = {
        .base = setup->base,
        .sessions = tenant->sessions,
        .programs = setup->programs,
        .toolbox = setup->toolbox,
        .context_db = tenant->context_db,
        .ledger = setup->ledger,
        .memories = tenant->memories,
        .outputs = tenant->shared ? tenant->shared->outputs : NULL,
        .selection = settings->selection,
        .auto_context = settings->auto_context,
        .structured_results = settings->structured_results,
        .yield = settings->yield,
        .inspector = tenant->shared ? tenant->shared->inspector : tenant->own_inspector,
        .has_page = setup->has_inspector,
        .client = setup->client,
        .is_users = !*tenant->name,
        .imports_project = settings_import(settings, "project"),
    };
    if (!service_open(&tenant->service, &service, error))
        return STATUS_USAGE;
    if (setup->has_inspector)
        workspace_list_register(tenant);
    return 0;
}

static void leave_workspace(struct daemon_workspace *workspace)
{
    if (--workspace->clients == 0 && workspace->sessions)
        session_save_all(workspace->sessions);
}

void tenant_release(struct tenant *tenant)
{
    if (tenant->shared)
        leave_workspace(tenant->shared);
    else
        session_manager_free(tenant->sessions);
    service_release(&tenant->service);
    inspector_free(tenant->own_inspector);
    memory_free(tenant->context_db);
    memory_free(tenant->memories);
    memory_free(tenant->workspace);
    memory_free(tenant->name);
}
