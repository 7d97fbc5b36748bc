// HOUSEKEEPING: the head makes a snapshot of itself after its reply.
#include <signal.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/memory.h"
#include "process/proc.h"
#include "session/internal.h"

// Where processors are few, the one who waited for the reply may wait for the one that the head has.
enum { CLIENT_FIRST_US = 100 };

void snapshot_begin(struct session *session, int64_t number, const char *code)
{
    char text[64];
    int length =
        snprintf(text, sizeof(text), "{\"number\":%lld,\"after_us\":%d}", (long long)number,
                 busy_poll_disabled(session->manager) ? CLIENT_FIRST_US : 0);
    memory_free(session->snap_code);
    session->snap_code = memory_copy_string(code);
    session->snap_number = number;
    session->unit_tick = proc_tick_now();
    session->protocol_broken = false;
    session->snap_message =
        session_send(session, &session->main, CHANNEL_SNAP, (struct span){text, (size_t)length});
    session_set_timer(session, TIME_SNAP_MS);
}

static enum session_state housekeeping_done(struct session *session)
{
    session_set_timer(session, -1);
    session->snapped_ns = clock_now_ns();
    if (session->finalizers > 0 && !session->queue)
        session_begin_finalizers(session);
    return STATE_IDLE;
}

// Enters the announced snapshot; false when it is not the one that was asked for last.
static bool take_announced(struct session *session, const struct channel_message *message,
                           value content)
{
    if (message->number != session->snap_message ||
        map_get_integer(content, "number", -1) != session->snap_number)
        return false;
    struct worker *older = worker_find_snapshot(session, session->snap_number);
    struct worker *snapshot =
        worker_add_announced(session, message_pid(content, "pid"), ROLE_SNAPSHOT);
    if (!snapshot)
        return true;
    snapshot->number = session->snap_number;
    snapshot->code = session->snap_code;
    session->snap_code = NULL;
    if (older)
        worker_kill(older);
    snapshot_evict(session);
    return true;
}

static void drop_announced(struct session *session, value content)
{
    struct worker *worker = worker_add_announced(session, message_pid(content, "pid"), ROLE_KILLED);
    if (worker)
        worker_kill(worker);
}

enum session_state action_snapped(struct session *session, const struct session_event *event)
{
    value content;
    if (!session_read_scratch(session, event->message, &content)) {
        session_break_protocol(session, session->head);
        return STATE_SNAPSHOTTING;
    }
    if (!take_announced(session, event->message, content)) {
        drop_announced(session, content);
        return STATE_SNAPSHOTTING;
    }
    session_keep_state(session, content);
    session->finalizers = (unsigned)map_get_integer(content, "finalizers", 0);
    return housekeeping_done(session);
}

// Announced after it had been given up: it is still the state after that evaluation, because the head
// makes it before it reads the next request.
enum session_state action_late_snapshot(struct session *session, const struct session_event *event)
{
    value content;
    if (session_read_scratch(session, event->message, &content) &&
        !take_announced(session, event->message, content))
        drop_announced(session, content);
    return session->state;
}

enum session_state action_drop_snapshot(struct session *session, const struct session_event *event)
{
    value content;
    if (session_read_scratch(session, event->message, &content))
        drop_announced(session, content);
    return session->state;
}

enum session_state action_snap_message(struct session *session, const struct session_event *event)
{
    value content;
    if (event->message->type != CHANNEL_SNAP_FAILED ||
        event->message->number != session->snap_message)
        return STATE_SNAPSHOTTING;
    struct span reason = {"no reason given", 15};
    if (session_read_scratch(session, event->message, &content))
        reason = map_get_string(content, "reason");
    session_notice(session, "%.*s; snapshot %lld stays current", (int)reason.length, reason.data,
                   (long long)session_nearest_snapshot(session, session->current));
    return housekeeping_done(session);
}

enum session_state action_snap_exit(struct session *session, const struct session_event *event)
{
    session_notice_death(session, "ended while a snapshot was made", event->exit);
    return session_begin_wake(session, session->current);
}

enum session_state action_snap_timer(struct session *session, const struct session_event *event)
{
    (void)event;
    session_notice(session, "the snapshot after evaluation %lld takes more than 2 seconds",
                   (long long)session->snap_number);
    session_set_timer(session, -1);
    return STATE_IDLE;
}
