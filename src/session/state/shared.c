// Actions that several states share.
#include "session/session_internal.h"
#include "session/state/actions.h"

enum session_state ignore_event(struct session *session, const struct session_event *event)
{
    (void)event;
    return session->state;
}

enum session_state drop_snapshot(struct session *session, const struct session_event *event)
{
    value content;
    if (session_read_scratch(session, event->message, &content))
        worker_kill_announced(session, message_pid(content, "pid"));
    return session->state;
}

// It is still the state after that evaluation, because the head makes it before it reads the next
// request.
enum session_state keep_late_snapshot(struct session *session, const struct session_event *event)
{
    value content;
    if (session_read_scratch(session, event->message, &content) &&
        !snapshotting_register(session, event->message, content))
        worker_kill_announced(session, message_pid(content, "pid"));
    return session->state;
}
