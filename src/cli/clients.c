#include "cli/clients.h"

#include <string.h>

struct client {
    const char *name;
    const char *where;   // what to do with the text
    const char *before;  // the configuration, around the program's path
    const char *after;
};

static const struct client clients[] = {
    {"claude-code", "Run this once (or add --scope project to share it with a repository):",
     "claude mcp add cadre -- ", " serve"},
    {"claude-desktop",
     "Put this into claude_desktop_config.json (Settings > Developer > Edit Config):",
     "{\n  \"mcpServers\": {\n    \"cadre\": {\"command\": \"",
     "\", \"args\": [\"serve\"]}\n  }\n}"},
    {"cursor", "Put this into ~/.cursor/mcp.json, or .cursor/mcp.json of a project:",
     "{\n  \"mcpServers\": {\n    \"cadre\": {\"command\": \"",
     "\", \"args\": [\"serve\"]}\n  }\n}"},
    {"vscode", "Put this into .vscode/mcp.json of a project:",
     "{\n  \"servers\": {\n    \"cadre\": {\"type\": \"stdio\", \"command\": \"",
     "\", \"args\": [\"serve\"]}\n  }\n}"},
    {"codex", "Put this into ~/.codex/config.toml:", "[mcp_servers.cadre]\ncommand = \"",
     "\"\nargs = [\"serve\"]"},
    {"gemini", "Put this into ~/.gemini/settings.json:",
     "{\n  \"mcpServers\": {\n    \"cadre\": {\"command\": \"",
     "\", \"args\": [\"serve\"]}\n  }\n}"},
    {"opencode", "Put this into opencode.json of a project, or ~/.config/opencode/opencode.json:",
     "{\n  \"mcp\": {\n    \"cadre\": {\"type\": \"local\", \"command\": [\"",
     "\", \"serve\"], \"enabled\": true}\n  }\n}"},
};

enum { CLIENT_COUNT = sizeof(clients) / sizeof(*clients) };

bool client_print(FILE *out, const char *name, const char *program)
{
    for (size_t i = 0; i < CLIENT_COUNT; i++) {
        if (strcmp(clients[i].name, name) != 0)
            continue;
        fprintf(out, "%s\n\n%s%s%s\n", clients[i].where, clients[i].before, program,
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
