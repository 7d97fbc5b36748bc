// The life of a server: down, greeting, listing its tools, ready; and down again when it ends.
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/memory.h"
#include "process/reaper.h"
#include "session/workspace/workspace.h"
#include "upstream/upstream_internal.h"

enum { MINUTE_MS = 60000 };

// --- ending --------------------------------------------------------------------------------------

static void disconnect(struct upstream_server *server)
{
    if (server->stdio)
        upstream_stdio_stop(server->stdio);
    if (server->http)
        upstream_http_stop(server->http);
    server->stdio = NULL;
    server->http = NULL;
    server->listening = 0;
    server->is_doubtful = false;
    evtimer_del(server->start_limit);
    server->state = UPSTREAM_DOWN;
    server->own_id = 0;
    upstream_catalog_release(&server->listing);
}

static void fail(struct upstream_server *server, char *failure)
{
    memory_free(server->failure);
    server->failure = failure;
    upstream_task_fail_all(server, failure);
}

void upstream_down(struct upstream_server *server, const char *why)
{
    disconnect(server);
    char *reason = memory_copy_string(why);
    memory_free(server->reason);
    server->reason = reason;
    log_info("the server %s failed: %s", server->entry->name, why);
    fail(server, memory_format("the server %s failed: %s", server->entry->name, why));
}

static void on_closed(void *data, const char *why)
{
    struct upstream_server *server = data;
    server->stdio = NULL;  // it goes by itself
    upstream_down(server, why);
}

static void on_start_limit(evutil_socket_t fd, short what, void *data)
{
    (void)fd;
    (void)what;
    struct upstream_server *server = data;
    upstream_down(server, server->state == UPSTREAM_GREETING
                              ? "it did not answer initialize within 30 s"
                              : "it did not list its tools within 30 s");
}

// --- starting ------------------------------------------------------------------------------------

static void on_message(void *data, struct span text)
{
    upstream_on_message(data, text);
}

// At most so many starts in a minute: a server that dies at once must not keep the machine busy.
static int64_t start_delay_ms(const struct upstream_server *server)
{
    if (server->start_count < UPSTREAM_STARTS_PER_MINUTE)
        return 0;
    int64_t oldest = server->starts_ms[server->start_count % UPSTREAM_STARTS_PER_MINUTE];
    return oldest + MINUTE_MS - clock_now_ms();
}

static bool may_start(struct upstream_server *server)
{
    int64_t delay_ms = start_delay_ms(server);
    if (delay_ms <= 0)
        return true;
    fail(server, memory_format("the server %s failed: %s; it was started %d times within a minute "
                               "and is not started again for %lld s",
                               server->entry->name, server->reason ? server->reason : "it ended",
                               UPSTREAM_STARTS_PER_MINUTE, (long long)delay_ms / 1000 + 1));
    return false;
}

static bool connect_to(struct upstream_server *server, struct error *error)
{
    struct upstreams *all = server->all;
    struct upstream_listener listener = {on_message, on_closed, upstream_awaits,
                                         upstream_on_unanswered, server};
    struct upstream_place place = {all->config.environment, all->root};
    if (server->entry->url)
        return upstream_http_start(reaper_base(all->reaper), &all->connections, server->entry,
                                   &place, &listener, &server->http, error);
    int failed = upstream_stdio_start(all->reaper, &all->transports, server->entry, &place,
                                      &listener, &server->stdio);
    return failed == 0 || error_set(error, ERROR_SYSTEM, "%s", strerror(-failed));
}

static void begin_greeting(struct upstream_server *server)
{
    server->starts_ms[server->start_count++ % UPSTREAM_STARTS_PER_MINUTE] = clock_now_ms();
    struct timeval limit = timeval_from_ms(UPSTREAM_START_MS);
    evtimer_add(server->start_limit, &limit);
    server->state = UPSTREAM_GREETING;
    server->is_stateless = server->is_doubtful = server->is_stale = false;
    server->listening = 0;
    upstream_greet(server);
}

// A server that could not be reached is greeted anew: it may have forgotten the session.
void upstream_start(struct upstream_server *server)
{
    if (server->is_doubtful)
        upstream_greet_again(server);
    if (server->state != UPSTREAM_DOWN || !may_start(server))
        return;
    struct error error;
    if (connect_to(server, &error))
        begin_greeting(server);
    else
        upstream_down(server, error.message);
}

void upstream_greet_again(struct upstream_server *server)
{
    if (server->state != UPSTREAM_READY || !may_start(server))
        return;
    upstream_http_reset(server->http);
    begin_greeting(server);
}

void upstream_send(struct upstream_server *server, const struct buffer *message,
                   const struct upstream_outgoing *about)
{
    struct upstream_outgoing outgoing = *about;
    outgoing.text = buffer_span(message);
    if (message->failed)
        upstream_down(server, "a message to it is larger than 64 MiB");
    else if (server->http)
        upstream_http_send(server->http, &outgoing);
    else if (!upstream_stdio_send(server->stdio, outgoing.text))
        upstream_down(server, "it does not read what it is sent");
}

void upstream_set_catalog(struct upstream_server *server)
{
    bool is_new = server->state != UPSTREAM_READY;
    bool changed = !upstream_catalog_equal(&server->catalog, &server->listing);
    upstream_catalog_release(&server->catalog);
    server->catalog = server->listing;
    server->listing = (struct upstream_catalog){0};
    evtimer_del(server->start_limit);
    server->state = UPSTREAM_READY;
    memory_free(server->failure);
    server->failure = NULL;
    if (is_new)
        upstream_listen(server);
    if (changed && server->all->changed)
        server->all->changed(server->all->changed_data);
    upstream_task_send_waiting(server);
}

// --- all servers ---------------------------------------------------------------------------------

static char *working_directory(void)
{
    char path[PATH_MAX];
    return memory_copy_string(getcwd(path, sizeof(path)));
}

struct upstreams *upstreams_new(struct reaper *reaper, struct upstream_config *config,
                                const char *root)
{
    struct upstreams *upstreams = memory_alloc_zero(sizeof(*upstreams));
    upstreams->reaper = reaper;
    upstreams->config = *config;
    upstreams->root = root ? memory_copy_string(root) : working_directory();
    upstreams->is_workspace = upstreams->root && !workspace_is_forbidden(upstreams->root);
    *config = (struct upstream_config){0};
    for (size_t i = 0; i < upstreams->config.count; i++) {
        struct upstream_server *server = &upstreams->servers[i];
        server->all = upstreams;
        server->entry = &upstreams->config.entries[i];
        server->start_limit = evtimer_new(reaper_base(reaper), on_start_limit, server);
        CHECK(server->start_limit);
        upstream_catalog_init(&server->catalog);
        TAILQ_INIT(&server->tasks);
    }
    return upstreams;
}

static void release_server(struct upstream_server *server)
{
    struct upstream_task *task;
    while ((task = TAILQ_FIRST(&server->tasks)))
        upstream_cancel(task);
    event_free(server->start_limit);
    upstream_catalog_release(&server->catalog);
    upstream_catalog_release(&server->listing);
    memory_free(server->version);
    memory_free(server->reason);
    memory_free(server->failure);
}

void upstreams_free(struct upstreams *upstreams)
{
    if (!upstreams)
        return;
    for (size_t i = 0; i < upstreams->config.count; i++)
        release_server(&upstreams->servers[i]);
    while (!LIST_EMPTY(&upstreams->transports))
        upstream_stdio_free(LIST_FIRST(&upstreams->transports));
    while (!LIST_EMPTY(&upstreams->connections))
        upstream_http_free(LIST_FIRST(&upstreams->connections));
    upstream_config_release(&upstreams->config);
    memory_free(upstreams->root);
    memory_free(upstreams);
}

void upstreams_on_change(struct upstreams *upstreams, void (*changed)(void *data), void *data)
{
    upstreams->changed = changed;
    upstreams->changed_data = data;
}

size_t upstreams_count(const struct upstreams *upstreams)
{
    return upstreams ? upstreams->config.count : 0;
}

struct upstream_server *upstreams_at(const struct upstreams *upstreams, size_t index)
{
    return (struct upstream_server *)&upstreams->servers[index];
}

struct upstream_server *upstreams_find(const struct upstreams *upstreams, struct span name)
{
    for (size_t i = 0; i < upstreams_count(upstreams); i++)
        if (span_equal_text(name, upstreams->servers[i].entry->name))
            return upstreams_at(upstreams, i);
    return NULL;
}

const struct upstream_entry *upstream_entry(const struct upstream_server *server)
{
    return server->entry;
}

const struct upstream_catalog *upstream_catalog(const struct upstream_server *server)
{
    return &server->catalog;
}

bool upstream_is_ready(const struct upstream_server *server)
{
    return server->state == UPSTREAM_READY;
}

const char *upstream_failure(const struct upstream_server *server)
{
    return server->failure;
}

const char *upstream_version(const struct upstream_server *server)
{
    return server->version;
}
