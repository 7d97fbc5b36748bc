// {workspaces: [{path, sessions: [{name, state}]}]}: for the user all that the daemon serves or keeps
// sessions of, for others those of their token.
#include "daemon/http/workspace_list.h"

#include <string.h>

#include "base/memory.h"
#include "daemon/daemon_internal.h"
#include "mcp/mcp.h"
#include "session/workspace/home.h"
#include "value/text/json.h"

enum { TEXT_MAX = 3 << 20, WORKSPACES_MAX = 1000 };

struct listing {
    const struct tenant *tenant;
    struct region *region;
    value workspaces, sessions;  // what was found so far
};

static void add_workspace(struct listing *listing, const char *path, value sessions)
{
    struct region *region = listing->region;
    value map =
        map_put_text(region, map_new(region), "path", value_string_repair(region, span_from(path)));
    map = map_put_text(region, map, "sessions", sessions);
    listing->workspaces = vector_push(region, listing->workspaces, map);
}

static void add_kept_session(void *data, const char *place, const char *name)
{
    (void)place;
    struct listing *listing = data;
    struct region *region = listing->region;
    value map = map_put_text(region, map_new(region), "name", value_string_text(region, name));
    map = map_put_text(region, map, "state", value_string_text(region, "down"));
    listing->sessions = vector_push(region, listing->sessions, map);
}

// One of which no client has asked for, but which has kept sessions.
static void add_kept(void *data, const char *home)
{
    struct listing *listing = data;
    CLEANUP_FREE char *path = workspace_home_owner(home);
    if (!path || workspaces_find(listing->tenant->daemon, span_from(path)) ||
        vector_count(listing->workspaces) >= WORKSPACES_MAX)
        return;
    listing->sessions = vector_new(listing->region, 0);
    workspace_home_each_session(home, add_kept_session, listing);
    if (vector_count(listing->sessions) > 0)
        add_workspace(listing, path, listing->sessions);
}

static void add_all(struct listing *listing)
{
    const struct daemon_workspace *workspace;
    TAILQ_FOREACH (workspace, &listing->tenant->daemon->workspaces, link)
        add_workspace(listing, workspace->path,
                      workspaces_list_sessions(listing->region, workspace));
    workspace_home_each(add_kept, listing);
}

// Of others the sessions are nobody's business until they are opened.
static void add_allowed(struct listing *listing)
{
    const struct token *token = listing->tenant->token;
    for (size_t i = 0; token && i < token->workspace_count; i++)
        add_workspace(listing, token->workspaces[i], vector_new(listing->region, 0));
}

static void handle_workspaces(struct mcp_call *call, void *data)
{
    const struct tenant *tenant = data;
    struct region *region = mcp_call_region(call);
    struct listing listing = {tenant, region, vector_new(region, 0), value_nil()};
    if (tenant->shared)
        add_all(&listing);
    else
        add_allowed(&listing);
    CLEANUP_BUFFER struct buffer text;
    buffer_init(&text, TEXT_MAX);
    json_write(&text, map_put_text(region, map_new(region), "workspaces", listing.workspaces), 0,
               NULL);
    if (text.failed)
        mcp_call_reply_error(call, MCP_INTERNAL_ERROR, "There are too many workspaces");
    else
        mcp_call_reply_text(call, "application/json", buffer_span(&text));
}

void workspace_list_register(struct tenant *tenant)
{
    mcp_server_add_resource(tenant->service.mcp,
                            &(struct mcp_resource){.uri = "cadre://workspaces",
                                                   .name = "workspaces",
                                                   .title = "Workspaces",
                                                   .mime_type = "application/json",
                                                   .size = -1,
                                                   .handler = handle_workspaces,
                                                   .data = tenant});
}
