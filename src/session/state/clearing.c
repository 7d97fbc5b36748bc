// CLEARING: the evaluation was stopped and has answered. The processes that it started are killed,
// and the reply comes when they have ended: nothing they print is taken for output of the next one.
#include "base/clock.h"
#include "session/session_internal.h"
#include "session/state/actions.h"

static enum session_state step(struct session *session)
{
    if (session_kill_leftovers(session) > 0 && clock_now_ms() < session->clear_until_ms) {
        session_set_timer(session, TIME_CLEAR_STEP_MS);
        return STATE_CLEARING;
    }
    session_drain_output(session);
    return running_finish(session);
}

enum session_state clearing_begin(struct session *session)
{
    session->clear_until_ms = clock_now_ms() + TIME_CLEAR_MS;
    return step(session);
}

enum session_state clearing_on_timer(struct session *session, const struct session_event *event)
{
    (void)event;
    return step(session);
}

enum session_state clearing_on_head_exit(struct session *session, const struct session_event *event)
{
    return running_fail(session, event, false);
}
