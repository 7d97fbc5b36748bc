// DOWN: no process, or parked ones alone because none of them could wake. The next request starts one,
// or wakes one.
#include "session/session_internal.h"
#include "session/state/actions.h"

// Requests for a state that does not exist are refused without starting anything.
static void refuse_without_state(struct session *session)
{
    while (session->queue.first) {
        enum session_request_kind kind = session->queue.first->kind;
        if (kind != SESSION_ROLLBACK && kind != SESSION_DEBUG && kind != SESSION_RESTART)
            return;
        struct job *job = job_dequeue(session);
        if (kind == SESSION_ROLLBACK)
            job_refuse(session->manager, job, "no-such-snapshot",
                       "The session has no snapshots yet.");
        else
            job_refuse(session->manager, job, "no-error", SESSION_NO_ERROR_TEXT);
    }
}

enum session_state down_on_request(struct session *session, const struct session_event *event)
{
    (void)event;
    if (lineage_nearest_snapshot(session, session->lineage.current) >= 0)
        return waking_begin(session, session->lineage.current);
    if (restoring_is_possible(session))
        return restoring_begin(session);
    enum session_request_kind kind = session->queue.first->kind;
    if ((kind == SESSION_FORK || kind == SESSION_ADOPT) && session->queue.first->fork_from)
        return idle_begin_fork(session, job_dequeue(session));
    refuse_without_state(session);
    if (!session->queue.first)
        return STATE_DOWN;
    session->start.tries = 0;
    return starting_begin(session);
}
