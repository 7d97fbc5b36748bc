#include "daemon/greeting.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/utf8.h"
#include "config.h"
#include "session/workspace/workspace.h"
#include "value/text/json.h"

enum { ENVIRONMENT_MAX = 4096 };

static const char *const kind_names[GREETING_KIND_COUNT] = {[GREETING_MCP] = "mcp",
                                                            [GREETING_SESSION] = "session",
                                                            [GREETING_HTTP] = "http",
                                                            [GREETING_PAGE] = "page",
                                                            [GREETING_CONTROL] = "control"};

// --- writing -------------------------------------------------------------------------------------

static value put_text(struct region *region, value map, const char *name, const char *text)
{
    return map_put_text(region, map, name, value_string_format(region, "%s", text));
}

// Variables that are not UTF-8 cannot be sent, and are left out.
static value environment_list(struct region *region)
{
    value list = vector_new(region, 0);
    for (size_t i = 0; environ && environ[i] && i < ENVIRONMENT_MAX; i++) {
        size_t length = strlen(environ[i]);
        if (utf8_valid_prefix(environ[i], length) == length)
            list =
                vector_push(region, list, value_string(region, (struct span){environ[i], length}));
    }
    return list;
}

static value begin(struct region *region, enum greeting_kind kind)
{
    value map = map_put_text(region, map_new(region), "cadre", value_integer(GREETING_PROTOCOL));
    map = put_text(region, map, "version", CADRE_VERSION);
    return put_text(region, map, "kind", kind_names[kind]);
}

static void finish(struct buffer *line, struct region *region, value map)
{
    json_write(line, map, 0, NULL);
    buffer_append_byte(line, '\n');
    region_free(region);
}

bool greeting_write(struct buffer *line, const struct greeting_parts *parts, struct error *error)
{
    const struct settings *settings = parts->settings;
    struct workspace workspace;
    char directory[PATH_MAX];
    if (!workspace_resolve(settings->sessions.sandbox.workspace, parts->root, &workspace, error))
        return false;
    struct region *region = region_new(SIZE_MAX);
    value map = put_text(region, begin(region, parts->kind), "client", parts->client);
    map = put_text(region, map, "cwd", realpath(".", directory) ? directory : workspace.path);
    map = put_text(region, map, "workspace", workspace.path);
    if (workspace.refused)
        map = put_text(region, map, "refused", workspace.refused);
    if (parts->is_brief)
        map = map_put_text(region, map, "brief", value_boolean(true));
    map = map_put_text(region, map, "environment", environment_list(region));
    map = map_put_text(region, map, "options", settings_write(region, settings));
    if (parts->listening)
        map = map_put_text(region, map, "http", listening_write(region, parts->listening));
    workspace_release(&workspace);
    finish(line, region, map);
    return !line->failed || error_set(error, ERROR_LIMIT, "the environment is too large");
}

void greeting_write_control(struct buffer *line, value request)
{
    struct region *region = region_new(SIZE_MAX);
    value map = put_text(region, begin(region, GREETING_CONTROL), "client", "control");
    finish(line, region, map_put_text(region, map, "request", value_copy(region, request)));
}

// --- reading -------------------------------------------------------------------------------------

static char **read_environment(struct region *region, value list)
{
    size_t count = value_is_vector(list) ? vector_count(list) : 0, kept = 0;
    if (count > ENVIRONMENT_MAX)
        count = ENVIRONMENT_MAX;
    char **environment = region_alloc(region, (count + 1) * sizeof(*environment));
    for (size_t i = 0; i < count; i++) {
        environment[kept] = settings_text(region, vector_at(list, i));
        kept += environment[kept] && strchr(environment[kept], '=');
    }
    environment[kept] = NULL;
    return environment;
}

static bool read_kind(value map, enum greeting_kind *ret_kind)
{
    struct span name = map_get_string(map, "kind");
    for (int kind = 0; kind < GREETING_KIND_COUNT; kind++)
        if (span_equal_text(name, kind_names[kind])) {
            *ret_kind = (enum greeting_kind)kind;
            return true;
        }
    return false;
}

static bool read_work(struct region *region, value map, struct greeting *greeting,
                      struct error *error)
{
    greeting->directory = settings_text(region, map_get(map, "cwd"));
    greeting->workspace = settings_text(region, map_get(map, "workspace"));
    greeting->refused = settings_text(region, map_get(map, "refused"));
    greeting->is_brief = map_get_boolean(map, "brief");
    greeting->environment = read_environment(region, map_get(map, "environment"));
    if (!greeting->directory || !greeting->workspace || *greeting->workspace != '/')
        return error_set(error, ERROR_INVALID, "the greeting names no workspace");
    if (!settings_read(region, map_get(map, "options"), &greeting->settings, error))
        return false;
    greeting->settings.sessions.sandbox.workspace = greeting->workspace;
    greeting->settings.sessions.sandbox.directory = greeting->directory;
    greeting->settings.sessions.sandbox.refused = greeting->refused;
    return true;
}

bool greeting_read(struct region *region, struct span line, struct greeting *ret_greeting,
                   struct error *error)
{
    value map;
    struct error inner;
    *ret_greeting = (struct greeting){0};
    if (!json_read(region, line, NULL, &map, &inner) || !value_is_map(map) ||
        map_get_integer(map, "cadre", 0) < 1)
        return error_set(error, ERROR_INVALID, "this is no greeting");
    if (!read_kind(map, &ret_greeting->kind))
        return error_set(error, ERROR_INVALID, "this daemon does not know the kind of connection");
    ret_greeting->client = settings_text(region, map_get(map, "client"));
    ret_greeting->version = settings_text(region, map_get(map, "version"));
    if (!ret_greeting->client || !ret_greeting->version)
        return error_set(error, ERROR_INVALID, "the greeting does not say who the client is");
    ret_greeting->request = map_get(map, "request");
    bool listens = ret_greeting->kind == GREETING_HTTP || ret_greeting->kind == GREETING_PAGE;
    if (listens && !listening_read(region, map_get(map, "http"), &ret_greeting->listening))
        return error_set(error, ERROR_INVALID, "the greeting does not say where to listen");
    return ret_greeting->kind == GREETING_CONTROL || read_work(region, map, ret_greeting, error);
}

int version_compare(const char *a, const char *b)
{
    while (*a || *b) {
        char *a_end, *b_end;
        long first = strtol(a, &a_end, 10), second = strtol(b, &b_end, 10);
        if (first != second)
            return first < second ? -1 : 1;
        if (a_end == a && b_end == b)
            return 0;  // what follows the numbers does not count
        a = *a_end == '.' ? a_end + 1 : a_end;
        b = *b_end == '.' ? b_end + 1 : b_end;
    }
    return 0;
}
