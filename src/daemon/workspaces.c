// The workspaces that the daemon serves.
#include <string.h>

#include "base/memory.h"
#include "daemon/daemon_internal.h"
#include "inspector/inspector.h"
#include "session/workspace/home.h"
#include "session/workspace/workspace.h"
#include "tools/kept_output.h"

static void free_workspace(struct daemon_workspace *workspace)
{
    session_manager_free(workspace->sessions);
    inspector_free(workspace->inspector);
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
    settings->sessions.no_journal = daemon->options.no_journal;
    settings->sessions.ledger = request->ledger;
    sandbox->refused = keep_text(workspace->region, request->refused);
    int failed = session_manager_new(daemon->base, &settings->sessions, &workspace->sessions);
    if (failed < 0)
        return error_set(error, ERROR_SYSTEM, "cannot start: %s", strerror(-failed));
    return session_limits_check(&settings->sessions.limits, session_heap_mb(workspace->sessions),
                                error);
}

static struct daemon_workspace *open_workspace(struct daemon *daemon,
                                               const struct workspace_request *request,
                                               const char *fixed, struct error *error)
{
    struct daemon_workspace *workspace = memory_alloc_zero(sizeof(*workspace));
    workspace->path = memory_copy_string(request->path);
    workspace->fixed = memory_copy_string(fixed);
    workspace->outputs = output_store_new();
    if (!workspace_home_open(workspace->path, &workspace->home, error) ||
        !(workspace->store = memory_format("%s/sessions", workspace->home)) ||
        !start_sessions(daemon, workspace, request, error)) {
        free_workspace(workspace);
        return NULL;
    }
    workspace->context_db = memory_format("%s/context.db", workspace->home);
    workspace->memories = memory_format("%s/memories", workspace->home);
    workspace->inspector = inspector_new(daemon->base, workspace->sessions);
    TAILQ_INSERT_TAIL(&daemon->workspaces, workspace, link);
    return workspace;
}

struct daemon_workspace *workspaces_find(const struct daemon *daemon, struct span path)
{
    struct daemon_workspace *workspace;
    TAILQ_FOREACH (workspace, &daemon->workspaces, link)
        if (span_equal_text(path, workspace->path))
            return workspace;
    return NULL;
}

static char *fixed_of(const struct settings *settings)
{
    CLEANUP_BUFFER struct buffer fixed;
    buffer_init(&fixed, BUFFER_DEFAULT_LIMIT);
    settings_write_fixed(&fixed, settings);
    return memory_copy_string(buffer_text(&fixed));
}

bool workspaces_fit(const struct daemon_workspace *workspace, const struct settings *settings)
{
    CLEANUP_FREE char *fixed = fixed_of(settings);
    return strcmp(workspace->fixed, fixed) == 0;
}

struct daemon_workspace *workspaces_obtain(struct daemon *daemon,
                                           const struct workspace_request *request,
                                           struct error *error)
{
    struct daemon_workspace *workspace = workspaces_find(daemon, span_from(request->path));
    if (workspace && (request->joins || workspaces_fit(workspace, request->settings)))
        return workspace;
    CLEANUP_FREE char *fixed = fixed_of(request->settings);
    if (!workspace)
        return open_workspace(daemon, request, fixed, error);
    error_set(
        error, ERROR_INVALID,
        "the sessions of %s were made with other options (%s) than these (%s). Give the same, "
        "or end them with cadre daemon stop.",
        workspace->path, workspace->fixed, fixed);
    return NULL;
}

void workspaces_close(struct daemon *daemon, struct daemon_workspace *workspace)
{
    TAILQ_REMOVE(&daemon->workspaces, workspace, link);
    free_workspace(workspace);
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

value workspaces_list_sessions(struct region *region, const struct daemon_workspace *workspace)
{
    value names = session_names(workspace->sessions, region), list = vector_new(region, 0);
    for (size_t i = 0; i < vector_count(names); i++) {
        struct span name = value_text(vector_at(names, i));
        CLEANUP_FREE char *text = memory_copy_text(name.data, name.length);
        value info = session_info(workspace->sessions, text, false, region);
        value map = map_put_text(region, map_new(region), "name", value_string(region, name));
        map = map_put_text(region, map, "state", value_retain(map_get(info, "state")));
        list = vector_push(region, list, map);
    }
    return list;
}

void workspaces_keep_within_budget(const struct daemon *daemon)
{
    uint64_t total_kb = 0, budget_kb = (uint64_t)daemon->options.memory_budget_mb * 1024;
    struct session_manager *next = NULL;
    int64_t least_use_ms = INT64_MAX;
    struct daemon_workspace *workspace;
    TAILQ_FOREACH (workspace, &daemon->workspaces, link) {
        if (session_is_hibernating(workspace->sessions))
            return;  // that may be enough
        int64_t use_ms = session_least_use_ms(workspace->sessions);
        total_kb += session_memory_kb(workspace->sessions);
        if (use_ms < least_use_ms) {
            least_use_ms = use_ms;
            next = workspace->sessions;
        }
    }
    if (next && budget_kb > 0 && total_kb > budget_kb)
        session_hibernate(next);
}

bool workspaces_have_processes(const struct daemon *daemon)
{
    struct daemon_workspace *workspace;
    TAILQ_FOREACH (workspace, &daemon->workspaces, link)
        if (session_process_count(workspace->sessions) > 0)
            return true;
    return false;
}
