// How messages travel to one server and back. A transport hands whole JSON-RPC messages over and
// says once when it is at its end; after that, and after its stop function, nothing is heard of it.
#pragma once

#include <event2/event.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "base/error.h"
#include "base/span.h"
#include "upstream/upstream_config.h"

struct reaper;

enum {
    UPSTREAM_MESSAGE_MAX = 64 << 20,  // bytes of one message in either direction
    UPSTREAM_RATE = 32 << 20,         // bytes of an answer that are read in a second
};

// Why a request that went over HTTP has no answer.
enum upstream_lack {
    LACK_ANSWER,      // the server said something else
    LACK_CONNECTION,  // it cannot be reached, or went away
    LACK_SESSION,     // it has forgotten our session, and has not done what was asked
};

struct upstream_listener {
    void (*message)(void *data, struct span text);
    void (*closed)(void *data, const char *why);
    // Only over HTTP, where each request travels by itself.
    bool (*awaits)(void *data, int64_t request);
    void (*unanswered)(void *data, int64_t request, enum upstream_lack lack, const char *why);
    void *data;
};

// What a server has that its entry does not name.
struct upstream_place {
    char *const *environment;  // NULL: that of this process
    const char *directory;     // NULL: that of this process
};

// --- upstream_stdio.c: a child process, a line per message ---------------------------------------

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

// --- upstream_http.c: Streamable HTTP, a POST per message ----------------------------------------

// A message, and what its headers say of it.
struct upstream_outgoing {
    struct span text;
    int64_t request;     // its id; 0: nothing answers it
    const char *method;  // NULL: it is an answer itself
    const char *name;    // of the tool it calls, or NULL
    struct span lines;   // more headers, each with a line feed behind it
    bool stays_open;     // its answer is a stream of notifications, without end
    bool goes_first;     // what is sent later waits until it has arrived
};

struct upstream_http;
LIST_HEAD(upstream_http_list, upstream_http);
// Connects with the first message; is in the list until it is gone. False: there is no libcurl.
bool upstream_http_start(struct event_base *base, struct upstream_http_list *list,
                         const struct upstream_entry *entry, const struct upstream_place *place,
                         const struct upstream_listener *listener, struct upstream_http **ret,
                         struct error *error);
void upstream_http_send(struct upstream_http *http, const struct upstream_outgoing *message);
// The session is over, and the version is to be negotiated anew.
void upstream_http_reset(struct upstream_http *http);
void upstream_http_set_version(struct upstream_http *http, const char *version);
// Opens the stream of what the server says unasked, where it offers one.
void upstream_http_listen(struct upstream_http *http);
void upstream_http_forget(struct upstream_http *http,
                          int64_t request);  // nobody awaits it any more
// Ends what is under way, and the session. May be called from the listener.
void upstream_http_stop(struct upstream_http *http);
void upstream_http_free(struct upstream_http *http);  // the same at once
