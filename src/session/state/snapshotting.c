// SNAPSHOTTING: the head makes a snapshot of itself after its reply.
#include <stdio.h>

#include "base/clock.h"
#include "base/memory.h"
#include "process/proc.h"
#include "session/session_internal.h"
#include "session/state/actions.h"

enum session_state snapshotting_begin(struct session *session, int64_t number, const char *code)
{
    char text[64];
    int length = snprintf(text, sizeof(text), "{\"number\":%lld,\"after_us\":%d}",
                          (long long)number, snapshot_delay_us(session->manager));
    memory_free(session->snap.code);
    session->snap.code = memory_copy_string(code);
    session->snap.number = number;
    session->unit_tick = proc_tick_now();
    session->protocol_broken = false;
    session->snap.message =
        session_send(session, &session->main, CHANNEL_SNAP, (struct span){text, (size_t)length});
    session_set_timer(session, TIME_SNAP_MS);
    return STATE_SNAPSHOTTING;
}

static enum session_state leave(struct session *session)
{
    session_set_timer(session, -1);
    session->times.snapped_ns = clock_now_ns();
    if (session->finalizer.pending > 0 && !session->queue.first)
        idle_begin_finalizers(session);
    return STATE_IDLE;
}

bool snapshotting_register(struct session *session, const struct channel_message *message,
                           value content)
{
    if (message->number != session->snap.message ||
        map_get_integer(content, "number", -1) != session->snap.number)
        return false;
    struct worker *older = worker_find_snapshot(session, session->snap.number);
    struct worker *snapshot =
        worker_add_announced(session, message_pid(content, "pid"), ROLE_SNAPSHOT);
    if (!snapshot)
        return true;
    snapshot->number = session->snap.number;
    snapshot->code = session->snap.code;
    session->snap.code = NULL;
    if (older)
        worker_kill(older);
    snapshot_evict(session);
    return true;
}

enum session_state snapshotting_on_snapped(struct session *session,
                                           const struct session_event *event)
{
    value content;
    if (!session_read_scratch(session, event->message, &content)) {
        session_break_protocol(session, session->head);
        return STATE_SNAPSHOTTING;
    }
    if (!snapshotting_register(session, event->message, content)) {
        worker_kill_announced(session, message_pid(content, "pid"));
        return STATE_SNAPSHOTTING;
    }
    session_keep_state(session, content);
    session->finalizer.pending = (unsigned)map_get_integer(content, "finalizers", 0);
    return leave(session);
}

enum session_state snapshotting_on_message(struct session *session,
                                           const struct session_event *event)
{
    value content;
    if (event->message->type != CHANNEL_SNAP_FAILED ||
        event->message->number != session->snap.message)
        return STATE_SNAPSHOTTING;
    struct span reason = {"no reason given", 15};
    if (session_read_scratch(session, event->message, &content))
        reason = map_get_string(content, "reason");
    session_notice(session, "%.*s; snapshot %lld stays current", (int)reason.length, reason.data,
                   (long long)lineage_nearest_snapshot(session, session->lineage.current));
    return leave(session);
}

enum session_state snapshotting_on_head_exit(struct session *session,
                                             const struct session_event *event)
{
    session_notice_death(session, "ended while a snapshot was made", event->exit);
    return waking_begin(session, session->lineage.current);
}

enum session_state snapshotting_on_timer(struct session *session, const struct session_event *event)
{
    (void)event;
    session_notice(session, "the snapshot after evaluation %lld takes more than 2 seconds",
                   (long long)session->snap.number);
    session_set_timer(session, -1);
    return STATE_IDLE;
}
