// SNAPSHOTTING: the head makes a snapshot of itself after its reply.
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/memory.h"
#include "process/proc.h"
#include "session/session_internal.h"
#include "session/state/actions.h"

enum session_state snapshotting_begin(struct session *session, int64_t number, const char *code)
{
    char text[64];
    int length = snprintf(text, sizeof(text), "{\"number\":%lld}", (long long)number);
    memory_free(session->snap.code);
    session->snap.code = memory_copy_string(code);
    session->snap.number = number;
    session->unit_tick = proc_tick_now();
    session->protocol_broken = false;
    session->snap.message = ++session->message_number;
    int result = worker_offer(session->head, CHANNEL_SNAP, session->snap.message,
                              (struct span){text, (size_t)length});
    if (result == 0)
        session->head->offered->for_snapshot = true;
    else if (!session->head->link->channel.closed)  // then its end is on the way
        session_notice(session, "no snapshot can be made: %s; snapshot %lld stays current",
                       strerror(-result),
                       (long long)lineage_nearest_snapshot(session, session->lineage.current));
    if (result < 0 && !session->head->link->channel.closed)
        return STATE_IDLE;
    session_set_timer(session, TIME_SNAP_MS);
    return STATE_SNAPSHOTTING;
}

static enum session_state leave(struct session *session)
{
    session_set_timer(session, -1);
    if (session->finalizer.pending > 0 && !session->queue.first)
        idle_begin_finalizers(session);
    return STATE_IDLE;
}

static void add_snapshot(struct session *session, pid_t pid)
{
    struct worker *older = worker_find_snapshot(session, session->snap.number);
    if (older && older->process.pid == pid)
        return;  // it has said so itself
    struct worker *snapshot = worker_add_parked(session->head, pid, ROLE_SNAPSHOT);
    if (!snapshot)
        return;
    snapshot->number = session->snap.number;
    snapshot->code = session->snap.code;
    session->snap.code = NULL;
    if (older)
        worker_kill(older);
    snapshot_evict(session);
    saving_note(session);
}

bool snapshotting_register(struct session *session, const struct channel_message *message,
                           value content)
{
    if (!session->head || message->number != session->snap.message ||
        map_get_integer(content, "number", -1) != session->snap.number)
        return false;
    add_snapshot(session, message_pid(content, "pid"));
    return true;
}

void snapshotting_on_parked(struct link *link, pid_t pid)
{
    struct session *session = link->session;
    if (link->for_snapshot && session->head && session->head->offered == link)
        add_snapshot(session, pid);
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
    bool is_read = session_read_scratch(session, event->message, &content);
    if (is_read)
        reason = map_get_string(content, "reason");
    if (is_read && value_is_true(map_get(content, "broken"))) {
        session_wake_notice(session,
                            "evaluation %lld changed Cadre's own functions: %.*s any more, and its "
                            "effects are discarded",
                            (long long)session->snap.number, (int)reason.length, reason.data);
        return waking_begin(session, session->lineage.current);
    }
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
