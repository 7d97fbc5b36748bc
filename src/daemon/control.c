// Requests to the daemon itself: `cadre daemon status|stop`, and a newer Cadre that replaces it.
#include <unistd.h>

#include "base/clock.h"
#include "base/memory.h"
#include "config.h"
#include "daemon/daemon_internal.h"

enum { REPLACE_GRACE_MS = 30000 };

static value list_sessions(struct region *region, struct session_manager *manager)
{
    value names = session_names(manager, region), list = vector_new(region, 0);
    for (size_t i = 0; i < vector_count(names); i++) {
        struct span name = value_text(vector_at(names, i));
        CLEANUP_FREE char *text = memory_copy_text(name.data, name.length);
        value info = session_info(manager, text, false, region);
        value map = map_put_text(region, map_new(region), "name", value_string(region, name));
        map = map_put_text(region, map, "state", value_retain(map_get(info, "state")));
        list = vector_push(region, list, map);
    }
    return list;
}

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
        map = map_put_text(region, map, "sessions", list_sessions(region, workspace->sessions));
        workspaces = vector_push(region, workspaces, map);
    }
    value map = map_put_text(region, map_new(region), "ok", value_boolean(true));
    map = map_put_text(region, map, "version", value_string_text(region, CADRE_VERSION));
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
static struct session_manager *find_sessions(const struct connection *connection)
{
    struct span path = map_get_string(connection->greeting.request, "workspace");
    struct daemon_workspace *workspace;
    TAILQ_FOREACH (workspace, &connection->daemon->workspaces, link)
        if (span_equal_text(path, workspace->path))
            return workspace->sessions;
    return NULL;
}

// What is not there need not be saved, or removed.
static value answer_session(const struct connection *connection, bool is_save)
{
    struct region *region = connection->region;
    struct session_manager *manager = find_sessions(connection);
    struct span given = map_get_string(connection->greeting.request, "session");
    CLEANUP_FREE char *name = memory_copy_text(given.data, given.length);
    bool is_there = manager && session_store_path(manager, name);
    bool saved = !is_there || (is_save && session_save(manager, name));
    if (is_there && !is_save)
        session_close(manager, name);
    value map = map_put_text(region, map_new(region), "ok", value_boolean(true));
    return map_put_text(region, map, "saved", value_boolean(saved));
}

void control_handle(struct connection *connection)
{
    struct region *region = connection->region;
    struct span op = map_get_string(connection->greeting.request, "op");
    if (span_equal_text(op, "status")) {
        connection_answer(connection, answer_status(connection));
    } else if (span_equal_text(op, "save") || span_equal_text(op, "remove")) {
        connection_answer(connection, answer_session(connection, span_equal_text(op, "save")));
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
