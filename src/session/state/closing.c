// CLOSING: everything of the session is killed and reaped; the name is free at once.
#include "session/session_internal.h"
#include "session/state/actions.h"

enum { CLOSE_AGAIN_MS = 20 };

static void refuse_jobs(struct session *session)
{
    static const char code[] = "session-closed", message[] = "The session was closed.";
    struct job *job = session->job;
    session->job = NULL;
    if (job)
        job_refuse(session->manager, job, code, "%s", message);
    beside_close(session, code, message);
    job_refuse_queued(session, code, message);
}

void closing_begin(struct session *session)
{
    refuse_jobs(session);
    if (session->progress_timer)
        event_del(session->progress_timer);
    session->state = STATE_CLOSING;
    observer_closed(session);
    session_kill_all(session);
    // The session is freed when the last process is gone, from the loop.
    session_set_timer(session, session->workers ? CLOSE_AGAIN_MS : 0);
}

enum session_state closing_on_timer(struct session *session, const struct session_event *event)
{
    (void)event;
    session_kill_all(session);
    session_set_timer(session, CLOSE_AGAIN_MS);
    return STATE_CLOSING;
}
