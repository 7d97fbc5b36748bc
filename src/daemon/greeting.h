// The first line that a client sends to the daemon, and the daemon's answer to it. Both are JSON
// objects. What follows them depends on the kind of the connection (docs/daemon-protocol.md).
#pragma once

#include "base/buffer.h"
#include "base/error.h"
#include "daemon/client_settings.h"
#include "daemon/http/listening.h"
#include "value/value.h"

// A newer daemon serves older clients; a client that is newer replaces the daemon.
enum { GREETING_PROTOCOL = 1, GREETING_MAX = 4 << 20 };

enum greeting_kind {
    GREETING_MCP,      // MCP, one message per line
    GREETING_SESSION,  // requests to one session of the workspace (session_service.h)
    GREETING_HTTP,     // a listener, which is closed when the connection ends
    GREETING_PAGE,     // one for the inspector's page, which stays; then the connection ends
    GREETING_CONTROL,  // one request to the daemon itself, one answer
    GREETING_KIND_COUNT,
};

struct greeting {
    enum greeting_kind kind;
    const char *client;     // what it is: "serve", "repl"
    const char *version;    // of its program
    const char *directory;  // where it works
    const char *workspace;  // real path; NULL: none (CONTROL)
    const char *refused;    // the workspace is a scratch one in place of this directory; or NULL
    bool is_brief;          // it leaves after one request, and another may follow
    char **environment;     // ends in NULL
    struct settings settings;
    value request;               // CONTROL: a map
    struct listening listening;  // HTTP, PAGE
};

// What a client says, besides what its process is.
struct greeting_parts {
    enum greeting_kind kind;
    const char *client;
    const struct settings *settings;
    const char *root;  // of the client; or NULL
    bool is_brief;
    const struct listening *listening;  // HTTP, PAGE
};

// The greeting of this process: its environment, its working directory and the workspace that the
// settings name, else the root, else the one that is found. False with a message.
bool greeting_write(struct buffer *line, const struct greeting_parts *parts, struct error *error);
// The same for a request to the daemon itself; `request` is a map.
void greeting_write_control(struct buffer *line, value request);
// Everything that it points to is in `region`, but for the listening, which is to be released either way.
bool greeting_read(struct region *region, struct span line, struct greeting *ret_greeting,
                   struct error *error);

// Compares two versions, "0.2.0": negative, 0 or positive.
int version_compare(const char *a, const char *b);
