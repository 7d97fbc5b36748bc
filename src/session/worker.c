#include "session/worker.h"

#include <errno.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/memory.h"
#include "process/proc.h"
#include "session/session_internal.h"

static void worker_retire(struct worker *worker)
{
    struct session *session = worker->session;
    if (session->head == worker)
        session->head = NULL;
    if (session->copy == worker)
        session->copy = NULL;
    if (session->source == worker)
        session->source = NULL;
}

static void worker_remove(struct worker *worker)
{
    struct session *session = worker->session;
    struct worker **link = &session->workers;
    while (*link != worker)
        link = &(*link)->next;
    *link = worker->next;
    worker_retire(worker);
    process_close(&worker->process);
    memory_free(worker->code);
    memory_free(worker);
}

// Everything the process sent and printed before it ended is handled before its end is.
static void drain(struct session *session)
{
    if (!session->open)
        return;
    enum { FRAMES_MAX = 4096 };  // more than the sockets and the largest message can hold
    channel_receive(&session->main, FRAMES_MAX);
    channel_receive(&session->aux, FRAMES_MAX);
    capture_drain(&session->output);
    capture_drain(&session->errors);
}

static bool exit_is_of_head(const struct session *session, const struct worker *worker)
{
    return worker->role == ROLE_HEAD || worker->role == ROLE_BUILDER ||
           (session->state == STATE_WAKING && worker == session->source);
}

static void on_exit_event(evutil_socket_t fd, short what, void *data)
{
    (void)fd;
    (void)what;
    struct worker *worker = data;
    struct session *session = worker->session;
    if (worker->role == ROLE_HEAD || worker->role == ROLE_COPY)
        drain(session);
    struct process_exit exit;
    if (!process_reap(&worker->process, &exit)) {
        event_add(worker->process.exit_event, NULL);
        return;
    }
    bool of_head = exit_is_of_head(session, worker);
    bool of_copy =
        worker->role == ROLE_COPY || (session->state == STATE_COPY && worker == session->source &&
                                      session->copy_phase == COPY_WAKING);
    worker_remove(worker);
    if (of_head)
        session_handle(session, &(struct session_event){.kind = EVENT_HEAD_EXIT, .exit = &exit});
    else if (of_copy)
        session_handle(session, &(struct session_event){.kind = EVENT_COPY_EXIT, .exit = &exit});
    if (session->state == STATE_CLOSING && !session->workers)
        session_set_timer(session, 0);
}

struct worker *worker_add(struct session *session, pid_t pid, enum worker_role role)
{
    struct worker *worker = memory_alloc_zero(sizeof(*worker));
    worker->session = session;
    worker->role = role;
    worker->adoptable = true;
    worker->time = clock_unix_seconds();
    if (process_open(&worker->process, pid) < 0) {
        memory_free(worker);
        return NULL;
    }
    worker->next = session->workers;
    session->workers = worker;
    if (process_watch(&worker->process, session->manager->base, on_exit_event, worker) < 0) {
        process_signal(&worker->process, SIGKILL);
        worker_remove(worker);
        return NULL;
    }
    return worker;
}

static bool session_has_kernel_session(const struct session *session, pid_t id)
{
    for (size_t i = 0; i < session->kernel_sessions.count; i++) {
        if (session->kernel_sessions.ids[i] == id)
            return true;
    }
    return false;
}

struct worker *worker_add_announced(struct session *session, pid_t pid, enum worker_role role)
{
    struct proc_status status;
    if (pid <= 1 || manager_knows_pid(session->manager, pid) ||
        proc_status_read(pid, &status) < 0 || status.state == 'Z')
        return NULL;
    // A clone is our child; made by plain fork it is the head's until that ends.
    bool parent_fits = status.parent == getpid() ||
                       (session->head && status.parent == session->head->process.pid) ||
                       (session->source && status.parent == session->source->process.pid);
    if (!parent_fits || !session_has_kernel_session(session, status.session))
        return NULL;
    return worker_add(session, pid, role);
}

void worker_kill(struct worker *worker)
{
    process_signal(&worker->process, SIGKILL);
    worker->role = ROLE_KILLED;
    worker_retire(worker);
}

void worker_kill_announced(struct session *session, pid_t pid)
{
    struct worker *worker = worker_add_announced(session, pid, ROLE_KILLED);
    if (worker)
        worker_kill(worker);
}

struct worker *worker_find_snapshot(struct session *session, int64_t number)
{
    for (struct worker *worker = session->workers; worker; worker = worker->next) {
        if (worker->role == ROLE_SNAPSHOT && worker->number == number)
            return worker;
    }
    return NULL;
}

struct worker *worker_next_snapshot(struct session *session, int64_t after)
{
    struct worker *next = NULL;
    for (struct worker *worker = session->workers; worker; worker = worker->next) {
        if (worker->role == ROLE_SNAPSHOT && worker->number > after &&
            (!next || worker->number < next->number))
            next = worker;
    }
    return next;
}

struct worker *worker_find_postmortem(struct session *session, int64_t error)
{
    for (struct worker *worker = session->workers; worker; worker = worker->next) {
        if (worker->role == ROLE_POSTMORTEM && worker->error == error)
            return worker;
    }
    return NULL;
}

// --- what user code left behind ------------------------------------------------------------------

struct leftovers {
    struct session *session;
    uint64_t since_tick;  // 0 = all
    unsigned killed;
};

static bool belongs_to(const struct session *session, pid_t pid, const struct proc_status *status)
{
    return session_has_kernel_session(session, status->session) ||
           proc_environment_has(pid, session->environment_entry, false);
}

static enum proc_visit kill_leftover(void *data, pid_t pid)
{
    struct leftovers *leftovers = data;
    struct proc_status status;
    if (manager_knows_pid(leftovers->session->manager, pid) || proc_status_read(pid, &status) < 0 ||
        status.state == 'Z' || status.start_tick < leftovers->since_tick ||
        !belongs_to(leftovers->session, pid, &status))
        return PROC_VISIT_CONTINUE;
    if (kill(pid, SIGKILL) == 0)
        leftovers->killed++;
    return PROC_VISIT_CONTINUE;
}

static void kill_since(struct session *session, uint64_t tick)
{
    // A process may fork during the search: repeat it until nothing is found, but not forever.
    for (int attempt = 0; attempt < 4; attempt++) {
        struct leftovers leftovers = {session, tick, 0};
        proc_descendants(getpid(), kill_leftover, &leftovers);
        if (leftovers.killed == 0)
            return;
    }
}

void session_kill_leftovers(struct session *session)
{
    kill_since(session, session->unit_tick);
}

void session_kill_all(struct session *session)
{
    for (struct worker *worker = session->workers; worker; worker = worker->next)
        worker_kill(worker);
    if (session->kernel_sessions.count > 0)
        kill_since(session, 0);
}

// --- orphans -------------------------------------------------------------------------------------

struct orphans {
    struct session *session;
    unsigned alive;
};

static enum proc_visit reap_orphan(void *data, pid_t pid)
{
    struct orphans *orphans = data;
    struct proc_status status;
    if (manager_knows_pid(orphans->session->manager, pid) || proc_status_read(pid, &status) < 0 ||
        !session_has_kernel_session(orphans->session, status.session))
        return PROC_VISIT_CONTINUE;
    if (status.state != 'Z' || waitpid(pid, NULL, WNOHANG) == 0)
        orphans->alive++;
    return PROC_VISIT_CONTINUE;
}

unsigned session_reap_orphans(struct session *session)
{
    struct orphans orphans = {session, 0};
    proc_children(getpid(), reap_orphan, &orphans);
    return orphans.alive;
}
