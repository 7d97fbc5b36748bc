#include "cli/clients.h"

#include <string.h>

#include "base/array.h"
#include "base/buffer.h"
#include "value/text/json.h"

static void quote_for_json(struct buffer *text, struct span path)
{
    json_write_string(text, path);  // a string of TOML, too
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
            buffer_append_text(text, "'\\'");  // ends the string, a quote, begins the next
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

static const struct client clients[] = {
    {"claude-code", "Run this once (or add --scope project to share it with a repository):",
     "claude mcp add cadre -- ", " serve", quote_for_shell},
    {"claude-desktop",
     "Put this into claude_desktop_config.json (Settings > Developer > Edit Config):",
     "{\n  \"mcpServers\": {\n    \"cadre\": {\"command\": ", ", \"args\": [\"serve\"]}\n  }\n}",
     quote_for_json},
    {"cursor", "Put this into ~/.cursor/mcp.json, or .cursor/mcp.json of a project:",
     "{\n  \"mcpServers\": {\n    \"cadre\": {\"command\": ", ", \"args\": [\"serve\"]}\n  }\n}",
     quote_for_json},
    {"vscode", "Put this into .vscode/mcp.json of a project:",
     "{\n  \"servers\": {\n    \"cadre\": {\"type\": \"stdio\", \"command\": ",
     ", \"args\": [\"serve\"]}\n  }\n}", quote_for_json},
    {"codex", "Put this into ~/.codex/config.toml:", "[mcp_servers.cadre]\ncommand = ",
     "\nargs = [\"serve\"]", quote_for_json},
    {"gemini", "Put this into ~/.gemini/settings.json:",
     "{\n  \"mcpServers\": {\n    \"cadre\": {\"command\": ", ", \"args\": [\"serve\"]}\n  }\n}",
     quote_for_json},
    {"opencode", "Put this into opencode.json of a project, or ~/.config/opencode/opencode.json:",
     "{\n  \"mcp\": {\n    \"cadre\": {\"type\": \"local\", \"command\": [",
     ", \"serve\"], \"enabled\": true}\n  }\n}", quote_for_json},
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
