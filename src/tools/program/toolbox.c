#include "tools/program/toolbox.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/log.h"
#include "base/memory.h"
#include "session/workspace/reach.h"
#include "upstream/upstream.h"
#include "value/text/json.h"

enum {
    COMMAND_TIMEOUT_DEFAULT_MS = 10000,
    COMMAND_TIMEOUT_MAX_MS = 600000,
    OUTPUT_DEFAULT = 1 << 20,
    OUTPUT_MAX = 64 << 20
};

LIST_HEAD(toolbox_listeners, toolbox_listener);

struct toolbox {
    struct region *region;
    const char *directory;  // of relative files; while reading
    struct toolbox_tool tools[TOOLBOX_TOOLS_MAX];
    size_t count;
    struct upstream_config servers;  // until they are open
    struct upstreams *upstreams;
    struct toolbox_listeners *listeners;
    struct tool_policies *policies;
};

struct toolbox *toolbox_new(void)
{
    struct toolbox *toolbox = memory_alloc_zero(sizeof(*toolbox));
    toolbox->region = region_new(SIZE_MAX);
    upstream_config_init(&toolbox->servers);
    toolbox->policies = tool_policies_new();
    toolbox->listeners = region_alloc_zero(toolbox->region, sizeof(*toolbox->listeners));
    return toolbox;
}

void toolbox_cache_release(struct toolbox_cache *cache)
{
    memory_free(cache->signature);
    memory_free(cache->description);
    memory_free(cache->problem);
}

void toolbox_free(struct toolbox *toolbox)
{
    if (!toolbox)
        return;
    for (size_t i = 0; i < toolbox->count; i++)
        if (toolbox->tools[i].cache)
            toolbox_cache_release(toolbox->tools[i].cache);
    upstream_config_release(&toolbox->servers);
    tool_policies_free(toolbox->policies);
    region_free(toolbox->region);
    memory_free(toolbox);
}

size_t toolbox_count(const struct toolbox *toolbox)
{
    return toolbox->count;
}

const struct toolbox_tool *toolbox_at(const struct toolbox *toolbox, size_t index)
{
    return &toolbox->tools[index];
}

const struct toolbox_tool *toolbox_find(const struct toolbox *toolbox, struct span name)
{
    for (size_t i = 0; i < toolbox->count; i++)
        if (span_equal_text(name, toolbox->tools[i].name))
            return &toolbox->tools[i];
    return NULL;
}

bool toolbox_may_pause(const struct toolbox *toolbox)
{
    for (size_t i = 0; i < toolbox->count; i++)
        if (toolbox->tools[i].kind == TOOLBOX_COMMAND)
            return true;
    return toolbox->upstreams != NULL;
}

bool toolbox_needs_host(const struct toolbox *toolbox)
{
    for (size_t i = 0; i < toolbox->count; i++)
        if (toolbox->tools[i].kind != TOOLBOX_LOCAL)
            return true;
    return toolbox->upstreams || toolbox->servers.count > 0;
}

// --- files ---------------------------------------------------------------------------------------

static bool read_file(const char *path, struct buffer *content, struct error *error)
{
    int descriptor = open(path, O_RDONLY | O_CLOEXEC);
    if (descriptor < 0)
        return error_set(error, ERROR_SYSTEM, "cannot open %s: %s", path, strerror(errno));
    int failed = buffer_append_descriptor(content, descriptor);
    close(descriptor);
    if (failed < 0)
        return error_set(error, ERROR_SYSTEM, "cannot read %s: %s", path, strerror(-failed));
    if (content->failed)
        return error_set(error, ERROR_LIMIT, "%s is larger than %d bytes", path, TOOLBOX_FILE_MAX);
    return true;
}

// --- servers -------------------------------------------------------------------------------------

// The rules that stand beside the servers of a file.
static bool read_policies(struct toolbox *toolbox, const char *path, struct error *error)
{
    CLEANUP_BUFFER struct buffer content;
    buffer_init(&content, TOOLBOX_FILE_MAX);
    if (!read_file(path, &content, error))
        return false;
    struct region *region = region_new(SIZE_MAX);
    value file;
    struct error inner;
    bool ok = json_read(region, buffer_span(&content), NULL, &file, &inner) &&
              (!value_is_map(file) || tool_policies_read(toolbox->policies, file, &inner));
    region_free(region);
    return ok || error_set(error, inner.code, "%s: %s", path, inner.message);
}

static void log_lines(struct span text)
{
    while (text.length) {
        const char *end = memchr(text.data, '\n', text.length);
        size_t length = end ? (size_t)(end - text.data) : text.length;
        log_info("%.*s", (int)length, text.data);
        length += end != NULL;
        text = (struct span){text.data + length, text.length - length};
    }
}

bool toolbox_add_servers(struct toolbox *toolbox, const char *const *files,
                         const char *const *imports, const struct toolbox_place *place,
                         struct error *error)
{
    toolbox->servers.environment = place->environment;
    toolbox->servers.workspace = place->workspace;
    for (; *files; files++)
        if (!upstream_config_add_file(&toolbox->servers, *files, error) ||
            !read_policies(toolbox, *files, error))
            return false;
    CLEANUP_BUFFER struct buffer report;
    buffer_init(&report, BUFFER_DEFAULT_LIMIT);
    for (; *imports; imports++)
        upstream_config_import(&toolbox->servers, *imports, &report);
    log_lines(buffer_span(&report));
    return true;
}

struct tool_policies *toolbox_policies(const struct toolbox *toolbox)
{
    return toolbox->policies;
}

static void on_servers_changed(void *data)
{
    const struct toolbox *toolbox = data;
    struct toolbox_listener *listener;
    LIST_FOREACH (listener, toolbox->listeners, link)
        listener->changed(listener->data);
}

void toolbox_listen(const struct toolbox *toolbox, struct toolbox_listener *listener,
                    void (*changed)(void *data), void *data)
{
    *listener = (struct toolbox_listener){.changed = changed, .data = data};
    LIST_INSERT_HEAD(toolbox->listeners, listener, link);
}

void toolbox_unlisten(struct toolbox_listener *listener)
{
    if (listener->changed)
        LIST_REMOVE(listener, link);
    listener->changed = NULL;
}

void toolbox_open_servers(struct toolbox *toolbox, struct reaper *reaper, const char *root)
{
    if (toolbox->servers.count == 0)
        return;
    toolbox->upstreams = upstreams_new(reaper, &toolbox->servers, root);
    upstreams_on_change(toolbox->upstreams, on_servers_changed, toolbox);
}

void toolbox_start_servers(const struct toolbox *toolbox)
{
    for (size_t i = 0; i < upstreams_count(toolbox->upstreams); i++) {
        struct upstream_server *server = upstreams_at(toolbox->upstreams, i);
        if (!upstream_is_ready(server) && !upstream_failure(server))
            upstream_begin(server);
    }
}

void toolbox_close_servers(struct toolbox *toolbox)
{
    upstreams_free(toolbox->upstreams);
    toolbox->upstreams = NULL;
}

struct upstreams *toolbox_upstreams(const struct toolbox *toolbox)
{
    return toolbox->upstreams;
}

// --- reading -------------------------------------------------------------------------------------

static const char *copy_text(struct toolbox *toolbox, struct span text)
{
    char *copy = region_alloc(toolbox->region, text.length + 1);
    if (text.length)
        memcpy(copy, text.data, text.length);
    copy[text.length] = '\0';
    return copy;
}

// A relative path is seen from the tools file.
static const char *copy_path(struct toolbox *toolbox, struct span path)
{
    bool absolute = path.length && path.data[0] == '/';
    value whole =
        value_string_format(toolbox->region, "%s%s%.*s", absolute ? "" : toolbox->directory,
                            absolute ? "" : "/", (int)path.length, path.data);
    return copy_text(toolbox, value_text(whole));
}

static bool refuse(struct error *error, const struct toolbox_tool *tool, const char *problem)
{
    return error_set(error, ERROR_INVALID, "tool %s: %s", tool->name, problem);
}

static bool has_nul(struct span text)
{
    return memchr(text.data, '\0', text.length) != NULL;
}

static bool read_lisp(struct toolbox *toolbox, struct toolbox_tool *tool, value lisp,
                      struct error *error)
{
    value function = value_is_map(lisp) ? map_get(lisp, "function") : lisp;
    value session = map_get(lisp, "session");
    if (!value_is_string(function) || value_text(function).length == 0)
        return refuse(error, tool, "lisp needs a function name");
    tool->kind = TOOLBOX_LISP;
    tool->cache = region_alloc_zero(toolbox->region, sizeof(*tool->cache));
    tool->function = copy_text(toolbox, value_text(function));
    tool->session = value_is_string(session) ? copy_text(toolbox, value_text(session)) : "main";
    if (!session_name_valid(span_from(tool->session)))
        return refuse(error, tool, "lisp.session is not a session name");
    value file = map_get(lisp, "file");
    if (value_is_string(file)) {
        tool->file = copy_path(toolbox, value_text(file));
    }
    return true;
}

// An optional whole number within bounds.
static bool read_bound(value map, const char *name, int64_t fallback, int64_t high,
                       int64_t *ret_number)
{
    value v = map_get(map, name);
    *ret_number = v.tag == VALUE_INTEGER ? v.integer : fallback;
    return (value_is_nil(v) || v.tag == VALUE_INTEGER) && *ret_number >= 1 && *ret_number <= high;
}

// An array of strings; NULL when it is anything else.
static const char *const *read_strings(struct toolbox *toolbox, value array)
{
    size_t count = value_is_vector(array) ? vector_count(array) : 0;
    const char **copies = region_alloc_zero(toolbox->region, (count + 1) * sizeof(*copies));
    for (size_t i = 0; i < count; i++) {
        value item = vector_at(array, i);
        if (!value_is_string(item) || has_nul(value_text(item)))
            return NULL;
        copies[i] = copy_text(toolbox, value_text(item));
    }
    return copies;
}

// The variables it gets though their names look like secrets.
static bool read_environment(struct toolbox *toolbox, struct toolbox_tool *tool, value command,
                             struct error *error)
{
    value names = map_get(command, "env");
    if (!value_is_nil(names) &&
        (!value_is_vector(names) || vector_count(names) > TOOLBOX_ARGUMENTS_MAX))
        return refuse(error, tool, "command.env is an array of at most 64 names");
    tool->pass = read_strings(toolbox, names);
    return tool->pass || refuse(error, tool, "command.env must hold strings");
}

static bool read_command(struct toolbox *toolbox, struct toolbox_tool *tool, value command,
                         struct error *error)
{
    value argv = map_get(command, "argv");
    size_t count = value_is_vector(argv) ? vector_count(argv) : 0;
    if (count == 0 || count > TOOLBOX_ARGUMENTS_MAX)
        return refuse(error, tool, "command needs argv, 1 to 64 strings");
    const char **copies = region_alloc_zero(toolbox->region, (count + 1) * sizeof(*copies));
    for (size_t i = 0; i < count; i++) {
        value argument = vector_at(argv, i);
        if (!value_is_string(argument) || has_nul(value_text(argument)))
            return refuse(error, tool, "command.argv must hold strings");
        // A name alone is looked up in PATH; one with a slash is a path, as in a shell.
        bool is_path =
            i == 0 && memchr(value_text(argument).data, '/', value_text(argument).length);
        copies[i] = is_path ? copy_path(toolbox, value_text(argument))
                            : copy_text(toolbox, value_text(argument));
    }
    tool->kind = TOOLBOX_COMMAND;
    tool->argv = copies;
    if (!read_environment(toolbox, tool, command, error))
        return false;
    int64_t bytes;
    if (!read_bound(command, "timeout_ms", COMMAND_TIMEOUT_DEFAULT_MS, COMMAND_TIMEOUT_MAX_MS,
                    &tool->timeout_ms))
        return refuse(error, tool, "command.timeout_ms is a whole number from 1 to 600000");
    if (!read_bound(command, "max_output", OUTPUT_DEFAULT, OUTPUT_MAX, &bytes))
        return refuse(error, tool, "command.max_output is a whole number from 1 to 67108864");
    tool->max_output = (size_t)bytes;
    return true;
}

static bool read_tool(struct toolbox *toolbox, value name, value record, struct error *error)
{
    struct toolbox_tool *tool = &toolbox->tools[toolbox->count];
    *tool = (struct toolbox_tool){.name = copy_text(toolbox, value_text(name)), .record = record};
    if (has_nul(value_text(name)) || !value_is_map(record))
        return refuse(error, tool, "must be an object");
    value lisp = map_get(record, "lisp"), command = map_get(record, "command");
    if (!value_is_nil(lisp) && !value_is_nil(command))
        return refuse(error, tool, "has both lisp and command");
    if (!value_is_nil(lisp) && !read_lisp(toolbox, tool, lisp, error))
        return false;
    if (!value_is_nil(command) && !read_command(toolbox, tool, command, error))
        return false;
    if (!tool_policies_read_tool(toolbox->policies, value_text(name), record, error))
        return false;
    toolbox->count++;
    return true;
}

static bool read_tools(struct toolbox *toolbox, struct span text, struct error *error)
{
    value tools, name, record;
    struct json_options options = {.reject_duplicate_names = true};
    if (!json_read(toolbox->region, text, &options, &tools, error))
        return false;
    if (!value_is_map(tools))
        return error_set(error, ERROR_INVALID, "the tools must be an object: name -> record");
    if (map_count(tools) > TOOLBOX_TOOLS_MAX)
        return error_set(error, ERROR_LIMIT, "at most %d tools", TOOLBOX_TOOLS_MAX);
    struct map_cursor cursor = map_iterate(tools);
    while (map_next(&cursor, &name, &record))
        if (!read_tool(toolbox, name, record, error))
            return false;
    return true;
}

void toolbox_allow_files(const struct toolbox *toolbox, struct session_manager *sessions)
{
    for (size_t i = 0; i < toolbox->count; i++)
        if (toolbox->tools[i].file && *toolbox->tools[i].file == '/')
            session_allow_file(sessions, toolbox->tools[i].file);
}

bool toolbox_read(struct span text, const char *directory, struct toolbox **ret_toolbox,
                  struct error *error)
{
    struct toolbox *toolbox = toolbox_new();
    toolbox->directory = directory;
    if (!read_tools(toolbox, text, error)) {
        toolbox_free(toolbox);
        return false;
    }
    *ret_toolbox = toolbox;
    return true;
}

bool toolbox_load(const char *path, struct toolbox **ret_toolbox, struct error *error)
{
    CLEANUP_BUFFER struct buffer content;
    buffer_init(&content, TOOLBOX_FILE_MAX);
    if (!read_file(path, &content, error))
        return false;
    struct error inner;
    CLEANUP_FREE char *resolved = realpath(path, NULL);  // foreign: allocated by the C library
    char *slash = resolved ? strrchr(resolved, '/') : NULL;
    if (slash)
        *slash = '\0';
    if (toolbox_read(buffer_span(&content), resolved ? resolved : ".", ret_toolbox, &inner))
        return true;
    if (inner.line)
        return error_set(error, inner.code, "%s:%u:%u: %s", path, inner.line, inner.column,
                         inner.message);
    return error_set(error, inner.code, "%s: %s", path, inner.message);
}
