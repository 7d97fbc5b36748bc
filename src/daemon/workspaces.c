// The workspaces that the daemon serves.
#include <string.h>

#include "base/memory.h"
#include "daemon/daemon_internal.h"
#include "session/workspace/home.h"
#include "session/workspace/workspace.h"
#include "tools/kept_output.h"

static void free_workspace(struct daemon_workspace *workspace)
{
    session_manager_free(workspace->sessions);
    output_store_free(workspace->outputs);
    memory_free(workspace->path);
    memory_free(workspace->home);
    memory_free(workspace->store);
    memory_free(workspace->context_db);
    memory_free(workspace->memories);
    memory_free(workspace->fixed);
    if (workspace->region)
        region_free(workspace->region);
    memory_free(workspace);
}

static const char *keep_text(struct region *region, const char *text)
{
    if (!text)
        return NULL;
    size_t size = strlen(text) + 1;
    return memcpy(region_alloc(region, size), text, size);
}

// The strings of a request end with its connection: the workspace reads its own copy of them.
static bool start_sessions(struct daemon *daemon, struct daemon_workspace *workspace,
                           const struct workspace_request *request, struct error *error)
{
    struct settings *settings;
    workspace->region = region_new(SIZE_MAX);
    settings = region_alloc(workspace->region, sizeof(*settings));
    value map = settings_write(workspace->region, request->settings);
    if (!settings_read(workspace->region, map, settings, error))
        return false;
    struct session_sandbox *sandbox = &settings->sessions.sandbox;
    sandbox->workspace = workspace->path;
    sandbox->directory = keep_text(workspace->region, request->directory);
    settings->sessions.store = keep_text(workspace->region, workspace->store);
    settings->sessions.hibernate_s = daemon->options.hibernate_s;
    settings->sessions.memory_budget_mb = daemon->options.memory_budget_mb;
    settings->sessions.no_journal = daemon->options.no_journal;
    sandbox->refused = keep_text(workspace->region, request->refused);
    int failed = session_manager_new(daemon->base, &settings->sessions, &workspace->sessions);
    if (failed < 0)
        return error_set(error, ERROR_SYSTEM, "cannot start: %s", strerror(-failed));
    return session_limits_check(&settings->sessions.limits, session_heap_mb(workspace->sessions),
                                error);
}

static struct daemon_workspace *open_workspace(struct daemon *daemon,
                                               const struct workspace_request *request, char *fixed,
                                               struct error *error)
{
    struct daemon_workspace *workspace = memory_alloc_zero(sizeof(*workspace));
    workspace->path = memory_copy_string(request->path);
    workspace->fixed = fixed;
    workspace->outputs = output_store_new();
    if (!workspace_home_open(workspace->path, &workspace->home, error) ||
        !(workspace->store = memory_format("%s/sessions", workspace->home)) ||
        !start_sessions(daemon, workspace, request, error)) {
        free_workspace(workspace);
        return NULL;
    }
    workspace->context_db = memory_format("%s/context.db", workspace->home);
    workspace->memories = memory_format("%s/memories", workspace->home);
    TAILQ_INSERT_TAIL(&daemon->workspaces, workspace, link);
    return workspace;
}

struct daemon_workspace *workspaces_obtain(struct daemon *daemon,
                                           const struct workspace_request *request,
                                           struct error *error)
{
    CLEANUP_BUFFER struct buffer fixed;
    buffer_init(&fixed, BUFFER_DEFAULT_LIMIT);
    settings_write_fixed(&fixed, request->settings);
    struct daemon_workspace *workspace;
    TAILQ_FOREACH (workspace, &daemon->workspaces, link)
        if (strcmp(workspace->path, request->path) == 0)
            break;
    if (!workspace)
        return open_workspace(daemon, request, memory_copy_string(buffer_text(&fixed)), error);
    if (strcmp(workspace->fixed, buffer_text(&fixed)) == 0)
        return workspace;
    error_set(
        error, ERROR_INVALID,
        "the sessions of %s were made with other options (%s) than these (%s). Give the same, "
        "or end them with cadre daemon stop.",
        workspace->path, workspace->fixed, buffer_text(&fixed));
    return NULL;
}

void workspaces_end_sessions(struct daemon *daemon)
{
    struct daemon_workspace *workspace;
    TAILQ_FOREACH (workspace, &daemon->workspaces, link) {
        session_manager_free(workspace->sessions);
        workspace->sessions = NULL;
    }
}

void workspaces_release(struct daemon *daemon)
{
    struct daemon_workspace *workspace;
    while ((workspace = TAILQ_FIRST(&daemon->workspaces))) {
        TAILQ_REMOVE(&daemon->workspaces, workspace, link);
        free_workspace(workspace);
    }
}

bool workspaces_have_processes(const struct daemon *daemon)
{
    struct daemon_workspace *workspace;
    TAILQ_FOREACH (workspace, &daemon->workspaces, link)
        if (session_process_count(workspace->sessions) > 0)
            return true;
    return false;
}
