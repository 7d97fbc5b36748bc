// The manager: sessions by name, requests in, replies out.
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/array.h"
#include "base/ascii.h"
#include "base/assert.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/memory.h"
#include "process/background.h"
#include "process/cgroup.h"
#include "process/descriptor_limit.h"
#include "process/guardian.h"
#include "process/mark.h"
#include "process/offspring.h"
#include "process/sandbox/signal_guard.h"
#include "session/core.h"
#include "session/session_internal.h"
#include "session/state/actions.h"
#include "session/workspace/protected.h"

enum {
    REAP_MS = 100,
    FREE_WAIT_MS = 2000,
    DEFAULT_SPARE_MEMORY_MB = 256,
    DEFAULT_QUEUE = 64,
    DEFAULT_PROCESSES = 8192
};

static size_t manager_count;  // of this process

// --- life ----------------------------------------------------------------------------------------

static void on_refused(evutil_socket_t fd, short what, void *data)
{
    (void)fd;
    (void)what;
    manager_answer_refused(data);
}

static void on_reap(evutil_socket_t fd, short what, void *data)
{
    (void)fd;
    (void)what;
    (void)data;
    offspring_reap();
}

static void on_count(evutil_socket_t fd, short what, void *data)
{
    (void)fd;
    (void)what;
    manager_limit_processes(data);
}

static void on_void(evutil_socket_t fd, short what, void *data)
{
    (void)fd;
    (void)what;
    struct session_manager *manager = data;
    for (struct session *session = manager->sessions; session; session = session->next)
        session_drop_void(session);
}

// A child that has ended may be one that nobody waits for. They are reaped together, a little later.
static void on_child(evutil_socket_t number, short what, void *data)
{
    (void)number;
    (void)what;
    struct session_manager *manager = data;
    struct timeval delay = timeval_from_ms(REAP_MS);
    if (!evtimer_pending(manager->reap_timer, NULL))
        evtimer_add(manager->reap_timer, &delay);
}

static void on_keep(evutil_socket_t fd, short what, void *data)
{
    (void)fd;
    (void)what;
    keeping_tick(data);
}

static bool start_keeping(struct session_manager *manager)
{
    enum { KEEP_EVERY_MS = 1000 };
    struct timeval time = timeval_from_ms(KEEP_EVERY_MS);
    manager->background = background_new(manager->base);
    manager->keep_timer = event_new(manager->base, -1, EV_PERSIST, on_keep, manager);
    if (!manager->keep_timer || event_add(manager->keep_timer, &time) < 0)
        return false;
    keeping_load(manager);
    return true;
}

static void copy_config(struct session_manager *manager, const struct session_config *config)
{
    manager->config = *config;
    manager->config.sbcl = manager->sbcl = memory_copy_string(config->sbcl);
    manager->config.core = manager->core = memory_copy_string(config->core);
    manager->config.cache_directory = manager->cache_directory =
        memory_copy_string(config->cache_directory);
    manager->config.store = manager->store = memory_copy_string(config->store);
    if (manager->config.heap_mb == 0)
        manager->config.heap_mb = CORE_DEFAULT_HEAP_MB;
    if (manager->config.spare_memory_mb == 0)
        manager->config.spare_memory_mb = DEFAULT_SPARE_MEMORY_MB;
    if (manager->config.max_queue == 0)
        manager->config.max_queue = DEFAULT_QUEUE;
    if (manager->config.max_processes == 0)
        manager->config.max_processes = DEFAULT_PROCESSES;
    static const struct session_limits none;
    if (memcmp(&config->limits, &none, sizeof(none)) == 0) {
        manager->config.limits = session_limits_default();
        session_limits_fit(&manager->config.limits, manager->config.heap_mb);
    }
}

int session_manager_new(struct event_base *base, const struct session_config *config,
                        struct session_manager **ret_manager)
{
    unsigned long long random;
    if (getrandom(&random, sizeof(random), 0) != sizeof(random))
        return -EIO;
    // What user code starts and abandons becomes ours, so that it can be found and ended.
    if (prctl(PR_SET_CHILD_SUBREAPER, 1) < 0)
        return -errno;
    // Nothing of the same user may look into this process: its memory has the client's messages,
    // its descriptors lead to the client.
    if (prctl(PR_SET_DUMPABLE, 0) < 0)
        return -errno;
    descriptor_limit_raise();
    struct session_manager *manager = memory_alloc_zero(sizeof(*manager));
    manager_count++;
    manager->base = base;
    manager->shapes = region_new(SIZE_MAX);
    copy_config(manager, config);
    snprintf(manager->id, sizeof(manager->id), "%d-%016llx", (int)getpid(), random);
    manager->refused_event = event_new(base, -1, 0, on_refused, manager);
    manager->reap_timer = evtimer_new(base, on_reap, manager);
    manager->void_timer = evtimer_new(base, on_void, manager);
    manager->count_timer = evtimer_new(base, on_count, manager);
    manager->child_event = evsignal_new(base, SIGCHLD, on_child, manager);
    manager->mark_family = mark_new_family();
    if (!manager->refused_event || !manager->reap_timer || !manager->void_timer ||
        !manager->count_timer || !manager->child_event ||
        event_add(manager->child_event, NULL) < 0) {
        session_manager_free(manager);
        return -ENOMEM;
    }
    if (manager->store && !start_keeping(manager)) {
        session_manager_free(manager);
        return -ENOMEM;
    }
    *ret_manager = manager;
    return 0;
}

void manager_start_guardian(struct session_manager *manager)
{
    if (manager->guardian)
        return;
    CLEANUP_FREE char *prefix = memory_format("CADRE_SESSION=%s-", manager->id);
    manager->guardian = guardian_new(manager->base, prefix, manager->mark_family);
    if (!manager->guardian)
        log_warning("the guardian process could not be started");
}

// --- the end -------------------------------------------------------------------------------------

static void wait_for_exit(struct process *process, int64_t until_ms)
{
    struct process_exit exit;
    while (!process_reap(process, &exit)) {
        int64_t left = until_ms - clock_now_ms();
        if (left <= 0)
            return;
        struct pollfd poll_one = {.fd = process->pidfd, .events = POLLIN};
        poll(&poll_one, 1, (int)left);
    }
}

static void session_end_now(struct session *session, int64_t until_ms)
{
    session->close_requested = true;
    struct job *job = session->job;
    session->job = NULL;
    if (job)
        job_free(session->manager, job);
    while (session->queue.first)
        job_free(session->manager, job_dequeue(session));
    session_kill_all(session);
    while (session->workers) {
        struct worker *worker = session->workers;
        session->workers = worker->next;
        wait_for_exit(&worker->process, until_ms);
        worker_release(worker);
    }
    // Kill what was forked during the first kill; killed processes need a moment to end.
    while (session_kill_all(session) > 0 && clock_now_ms() < until_ms)
        usleep(1000);
    session_free(session);
}

void session_manager_free(struct session_manager *manager)
{
    if (!manager)
        return;
    bool is_last = --manager_count == 0;
    int64_t until = clock_now_ms() + FREE_WAIT_MS;
    manager->reach.ending = true;
    struct session *lists[] = {manager->sessions, manager->closing};
    manager->sessions = manager->closing = NULL;
    for (size_t i = 0; i < COUNT_OF(lists); i++) {
        for (struct session *session = lists[i], *next; session; session = next) {
            next = session->next;
            session_end_now(session, until);
        }
    }
    while (manager->refused) {
        struct job *job = manager->refused;
        manager->refused = job->next;
        job_free(manager, job);
    }
    // Also what no session can be named for; again until all have ended and are reaped. Another manager
    // may have some of it.
    while (is_last && manager->guardian && offspring_kill_descendants() > 0 &&
           clock_now_ms() < until)
        usleep(1000);
    project_build_release(manager);
    guardian_free(manager->guardian);
    cgroup_tree_free(manager->cgroups);
    signal_guard_free_all(&manager->signal_guards);
    observer_leave_all(manager);
    if (manager->child_event)
        event_free(manager->child_event);
    if (manager->refused_event)
        event_free(manager->refused_event);
    if (manager->reap_timer)
        event_free(manager->reap_timer);
    if (manager->void_timer)
        event_free(manager->void_timer);
    if (manager->count_timer)
        event_free(manager->count_timer);
    if (manager->keep_timer)
        event_free(manager->keep_timer);
    background_free(manager->background);
    if (manager->spare_region)
        region_free(manager->spare_region);
    region_free(manager->shapes);
    memory_free(manager->sbcl);
    memory_free(manager->core);
    memory_free(manager->cache_directory);
    memory_free(manager->store);
    path_list_release(&manager->tool_paths);
    reach_release(&manager->reach);
    memory_free(manager);
}

// --- regions: one is kept warm for the next request ----------------------------------------------

struct region *manager_acquire_region(struct session_manager *manager)
{
    struct region *region = manager->spare_region;
    manager->spare_region = NULL;
    if (!region)
        region = region_new(SESSION_RESULT_LIMIT);
    region_set_limit(region, SESSION_RESULT_LIMIT);
    shapes_share(region, manager->shapes);
    return region;
}

void manager_return_region(struct session_manager *manager, struct region *region)
{
    enum { KEEP_BYTES = 1 << 20 };
    if (manager->spare_region || region->peak > KEEP_BYTES) {
        region_free(region);
        return;
    }
    region_clear(region);
    manager->spare_region = region;
}

// --- finding -------------------------------------------------------------------------------------

static bool session_has_pid(const struct session *session, pid_t pid)
{
    for (const struct worker *worker = session->workers; worker; worker = worker->next) {
        if (worker->process.pid == pid)
            return true;
    }
    return false;
}

bool manager_knows_pid(struct session_manager *manager, pid_t pid)
{
    for (struct session *session = manager->sessions; session; session = session->next) {
        if (session_has_pid(session, pid))
            return true;
    }
    for (struct session *session = manager->closing; session; session = session->next) {
        if (session_has_pid(session, pid))
            return true;
    }
    return guardian_pid(manager->guardian) == pid;
}

bool session_name_valid(struct span name)
{
    if (name.length == 0 || name.length > SESSION_NAME_MAX)
        return false;
    for (size_t i = 0; i < name.length; i++) {
        char c = name.data[i];
        bool letter = ascii_is_lower(c) || ascii_is_digit(c);
        if (!letter && (i == 0 || (c != '.' && c != '_' && c != '-')))
            return false;
    }
    return true;
}

static struct session *find(struct session_manager *manager, const char *name)
{
    for (struct session *session = manager->sessions; session; session = session->next) {
        if (strcmp(session->name, name) == 0)
            return session;
    }
    return NULL;
}

struct session *manager_add(struct session_manager *manager, const char *name)
{
    struct session *session = session_new(manager, name);
    struct session **end = &manager->sessions;
    while (*end)
        end = &(*end)->next;
    *end = session;
    manager->session_count++;
    return session;
}

// "main" exists as soon as it is asked for; it costs no process.
struct session *manager_find(struct session_manager *manager, const char *name)
{
    if (!name)
        name = "main";
    struct session *session = find(manager, name);
    if (!session && strcmp(name, "main") == 0)
        session = manager_add(manager, name);
    return session;
}

bool manager_knows(struct session_manager *manager, const char *name)
{
    return find(manager, name) != NULL;
}

bool session_exists(struct session_manager *manager, const char *name)
{
    return manager_find(manager, name) != NULL;
}

value session_names(struct session_manager *manager, struct region *region)
{
    value names = vector_push(region, vector_new(region, 1), value_string_text(region, "main"));
    for (struct session *session = manager->sessions; session; session = session->next) {
        if (strcmp(session->name, "main") != 0 && !session->is_hidden)
            names = vector_push(region, names, value_string_text(region, session->name));
    }
    return names;
}

void session_unknown_text(struct session_manager *manager, const char *name, struct buffer *text)
{
    buffer_append_format(text, "Unknown session \"%s\". Known sessions: main", name);
    for (struct session *session = manager->sessions; session; session = session->next) {
        if (strcmp(session->name, "main") != 0 && !session->is_hidden)
            buffer_append_format(text, ", %s", session->name);
    }
}

// --- saving --------------------------------------------------------------------------------------

void session_save_all(struct session_manager *manager)
{
    for (struct session *session = manager->sessions; session; session = session->next)
        if (saving_is_due(session))
            saving_hurry(session);
}

const char *session_store_path(struct session_manager *manager, const char *name)
{
    const struct session *session = find(manager, name);
    return session ? session->store : NULL;
}

enum save_outcome session_save(struct session_manager *manager, const char *name, bool again,
                               const char **ret_reason)
{
    struct session *session = find(manager, name);
    return session ? saving_request(session, again, ret_reason) : SAVE_DONE;
}

bool session_is_saving(const struct session_manager *manager)
{
    for (const struct session *session = manager->sessions; session; session = session->next)
        if (session->saving.state != SAVE_NONE ||
            (session->saving.at_once && saving_is_due(session)))
            return true;
    return false;
}

// --- closing -------------------------------------------------------------------------------------

int session_close(struct session_manager *manager, const char *name)
{
    struct session *session = manager_find(manager, name);
    if (!session)
        return -ENOENT;
    struct session **link = &manager->sessions;
    while (*link != session)
        link = &(*link)->next;
    *link = session->next;
    manager->session_count--;
    keeping_remove(session);
    keeping_close(session);
    session->next = manager->closing;
    manager->closing = session;
    session->close_requested = true;
    if (!session->handling)
        closing_begin(session);
    return 0;
}

void session_unlink_closed(struct session *session)
{
    struct session_manager *manager = session->manager;
    struct session **link = &manager->closing;
    while (*link != session)
        link = &(*link)->next;
    *link = session->next;
    session_free(session);
    if (!manager->sessions && !manager->closing)
        reach_rest(manager);
}
