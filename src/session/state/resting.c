// RESTING: the state of the session is saved, and its processes are ending. The next request finds
// it DOWN and restores it.
#include "session/session_internal.h"
#include "session/state/actions.h"

enum { KILL_AGAIN_MS = 20 };

// Only an idle session whose current state is saved gives up its processes.
enum session_state idle_on_rest(struct session *session, const struct session_event *event)
{
    (void)event;
    if (session->finalizer.running || session->queue.first ||
        session->saving.saved != session->lineage.current)
        return STATE_IDLE;
    session_kill_all(session);
    session_set_timer(session, KILL_AGAIN_MS);
    return STATE_RESTING;
}

enum session_state resting_on_timer(struct session *session, const struct session_event *event)
{
    (void)event;
    if (!session->workers && session_kill_all(session) == 0) {
        session_set_timer(session, -1);
        session_close_retired(session);
        return STATE_DOWN;
    }
    session_kill_all(session);
    session_set_timer(session, KILL_AGAIN_MS);
    return STATE_RESTING;
}
