// How messages travel to one server and back. A transport hands whole JSON-RPC messages over and
// says once when it is at its end; after that, and after its stop function, nothing is heard of it.
#pragma once

#include <stdbool.h>
#include <sys/queue.h>

#include "base/span.h"
#include "upstream/upstream_config.h"

struct reaper;

enum { UPSTREAM_MESSAGE_MAX = 64 << 20 };  // bytes of one message in either direction

struct upstream_listener {
    void (*message)(void *data, struct span text);
    void (*closed)(void *data, const char *why);
    void *data;
};

// --- upstream_stdio.c: a child process, a line per message ---------------------------------------
// What a process has that its entry does not name.
struct upstream_place {
    char *const *environment;  // NULL: that of this process
    const char *directory;     // NULL: that of this process
};

struct upstream_stdio;
LIST_HEAD(upstream_stdio_list, upstream_stdio);
// 0 or negative errno. It runs on the reaper's event_base, and is in the list until it is gone.
int upstream_stdio_start(struct reaper *reaper, struct upstream_stdio_list *list,
                         const struct upstream_entry *entry, const struct upstream_place *place,
                         const struct upstream_listener *listener, struct upstream_stdio **ret);
// Queued. False: more than UPSTREAM_MESSAGE_MAX bytes wait for the server to read.
bool upstream_stdio_send(struct upstream_stdio *stdio, struct span message);
// Ends its input, and kills it and all it started a second later. May be called from the listener.
void upstream_stdio_stop(struct upstream_stdio *stdio);
// The same at once.
void upstream_stdio_free(struct upstream_stdio *stdio);
