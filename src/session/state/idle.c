// IDLE: the head waits for the next request; without one, finalizers may run, guarded.
#include <signal.h>

#include "base/assert.h"
#include "base/clock.h"
#include "base/memory.h"
#include "process/proc.h"
#include "session/session_internal.h"
#include "session/state/actions.h"

static void interrupt_finalizers(struct session *session);

// --- requests by kind ----------------------------------------------------------------------------

static enum session_state begin_in_head(struct session *session, struct job *job)
{
    job_begin(job);
    if (job->kind == SESSION_EVALUATE && !job->internal && job->number == 0)
        job->number = ++session->lineage.evaluations;
    if (job->number > 0)
        lineage_set_label(session, job->number, job->label);
    keeping_started(session, job);
    observer_started(session, job);
    job_send(job, session->head);
    return STATE_RUNNING;
}

// A run of tests is an evaluation that leaves no state.
static void number_tests(struct session *session, struct job *job)
{
    if (job->kind != SESSION_TESTS)
        return;
    if (job->number == 0)
        job->number = ++session->lineage.evaluations;
    lineage_set_parent(session, job->number, session->lineage.current);
    lineage_set_label(session, job->number, job->label);
}

// Copies are made of the snapshot of the current state. One that could not be made before is tried
// again, once per request.
static enum session_state begin_in_copy(struct session *session, struct job *job)
{
    struct worker *source = worker_find_snapshot(session, session->lineage.current);
    if (source) {
        job_begin(job);
        number_tests(session, job);
        return copy_begin(session, source);
    }
    if (!job->waited_for_snapshot) {
        job->waited_for_snapshot = true;
        job_requeue(session, job);
        return snapshotting_begin(session, session->lineage.current, NULL);
    }
    job_refuse(session->manager, job, "no-such-snapshot",
               "This runs in a copy of the session, and no copy of its current state can be made.");
    return STATE_IDLE;
}

static void refuse_unknown_error(struct session *session, struct job *job, int64_t id)
{
    CLEANUP_BUFFER struct buffer known;
    buffer_init(&known, 1024);
    for (size_t i = 0; i < session->history.count; i++)
        buffer_append_format(&known, "%s%lld", i ? ", " : "",
                             (long long)session->history.records[i].id);
    job_refuse(session->manager, job, "no-such-error", "There is no error %lld. Known errors: %s",
               (long long)id, known.length ? buffer_text(&known) : "none");
}

static void refuse_not_frozen(struct session *session, struct job *job,
                              const struct error_record *record)
{
    if (map_get(record->error, "frozen").boolean)
        job_refuse(session->manager, job, "not-frozen",
                   "Error %lld is not frozen any more (the last %d are kept).",
                   (long long)record->id, SESSION_POSTMORTEMS);
    else
        job_refuse(session->manager, job, "not-frozen",
                   "Error %lld was not frozen; get-backtrace shows the frames it had.",
                   (long long)record->id);
}

// The post-mortem the request is for; NULL: the request was refused.
static struct worker *find_postmortem(struct session *session, struct job *job)
{
    struct session_manager *manager = session->manager;
    int64_t id = job->error ? job->error : session->history.last_error;
    const struct error_record *record = error_history_find(&session->history, id);
    struct worker *source = worker_find_postmortem(session, id);
    if (id == 0)
        job_refuse(manager, job, "no-error", SESSION_NO_ERROR_TEXT);
    else if (!record)
        refuse_unknown_error(session, job, id);
    else if (!source)
        refuse_not_frozen(session, job, record);
    else if (job->adopt && source->test)
        job_refuse(manager, job, "not-adoptable",
                   "Error %lld is of a run of tests, which does not become the session.",
                   (long long)id);
    else if (job->adopt && !source->adoptable && value_is_string(map_get(record->error, "thread")))
        job_refuse(manager, job, "not-adoptable",
                   "Error %lld is of a thread, which cannot become the session.", (long long)id);
    else if (job->adopt && !source->adoptable)
        job_refuse(manager, job, "not-adoptable",
                   "Error %lld is a memory fault; its process may be corrupt and cannot be "
                   "adopted.",
                   (long long)id);
    else
        return source;
    return NULL;
}

static enum session_state begin_in_postmortem(struct session *session, struct job *job)
{
    struct worker *source = find_postmortem(session, job);
    if (!source)
        return STATE_IDLE;
    job->error = source->error;
    job_begin(job);
    return copy_begin(session, source);
}

enum session_state idle_begin_fork(struct session *session, struct job *job)
{
    if (!job->fork_from)
        return fork_begin(session, job);
    struct worker *source = fork_source(session, job);
    if (!source)
        return fork_abandon(session, session->state);
    job_begin(job);
    return copy_begin_fork(session, source);
}

static enum session_state begin_reset(struct session *session, struct job *job)
{
    if (job->reset_done) {
        job_finish(session, job);
        return STATE_IDLE;
    }
    job->started_ns = clock_now_ns();
    // Twice in a row: the state worth keeping is the one before the first.
    if (session->lineage.current > 0)
        session->lineage.before_reset = session->lineage.current;
    job->snapshot = session->lineage.before_reset;
    for (struct worker *worker = session->workers; worker; worker = worker->next) {
        bool kept =
            worker->role == ROLE_SNAPSHOT && worker->number == session->lineage.before_reset;
        if ((worker->role == ROLE_SNAPSHOT || worker->role == ROLE_POSTMORTEM) && !kept)
            worker_kill(worker);
    }
    if (job->snapshot >= 0 && !worker_find_snapshot(session, job->snapshot))
        job->snapshot = session->lineage.before_reset = -1;
    job->lost_threads = value_copy(job_region(session->manager, job),
                                   session_collect_lost_threads(session, value_nil()));
    error_history_clear(&session->history);
    buffer_clear(&session->pending.late_errors);
    memory_free(session->pending.lost_threads);
    session->pending.lost_threads = NULL;
    // Answered when the systems that come before it in the queue are loaded again.
    job->reset_done = true;
    job_requeue(session, job);
    systems_reload(session);
    session->unit_tick = 0;  // everything user code started ends
    return waking_begin_fresh(session);
}

void job_refuse_snapshot(struct session *session, struct job *job, int64_t number)
{
    struct buffer known;
    buffer_init(&known, 4096);
    for (struct worker *worker = worker_next_snapshot(session, -1); worker;
         worker = worker_next_snapshot(session, worker->number))
        buffer_append_format(&known, "%s%lld", known.length ? ", " : "", (long long)worker->number);
    job_refuse(session->manager, job, "no-such-snapshot",
               "Snapshot %lld does not exist (any more)%s. Snapshots: %s", (long long)number,
               number < session->lineage.first
                   ? "; snapshots before the state that was restored or forked are gone"
                   : "",
               known.length ? buffer_text(&known) : "none");
    buffer_release(&known);
}

static enum session_state begin_rollback(struct session *session, struct job *job)
{
    int64_t target = job->rollback_to;
    if (target < 0) {
        target = session->lineage.current;
        for (int64_t step = 0; step < job->rollback_steps && target >= 0; step++)
            target = target == 0 ? -1 : lineage_parent(session, target);
        if (target < 0) {
            job_refuse(session->manager, job, "no-such-snapshot",
                       "The current state has fewer than %lld evaluations to undo.",
                       (long long)job->rollback_steps);
            return STATE_IDLE;
        }
    }
    if (!worker_find_snapshot(session, target)) {
        job_refuse_snapshot(session, job, target);
        return STATE_IDLE;
    }
    job_begin(job);
    job->rollback_to = target;
    session->wake.only_this = true;
    return waking_begin(session, target);
}

enum session_state idle_on_request(struct session *session, const struct session_event *event)
{
    (void)event;
    if (session->finalizer.running) {
        interrupt_finalizers(session);
        return STATE_IDLE;
    }
    struct job *job = job_dequeue(session);
    switch (job->kind) {
    case SESSION_EVALUATE:
    case SESSION_QUERY: return begin_in_head(session, job);
    case SESSION_COPY:
    case SESSION_TESTS: return begin_in_copy(session, job);
    case SESSION_DEBUG:
    case SESSION_RESTART: return begin_in_postmortem(session, job);
    case SESSION_RESET: return begin_reset(session, job);
    case SESSION_ROLLBACK: return begin_rollback(session, job);
    case SESSION_FORK:
    case SESSION_ADOPT: return idle_begin_fork(session, job);
    case SESSION_REQUEST_KIND_COUNT: break;
    }
    UNREACHABLE();
}

// --- finalizers ----------------------------------------------------------------------------------

void idle_begin_finalizers(struct session *session)
{
    session->finalizer.running = true;
    session->finalizer.stage = 0;
    session->unit_tick = proc_tick_now();
    session->head->offers = 0;
    session_resume_output(session);
    session->finalizer.message = session_send(session, &session->head->link->channel,
                                              CHANNEL_REQUEST, SPAN("{\"op\":\"finalize\"}"));
    session_set_timer(session, TIME_FINALIZE_MS);
}

static void interrupt_finalizers(struct session *session)
{
    if (session->finalizer.stage > 0)
        return;
    session->finalizer.stage = 1;
    process_stop_request(&session->head->process, session->finalizer.message);
    session_set_timer(session, TIME_INTERRUPT_MS);
}

enum session_state idle_on_message(struct session *session, const struct session_event *event)
{
    value result;
    if (!session->finalizer.running || event->message->type != CHANNEL_RESULT ||
        event->message->number != session->finalizer.message ||
        !session_read_scratch(session, event->message, &result))
        return STATE_IDLE;
    session->finalizer.running = false;
    session_set_timer(session, -1);
    session_keep_state(session, result);
    session_record_thread_errors(session, session->scratch, result);
    worker_kill_announced(session, message_pid(result, "postmortem"));
    return STATE_IDLE;
}

enum session_state idle_on_timer(struct session *session, const struct session_event *event)
{
    (void)event;
    if (!session->finalizer.running)
        return STATE_IDLE;
    if (session->finalizer.stage == 0) {
        interrupt_finalizers(session);
    } else if (session->finalizer.stage == 1) {
        session->finalizer.stage = 2;
        process_interrupt(&session->head->process, SIGUSR1);
        session_set_timer(session, TIME_HARD_STOP_MS);
    } else {
        process_signal(&session->head->process, SIGKILL);
        session_set_timer(session, TIME_HARD_STOP_MS);
    }
    return STATE_IDLE;
}

void idle_notice_death(struct session *session, const struct process_exit *exit)
{
    // The code that runs in an idle process are timers, and snapshots have them too. What ends it
    // may also come from outside, so only the second death in a row is put down to them.
    session->wake.discard_timers = session->died_idle;
    session->died_idle = true;
    session_notice_death(
        session, session->finalizer.running ? "was ended by a finalizer" : "died while idle", exit);
}

enum session_state idle_on_snapshot(struct session *session, const struct session_event *event)
{
    (void)event;
    if (session->finalizer.running)
        return STATE_IDLE;
    return snapshotting_begin(session, session->lineage.current,
                              lineage_label(session, session->lineage.current));
}

enum session_state idle_on_head_exit(struct session *session, const struct session_event *event)
{
    idle_notice_death(session, event->exit);
    session->wake.discard_finalizers = session->finalizer.running;
    session->finalizer.running = false;
    return waking_begin(session, session->lineage.current);
}
