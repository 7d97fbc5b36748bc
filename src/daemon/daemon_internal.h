// What the files of the daemon share.
#pragma once

#include <event2/event.h>
#include <stdbool.h>
#include <sys/queue.h>

#include "daemon/daemon.h"
#include "daemon/greeting.h"
#include "daemon/service.h"

// A workspace that some client has asked for. It stays until the daemon ends.
struct daemon_workspace {
    TAILQ_ENTRY(daemon_workspace) link;
    char *path;
    char *home;
    char *store;  // of its sessions
    char *context_db;
    char *memories;
    char *fixed;            // the settings that all its clients must have
    struct region *region;  // of its configuration
    struct session_manager *sessions;
    struct inspector *inspector;   // of the sessions, and of all clients' programs
    struct output_store *outputs;  // of the sessions
    size_t clients;
};

struct connection {
    TAILQ_ENTRY(connection) link;
    struct daemon *daemon;
    int fd;  // until a transport takes it over
    pid_t pid;
    uint64_t id;
    struct event *event;  // until it has greeted, and while an answer is written
    struct buffer input;
    struct buffer output;
    struct region *region;
    struct greeting greeting;
    char *name;  // "serve (pid 4711)"
    struct daemon_workspace *workspace;
    struct toolbox *toolbox;
    struct service service;
    struct mcp_stdio *stdio;          // of the kind MCP
    struct session_service *session;  // of the kind SESSION
    struct http_service *http;        // of the kind HTTP
    bool client_left;
};

struct daemon {
    struct daemon_options options;
    struct event_base *base;
    struct reaper *reaper;
    struct program_pool *programs;
    int lock;
    int listener;
    struct event *accept_event;
    struct event *tick;  // once a second: is the socket there, is it time to end
    struct event *signals[2];
    TAILQ_HEAD(, connection) connections;
    TAILQ_HEAD(, daemon_workspace) workspaces;
    struct fleet *fleet;        // NULL: it is in no cluster
    struct http_service *http;  // its own listener, or NULL
    struct page *page;          // the inspector's, or NULL
    size_t connection_count;
    uint64_t last_connection;
    int64_t started;    // unix seconds
    int64_t prune_ms;   // when what is kept is looked through next
    int64_t budget_ms;  // when the memory of the sessions is looked at next
    int64_t needed_ms;  // when a client or a live session was last there
    bool ending;
    int64_t end_ms;  // when it ends in any case
};

// --- workspaces.c --------------------------------------------------------------------------------

struct workspace_request {
    const char *path;       // real
    const char *directory;  // where the client works
    const char *refused;    // it is a scratch one in place of this directory; or NULL
    const struct settings *settings;
    bool joins;                   // one that is open is taken as it is, whatever the settings
    const struct ledger *ledger;  // of the sessions; NULL: none
};

// The workspace, opened when it is new. NULL with a message.
struct daemon_workspace *workspaces_obtain(struct daemon *daemon,
                                           const struct workspace_request *request,
                                           struct error *error);
// All their processes; before the services of the clients end.
// Ends its sessions and forgets it; nobody uses it any more.
void workspaces_close(struct daemon *daemon, struct daemon_workspace *workspace);
void workspaces_end_sessions(struct daemon *daemon);
void workspaces_release(struct daemon *daemon);
bool workspaces_have_processes(const struct daemon *daemon);
// Whether a client with these settings may have it.
bool workspaces_fit(const struct daemon_workspace *workspace, const struct settings *settings);
// The names of its sessions that are open, with their states: a vector of {name, state}.
value workspaces_list_sessions(struct region *region, const struct daemon_workspace *workspace);
// NULL: no client has asked for it.
struct daemon_workspace *workspaces_find(const struct daemon *daemon, struct span path);
// While their sessions use more memory than they may, the least recently used one of all hibernates.
void workspaces_keep_within_budget(const struct daemon *daemon);

// --- connection.c --------------------------------------------------------------------------------

// A client has connected: waits for its greeting.
void connection_open(struct daemon *daemon, int fd);
void connection_free(struct connection *connection);
// Nothing is read or written any more.
void connection_hang_up(struct connection *connection);
// Frees those whose client has left and whose last evaluation has ended.
void connection_free_idle(struct daemon *daemon);
// {cadre, version, ok}
value connection_new_answer(struct region *region, bool ok);
// Writes one line and closes the connection when it is written.
void connection_answer(struct connection *connection, value answer);
void connection_refuse(struct connection *connection, const char *message);
// The answer to the greeting, which fits into the socket's buffer: nothing was written to it before.
bool connection_send_line(struct connection *connection, value answer);

// --- control.c -----------------------------------------------------------------------------------

// Answers the request of a greeting of the kind CONTROL.
void control_handle(struct connection *connection);

// --- daemon.c ------------------------------------------------------------------------------------

// Ends after what runs has ended, or at last when the time is over.
void daemon_end(struct daemon *daemon, int64_t grace_ms);
