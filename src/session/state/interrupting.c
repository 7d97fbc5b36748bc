// INTERRUPTING: the head was asked to stop its evaluation (SIGINT) and should answer; the process
// lives on. Its answer is handled as in RUNNING.
#include "session/session_internal.h"
#include "session/state/actions.h"

enum session_state interrupting_begin(struct session *session)
{
    process_stop_request(&session->head->process, session->job->message_number);
    session_set_timer(session, TIME_INTERRUPT_MS);
    return STATE_INTERRUPTING;
}

enum session_state interrupting_on_timer(struct session *session, const struct session_event *event)
{
    (void)event;
    return stopping_begin(session);
}

enum session_state interrupting_on_head_exit(struct session *session,
                                             const struct session_event *event)
{
    session->wake.discard_timers = false;
    return running_fail(session, event, false);
}
