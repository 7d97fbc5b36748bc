#include "daemon/client_settings.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "value/text/json.h"

// --- writing -------------------------------------------------------------------------------------

static value put(struct region *region, value map, const char *name, value item)
{
    return map_put_text(region, map, name, item);
}

static value put_text(struct region *region, value map, const char *name, const char *text)
{
    return text ? put(region, map, name, value_string_format(region, "%s", text)) : map;
}

// A name without a slash is searched for elsewhere.
static value put_path(struct region *region, value map, const char *name, const char *path,
                      bool always)
{
    char directory[PATH_MAX];
    if (!path || *path == '/' || (!always && !strchr(path, '/')) ||
        !getcwd(directory, sizeof(directory)))
        return put_text(region, map, name, path);
    return put(region, map, name, value_string_format(region, "%s/%s", directory, path));
}

static value put_list(struct region *region, value map, const char *name, const char *const *list,
                      bool are_paths)
{
    value items = vector_new(region, 0);
    for (size_t i = 0; list && list[i]; i++) {
        char real[PATH_MAX];
        const char *item = are_paths && realpath(list[i], real) ? real : list[i];
        items = vector_push(region, items, value_string_format(region, "%s", item));
    }
    return put(region, map, name, items);
}

static value put_sandbox(struct region *region, value map, const struct session_sandbox *sandbox)
{
    map = put_text(region, map, "sandbox", sandbox_mode_name(sandbox->mode));
    map = put_list(region, map, "allow-read", sandbox->allow_read, true);
    map = put_list(region, map, "allow-write", sandbox->allow_write, true);
    map = put_list(region, map, "pass-env", sandbox->pass_environment, false);
    map = put(region, map, "no-network", value_boolean(sandbox->no_network));
    return put(region, map, "allow-unix-sockets", value_boolean(sandbox->allow_unix_sockets));
}

static value put_limits(struct region *region, value map, const struct session_limits *limits)
{
    map = put(region, map, "timeout", value_integer(limits->timeout));
    map = put(region, map, "max-output", value_integer(limits->max_output));
    map = put(region, map, "max-memory", value_integer(limits->max_memory));
    map = put(region, map, "max-frames", value_integer(limits->max_frames));
    return put(region, map, "snapshots", value_integer(limits->snapshots));
}

static value put_fixed(struct region *region, value map, const struct settings *settings)
{
    map = put_path(region, map, "sbcl", settings->sessions.sbcl, false);
    map = put(region, map, "heap", value_integer(settings->sessions.heap_mb));
    return put_sandbox(region, map, &settings->sessions.sandbox);
}

value settings_write(struct region *region, const struct settings *settings)
{
    value map = put_fixed(region, map_new(region), settings);
    bool in_memory = settings->context_db && strcmp(settings->context_db, ":memory:") == 0;
    map = put_text(region, map, "tools", settings->selection);
    map = put(region, map, "structured", value_boolean(settings->structured_results));
    map = put(region, map, "yield", value_integer(settings->yield));
    map = put_text(region, map, "auto-context", settings->auto_context);
    map = put_path(region, map, "context-db", settings->context_db, !in_memory);
    map = put_path(region, map, "program-tools", settings->program_tools, true);
    map = put_list(region, map, "mcp-config", settings->servers, true);
    map = put_list(region, map, "import", settings->imports, false);
    map = put(region, map, "max-sessions", value_integer(settings->sessions.max_sessions));
    return put_limits(region, map, &settings->sessions.limits);
}

void settings_write_fixed(struct buffer *text, const struct settings *settings)
{
    struct region *region = region_new(SIZE_MAX);
    json_write(text, put_fixed(region, map_new(region), settings), JSON_SORTED, NULL);
    region_free(region);
}

// --- reading -------------------------------------------------------------------------------------

char *settings_text(struct region *region, value item)
{
    if (!value_is_string(item))
        return NULL;
    struct span text = value_text(item);
    char *copy = region_alloc(region, text.length + 1);
    memcpy(copy, text.data, text.length);
    copy[text.length] = '\0';
    return copy;
}

static const char *read_text(struct region *region, value map, const char *name)
{
    return settings_text(region, map_get(map, name));
}

static void read_list(struct region *region, value map, const char *name, const char **list)
{
    value items = map_get(map, name);
    size_t count = value_is_vector(items) ? vector_count(items) : 0, kept = 0;
    for (size_t i = 0; i < count && kept < SETTINGS_NAMES_MAX; i++) {
        list[kept] = settings_text(region, vector_at(items, i));
        kept += list[kept] != NULL;
    }
}

static bool read_sandbox(struct region *region, value map, struct settings *settings)
{
    struct session_sandbox *sandbox = &settings->sessions.sandbox;
    const char *mode = read_text(region, map, "sandbox");
    read_list(region, map, "allow-read", settings->allow_read);
    read_list(region, map, "allow-write", settings->allow_write);
    read_list(region, map, "pass-env", settings->pass_environment);
    sandbox->allow_read = settings->allow_read;
    sandbox->allow_write = settings->allow_write;
    sandbox->pass_environment = settings->pass_environment;
    sandbox->no_network = map_get_boolean(map, "no-network");
    sandbox->allow_unix_sockets = map_get_boolean(map, "allow-unix-sockets");
    return mode && sandbox_mode_parse(mode, &sandbox->mode);
}

bool settings_read(struct region *region, value map, struct settings *ret_settings,
                   struct error *error)
{
    *ret_settings = (struct settings){.selection = read_text(region, map, "tools")};
    struct settings *settings = ret_settings;
    struct session_config *sessions = &settings->sessions;
    settings->structured_results = map_get_boolean(map, "structured");
    settings->yield = map_get_integer(map, "yield", 20);
    settings->auto_context = read_text(region, map, "auto-context");
    settings->context_db = read_text(region, map, "context-db");
    settings->program_tools = read_text(region, map, "program-tools");
    read_list(region, map, "mcp-config", settings->servers);
    read_list(region, map, "import", settings->imports);
    sessions->sbcl = read_text(region, map, "sbcl");
    sessions->heap_mb = (unsigned)map_get_integer(map, "heap", 0);
    sessions->max_sessions = (unsigned)map_get_integer(map, "max-sessions", 0);
    sessions->limits = (struct session_limits){
        .timeout = map_get_integer(map, "timeout", -1),
        .max_output = map_get_integer(map, "max-output", 0),
        .max_memory = map_get_integer(map, "max-memory", 0),
        .max_frames = map_get_integer(map, "max-frames", 0),
        .snapshots = map_get_integer(map, "snapshots", 0),
    };
    if (!settings->selection || !read_sandbox(region, map, settings))
        return error_set(error, ERROR_INVALID, "the greeting has no options");
    return true;
}

bool settings_import(const struct settings *settings, const char *client)
{
    for (const char *const *name = settings->imports; *name; name++)
        if (strcmp(*name, client) == 0)
            return true;
    return false;
}
