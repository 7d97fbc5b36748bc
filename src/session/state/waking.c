// WAKING: the old head, if it still lives, is killed; then a snapshot is woken and its clone
// becomes the head. When a snapshot cannot be woken the next older one of the lineage is taken;
// when none is left the session starts from scratch.
#include <signal.h>

#include "base/memory.h"
#include "session/session_internal.h"
#include "session/state/actions.h"

enum wake_value {
    WAKE_AS_HEAD = 0,
    WAKE_AS_HEAD_WITHOUT_FINALIZERS = 2,
    WAKE_AS_HEAD_WITHOUT_TIMERS = 4,
    WAKE_TO_STOP_LISTENING = 8,
};

void waking_kill_head(struct session *session)
{
    process_signal(&session->head->process, SIGKILL);
    session_set_timer(session, TIME_WAKE_MS);
}

// States that were left can be restored, but nothing in them answers: the addresses they listen at
// are free for the state that is current now.
static void stop_listening(struct session *session)
{
    for (struct worker *worker = session->workers; worker; worker = worker->next) {
        bool left = worker->role == ROLE_POSTMORTEM ||
                    (worker->role == ROLE_SNAPSHOT &&
                     !lineage_has_ancestor(session, session->lineage.current, worker->number));
        if (left)
            process_wake(&worker->process, WAKE_TO_STOP_LISTENING);
    }
}

static void finish_waiting_job(struct session *session)
{
    struct job *job = session->job;
    if (!job)
        return;
    session->job = NULL;
    job_finish(session, job);
}

// Nothing is left to go back to.
static enum session_state start_from_scratch(struct session *session)
{
    session_notice(session, "the session was restarted: %s, and no snapshot was left",
                   session->wake.notice ? session->wake.notice : "its process ended");
    memory_free(session->wake.notice);
    session->wake.notice = NULL;
    session->lineage.current = 0;
    session->wake.discard_finalizers = session->wake.discard_timers = false;
    finish_waiting_job(session);
    session_kill_leftovers(session);
    systems_reload(session);
    session->start.tries = 0;
    return starting_begin(session);
}

static enum session_state wake_next(struct session *session)
{
    int64_t number = session->wake.number;
    struct worker *source = worker_find_snapshot(session, number);
    if (!source && session->wake.only_this) {
        // The snapshot asked for died just now: back to where the session was.
        session->wake.only_this = false;
        struct job *job = session->job;
        session->job = NULL;
        job_refuse(session->manager, job, "no-such-snapshot",
                   "Snapshot %lld does not exist any more.", (long long)number);
        number = session->lineage.current;
    }
    number = lineage_nearest_snapshot(session, number);
    if (number < 0)
        return start_from_scratch(session);
    source = worker_find_snapshot(session, number);
    session->wake.number = number;
    session->source = source;
    channel_forget_outgoing(&session->main);
    channel_forget_incoming(&session->main);
    // If it is dead already its end is reported, and the next one is tried.
    process_wake(&source->process, session->wake.discard_timers ? WAKE_AS_HEAD_WITHOUT_TIMERS
                                   : session->wake.discard_finalizers
                                       ? WAKE_AS_HEAD_WITHOUT_FINALIZERS
                                       : WAKE_AS_HEAD);
    session_set_timer(session, TIME_WAKE_MS);
    return STATE_WAKING;
}

enum session_state waking_begin(struct session *session, int64_t number)
{
    session->wake.number = number;
    session->wake.spawns = false;
    if (!session->head)
        return wake_next(session);
    waking_kill_head(session);
    return STATE_WAKING;
}

enum session_state waking_begin_fresh(struct session *session)
{
    session->wake.spawns = true;
    waking_kill_head(session);
    return STATE_WAKING;
}

enum session_state waking_on_head_exit(struct session *session, const struct session_event *event)
{
    (void)event;
    if (!session->wake.spawns)
        return wake_next(session);
    session_kill_leftovers(session);
    session->lineage.current = 0;
    stop_listening(session);
    session->start.tries = 0;
    return starting_begin(session);
}

static enum session_state head_is_awake(struct session *session, value message)
{
    int64_t before = session->lineage.current;
    value lost = session_collect_lost_threads(session, message);
    session->lineage.current = session->source->number;
    session->source = NULL;
    session->wake.only_this = false;
    session->wake.discard_finalizers = false;
    session->wake.discard_timers = false;
    session->finalizer.pending = 0;
    session_set_timer(session, -1);
    session_keep_state(session, message);
    bool unscheduled = map_get_integer(message, "unscheduled", 0) > 0;
    if (session->wake.notice)
        session_notice(session, "%s%s; rolled back to snapshot %lld", session->wake.notice,
                       unscheduled ? "; its timers are unscheduled" : "",
                       (long long)session->lineage.current);
    memory_free(session->wake.notice);
    session->wake.notice = NULL;

    struct job *job = session->job;
    if (job) {
        struct region *region = job_region(session->manager, job);
        job->lost_threads = value_copy(region, lost);
        if (job->kind == SESSION_ROLLBACK) {
            job->undone = lineage_undone(session, region, before, session->lineage.current);
            stop_listening(session);
        }
    } else if (session->pending.lost_threads && vector_count(lost) > 0) {
        session_notice(session, "lost threads: %s", session->pending.lost_threads);
    }
    finish_waiting_job(session);
    session_kill_leftovers(session);
    return STATE_IDLE;
}

enum session_state waking_on_message(struct session *session, const struct session_event *event)
{
    const struct channel_message *message = event->message;
    value content;
    if (message->type == CHANNEL_WAKE_FAILED) {
        process_signal(&session->source->process, SIGKILL);
        return STATE_WAKING;
    }
    if (message->type != CHANNEL_WOKE || !session_read_scratch(session, message, &content) ||
        message_pid(content, "pid") != message->sender ||
        message_pid(content, "from") != session->source->process.pid)
        return STATE_WAKING;
    session->head = worker_add_announced(session, message->sender, ROLE_HEAD);
    if (session->head)
        return head_is_awake(session, content);
    // Already dead again, as a rule of a timer that was due. Not so without timers: then our own
    // timer takes the next one.
    if (session->wake.discard_timers)
        return STATE_WAKING;
    session->wake.discard_timers = true;
    return wake_next(session);
}

enum session_state waking_on_timer(struct session *session, const struct session_event *event)
{
    (void)event;
    struct worker *late = session->head ? session->head : session->source;
    if (late)
        process_signal(&late->process, SIGKILL);
    session_set_timer(session, TIME_WAKE_MS);
    // A clone that never said that it woke would wait forever.
    session_kill_leftovers(session);
    return STATE_WAKING;
}
