#include "cli/setup/clients.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/memory.h"
#include "program/compile/suggest.h"

enum { TOOL_TIMEOUT_SECONDS = 300 };

static const char token_variable[] = "CADRE_TOKEN";

// --- parts of entries ----------------------------------------------------------------------------

static value put(struct region *region, value map, const char *name, value item)
{
    return map_put_text(region, map, name, item);
}

static value put_text(struct region *region, value map, const char *name, const char *text)
{
    return put(region, map, name, value_string_format(region, "%s", text));
}

static const char *program_of(const struct client_server *server)
{
    return server->is_cached ? "npx" : server->is_project ? "cadre" : server->program;
}

// ["serve", …], with the program before it when the client wants one list.
static value arguments_of(struct region *region, const struct client_server *server,
                          bool with_program)
{
    value list = vector_new(region, 6);
    if (with_program)
        list = vector_push(region, list, value_string_format(region, "%s", program_of(server)));
    if (server->is_cached) {
        list = vector_push(region, list, value_string_text(region, "-y"));
        list = vector_push(region, list, value_string_text(region, "cadre-mcp"));
    }
    list = vector_push(region, list, value_string_text(region, "serve"));
    for (int i = 0; i < server->argument_count; i++)
        list = vector_push(region, list, value_string_format(region, "%s", server->arguments[i]));
    return list;
}

static value put_command(struct region *region, value entry, const struct client_server *server)
{
    entry = put_text(region, entry, "command", program_of(server));
    return put(region, entry, "args", arguments_of(region, server, false));
}

static value put_headers(struct region *region, value entry, const char *name,
                         const struct client_server *server)
{
    if (!server->token)
        return entry;
    value header = value_string_format(region, "Bearer %s", server->token);
    return put(region, entry, name, put(region, map_new(region), "Authorization", header));
}

static value put_url(struct region *region, value entry, const char *name,
                     const struct client_server *server)
{
    entry = put_text(region, entry, name, server->url);
    return put_headers(region, entry, "headers", server);
}

// --- entries -------------------------------------------------------------------------------------

static value typed_entry(struct region *region, const struct client_server *server)
{
    value entry = put_text(region, map_new(region), "type", server->url ? "http" : "stdio");
    return server->url ? put_url(region, entry, "url", server) : put_command(region, entry, server);
}

static value plain_entry(struct region *region, const struct client_server *server)
{
    return server->url ? put_url(region, map_new(region), "url", server)
                       : put_command(region, map_new(region), server);
}

static value desktop_entry(struct region *region, const struct client_server *server)
{
    return server->url ? value_nil() : plain_entry(region, server);
}

static value gemini_entry(struct region *region, const struct client_server *server)
{
    return server->url ? put_url(region, map_new(region), "httpUrl", server)
                       : put_command(region, map_new(region), server);
}

static value windsurf_entry(struct region *region, const struct client_server *server)
{
    return server->url ? put_url(region, map_new(region), "serverUrl", server)
                       : put_command(region, map_new(region), server);
}

static value codex_entry(struct region *region, const struct client_server *server)
{
    if (!server->url)
        return put_command(region, map_new(region), server);
    value entry = put_text(region, map_new(region), "url", server->url);
    if (server->is_project && server->token)
        return put_text(region, entry, "bearer_token_env_var", token_variable);
    return put_headers(region, entry, "http_headers", server);
}

static value opencode_entry(struct region *region, const struct client_server *server)
{
    value entry = put_text(region, map_new(region), "type", server->url ? "remote" : "local");
    entry = server->url ? put_url(region, entry, "url", server)
                        : put(region, entry, "command", arguments_of(region, server, true));
    return put(region, entry, "enabled", value_boolean(true));
}

static value copilot_entry(struct region *region, const struct client_server *server)
{
    value entry = put_text(region, map_new(region), "type", server->url ? "http" : "local");
    entry =
        server->url ? put_url(region, entry, "url", server) : put_command(region, entry, server);
    value all = vector_push(region, vector_new(region, 1), value_string_text(region, "*"));
    return put(region, entry, "tools", all);
}

static value goose_entry(struct region *region, const struct client_server *server)
{
    value entry = put(region, map_new(region), "enabled", value_boolean(true));
    entry = put_text(region, entry, "type", server->url ? "streamable_http" : "stdio");
    entry = put_text(region, entry, "name", "cadre");
    entry = put_text(region, entry, "description", "Live Common Lisp that cannot be lost");
    if (server->url) {
        entry = put_text(region, entry, "uri", server->url);
        entry = put_headers(region, entry, "headers", server);
    } else {
        entry = put_text(region, entry, "cmd", program_of(server));
        entry = put(region, entry, "args", arguments_of(region, server, false));
    }
    entry = put(region, entry, "envs", map_new(region));
    return put(region, entry, "timeout", value_integer(TOOL_TIMEOUT_SECONDS));
}

// --- the clients ---------------------------------------------------------------------------------

static const struct client clients[] = {
    {.name = "claude-code",
     .title = "Claude Code",
     .outer = "mcpServers",
     .variable = "CLAUDE_CONFIG_DIR",
     .path = ".claude.json",
     .file = ".claude.json",
     .project_path = ".mcp.json",
     .reference = "${CADRE_TOKEN}",
     .entry = typed_entry,
     .advice = "Check: claude mcp list",
     .project_advice = "Claude Code asks once whether the project's servers may be used."},
    {.name = "claude-desktop",
     .title = "Claude Desktop",
     .outer = "mcpServers",
     .in_config_home = true,
     .path = "Claude/claude_desktop_config.json",
     .entry = desktop_entry,
     .advice = "Quit Claude Desktop and start it again."},
    {.name = "cursor",
     .title = "Cursor",
     .outer = "mcpServers",
     .path = ".cursor/mcp.json",
     .project_path = ".cursor/mcp.json",
     .reference = "${env:CADRE_TOKEN}",
     .entry = plain_entry,
     .advice = "Switch the server on in Cursor's settings under MCP. Cursor limits the number of "
               "tools of all servers: `cadre setup cursor -- --tools core` offers few.",
     .project_advice = "Switch the server on in Cursor's settings under MCP."},
    {.name = "vscode",
     .title = "VS Code",
     .outer = "servers",
     .in_config_home = true,
     .path = "Code/User/mcp.json",
     .project_path = ".vscode/mcp.json",
     .reference = "${env:CADRE_TOKEN}",
     .entry = typed_entry,
     .advice = "Start the server by the command MCP: List Servers, and confirm that you trust it.",
     .project_advice = "Start the server above its entry, and confirm that you trust it."},
    {.name = "codex",
     .title = "Codex",
     .format = CLIENT_TOML,
     .outer = "mcp_servers",
     .variable = "CODEX_HOME",
     .path = ".codex/config.toml",
     .file = "config.toml",
     .project_path = ".codex/config.toml",
     .reference = "CADRE_TOKEN",
     .entry = codex_entry,
     .advice = "Check: codex mcp list",
     .project_advice = "Codex reads the file only in a project that it trusts."},
    {.name = "gemini",
     .title = "Gemini CLI",
     .outer = "mcpServers",
     .path = ".gemini/settings.json",
     .project_path = ".gemini/settings.json",
     .reference = "${CADRE_TOKEN}",
     .entry = gemini_entry,
     .advice = "Gemini CLI connects to servers only in folders that it trusts: start gemini there "
               "and choose to trust it, or use /permissions. Check: gemini mcp list",
     .project_advice = "Gemini CLI reads the file only in folders that it trusts: start gemini "
                       "there and choose to trust it, or use /permissions."},
    {.name = "opencode",
     .title = "OpenCode",
     .outer = "mcp",
     .in_config_home = true,
     .path = "opencode/opencode.json",
     .alternative = "opencode/opencode.jsonc",
     .project_path = "opencode.json",
     .reference = "{env:CADRE_TOKEN}",
     .entry = opencode_entry,
     .advice = "Check: opencode mcp list"},
    {.name = "zed",
     .title = "Zed",
     .outer = "context_servers",
     .in_config_home = true,
     .path = "zed/settings.json",
     .project_path = ".zed/settings.json",
     .entry = plain_entry,
     .advice = "Zed starts the server at once; its light is in the settings of the agent panel.",
     .project_advice = "Zed uses the file once you trust the project."},
    {.name = "windsurf",
     .title = "Windsurf",
     .outer = "mcpServers",
     .path = ".codeium/windsurf/mcp_config.json",
     .entry = windsurf_entry,
     .advice = "Refresh the list of MCP servers in Cascade."},
    {.name = "copilot-cli",
     .title = "GitHub Copilot CLI",
     .outer = "mcpServers",
     .variable = "COPILOT_HOME",
     .path = ".copilot/mcp-config.json",
     .file = "mcp-config.json",
     .entry = copilot_entry,
     .advice = "Check: /mcp show in copilot"},
    {.name = "goose",
     .title = "Goose",
     .format = CLIENT_YAML,
     .outer = "extensions",
     .in_config_home = true,
     .path = "goose/config.yaml",
     .entry = goose_entry,
     .advice = "Start a new session of goose."},
};

const struct client *client_find(const char *name)
{
    for (size_t i = 0; i < COUNT_OF(clients); i++)
        if (strcmp(clients[i].name, name) == 0)
            return &clients[i];
    return NULL;
}

const struct client *client_closest(const char *name)
{
    struct suggestion best = {0};
    for (size_t i = 0; i < COUNT_OF(clients); i++)
        suggest_closer(&best, span_from(name), span_from(clients[i].name));
    return best.name.length ? client_find(best.name.data) : NULL;
}

static char *path_in_home(const struct client *client, const char *path)
{
    const char *home = getenv("HOME"), *config = getenv("XDG_CONFIG_HOME");
    if (client->in_config_home && config && *config == '/')
        return memory_format("%s/%s", config, path);
    if (!home || *home != '/')
        return NULL;
    return memory_format("%s/%s%s", home, client->in_config_home ? ".config/" : "", path);
}

char *client_path(const struct client *client, const char *project, struct error *error)
{
    const char *directory = client->variable ? getenv(client->variable) : NULL;
    if (project && !client->project_path) {
        error_set(error, ERROR_INVALID, "%s has no configuration in projects", client->title);
        return NULL;
    }
    if (project)
        return memory_format("%s/%s", project, client->project_path);
    if (directory && *directory)
        return memory_format("%s/%s", directory, client->file);
    char *other = client->alternative ? path_in_home(client, client->alternative) : NULL;
    if (other && access(other, F_OK) == 0)
        return other;
    memory_free(other);
    char *path = path_in_home(client, client->path);
    if (!path)
        error_set(error, ERROR_INVALID, "there is no home directory: set HOME");
    return path;
}

value client_entry(const struct client *client, struct region *region,
                   const struct client_server *server, struct error *error)
{
    struct client_server given = *server;
    if (server->is_project && server->token && !client->reference) {
        error_set(error, ERROR_INVALID,
                  "%s cannot take a token from the environment, and a project's file must not hold "
                  "it: leave out --project",
                  client->title);
        return value_nil();
    }
    if (server->is_project && server->token)
        given.token = client->reference;
    value entry = client->entry(region, &given);
    if (value_is_nil(entry))
        error_set(error, ERROR_INVALID, "%s takes no HTTP servers in its file: leave out --http",
                  client->title);
    return entry;
}
