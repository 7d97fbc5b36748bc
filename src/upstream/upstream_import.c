// The configuration files of clients, and what is taken from them. The user's own files are read as they
// are; a file of the workspace counts when it is trusted (docs/security.md).
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/memory.h"
#include "session/workspace/trust.h"
#include "upstream/upstream_config.h"
#include "value/text/json.h"
#include "value/text/jsonc.h"

#define PROJECT_FILE ".mcp.json"

struct source {
    const char *client;
    const char *variable;  // names the directory of its file instead; or NULL
    bool in_config_home;   // below $XDG_CONFIG_HOME, else below the home directory
    const char *directory;
    const char *file;
    const char *outer;  // the object that holds the servers
    bool has_comments;
    bool has_projects;  // also servers of single workspaces: projects.PATH.mcpServers
};

static const struct source sources[] = {
    {.client = "claude-code",
     .variable = "CLAUDE_CONFIG_DIR",
     .directory = "",
     .file = ".claude.json",
     .outer = "mcpServers",
     .has_projects = true},
    {.client = "claude-desktop",
     .in_config_home = true,
     .directory = "/Claude",
     .file = "claude_desktop_config.json",
     .outer = "mcpServers"},
    {.client = "cursor",
     .directory = "/.cursor",
     .file = "mcp.json",
     .outer = "mcpServers",
     .has_comments = true},
    {.client = "vscode",
     .in_config_home = true,
     .directory = "/Code/User",
     .file = "mcp.json",
     .outer = "servers",
     .has_comments = true},
};

// --- files ---------------------------------------------------------------------------------------

static char *file_path(const struct upstream_config *config, const struct source *source)
{
    char *const *environment = config->environment;
    const char *home = upstream_variable(environment, "HOME");
    const char *named = source->variable ? upstream_variable(environment, source->variable) : NULL;
    if (named && *named)
        return memory_format("%s/%s", named, source->file);
    const char *base =
        source->in_config_home ? upstream_variable(environment, "XDG_CONFIG_HOME") : home;
    if (base && *base)
        return memory_format("%s%s/%s", base, source->directory, source->file);
    return memory_format("%s/.config%s/%s", home ? home : "", source->directory, source->file);
}

static bool read_file(const char *path, struct buffer *content, struct error *error)
{
    int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (descriptor < 0)
        return error_set(error, ERROR_SYSTEM, "cannot open %s: %s", path, strerror(errno));
    int failed = buffer_append_descriptor(content, descriptor);
    close(descriptor);
    if (failed < 0)
        return error_set(error, ERROR_SYSTEM, "cannot read %s: %s", path, strerror(-failed));
    return !content->failed ||
           error_set(error, ERROR_LIMIT, "%s is larger than %d bytes", path, UPSTREAM_FILE_MAX);
}

static bool parse(struct upstream_config *config, const char *path, struct span text,
                  bool has_comments, value *ret_file, struct error *error)
{
    struct error inner;
    bool ok = has_comments ? jsonc_read(config->region, text, ret_file, &inner)
                           : json_read(config->region, text, NULL, ret_file, &inner);
    if (!ok)
        return error_set(error, ERROR_SYNTAX, "%s:%u:%u: %s", path, inner.line, inner.column,
                         inner.message);
    return value_is_map(*ret_file) ||
           error_set(error, ERROR_INVALID, "%s: is no JSON object", path);
}

// The real path of the workspace. False: the working directory is gone.
static bool find_workspace(const struct upstream_config *config, char path[PATH_MAX])
{
    return realpath(config->workspace ? config->workspace : ".", path) != NULL;
}

// --- importing -----------------------------------------------------------------------------------

// Entries that begin at `first` are new.
static void report_taken(const struct upstream_config *config, size_t first, const char *client,
                         const char *path, const struct buffer *left_out, struct buffer *report)
{
    buffer_append_format(report, "%s: %zu server%s from %s", client, config->count - first,
                         config->count - first == 1 ? "" : "s", path);
    for (size_t i = first; i < config->count; i++)
        buffer_append_format(report, "%s%s", i == first ? ": " : ", ", config->entries[i].name);
    buffer_append_byte(report, '\n');
    buffer_append_span(report, buffer_span(left_out));
}

static void add_object(struct upstream_config *config, const char *path, value servers,
                       struct buffer *left_out)
{
    struct error error;
    if (value_is_map(servers))
        upstream_config_add_entries(config, path, servers, left_out, &error);
}

// Of one name those of the workspace come first.
static void add_project(struct upstream_config *config, const char *path, value file,
                        struct buffer *left_out)
{
    char workspace[PATH_MAX];
    value projects = map_get(file, "projects"), project;
    if (find_workspace(config, workspace) && value_is_map(projects) &&
        map_find_text(projects, workspace, &project) && value_is_map(project))
        add_object(config, path, map_get(project, "mcpServers"), left_out);
}

static void import_file(struct upstream_config *config, const struct source *source,
                        struct buffer *report)
{
    CLEANUP_FREE char *path = file_path(config, source);
    CLEANUP_BUFFER struct buffer content, left_out;
    buffer_init(&content, UPSTREAM_FILE_MAX);
    buffer_init(&left_out, UPSTREAM_FILE_MAX);
    struct error error;
    value file;
    size_t first = config->count;
    if (access(path, F_OK) < 0) {
        buffer_append_format(report, "%s: there is no %s\n", source->client, path);
    } else if (!read_file(path, &content, &error) ||
               !parse(config, path, buffer_span(&content), source->has_comments, &file, &error)) {
        buffer_append_format(report, "%s: %s\n", source->client, error.message);
    } else {
        if (source->has_projects)
            add_project(config, path, file, &left_out);
        add_object(config, path, map_get(file, source->outer), &left_out);
        report_taken(config, first, source->client, path, &left_out, report);
    }
}

static void import_project(struct upstream_config *config, struct buffer *report)
{
    char workspace[PATH_MAX];
    CLEANUP_BUFFER struct buffer content, left_out;
    buffer_init(&content, UPSTREAM_FILE_MAX);
    buffer_init(&left_out, UPSTREAM_FILE_MAX);
    struct error error;
    enum trust trust;
    value file;
    if (!find_workspace(config, workspace)) {
        buffer_append_text(report, "project: there is no workspace\n");
        return;
    }
    CLEANUP_FREE char *path = memory_format("%s/" PROJECT_FILE, workspace);
    size_t first = config->count;
    if (!trust_read(workspace, PROJECT_FILE, &content, &trust, &error) ||
        (trust == TRUST_GIVEN &&
         !parse(config, path, buffer_span(&content), false, &file, &error))) {
        buffer_append_format(report, "project: %s\n", error.message);
    } else if (trust != TRUST_GIVEN) {
        buffer_append_format(report, "project: %s is %s%s%s\n", path, trust_name(trust),
                             trust == TRUST_ABSENT ? "" : "; to use it: cadre trust ",
                             trust == TRUST_ABSENT ? "" : workspace);
    } else {
        add_object(config, path, map_get(file, "mcpServers"), &left_out);
        report_taken(config, first, "project", path, &left_out, report);
    }
}

bool upstream_config_import(struct upstream_config *config, const char *client,
                            struct buffer *report)
{
    if (strcmp(client, "project") == 0) {
        import_project(config, report);
        return true;
    }
    for (size_t i = 0; i < COUNT_OF(sources); i++)
        if (strcmp(client, sources[i].client) == 0) {
            import_file(config, &sources[i], report);
            return true;
        }
    return false;
}
