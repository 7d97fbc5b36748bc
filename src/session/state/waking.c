// WAKING: the old head, if it still lives, is killed, and everything that its last evaluation
// started; then a snapshot is woken and its clone becomes the head.
//
// A snapshot that cannot clone itself now (too many processes, no memory) stays parked and is asked
// again; after a while the session rests without a head, and the next request asks again. One that
// does not answer at all is passed over, and the next older one of the lineage is taken. When none
// is left the session starts from scratch.
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/memory.h"
#include "process/offspring.h"
#include "session/session_internal.h"
#include "session/state/actions.h"

enum { WAKE_SIGNALS = 5, PAUSE_FIRST_MS = 20 };

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
        if (!left)
            continue;
        channel_send(&worker->link->channel, CHANNEL_STOP_LISTENING, 0, SPAN("{}"));
        process_wake(&worker->process);
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

static void forget_wake(struct session *session)
{
    link_free(session->awaited);
    session->awaited = NULL;
    session->source = NULL;
    session->wake.only_this = false;
    session->wake.discard_finalizers = session->wake.discard_timers = false;
    memory_free(session->wake.notice);
    session->wake.notice = NULL;
}

// --- what was lost -------------------------------------------------------------------------------

// Tells with the reply of the request, or with the next one, which evaluations before it are lost.
static void report_lost(struct session *session, int64_t before, const char *what)
{
    struct job *job = session->job;
    value lost = lineage_lost(session, session->scratch, before, session->lineage.current);
    bool told = job && job->rolled_back && !job->cancelled && !job->internal;
    if (told)
        job->lost = value_copy(job_region(session->manager, job), lost);
    if (!what && (told || vector_count(lost) == 0 || (job && job->kind == SESSION_ROLLBACK)))
        return;
    CLEANUP_BUFFER struct buffer text;
    buffer_init(&text, BUFFER_DEFAULT_LIMIT);
    if (!told && vector_count(lost) > 0) {
        buffer_append_text(&text, "; lost: ");
        session_evaluation_names(&text, lost);
    }
    if (what)
        session_notice(session, "%s%s", what, buffer_text(&text));
    else
        session_notice(session, "rolled back to snapshot %lld%s",
                       (long long)session->lineage.current, buffer_text(&text));
}

// Nothing is left to go back to.
static enum session_state start_from_scratch(struct session *session)
{
    int64_t before = session->lineage.current;
    CLEANUP_FREE char *what =
        memory_format("the session was restarted: %s, and no snapshot was left",
                      session->wake.notice ? session->wake.notice : "its process ended");
    region_clear(session->scratch);
    session->lineage.current = 0;
    if (session->job)
        session->job->restarted = true;
    report_lost(session, before, what);
    forget_wake(session);
    finish_waiting_job(session);
    if (restoring_is_possible(session))
        return restoring_begin(session);
    systems_reload(session);
    session->start.tries = 0;
    return starting_begin(session);
}

// --- asking a snapshot ---------------------------------------------------------------------------

// The session has no head; its snapshots stay, and the next request asks again.
static enum session_state rest(struct session *session)
{
    CLEANUP_FREE char *text = memory_format(
        "The session cannot go on now: its process could not be copied (%s). Its state is kept "
        "in snapshot %lld; the next call tries again",
        session->wake.failure, (long long)session->source->number);
    CLEANUP_FREE char *sentence = memory_format("%s.", text);
    struct job *job = session->job;
    bool is_rollback = job && job->kind == SESSION_ROLLBACK;
    if (!is_rollback) {
        // What came after that snapshot is lost by now, however late it wakes.
        int64_t before = session->lineage.current;
        session->lineage.current = session->source->number;
        region_clear(session->scratch);
        report_lost(session, before, text);
    }
    forget_wake(session);
    session_set_timer(session, -1);
    if (is_rollback) {
        session->job = NULL;
        job_refuse(session->manager, job, "wake-failed", "%s", sentence);
    } else {
        finish_waiting_job(session);
    }
    job_refuse_queued(session, "wake-failed", sentence);
    return STATE_DOWN;
}

// It cannot wake now, for a reason that may pass: processes that were killed need a moment to end.
static enum session_state pause_wake(struct session *session, const char *reason)
{
    link_free(session->awaited);
    session->awaited = NULL;
    snprintf(session->wake.failure, sizeof(session->wake.failure), "%s", reason);
    if (clock_now_ms() > session->wake.give_up_ms)
        return rest(session);
    session_kill_leftovers(session);
    offspring_reap();
    int64_t pause_ms = (int64_t)PAUSE_FIRST_MS << session->wake.tries;
    if (pause_ms < TIME_WAKE_MS)
        session->wake.tries++;
    session->wake.phase = WAKE_PAUSED;
    session_set_timer(session, pause_ms);
    return STATE_WAKING;
}

static enum session_state ask(struct session *session)
{
    struct span how =
        session->wake.discard_timers       ? SPAN("{\"as\":\"head\",\"discard\":\"timers\"}")
        : session->wake.discard_finalizers ? SPAN("{\"as\":\"head\",\"discard\":\"finalizers\"}")
                                           : SPAN("{\"as\":\"head\"}");
    link_free(session->awaited);
    session->awaited = link_new(session, true);
    if (!session->awaited)
        return pause_wake(session, strerror(errno));
    int result = worker_wake(session->source, how, session->awaited);
    if (result < 0 && result != -ESRCH && result != -EPIPE)
        return pause_wake(session, strerror(-result));
    // If it is dead already its end is reported, and the next one is tried.
    session->wake.phase = WAKE_ASKED;
    session_set_timer(session, TIME_WAKE_MS);
    return STATE_WAKING;
}

// The newest snapshot of the lineage of `number` that answers; -1 = none.
static int64_t nearest_answering(struct session *session, int64_t number)
{
    number = lineage_nearest_snapshot(session, number);
    while (number >= 0 && worker_find_snapshot(session, number)->mute)
        number = lineage_nearest_snapshot(session, lineage_parent(session, number));
    return number;
}

static enum session_state wake_next(struct session *session)
{
    int64_t number = session->wake.number;
    if (!worker_find_snapshot(session, number) && session->wake.only_this) {
        // The snapshot asked for died just now: back to where the session was.
        session->wake.only_this = false;
        struct job *job = session->job;
        session->job = NULL;
        job_refuse(session->manager, job, "no-such-snapshot",
                   "Snapshot %lld does not exist any more.", (long long)number);
        number = session->lineage.current;
    }
    number = nearest_answering(session, number);
    if (number < 0)
        return start_from_scratch(session);
    session->wake.number = number;
    session->wake.tries = 0;
    session->wake.give_up_ms = clock_now_ms() + TIME_WAKE_PATIENCE_MS;
    session->source = worker_find_snapshot(session, number);
    return ask(session);
}

// --- before it -----------------------------------------------------------------------------------

static enum session_state start_fresh(struct session *session)
{
    keeping_drop_images(session);
    session->lineage.current = 0;
    session_close_retired(session);
    stop_listening(session);
    session->start.tries = 0;
    return starting_begin(session);
}

// What the lost evaluation started ends first: it may use up what the snapshot needs to wake, and
// what it prints belongs to the reply of that evaluation.
static enum session_state clear(struct session *session)
{
    unsigned left = session_kill_leftovers(session);
    offspring_reap();
    if (left > 0 && clock_now_ms() < session->clear_until_ms) {
        session->wake.phase = WAKE_CLEARING;
        session_set_timer(session, TIME_CLEAR_STEP_MS);
        return STATE_WAKING;
    }
    session_drain_output(session);
    return session->wake.spawns ? start_fresh(session) : wake_next(session);
}

static enum session_state begin_clearing(struct session *session)
{
    session->clear_until_ms = clock_now_ms() + TIME_CLEAR_MS;
    return clear(session);
}

static enum session_state end_head(struct session *session)
{
    session->wake.phase = WAKE_ENDING;
    if (!session->head)
        return begin_clearing(session);
    waking_kill_head(session);
    return STATE_WAKING;
}

enum session_state waking_begin(struct session *session, int64_t number)
{
    session->wake.number = number;
    session->wake.spawns = false;
    return end_head(session);
}

enum session_state waking_begin_fresh(struct session *session)
{
    session->wake.spawns = true;
    return end_head(session);
}

// Of the old head, or of the snapshot that was asked.
enum session_state waking_on_head_exit(struct session *session, const struct session_event *event)
{
    (void)event;
    if (session->wake.phase == WAKE_ENDING)
        return begin_clearing(session);
    return session->wake.phase == WAKE_CLEARING ? STATE_WAKING : wake_next(session);
}

// --- answers -------------------------------------------------------------------------------------

static enum session_state head_is_awake(struct session *session, value message)
{
    int64_t before = session->lineage.current;
    value lost_threads = session_collect_lost_threads(session, message);
    session->lineage.current = session->source->number;
    session->finalizer.pending = 0;
    session_set_timer(session, -1);
    session_keep_state(session, message);
    bool unscheduled = map_get_integer(message, "unscheduled", 0) > 0;
    CLEANUP_FREE char *what = NULL;
    if (session->wake.notice)
        what = memory_format("%s%s; rolled back to snapshot %lld", session->wake.notice,
                             unscheduled ? "; its timers are unscheduled" : "",
                             (long long)session->lineage.current);
    report_lost(session, before, what);
    struct job *job = session->job;
    if (job) {
        struct region *region = job_region(session->manager, job);
        job->lost_threads = value_copy(region, lost_threads);
        if (job->kind == SESSION_ROLLBACK) {
            job->undone = lineage_undone(session, region, before, session->lineage.current);
            stop_listening(session);
        }
    } else if (session->pending.lost_threads && vector_count(lost_threads) > 0) {
        session_notice(session, "lost threads: %s", session->pending.lost_threads);
    }
    forget_wake(session);
    finish_waiting_job(session);
    saving_note(session);
    return STATE_IDLE;
}

static enum session_state wake_failed(struct session *session,
                                      const struct channel_message *message)
{
    value content;
    char reason[sizeof(session->wake.failure)] = "no reason given";
    if (session->wake.phase != WAKE_ASKED)
        return STATE_WAKING;
    if (session_read_scratch(session, message, &content)) {
        struct span text = map_get_string(content, "reason");
        snprintf(reason, sizeof(reason), "%.*s", (int)text.length, text.data);
    }
    return pause_wake(session, reason);
}

enum session_state waking_on_message(struct session *session, const struct session_event *event)
{
    const struct channel_message *message = event->message;
    value content;
    if (message->type == CHANNEL_WAKE_FAILED)
        return wake_failed(session, message);
    if (message->type != CHANNEL_WOKE || !session_read_scratch(session, message, &content) ||
        message_pid(content, "pid") != message->sender ||
        message_pid(content, "from") != session->source->process.pid)
        return STATE_WAKING;
    session->head = worker_add_woken(session, message->sender, ROLE_HEAD);
    if (session->head)
        return head_is_awake(session, content);
    // Already dead again, as a rule of a timer that was due. Not so without timers: then our own
    // timer takes the next one.
    if (session->wake.discard_timers)
        return STATE_WAKING;
    session->wake.discard_timers = true;
    return wake_next(session);
}

// It was stopped, or waits for a processor. After some time it is passed over; it is not killed,
// and the clone that it may still make finds its channel closed and ends.
static enum session_state signal_again(struct session *session)
{
    if (++session->wake.tries < WAKE_SIGNALS) {
        process_wake(&session->source->process);
        session_set_timer(session, TIME_WAKE_MS);
        return STATE_WAKING;
    }
    session->source->mute = true;
    return wake_next(session);
}

enum session_state waking_on_timer(struct session *session, const struct session_event *event)
{
    (void)event;
    switch (session->wake.phase) {
    case WAKE_CLEARING: return clear(session);
    case WAKE_PAUSED: return session->source ? ask(session) : wake_next(session);
    case WAKE_ASKED: return session->source ? signal_again(session) : wake_next(session);
    case WAKE_ENDING: break;
    }
    if (!session->head)
        return begin_clearing(session);
    waking_kill_head(session);
    return STATE_WAKING;
}
