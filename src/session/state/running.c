// RUNNING: the head works on a request. When its time is over it is stopped in three stages: SIGINT
// (INTERRUPTING: the evaluation ends, the process lives), SIGUSR1 and SIGKILL (STOPPING).
#include <signal.h>
#include <string.h>

#include "base/memory.h"
#include "process/proc.h"
#include "session/session_internal.h"
#include "session/spawn.h"
#include "session/state/actions.h"

// --- a request that somebody else took -----------------------------------------------------------

// A child that user code forked has the head's channel, too, and can read it. The order matters: the
// request has been taken, then the head waits for the next one, then there is still no answer. So the
// head has not taken it. A new head has a channel that the thief does not have.
bool running_end_robbed(struct session *session)
{
    struct worker *head = session->head;
    if (session->state != STATE_RUNNING || !head || head->robbed || session->job->heard ||
        !channel_is_drained(&head->link->channel) ||
        !proc_waits_in_recvmsg(head->process.pid, SPAWN_FIRST_CHANNEL) ||
        !channel_is_silent(&head->link->channel))
        return false;
    head->robbed = head->channel_lost = true;
    process_signal(&head->process, SIGKILL);
    return true;
}

// --- the answer ----------------------------------------------------------------------------------

enum session_state running_finish(struct session *session)
{
    struct job *job = session->job;
    session_set_timer(session, -1);
    session->died_idle = false;
    session->job = NULL;
    if (job->kind == SESSION_QUERY) {
        job_finish(session, job);
        return STATE_IDLE;
    }
    int64_t number = job->internal ? 0 : job->number;
    if (!job->internal) {
        lineage_set_parent(session, number, session->lineage.current);
        session->lineage.current = number;
    }
    if (value_is_true(map_get(job->result, "ok")))
        systems_remember(session, job);
    bool is_undone = project_is_job(job) && !value_is_true(map_get(job->result, "ok"));
    CLEANUP_FREE char *label = job->label ? memory_copy_text(job->label, strlen(job->label)) : NULL;
    job_finish(session, job);
    if (is_undone)
        return waking_begin(session, session->lineage.current);
    return snapshotting_begin(session, number, label);
}

// Also of INTERRUPTING.
enum session_state running_on_message(struct session *session, const struct session_event *event)
{
    const struct channel_message *message = event->message;
    struct job *job = session->job;
    job->heard = true;
    if (message->type == CHANNEL_EXITING)
        job_read_exit_notice(job, message);
    else if (message->type == CHANNEL_FRAMES)
        job_read_frames(job, message);
    else if (message->type == CHANNEL_INPUT_WANTED && message->number == job->message_number)
        job_want_input(session, job);
    if (message->type != CHANNEL_RESULT || message->number != job->message_number)
        return session->state;
    if (!job_read_result(job, message)) {
        session_break_protocol(session, session->head);
        return session->state;
    }
    session_keep_state(session, job->result);
    if (!value_is_map(map_get(job->result, "rollback")))
        return job->stop == STOP_NONE ? running_finish(session) : clearing_begin(session);
    // The image asks to be thrown away; the reply comes when the snapshot is awake.
    job->rolled_back = true;
    return waking_begin(session, session->lineage.current);
}

// --- stopping ------------------------------------------------------------------------------------

// The time is over and the head has not even read the request: something else keeps it, as a rule a
// timer of the user, which SBCL runs in the main thread with interrupts off.
static enum session_state stop_stalled(struct session *session)
{
    int64_t early_ms = TIME_READ_REQUEST_MS - job_elapsed_ms(session->job);
    if (early_ms > 0) {
        session_set_timer(session, early_ms);
        return STATE_RUNNING;
    }
    session->job->stop = STOP_TIMEOUT;
    return stopping_begin(session);
}

enum session_state running_on_timer(struct session *session, const struct session_event *event)
{
    (void)event;
    if (channel_is_unread(&session->head->link->channel, session->job->message_number))
        return stop_stalled(session);
    if (running_end_robbed(session))
        return STATE_RUNNING;
    session->job->stop = STOP_TIMEOUT;
    return interrupting_begin(session);
}

enum session_state running_on_cancel(struct session *session, const struct session_event *event)
{
    (void)event;
    return interrupting_begin(session);
}

// --- the end of the process ----------------------------------------------------------------------

enum session_state running_fail(struct session *session, const struct session_event *event,
                                bool killed_by_us)
{
    struct job *job = session->job;
    job_classify_exit(job, event, killed_by_us);
    job->rolled_back = true;
    return waking_begin(session, session->lineage.current);
}

// A request that the head had not read never started, so it is retried on a new head, as if the
// death had been noticed before.
enum session_state running_on_head_exit(struct session *session, const struct session_event *event)
{
    struct job *job = session->job;
    session->wake.discard_timers = false;
    if (event->unread && job_retry(job)) {
        if (event->robbed)
            session_wake_notice(session, "another process or thread of the session read its "
                                         "channel and took a request, which is repeated");
        else
            idle_notice_death(session, event->exit);
        return waking_begin(session, session->lineage.current);
    }
    return running_fail(session, event, false);
}
