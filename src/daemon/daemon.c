#include "daemon/daemon.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/path.h"
#include "config.h"
#include "daemon/daemon_internal.h"
#include "daemon/http/http_service.h"
#include "daemon/http/page.h"
#include "daemon/rendezvous.h"
#include "process/descriptor_limit.h"
#include "process/loop.h"
#include "process/process.h"
#include "process/reaper.h"

enum {
    TICK_MS = 1000,
    PRUNE_FIRST_MS = 20000,
    END_STEP_MS = 20,
    TERM_GRACE_MS = 30000,
    CLIENTS_MAX = 512,
    ACCEPTS_MAX = 64
};

// --- the end -------------------------------------------------------------------------------------

static bool is_busy(const struct daemon *daemon)
{
    struct daemon_workspace *workspace;
    TAILQ_FOREACH (workspace, &daemon->workspaces, link)
        if (session_is_busy(workspace->sessions))
            return true;
    return false;
}

static void save_all(struct daemon *daemon)
{
    struct daemon_workspace *workspace;
    TAILQ_FOREACH (workspace, &daemon->workspaces, link)
        session_save_all(workspace->sessions);
}

static bool is_saving(const struct daemon *daemon)
{
    struct daemon_workspace *workspace;
    TAILQ_FOREACH (workspace, &daemon->workspaces, link)
        if (session_is_saving(workspace->sessions))
            return true;
    return false;
}

static void set_tick(struct daemon *daemon, int64_t milliseconds)
{
    struct timeval time = timeval_from_ms(milliseconds);
    evtimer_add(daemon->tick, &time);
}

void daemon_end(struct daemon *daemon, int64_t grace_ms)
{
    int64_t end = clock_now_ms() + grace_ms;
    if (!daemon->ending || end < daemon->end_ms)
        daemon->end_ms = end;
    if (!daemon->ending) {
        log_progress("ending");
        event_del(daemon->accept_event);
        if (daemon->fleet)
            fleet_drain(daemon->fleet, grace_ms);
    }
    daemon->ending = true;
    set_tick(daemon, END_STEP_MS);
}

static void on_signal(evutil_socket_t number, short events, void *data)
{
    (void)number;
    (void)events;
    daemon_end(data, TERM_GRACE_MS);
}

// --- clients -------------------------------------------------------------------------------------

static void on_accept(evutil_socket_t listener, short what, void *data)
{
    (void)what;
    struct daemon *daemon = data;
    for (int i = 0; i < ACCEPTS_MAX; i++) {
        int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (fd < 0)
            return;
        if (daemon->connection_count >= CLIENTS_MAX) {
            log_warning("a connection was refused: there are %d", CLIENTS_MAX);
            close(fd);
            continue;
        }
        connection_open(daemon, fd);
    }
}

static bool listen_for_clients(struct daemon *daemon, struct error *error)
{
    daemon->listener = rendezvous_listen(daemon->lock, error);
    if (daemon->listener < 0)
        return false;
    daemon->accept_event =
        event_new(daemon->base, daemon->listener, EV_READ | EV_PERSIST, on_accept, daemon);
    CHECK(daemon->accept_event);
    return event_add(daemon->accept_event, NULL) == 0 ||
           error_set(error, ERROR_SYSTEM, "the loop refuses the socket");
}

// The directory of the socket may go when the user logs out, or be cleaned up.
static void listen_again(struct daemon *daemon)
{
    struct error error;
    if (rendezvous_is_there())
        return;
    event_free(daemon->accept_event);
    close(daemon->listener);
    daemon->accept_event = NULL;
    if (!listen_for_clients(daemon, &error)) {
        log_error("%s", error.message);
        daemon_end(daemon, TERM_GRACE_MS);
    }
}

// --- the quota -----------------------------------------------------------------------------------

// Another process looks through the files, and is not waited for.
static void prune(const struct daemon *daemon)
{
    char quota[24];
    snprintf(quota, sizeof(quota), "%lld", (long long)daemon->options.quota_mb);
    const char *const argv[] = {"cadre", "sessions",    "prune", "--quota",
                                quota,   "--keep-gone", NULL};
    pid_t pid = fork();
    if (pid < 0)
        log_warning("what is kept is not looked through: %s", strerror(errno));
    if (pid != 0)
        return;
    process_reset_signals();
    descriptor_limit_restore();
    setsid();
    setpriority(PRIO_PROCESS, 0, 19);
    dup2(STDERR_FILENO, STDOUT_FILENO);  // it names what it removes
    syscall(SYS_close_range, 3, ~0U, 0);
    execv("/proc/self/exe", (char *const *)(uintptr_t)argv);
    _exit(EXIT_FAILURE);
}

static void prune_now_and_then(struct daemon *daemon, int64_t now)
{
    enum { PRUNE_EVERY_MS = 3600 * 1000 };
    if (now < daemon->prune_ms)
        return;
    daemon->prune_ms = now + PRUNE_EVERY_MS;
    prune(daemon);
}

// --- the log -------------------------------------------------------------------------------------

// Of the daemon's own log, not of a file of who runs it in the foreground: hostile clients may fill it.
static void keep_log_small(void)
{
    enum { LOG_MAX = 1 << 20 };
    struct stat log, own;
    if (fstat(STDERR_FILENO, &log) < 0 || !S_ISREG(log.st_mode) || log.st_size <= LOG_MAX)
        return;
    CLEANUP_FREE char *path = path_in_state("daemon.log");
    bool is_own =
        path && stat(path, &own) == 0 && own.st_ino == log.st_ino && own.st_dev == log.st_dev;
    if (is_own && ftruncate(STDERR_FILENO, 0) == 0)
        log_warning("the log was too long, and begins again");
}

// --- memory --------------------------------------------------------------------------------------

static void look_at_memory(struct daemon *daemon, int64_t now)
{
    enum { LOOK_EVERY_MS = 10000 };
    if (now < daemon->budget_ms)
        return;
    daemon->budget_ms = now + LOOK_EVERY_MS;
    workspaces_keep_within_budget(daemon);
}

// --- life ----------------------------------------------------------------------------------------

static void on_tick(evutil_socket_t fd, short what, void *data)
{
    (void)fd;
    (void)what;
    struct daemon *daemon = data;
    int64_t now = clock_now_ms();
    if (daemon->ending) {
        bool busy = is_busy(daemon);
        if (!busy)
            save_all(daemon);
        bool is_drained = !daemon->fleet || fleet_is_drained(daemon->fleet);
        if ((!busy && is_drained && !is_saving(daemon)) || now >= daemon->end_ms)
            event_base_loopbreak(daemon->base);
        set_tick(daemon, END_STEP_MS);
        return;
    }
    set_tick(daemon, TICK_MS);
    listen_again(daemon);
    keep_log_small();
    connection_free_idle(daemon);
    prune_now_and_then(daemon, now);
    look_at_memory(daemon, now);
    if (daemon->connection_count > 0 || daemon->http || page_is_read(daemon->page) ||
        workspaces_have_processes(daemon))
        daemon->needed_ms = now;
    else if (now - daemon->needed_ms >= daemon->options.linger_s * 1000)
        daemon_end(daemon, TERM_GRACE_MS);
}

static void on_http_end(void *data)
{
    (void)data;  // it ends with the daemon
}

static bool listen_on_http(struct daemon *daemon, struct error *error)
{
    const struct daemon_options *options = &daemon->options;
    if (!options->listening)
        return true;
    if (options->fleet && !fleet_open(daemon, options->fleet, &daemon->fleet, error))
        return false;
    const struct tenant_setup setup = {.base = daemon->base,
                                       .daemon = daemon,
                                       .router = daemon->fleet ? fleet_router(daemon->fleet) : NULL,
                                       .programs = daemon->programs,
                                       .settings = options->settings,
                                       .has_inspector = true,
                                       .client = {.id = ++daemon->last_connection}};
    if (http_service_open(&setup, options->listening, on_http_end, NULL, &daemon->http, error))
        return false;
    if (daemon->fleet)
        fleet_serve(daemon->fleet, http_service_tenants(daemon->http));
    options->on_listen(options->listening, http_service_url(daemon->http));
    return true;
}

static bool start(struct daemon *daemon, struct error *error)
{
    static const int numbers[] = {SIGTERM, SIGINT};
    daemon->base = loop_new_base();
    if (!daemon->base)
        return error_set(error, ERROR_MEMORY, "no event loop");
    daemon->reaper = reaper_new(daemon->base);
    daemon->programs = program_pool_new(daemon->reaper, "/proc/self/exe");
    daemon->tick = evtimer_new(daemon->base, on_tick, daemon);
    CHECK(daemon->tick);
    for (size_t i = 0; i < 2; i++) {
        daemon->signals[i] = evsignal_new(daemon->base, numbers[i], on_signal, daemon);
        CHECK(daemon->signals[i]);
        event_add(daemon->signals[i], NULL);
    }
    daemon->needed_ms = clock_now_ms();
    daemon->prune_ms = daemon->needed_ms + PRUNE_FIRST_MS;
    daemon->started = clock_unix_seconds();
    set_tick(daemon, TICK_MS);
    if (!listen_for_clients(daemon, error) || !listen_on_http(daemon, error))
        return false;
    page_restore(daemon);
    return true;
}

static void release(struct daemon *daemon)
{
    // Sessions and programs answer to services: they end first, and after the transports.
    struct connection *connection;
    fleet_free(daemon->fleet);
    TAILQ_FOREACH (connection, &daemon->connections, link)
        connection_hang_up(connection);
    http_service_hang_up(daemon->http);
    page_hang_up(daemon->page);
    if (daemon->programs)
        program_pool_free(daemon->programs);
    workspaces_end_sessions(daemon);
    while ((connection = TAILQ_FIRST(&daemon->connections)))
        connection_free(connection);
    http_service_free(daemon->http);
    page_free(daemon->page);
    workspaces_release(daemon);
    reaper_free(daemon->reaper);
    for (size_t i = 0; i < 2; i++)
        if (daemon->signals[i])
            event_free(daemon->signals[i]);
    if (daemon->tick)
        event_free(daemon->tick);
    if (daemon->accept_event)
        event_free(daemon->accept_event);
    if (daemon->listener >= 0)
        close(daemon->listener);
    if (daemon->base)
        event_base_free(daemon->base);
    libevent_global_shutdown();
    if (daemon->lock >= 0) {
        rendezvous_remove(daemon->lock);
        close(daemon->lock);
    }
}

int daemon_run(const struct daemon_options *options)
{
    struct daemon daemon = {.options = *options, .lock = -1, .listener = -1};
    struct error error;
    TAILQ_INIT(&daemon.connections);
    TAILQ_INIT(&daemon.workspaces);
    signal(SIGPIPE, SIG_IGN);
    daemon.lock = rendezvous_lock(&error);
    bool ok = daemon.lock >= 0 && start(&daemon, &error);
    if (ok) {
        log_progress("cadre %s daemon, process %d", CADRE_VERSION, (int)getpid());
        event_base_dispatch(daemon.base);
    } else {
        fprintf(stderr, "cadre daemon: %s\n", error.message);
    }
    release(&daemon);
    return ok ? EXIT_SUCCESS : EXIT_FAILURE;
}
