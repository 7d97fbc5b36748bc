// Requests to the daemon itself: `cadre daemon status|stop`, and a newer Cadre that replaces it.
#include <unistd.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/path.h"
#include "config.h"
#include "daemon/daemon_internal.h"
#include "tools/kept_output.h"

enum {
    REPLACE_GRACE_MS = 30000,
    OUTPUT_PAGE_BYTES = 1 << 20,  // a longer line is cut
};

static value answer_status(const struct connection *connection)
{
    const struct daemon *daemon = connection->daemon;
    struct region *region = connection->region;
    value workspaces = vector_new(region, 0);
    struct daemon_workspace *workspace;
    TAILQ_FOREACH (workspace, &daemon->workspaces, link) {
        value map = map_put_text(region, map_new(region), "path",
                                 value_string_format(region, "%s", workspace->path));
        map = map_put_text(region, map, "home", value_string_format(region, "%s", workspace->home));
        map = map_put_text(region, map, "processes",
                           value_integer((int64_t)session_process_count(workspace->sessions)));
        map = map_put_text(region, map, "sessions", workspaces_list_sessions(region, workspace));
        workspaces = vector_push(region, workspaces, map);
    }
    value map = map_put_text(region, map_new(region), "ok", value_boolean(true));
    map = map_put_text(region, map, "version", value_string_text(region, CADRE_VERSION));
    CLEANUP_FREE char *program = path_of_program();
    map = map_put_text(region, map, "program", value_string_text(region, program));
    map = map_put_text(region, map, "pid", value_integer(getpid()));
    map =
        map_put_text(region, map, "seconds", value_integer(clock_unix_seconds() - daemon->started));
    map =
        map_put_text(region, map, "clients", value_integer((int64_t)daemon->connection_count - 1));
    return map_put_text(region, map, "workspaces", workspaces);
}

static value answer_text(struct region *region, bool ok, const char *text)
{
    value map = map_put_text(region, map_new(region), "ok", value_boolean(ok));
    return map_put_text(region, map, ok ? "text" : "error", value_string_text(region, text));
}

// Of the workspace that the request names; NULL: no client has asked for it.
static struct daemon_workspace *find_workspace(const struct connection *connection)
{
    return workspaces_find(connection->daemon,
                           map_get_string(connection->greeting.request, "workspace"));
}

// The session that the request names; NULL: it has no live process here.
static struct session_manager *find_session(const struct connection *connection, char **ret_name)
{
    struct daemon_workspace *workspace = find_workspace(connection);
    struct span given = map_get_string(connection->greeting.request, "session");
    *ret_name = memory_copy_text(given.data, given.length);
    struct session_manager *manager = workspace ? workspace->sessions : NULL;
    return manager && session_store_path(manager, *ret_name) ? manager : NULL;
}

// `again`: how the save goes that was asked for before. What is not there need not be saved.
static value answer_save(const struct connection *connection, bool again)
{
    struct region *region = connection->region;
    CLEANUP_FREE char *name = NULL;
    const char *reason = NULL;
    struct session_manager *manager = find_session(connection, &name);
    enum save_outcome outcome = manager ? session_save(manager, name, again, &reason) : SAVE_DONE;
    value map = map_put_text(region, map_new(region), "ok", value_boolean(true));
    if (outcome == SAVE_FAILED)
        map = map_put_text(region, map, "failed", value_string_format(region, "%s", reason));
    return map_put_text(region, map, "saved", value_boolean(outcome == SAVE_DONE));
}

static value answer_remove(const struct connection *connection)
{
    struct region *region = connection->region;
    CLEANUP_FREE char *name = NULL;
    struct session_manager *manager = find_session(connection, &name);
    if (manager) {
        session_close(manager, name);
        output_store_forget(find_workspace(connection)->outputs, name);
    }
    return map_put_text(region, map_new(region), "ok", value_boolean(true));
}

// A page of kept output: {text, next}, without `next` when it is the last one.
static value answer_output(const struct connection *connection)
{
    struct region *region = connection->region;
    value request = connection->greeting.request;
    struct daemon_workspace *workspace = find_workspace(connection);
    struct span given = map_get_string(request, "session"),
                pattern = map_get_string(request, "match");
    CLEANUP_FREE char *name = memory_copy_text(given.data, given.length);
    CLEANUP_FREE char *match = memory_copy_text(pattern.data, pattern.length);
    int64_t from = map_get_integer(request, "from", 1),
            lines = map_get_integer(request, "lines", 1);
    CLEANUP_BUFFER struct buffer text;
    buffer_init(&text, BUFFER_DEFAULT_LIMIT);
    struct output_page page = {.match = *match ? match : NULL,
                               .from = from > 0 ? (size_t)from : 1,
                               .lines = lines > 0 ? (size_t)lines : 1,
                               .room = OUTPUT_PAGE_BYTES,
                               .text = &text};
    if (!workspace || !*name ||
        !output_store_read(workspace->outputs, name, map_get_integer(request, "output", 0), &page))
        return answer_text(region, false, "no output is kept under this number");
    value map = map_put_text(region, map_new(region), "ok", value_boolean(true));
    map = map_put_text(region, map, "text", value_string(region, buffer_span(&text)));
    map = map_put_text(region, map, "shown", value_integer((int64_t)page.shown));
    map = map_put_text(region, map, "output", value_integer(page.evaluation));
    if (page.next)
        map = map_put_text(region, map, "next", value_integer((int64_t)page.next));
    return map;
}

static value answer_cluster(const struct connection *connection)
{
    struct fleet *fleet = connection->daemon->fleet;
    struct region *region = connection->region;
    if (!fleet)
        return answer_text(region, false, "this daemon is in no cluster (cadre daemon --cluster)");
    return map_put_text(region, fleet_status(fleet, region), "ok", value_boolean(true));
}

static value answer_drain(const struct connection *connection)
{
    struct fleet *fleet = connection->daemon->fleet;
    struct region *region = connection->region;
    struct span node = map_get_string(connection->greeting.request, "node");
    CLEANUP_FREE char *name = memory_copy_text(node.data, node.length);
    if (!fleet)
        return answer_cluster(connection);
    return fleet_order_drain(fleet, name) ? answer_text(region, true, "it drains")
                                          : answer_text(region, false, "no such node is up");
}

void control_handle(struct connection *connection)
{
    struct region *region = connection->region;
    struct span op = map_get_string(connection->greeting.request, "op");
    if (span_equal_text(op, "status")) {
        connection_answer(connection, answer_status(connection));
    } else if (span_equal_text(op, "save") || span_equal_text(op, "saved")) {
        connection_answer(connection, answer_save(connection, span_equal_text(op, "saved")));
    } else if (span_equal_text(op, "remove")) {
        connection_answer(connection, answer_remove(connection));
    } else if (span_equal_text(op, "output")) {
        connection_answer(connection, answer_output(connection));
    } else if (span_equal_text(op, "cluster-status")) {
        connection_answer(connection, answer_cluster(connection));
    } else if (span_equal_text(op, "cluster-drain")) {
        connection_answer(connection, answer_drain(connection));
    } else if (span_equal_text(op, "stop")) {
        connection_answer(connection, answer_text(region, true, "the daemon ends"));
        daemon_end(connection->daemon, REPLACE_GRACE_MS);
    } else if (span_equal_text(op, "replace")) {
        // Never back and forth: only a newer one replaces this one.
        bool newer = version_compare(connection->greeting.version, CADRE_VERSION) > 0;
        connection_answer(connection, newer
                                          ? answer_text(region, true, "the daemon ends")
                                          : answer_text(region, false, "this daemon is not older"));
        if (newer)
            daemon_end(connection->daemon, REPLACE_GRACE_MS);
    } else {
        connection_answer(connection, answer_text(region, false, "no such request"));
    }
}
