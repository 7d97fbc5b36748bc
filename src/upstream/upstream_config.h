// The MCP servers that a user has configured: the `mcpServers` object that clients use (in VS Code's
// files: `servers`), from one or more files.
//
//     {"mcpServers": {
//         "files":  {"command": "npx", "args": ["server-filesystem", "."], "env": {"A": "${B}"}},
//         "github": {"url": "https://…/mcp", "headers": {"Authorization": "Bearer ${TOKEN}"}}}}
//
// `${NAME}` and `${NAME:-default}` in texts are replaced by the variable, as is `${env:NAME}`; one that
// is not set and has no default is an error. `${workspaceFolder}` and `${userHome}` are directories.
// Beside what clients know an entry may have `timeout_ms`, `max_parallel`, `max_result`, `data` and
// `retry {times, backoff_ms, on}`. An entry with `disabled` true is left out, and one that starts Cadre
// itself: it would ask itself for its tools without end.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/region.h"
#include "value/value.h"

enum {
    UPSTREAM_SERVERS_MAX = 64,
    UPSTREAM_STRINGS_MAX = 128,  // arguments, variables, headers of one entry
    UPSTREAM_TEXT_MAX = 65536,   // bytes of one of them
    UPSTREAM_NAME_MAX = 64,
    UPSTREAM_FILE_MAX = 8 << 20,
    UPSTREAM_TIMEOUT_MS = 30000,
    UPSTREAM_TIMEOUT_MAX_MS = 600000,
    UPSTREAM_PARALLEL = 32,
    UPSTREAM_RESULT_BYTES = 8 << 20,
    UPSTREAM_RESULT_MAX_BYTES = 64 << 20,
    UPSTREAM_RETRIES_MAX = 10,
    UPSTREAM_BACKOFF_MS = 500,
    UPSTREAM_BACKOFF_MAX_MS = 60000,
};

// How a call ended.
enum upstream_end {
    UPSTREAM_OK = 0,
    UPSTREAM_ERROR = 1,       // the tool or the server says so
    UPSTREAM_TIMEOUT = 2,     // there was no answer in time
    UPSTREAM_CONNECTION = 4,  // the server has died, or cannot be reached
};

// Which calls are made again, and when: after backoff_ms, then twice as long, and so on.
struct upstream_retry {
    unsigned times;
    int64_t backoff_ms;
    unsigned on;  // bits of upstream_end
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
    size_t max_result;               // bytes
    bool with_data;                  // images and the like reach programs whole
    struct upstream_retry retry;
};

struct upstream_config {
    struct region *region;
    char *const *environment;  // whose variables are meant; NULL: that of this process
    const char *workspace;     // outlives it; NULL: the working directory
    struct upstream_entry entries[UPSTREAM_SERVERS_MAX];
    size_t count;
};

// The value of a variable; NULL: it is not set. `environment` NULL: that of this process.
const char *upstream_variable(char *const *environment, const char *name);

void upstream_config_init(struct upstream_config *config);
void upstream_config_release(struct upstream_config *config);
// Adds the servers of a file. Of a name that is there already the first stays. ERROR_INVALID and its
// relatives name the file and the server.
bool upstream_config_add_file(struct upstream_config *config, const char *path,
                              struct error *error);
// Adds the members of an object like mcpServers, which is from the file `source`. With `left_out` an
// entry that cannot be used is named there, with the reason; without it that is an error.
bool upstream_config_add_entries(struct upstream_config *config, const char *source, value entries,
                                 struct buffer *left_out, struct error *error);

// --- upstream_import.c: the files of clients -----------------------------------------------------
// Adds the servers that a client has, by its name: claude-code, claude-desktop, cursor, vscode; project:
// those of the workspace's .mcp.json, if that is trusted. Appends lines that say what was taken and
// what was left out, and why. False: there is no client of this name.
bool upstream_config_import(struct upstream_config *config, const char *client,
                            struct buffer *report);

// --- upstream_config.c ---------------------------------------------------------------------------
// Replaces in a text what the entry holds of values of variables and headers: a server may print
// its own credentials.
void upstream_entry_redact(const struct upstream_entry *entry, struct buffer *text);
