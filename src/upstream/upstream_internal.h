// What the files of a server share: its state, its tasks, its messages.
#pragma once

#include <sys/queue.h>

#include "upstream/upstream.h"
#include "upstream/upstream_transport.h"

enum upstream_state {
    UPSTREAM_DOWN,      // not running; starts with the next task
    UPSTREAM_GREETING,  // initialize is sent
    UPSTREAM_LISTING,   // tools/list is sent
    UPSTREAM_READY,
};

enum task_state { TASK_WAITING, TASK_SENT };

// A call of a tool, or somebody who waits until the server is ready (`tool` is NULL).
struct upstream_task {
    TAILQ_ENTRY(upstream_task) link;
    struct upstream_server *server;
    enum task_state state;
    int64_t id;  // of the request, once it is sent
    char *tool;
    struct buffer arguments;
    struct event *deadline;
    int64_t timeout_ms;
    upstream_done_fn *done;
    void *data;
};

struct upstream_server {
    struct upstreams *all;
    const struct upstream_entry *entry;
    enum upstream_state state;
    struct upstream_stdio *stdio;
    struct event *start_limit;
    int64_t starts_ms[UPSTREAM_STARTS_PER_MINUTE];  // when it was started last
    size_t start_count;
    int64_t next_id;
    int64_t own_id;     // of initialize or tools/list under way; 0: none
    bool is_stateless;  // protocol 2026-07-28: metadata with every request
    bool is_stale;      // its tools have changed while they were listed
    char *version;
    char *reason;   // why it went down last
    char *failure;  // the same as a sentence, or why it is not started
    struct upstream_catalog catalog;
    struct upstream_catalog listing;  // pages so far
    size_t pages;
    TAILQ_HEAD(, upstream_task) tasks;
    unsigned task_count;
    unsigned sent_count;
};

struct upstreams {
    struct reaper *reaper;
    struct upstream_config config;
    char *root;
    struct upstream_server servers[UPSTREAM_SERVERS_MAX];
    struct upstream_stdio_list transports;  // also those that end
    void (*changed)(void *data);
    void *changed_data;
};

// --- upstream_server.c: its life -----------------------------------------------------------------
void upstream_start(struct upstream_server *server);  // if it is down
// Ends the server and fails all its tasks with the reason.
void upstream_down(struct upstream_server *server, const char *why);
void upstream_send(struct upstream_server *server, const struct buffer *message);
void upstream_set_catalog(struct upstream_server *server);  // from `listing`; it is ready then

// --- upstream_protocol.c: messages ---------------------------------------------------------------
void upstream_greet(struct upstream_server *server);
void upstream_list_tools(struct upstream_server *server, struct span cursor);
void upstream_send_call(struct upstream_server *server, struct upstream_task *task);
void upstream_send_cancel(struct upstream_server *server, int64_t id);
void upstream_on_message(struct upstream_server *server, struct span text);

// --- upstream_task.c: who waits ------------------------------------------------------------------
void upstream_task_send_waiting(struct upstream_server *server);
void upstream_task_fail_all(struct upstream_server *server, const char *why);
struct upstream_task *upstream_task_find(struct upstream_server *server, int64_t id);
void upstream_task_finish(struct upstream_task *task, bool ok, struct span text);

// --- upstream_result.c: what a call returned -----------------------------------------------------
// The value of a result as JSON, or the text of its failure. False: it is one.
bool upstream_result_write(struct buffer *out, value result);
