// STOPPING: the head is being ended, by SIGUSR1 (it says where it is and ends), then by SIGKILL.
#include <signal.h>

#include "session/session_internal.h"
#include "session/state/actions.h"

enum session_state stopping_begin(struct session *session)
{
    process_interrupt(&session->head->process, SIGUSR1);
    session_set_timer(session, TIME_HARD_STOP_MS);
    return STATE_STOPPING;
}

enum session_state stopping_on_message(struct session *session, const struct session_event *event)
{
    if (event->message->type == CHANNEL_FRAMES)
        job_read_frames(session->job, event->message);
    return STATE_STOPPING;
}

enum session_state stopping_on_timer(struct session *session, const struct session_event *event)
{
    (void)event;
    process_signal(&session->head->process, SIGKILL);
    session_set_timer(session, TIME_HARD_STOP_MS);
    return STATE_STOPPING;
}

static void notice_stall(struct session *session, struct job *job)
{
    char seconds[32];
    process_failure_format_seconds(job_elapsed_ms(job) / 1000, seconds, sizeof(seconds));
    session_wake_notice(
        session, "the session's process did not take the call within %s and was ended", seconds);
    if (value_is_map(job->frames))
        session_record_thread_error(session, job->region, job->frames);
    job->frames = value_nil();
    job->stop = STOP_NONE;
}

// A head that never read the request was kept by a timer of the user: the request did not start, so
// it is retried on a new head, without timers.
enum session_state stopping_on_head_exit(struct session *session, const struct session_event *event)
{
    struct job *job = session->job;
    session->wake.discard_timers = event->unread;
    if (event->unread && job->stop == STOP_TIMEOUT && job_retry(job)) {
        notice_stall(session, job);
        return waking_begin(session, session->lineage.current);
    }
    return running_fail(session, event, true);
}
