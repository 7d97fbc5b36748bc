#include "cli/clients.h"

#include <string.h>

#include "base/array.h"
#include "base/buffer.h"
#include "value/text/json.h"

static void quote_for_json(struct buffer *text, struct span path)
{
    json_write_string(text, path);  // also valid in TOML
}

static void quote_for_shell(struct buffer *text, struct span path)
{
    static const char plain[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+./";
    if (strspn(path.data, plain) == path.length) {
        buffer_append_span(text, path);
        return;
    }
    buffer_append_byte(text, '\'');
    for (size_t i = 0; i < path.length; i++) {
        if (path.data[i] == '\'')
            buffer_append_text(text, "'\\'");  // ends the string, adds a quote, starts the next
        buffer_append_byte(text, path.data[i]);
    }
    buffer_append_byte(text, '\'');
}

struct client {
    const char *name;
    const char *where;   // what to do with the text
    const char *before;  // the configuration, around the program's path
    const char *after;
    void (*quote)(struct buffer *text, struct span path);
};

static const char mcp_servers_before[] = "{\n"
                                         "  \"mcpServers\": {\n"
                                         "    \"cadre\": {\"command\": ";
static const char mcp_servers_after[] = ", \"args\": [\"serve\"]}\n"
                                        "  }\n"
                                        "}";

static const struct client clients[] = {
    {
        .name = "claude-code",
        .where = "Run this once (or add --scope project to share it with a repository):",
        .before = "claude mcp add cadre -- ",
        .after = " serve",
        .quote = quote_for_shell,
    },
    {
        .name = "claude-desktop",
        .where = "Put this into claude_desktop_config.json (Settings > Developer > Edit Config):",
        .before = mcp_servers_before,
        .after = mcp_servers_after,
        .quote = quote_for_json,
    },
    {
        .name = "cursor",
        .where = "Put this into ~/.cursor/mcp.json, or .cursor/mcp.json of a project:",
        .before = mcp_servers_before,
        .after = mcp_servers_after,
        .quote = quote_for_json,
    },
    {
        .name = "vscode",
        .where = "Put this into .vscode/mcp.json of a project:",
        .before = "{\n"
                  "  \"servers\": {\n"
                  "    \"cadre\": {\"type\": \"stdio\", \"command\": ",
        .after = mcp_servers_after,
        .quote = quote_for_json,
    },
    {
        .name = "codex",
        .where = "Put this into ~/.codex/config.toml:",
        .before = "[mcp_servers.cadre]\n"
                  "command = ",
        .after = "\n"
                 "args = [\"serve\"]",
        .quote = quote_for_json,
    },
    {
        .name = "gemini",
        .where = "Put this into ~/.gemini/settings.json:",
        .before = mcp_servers_before,
        .after = mcp_servers_after,
        .quote = quote_for_json,
    },
    {
        .name = "opencode",
        .where = "Put this into opencode.json of a project, or ~/.config/opencode/opencode.json:",
        .before = "{\n"
                  "  \"mcp\": {\n"
                  "    \"cadre\": {\"type\": \"local\", \"command\": [",
        .after = ", \"serve\"], \"enabled\": true}\n"
                 "  }\n"
                 "}",
        .quote = quote_for_json,
    },
};

enum { CLIENT_COUNT = COUNT_OF(clients) };

bool client_print(FILE *out, const char *name, const char *program)
{
    for (size_t i = 0; i < CLIENT_COUNT; i++) {
        if (strcmp(clients[i].name, name) != 0)
            continue;
        CLEANUP_BUFFER struct buffer path;
        buffer_init(&path, BUFFER_DEFAULT_LIMIT);
        clients[i].quote(&path, span_from(program));
        fprintf(out, "%s\n\n%s%s%s\n", clients[i].where, clients[i].before, buffer_text(&path),
                clients[i].after);
        return true;
    }
    return false;
}

void client_print_names(FILE *out)
{
    for (size_t i = 0; i < CLIENT_COUNT; i++)
        fprintf(out, "%s%s", i ? ", " : "", clients[i].name);
}
