#include "session/worker.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/memory.h"
#include "process/offspring.h"
#include "process/proc.h"
#include "session/session_internal.h"
#include "session/state/actions.h"

static void worker_retire(struct worker *worker)
{
    struct session *session = worker->session;
    fork_forget_source(worker);
    if (session->head == worker)
        session->head = NULL;
    if (session->copy == worker)
        session->copy = NULL;
    if (session->source == worker)
        session->source = NULL;
    beside_forget(worker);
}

static void worker_remove(struct worker *worker)
{
    struct session *session = worker->session;
    struct worker **link = &session->workers;
    while (*link != worker)
        link = &(*link)->next;
    *link = worker->next;
    worker_retire(worker);
    worker_release(worker);
}

void worker_release(struct worker *worker)
{
    if (worker->link)
        link_retire(worker->link);
    link_free(worker->offered);
    link_free(worker->spare);
    tests_release_channels(worker);
    process_close(&worker->process);
    memory_free(worker->code);
    memory_free(worker);
}

// Everything the process sent and printed before it ended is handled before its end is.
static void drain(struct worker *worker)
{
    enum { FRAMES_MAX = 4096 };  // more than the sockets and the largest message can hold
    if (worker->link)
        channel_receive(&worker->link->channel, FRAMES_MAX);
    if (worker->offered)
        channel_receive(&worker->offered->channel, FRAMES_MAX);
    session_drain_output(worker->session);
}

static bool exit_is_of_head(const struct session *session, const struct worker *worker)
{
    return worker->role == ROLE_HEAD || worker->role == ROLE_BUILDER ||
           (session->state == STATE_WAKING && worker == session->source);
}

static bool has_unread_request(const struct worker *worker)
{
    const struct job *job = worker->session->job;
    return worker == worker->session->head && worker->link && job &&
           (worker->robbed || channel_is_unread(&worker->link->channel, job->message_number));
}

static void on_exit_event(evutil_socket_t fd, short what, void *data)
{
    (void)fd;
    (void)what;
    struct worker *worker = data;
    struct session *session = worker->session;
    if (worker->role == ROLE_HEAD || worker->role == ROLE_COPY || worker->role == ROLE_BESIDE)
        drain(worker);
    struct process_exit exit;
    if (!process_reap(&worker->process, &exit)) {
        event_add(worker->process.exit_event, NULL);
        return;
    }
    bool of_head = exit_is_of_head(session, worker);
    bool of_copy =
        worker->role == ROLE_COPY || (session->state == STATE_COPY && worker == session->source &&
                                      session->copy_phase == COPY_WAKING);
    struct session_event event = {.kind = of_head ? EVENT_HEAD_EXIT : EVENT_COPY_EXIT,
                                  .exit = &exit,
                                  .unread = has_unread_request(worker),
                                  .channel_lost = worker->channel_lost,
                                  .robbed = worker->robbed};
    saving_on_exit(session, worker, &exit);
    project_build_on_exit(session, worker, &exit);
    bool of_beside = session->beside.copy == worker;
    worker_remove(worker);
    if (of_head || of_copy)
        session_handle(session, &event);
    else if (of_beside)
        beside_on_exit(session);
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
    worker->added_ms = clock_now_ms();
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

struct worker *worker_add_started(struct session *session, pid_t pid, enum worker_role role,
                                  struct link *link)
{
    link_close_write_ends(link);
    struct worker *worker = worker_add(session, pid, role);
    if (!worker) {
        link_free(link);
        return NULL;
    }
    worker->link = link;
    link->worker = worker;
    return worker;
}

void session_remember_kernel_session(struct session *session, pid_t id)
{
    if (session->kernel_sessions.count == SESSION_KERNEL_SESSIONS) {
        memmove(&session->kernel_sessions.ids[0], &session->kernel_sessions.ids[1],
                (SESSION_KERNEL_SESSIONS - 1) * sizeof(id));
        session->kernel_sessions.count--;
    }
    session->kernel_sessions.ids[session->kernel_sessions.count++] = id;
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

// --- links ---------------------------------------------------------------------------------------

bool worker_is_parked(const struct worker *worker)
{
    return worker->role == ROLE_SNAPSHOT || worker->role == ROLE_POSTMORTEM;
}

// Sends a new link with a message; *ret_link is freed before, and NULL on failure.
static int offer_new(struct worker *worker, uint32_t type, uint32_t number, struct span payload,
                     struct link **ret_link)
{
    link_free(*ret_link);
    *ret_link = link_new(worker->session, false);
    if (!*ret_link)
        return -errno;
    int result = link_offer(worker->link, type, number, payload, *ret_link);
    if (result < 0) {
        link_free(*ret_link);
        *ret_link = NULL;
    }
    return result;
}

int worker_offer(struct worker *worker, uint32_t type, uint32_t number, struct span payload)
{
    return offer_new(worker, type, number, payload, &worker->offered);
}

int worker_offer_link(struct worker *worker, uint32_t number, struct link **ret_link)
{
    return offer_new(worker, CHANNEL_OFFER, number, SPAN("{}"), ret_link);
}

static void await_answers(struct session_manager *manager)
{
    struct timeval time = timeval_from_ms(TIME_PARK_STEP_MS);
    if (!evtimer_pending(manager->void_timer, NULL))
        evtimer_add(manager->void_timer, &time);
}

// The clone that has the worker's end of *link, which is its own then.
static struct worker *add_clone(struct worker *parent, pid_t pid, enum worker_role role,
                                struct link **offered)
{
    struct link *link = *offered;
    if (!link || (link->parked && link->parked != pid))
        return NULL;
    struct worker *worker = worker_add_announced(parent->session, pid, role);
    if (!worker)
        return NULL;
    *offered = NULL;
    worker->link = link;
    worker->answered = link->parked == pid;
    link->worker = worker;
    if (!worker->answered)
        await_answers(parent->session->manager);
    return worker;
}

struct worker *worker_add_parked(struct worker *parent, pid_t pid, enum worker_role role)
{
    return add_clone(parent, pid, role, &parent->offered);
}

struct worker *worker_add_frozen_thread(struct worker *parent, pid_t pid)
{
    return add_clone(parent, pid, ROLE_POSTMORTEM, &parent->spare);
}

struct worker *worker_add_tested(struct worker *copy, pid_t pid, struct link **offered)
{
    return add_clone(copy, pid, ROLE_POSTMORTEM, offered);
}

struct worker *worker_add_woken(struct session *session, pid_t pid, enum worker_role role)
{
    struct worker *worker = worker_add_announced(session, pid, role);
    if (!worker)
        return NULL;
    worker->link = session->awaited;
    worker->link->worker = worker;
    session->awaited = NULL;
    return worker;
}

void worker_parked(struct link *link, pid_t pid)
{
    struct worker *worker = link->worker;
    if (worker) {
        worker->answered = true;
        worker->mute = false;
    } else if (!link->parked) {
        link->parked = pid;
        snapshotting_on_parked(link, pid);
    }
}

void session_drop_void(struct session *session)
{
    int64_t now = clock_now_ms();
    for (struct worker *worker = session->workers, *next; worker; worker = next) {
        next = worker->next;
        if (!worker_is_parked(worker) || worker->answered || worker == session->source)
            continue;
        process_signal(&worker->process, SIGCONT);
        if (now - worker->added_ms < TIME_PARK_MS) {
            await_answers(session->manager);
            continue;
        }
        if (worker->role == ROLE_SNAPSHOT)
            session_notice(session, "snapshot %lld did not answer and was dropped",
                           (long long)worker->number);
        worker_kill(worker);
    }
}

int worker_wake(struct worker *worker, struct span how, struct link *link)
{
    int result = link_offer(worker->link, CHANNEL_WAKE, 0, how, link);
    if (result < 0)
        return result;
    return process_wake(&worker->process);
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

static struct offspring offspring_since(const struct session *session, uint64_t tick)
{
    return (struct offspring){
        .cgroup = session->cgroup,
        .marks = session->marks.values,
        .mark_count = session->marks.count,
        .entry = session->environment_entry,
        .kernel_sessions = session->kernel_sessions.ids,
        .kernel_session_count = session->kernel_sessions.count,
        .since_tick = tick,
    };
}

static unsigned kill_since(const struct session *session, uint64_t tick)
{
    struct offspring offspring = offspring_since(session, tick);
    return offspring_kill(&offspring, NULL, NULL);
}

static unsigned count_since(const struct session *session, uint64_t tick)
{
    struct offspring offspring = offspring_since(session, tick);
    return offspring_count(&offspring);
}

unsigned session_kill_leftovers(struct session *session)
{
    return kill_since(session, session->unit_tick);
}

unsigned session_kill_all(struct session *session)
{
    for (struct worker *worker = session->workers; worker; worker = worker->next)
        worker_kill(worker);
    return session->kernel_sessions.count > 0 ? kill_since(session, 0) : 0;
}

// --- how much it may be --------------------------------------------------------------------------

// The evaluation that runs is ended when at least half of them are its own; else it was an earlier
// one, which is over, and they alone are killed.
static void end_crowd(struct session *session)
{
    unsigned max = session->manager->config.max_processes;
    struct worker *working = session->state == STATE_COPY ? session->copy : session->head;
    if (session->job && working && count_since(session, session->unit_tick) > max / 2) {
        session->crowded = true;
        process_signal(&working->process, SIGKILL);
        kill_since(session, session->unit_tick);
        return;
    }
    kill_since(session, 0);
    session_notice(session,
                   "more than %u processes that the session had started were running; all were "
                   "killed",
                   max);
}

static bool limit_processes(struct session *session)
{
    if (session->kernel_sessions.count == 0 || session->state == STATE_WAKING)
        return session->job;
    running_end_robbed(session);
    struct offspring offspring = offspring_since(session, 0);
    unsigned count = offspring_estimate(&offspring);
    if (count > session->manager->config.max_processes)
        end_crowd(session);
    return session->job || count > 0;
}

unsigned session_count_children(const struct session *session)
{
    return session->kernel_sessions.count > 0 ? count_since(session, 0) : 0;
}

uint64_t worker_memory_kb(const struct worker *worker)
{
    struct proc_memory memory;
    return proc_memory_read(worker->process.pid, &memory) == 0 ? memory.pss_kb : 0;
}

void manager_count_processes(struct session_manager *manager)
{
    enum { COUNT_EVERY_MS = 250 };
    struct timeval time = timeval_from_ms(COUNT_EVERY_MS);
    if (!evtimer_pending(manager->count_timer, NULL))
        evtimer_add(manager->count_timer, &time);
}

void manager_limit_processes(struct session_manager *manager)
{
    bool again = false;
    for (struct session *session = manager->sessions; session; session = session->next)
        again |= limit_processes(session);
    if (again)
        manager_count_processes(manager);
}
