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

enum task_state { TASK_WAITING, TASK_SENT, TASK_PAUSED };

// A call of a tool, or somebody who waits until the server is ready (`tool` is NULL).
struct upstream_task {
    TAILQ_ENTRY(upstream_task) link;
    struct upstream_server *server;
    enum task_state state;
    int64_t id;  // of the request, once it is sent
    char *tool;
    struct buffer arguments;
    struct event *deadline;
    struct event *pause;  // before it is made again
    unsigned retries;     // so far
    int64_t timeout_ms;
    bool was_lost;  // it was sent in a session that had ended
    upstream_done_fn *done;
    void *data;
};

struct upstream_server {
    struct upstreams *all;
    const struct upstream_entry *entry;
    enum upstream_state state;
    struct upstream_stdio *stdio;  // the one or the other, while it is up
    struct upstream_http *http;
    struct event *start_limit;
    int64_t starts_ms[UPSTREAM_STARTS_PER_MINUTE];  // when it was started last
    size_t start_count;
    int64_t next_id;
    int64_t own_id;     // of initialize or tools/list under way; 0: none
    bool is_stateless;  // protocol 2026-07-28: metadata with every request
    int64_t listening;  // the request of 2026-07-28 for its notifications; 0: none
    bool is_stale;      // its tools have changed while they were listed
    bool is_doubtful;   // a connection failed: it is greeted again before the next call
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
    char *root;         // NULL: the working directory is gone
    bool is_workspace;  // servers are told of it
    struct upstream_server servers[UPSTREAM_SERVERS_MAX];
    struct upstream_stdio_list transports;  // also those that end
    struct upstream_http_list connections;  // the same
    void (*changed)(void *data);
    void *changed_data;
};

// --- upstream_server.c: its life -----------------------------------------------------------------
void upstream_start(struct upstream_server *server);        // if it is down
void upstream_greet_again(struct upstream_server *server);  // it has ended the session
// Ends the server and fails all its tasks with the reason.
void upstream_down(struct upstream_server *server, const char *why);
// Sends a message; `about` says what it is, and need not have its text.
void upstream_send(struct upstream_server *server, const struct buffer *message,
                   const struct upstream_outgoing *about);
void upstream_set_catalog(struct upstream_server *server);  // from `listing`; it is ready then

// --- upstream_protocol.c: messages ---------------------------------------------------------------
void upstream_greet(struct upstream_server *server);
void upstream_list_tools(struct upstream_server *server, struct span cursor);
void upstream_send_call(struct upstream_server *server, struct upstream_task *task);
void upstream_send_cancel(struct upstream_server *server, int64_t id);
void upstream_listen(struct upstream_server *server);  // to changes of its tools
bool upstream_awaits(void *data, int64_t request);
void upstream_on_unanswered(void *data, int64_t request, enum upstream_lack lack, const char *why);
void upstream_on_message(struct upstream_server *server, struct span text);

// --- upstream_task.c: who waits ------------------------------------------------------------------
void upstream_task_send_waiting(struct upstream_server *server);
void upstream_task_fail_all(struct upstream_server *server, const char *why);
struct upstream_task *upstream_task_find(struct upstream_server *server, int64_t id);
// Or makes the call again, if its entry says so.
void upstream_task_finish(struct upstream_task *task, enum upstream_end end, struct span text);
// Names the server in the text.
void upstream_task_fail(struct upstream_task *task, enum upstream_end end, const char *why);
// Sends it once more when the server is ready. False: that was done before.
bool upstream_task_repeat(struct upstream_task *task);

// --- upstream_result.c: what a call returned -----------------------------------------------------
// The value of a result as JSON, or the text of its failure. False: it is one.
bool upstream_result_write(struct buffer *out, value result, bool with_data);
