// CLOSING: everything of the session is killed and reaped; the name is free at once.
#include "session/internal.h"

enum { CLOSE_AGAIN_MS = 20 };

void session_drop_jobs(struct session *session, const char *code, const char *message)
{
    struct job *job = session->job;
    session->job = NULL;
    if (job)
        job_refuse(session->manager, job, code, "%s", message);
    session_fail_queue(session, code, message);
}

void session_fail_queue(struct session *session, const char *code, const char *message)
{
    while (session->queue)
        job_refuse(session->manager, job_dequeue(session), code, "%s", message);
}

void session_begin_close(struct session *session)
{
    session_drop_jobs(session, "session-closed", "The session was closed.");
    if (session->progress_timer)
        event_del(session->progress_timer);
    session->state = STATE_CLOSING;
    session_kill_all(session);
    // The session is freed when the last process is gone, from the loop.
    session_set_timer(session, session->workers ? CLOSE_AGAIN_MS : 0);
}

enum session_state action_close_timer(struct session *session, const struct session_event *event)
{
    (void)event;
    session_kill_all(session);
    session_set_timer(session, CLOSE_AGAIN_MS);
    return STATE_CLOSING;
}

enum session_state action_ignore(struct session *session, const struct session_event *event)
{
    (void)event;
    return session->state;
}
