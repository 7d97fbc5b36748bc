// The MCP servers that a user has configured: the `mcpServers` object that clients use (in VS Code's
// files: `servers`), from one or more files.
//
//     {"mcpServers": {
//         "files":  {"command": "npx", "args": ["server-filesystem", "."], "env": {"A": "${B}"}},
//         "github": {"url": "https://…/mcp", "headers": {"Authorization": "Bearer ${TOKEN}"}}}}
//
// `${NAME}` and `${NAME:-default}` in texts are replaced by the variable; one that is not set and has
// no default is an error. Beside what clients know an entry may have `timeout_ms` and `max_parallel`.
// An entry with `disabled` true is left out.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/region.h"

enum {
    UPSTREAM_SERVERS_MAX = 64,
    UPSTREAM_STRINGS_MAX = 128,  // arguments, variables, headers of one entry
    UPSTREAM_TEXT_MAX = 65536,   // bytes of one of them
    UPSTREAM_NAME_MAX = 64,
    UPSTREAM_FILE_MAX = 8 << 20,
    UPSTREAM_TIMEOUT_MS = 30000,
    UPSTREAM_TIMEOUT_MAX_MS = 600000,
    UPSTREAM_PARALLEL = 32,
};

struct upstream_entry {
    const char *name;
    const char *source;              // the file it is from
    const char *const *argv;         // a process: ends in NULL; or NULL
    const char *const *environment;  // of the process: "NAME=value"; ends in NULL
    const char *directory;           // of the process; NULL: the workspace
    const char *url;                 // Streamable HTTP; or NULL
    const char *const *headers;      // "Name: value"; ends in NULL
    int64_t timeout_ms;              // of one call
    unsigned max_parallel;           // calls under way at once; more wait
};

struct upstream_config {
    struct region *region;
    char *const *environment;  // whose variables are meant; NULL: that of this process
    struct upstream_entry entries[UPSTREAM_SERVERS_MAX];
    size_t count;
};

void upstream_config_init(struct upstream_config *config);
void upstream_config_release(struct upstream_config *config);
// Adds the servers of a file. Of a name that is there already the first stays. ERROR_INVALID and its
// relatives name the file and the server.
bool upstream_config_add_file(struct upstream_config *config, const char *path,
                              struct error *error);
// Replaces in a text what the entry holds of values of variables and headers: a server may print
// its own credentials.
void upstream_entry_redact(const struct upstream_entry *entry, struct buffer *text);
