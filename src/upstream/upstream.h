// The user's own MCP servers, whose tools programs may call. A server starts when it is first used,
// is kept, and starts again after its death. Whatever a server does costs its own calls and nothing
// else: all work is on the caller's event_base, and every wait has an end.
#pragma once

#include <event2/event.h>
#include <stdbool.h>
#include <stdint.h>

#include "upstream/upstream_catalog.h"
#include "upstream/upstream_config.h"

enum {
    UPSTREAM_START_MS = 30000,       // from start to the list of its tools
    UPSTREAM_LISTING_MS = 5000,      // how long somebody who lists all tools waits for a server
    UPSTREAM_STARTS_PER_MINUTE = 5,  // after which its calls fail for a while
    UPSTREAM_WAITING_MAX = 1024,     // calls of one server that wait
};

struct reaper;
struct upstreams;
struct upstream_server;

// --- upstream_server.c: the servers --------------------------------------------------------------

// Takes the configuration over. Servers work in the directory `root` (NULL: that of this process) and
// are told so, unless it is a home or a system directory, which nobody meant as a workspace.
struct upstreams *upstreams_new(struct reaper *reaper, struct upstream_config *config,
                                const char *root);
void upstreams_free(struct upstreams *upstreams);  // pending calls get no answer
size_t upstreams_count(const struct upstreams *upstreams);
struct upstream_server *upstreams_at(const struct upstreams *upstreams, size_t index);
struct upstream_server *upstreams_find(const struct upstreams *upstreams, struct span name);
// Called when the tools of a server have changed.
void upstreams_on_change(struct upstreams *upstreams, void (*changed)(void *data), void *data);

const struct upstream_entry *upstream_entry(const struct upstream_server *server);
// What is known of its tools; empty before it has started.
const struct upstream_catalog *upstream_catalog(const struct upstream_server *server);
bool upstream_is_ready(const struct upstream_server *server);
const char *upstream_failure(const struct upstream_server *server);  // the last one, or NULL
const char *upstream_version(const struct upstream_server *server);  // of the protocol, or NULL

// --- upstream_task.c: calls ----------------------------------------------------------------------

// The outcome of a call: the value as JSON, or why there is none.
struct upstream_outcome {
    bool ok;
    struct span text;  // valid during the callback
};
typedef void upstream_done_fn(void *data, const struct upstream_outcome *outcome);

void upstream_begin(struct upstream_server *server);  // starts it if it is down
// Starts the server if it does not run and lists its tools, within limit_ms (0: as long as it has to
// start). The text of the outcome is empty, or says what failed. `done` is called now or later,
// unless cancelled.
struct upstream_task;
struct upstream_task *upstream_prepare(struct upstream_server *server, int64_t limit_ms,
                                       upstream_done_fn *done, void *data);
// Calls a tool by the server's own name for it; the arguments are a JSON object. timeout_ms 0: that of
// the entry. NULL: `done` was called already.
struct upstream_task *upstream_call(struct upstream_server *server, struct span tool,
                                    struct span arguments, int64_t timeout_ms,
                                    upstream_done_fn *done, void *data);
// `done` will not be called; the server is told.
void upstream_cancel(struct upstream_task *task);
