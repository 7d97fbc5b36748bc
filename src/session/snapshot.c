// HOUSEKEEPING: the head makes a snapshot of itself after its reply; old ones are evicted by number
// and by memory.
#include <signal.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/memory.h"
#include "session/internal.h"
#include "session/proc.h"

enum { MEASURE_EVERY_MS = 100, MEASURE_AT_ONCE = 4, BUDGET_FLOOR_MB = 256 };

void snapshot_begin(struct session *session, int64_t number, const char *code)
{
    char text[48];
    int length = snprintf(text, sizeof(text), "{\"number\":%lld}", (long long)number);
    memory_free(session->snap_code);
    session->snap_code = code ? memory_format("%s", code) : NULL;
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
    if (session->finalizers > 0 && !session->queue)
        session_begin_finalizers(session);
    return STATE_IDLE;
}

// Enters the announced snapshot; false when it is not the one that was asked for last.
static bool take_announced(struct session *session, const struct channel_message *message,
                           value content)
{
    if (message->number != session->snap_message ||
        message_integer(content, "number", -1) != session->snap_number)
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
    struct worker *worker = worker_add_announced(session, message_pid(content, "pid"), ROLE_DOOMED);
    if (worker)
        worker_kill(worker);
}

enum session_state action_snapped(struct session *session, const struct session_event *event)
{
    value content;
    if (!session_read_scratch(session, event->message, &content)) {
        session_break_protocol(session, session->head);
        return STATE_HOUSEKEEPING;
    }
    if (!take_announced(session, event->message, content)) {
        drop_announced(session, content);
        return STATE_HOUSEKEEPING;
    }
    session_keep_state(session, content);
    session->finalizers = (unsigned)message_integer(content, "finalizers", 0);
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
        return STATE_HOUSEKEEPING;
    struct span reason = {"no reason given", 15};
    if (session_read_scratch(session, event->message, &content))
        reason = message_text(content, "reason");
    session_notice(session, "%.*s; snapshot %lld stays current", (int)reason.length, reason.data,
                   (long long)session_nearest_snapshot(session, session->current));
    return housekeeping_done(session);
}

enum session_state action_snap_exit(struct session *session, const struct session_event *event)
{
    (void)event;
    session_wake_notice(session, "the session's process ended while a snapshot was made");
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

// --- what is kept -----------------------------------------------------------------------------------------

static bool is_parked(const struct worker *worker)
{
    return worker->role == ROLE_SNAPSHOT || worker->role == ROLE_POSTMORTEM;
}

static bool is_needed(const struct session *session, const struct worker *worker)
{
    return worker->number == session->current ||
           worker->number == lineage_parent(session, session->current);
}

// The oldest of its kind that may go; NULL when there is none.
static struct worker *oldest_of(struct session *session, enum worker_role role)
{
    struct worker *oldest = NULL;
    for (struct worker *worker = session->workers; worker; worker = worker->next) {
        if (worker->role != role || (role == ROLE_SNAPSHOT && is_needed(session, worker)))
            continue;
        // The list is in order of arrival, newest first.
        oldest = worker;
    }
    return oldest;
}

static size_t count_of(const struct session *session, enum worker_role role)
{
    size_t count = 0;
    for (const struct worker *worker = session->workers; worker; worker = worker->next)
        count += worker->role == role;
    return count;
}

void postmortem_keep(struct session *session, struct worker *worker, int64_t error)
{
    worker->error = error;
    while (count_of(session, ROLE_POSTMORTEM) > SESSION_POSTMORTEMS)
        worker_kill(oldest_of(session, ROLE_POSTMORTEM));
}

// Reading the memory of a process takes about 0.1 ms: only some at a time, in turn; those never
// measured first.
static void measure(struct session *session)
{
    for (int i = 0; i < MEASURE_AT_ONCE; i++) {
        struct worker *due = NULL;
        for (struct worker *worker = session->workers; worker; worker = worker->next) {
            if (is_parked(worker) && (!due || worker->measured_ms <= due->measured_ms))
                due = worker;
        }
        struct proc_memory memory;
        if (!due || due->measured_ms == session->measured_ms)
            return;
        due->measured_ms = session->measured_ms;
        if (proc_memory_read(due->process.pid, &memory) == 0)
            due->pss_kb = memory.pss_kb;
    }
}

static uint64_t budget_kb(const struct session *session)
{
    uint64_t budget = session->manager->config.clone_budget_mb;
    if (budget == 0) {
        budget = (uint64_t)session->limits.max_memory / 2;
        if (budget < BUDGET_FLOOR_MB)
            budget = BUDGET_FLOOR_MB;
    }
    return budget * 1024;
}

static uint64_t parked_kb(const struct session *session)
{
    uint64_t sum = 0;
    for (const struct worker *worker = session->workers; worker; worker = worker->next) {
        if (is_parked(worker))
            sum += worker->pss_kb;
    }
    return sum;
}

static void evict_by_memory(struct session *session)
{
    int64_t now = clock_now_ms();
    if (now - session->measured_ms < MEASURE_EVERY_MS)
        return;
    session->measured_ms = now;
    measure(session);
    while (parked_kb(session) > budget_kb(session)) {
        struct worker *victim = oldest_of(session, ROLE_POSTMORTEM);
        if (!victim)
            victim = oldest_of(session, ROLE_SNAPSHOT);
        if (!victim)
            return;
        worker_kill(victim);
    }
}

void snapshot_evict(struct session *session)
{
    while (count_of(session, ROLE_SNAPSHOT) > (size_t)session->limits.snapshots) {
        struct worker *victim = oldest_of(session, ROLE_SNAPSHOT);
        if (!victim)
            break;
        worker_kill(victim);
    }
    evict_by_memory(session);
}
