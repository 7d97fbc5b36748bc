// What is kept of a session's parked processes: so many, and so much memory. The snapshots of the
// current state and of the one before it always stay.
#include "base/clock.h"
#include "process/proc.h"
#include "session/session_internal.h"

enum { MEASURE_EVERY_MS = 100, MEASURE_AT_ONCE = 4, MEASURE_MS = 1, BUDGET_FLOOR_MB = 256 };

// A frozen error is oversized with more than this part of the budget.
enum { OVERSIZED_SHARE = 4 };

static bool is_parked(const struct worker *worker)
{
    return worker->role == ROLE_SNAPSHOT || worker->role == ROLE_POSTMORTEM;
}

static size_t count_of(const struct session *session, enum worker_role role)
{
    size_t count = 0;
    for (const struct worker *worker = session->workers; worker; worker = worker->next)
        count += worker->role == role;
    return count;
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

// --- who goes ------------------------------------------------------------------------------------

static struct worker *next_postmortem(struct worker *worker)
{
    while (worker && worker->role != ROLE_POSTMORTEM)
        worker = worker->next;
    return worker;
}

// A frozen error of an evaluation: those of tests are bounded by themselves.
static size_t count_of_errors(const struct session *session)
{
    size_t count = 0;
    for (const struct worker *worker = session->workers; worker; worker = worker->next)
        count += worker->role == ROLE_POSTMORTEM && !worker->test;
    return count;
}

static bool is_error(const struct worker *postmortem, int64_t error)
{
    return error > 0 && postmortem->error == error;
}

// The frozen error that is missed least, NULL when there is none, as for the others of this
// section. The last error stays; and when there is a newest, which its reply has just named, that
// one and the one it was a try at. Of the others those of tries go first, the oldest first.
static struct worker *dispensable_postmortem(struct session *session, const struct worker *newest,
                                             bool with_tests)
{
    struct worker *victim = NULL;
    // The list is in order of arrival, newest first.
    for (struct worker *worker = next_postmortem(session->workers); worker;
         worker = next_postmortem(worker->next)) {
        if ((worker->test && !with_tests) || worker == newest ||
            is_error(worker, session->history.last_error) ||
            (newest && is_error(worker, newest->tried_at)))
            continue;
        if (!victim || worker->tried_at || !victim->tried_at)
            victim = worker;
    }
    return victim;
}

static bool is_needed(const struct session *session, const struct worker *snapshot)
{
    return snapshot->number == session->lineage.current ||
           snapshot->number == lineage_parent(session, session->lineage.current);
}

static struct worker *oldest_snapshot(struct session *session)
{
    struct worker *snapshot = worker_next_snapshot(session, -1);
    while (snapshot && is_needed(session, snapshot))
        snapshot = worker_next_snapshot(session, snapshot->number);
    return snapshot;
}

// The snapshot that is missed least, because its neighbours are near for its age. Taking one after
// the other removes every second of the old ones first; what remains reaches as far back as before,
// the closer together the younger. The oldest and the newest have one neighbour and stay.
static struct worker *densest_snapshot(struct session *session)
{
    struct worker *densest = NULL;
    int64_t least_gap = 0, its_age = 0;
    struct worker *before = worker_next_snapshot(session, -1);
    struct worker *snapshot = before ? worker_next_snapshot(session, before->number) : NULL;
    while (snapshot) {
        struct worker *after = worker_next_snapshot(session, snapshot->number);
        if (after && !is_needed(session, snapshot)) {
            int64_t gap = after->number - before->number;
            int64_t age = session->lineage.evaluations - snapshot->number;
            if (!densest || gap * its_age < least_gap * age) {
                densest = snapshot;
                least_gap = gap;
                its_age = age;
            }
        }
        before = snapshot;
        snapshot = after;
    }
    return densest;
}

// The largest frozen error that takes more than a share of the budget by itself, as one does whose
// stack was full. The last error counts too: it is no reason to give up snapshots.
static struct worker *oversized_postmortem(struct session *session)
{
    struct worker *largest = NULL;
    for (struct worker *worker = next_postmortem(session->workers); worker;
         worker = next_postmortem(worker->next)) {
        if (worker->pss_kb > budget_kb(session) / OVERSIZED_SHARE &&
            (!largest || worker->pss_kb > largest->pss_kb))
            largest = worker;
    }
    return largest;
}

static struct worker *next_for_memory(struct session *session)
{
    struct worker *victim = oversized_postmortem(session);
    if (!victim)
        victim = dispensable_postmortem(session, NULL, true);
    if (!victim && count_of(session, ROLE_SNAPSHOT) <= (size_t)session->limits.snapshots / 2)
        victim = densest_snapshot(session);
    return victim ? victim : oldest_snapshot(session);
}

// --- memory --------------------------------------------------------------------------------------

// Reading the memory of a process takes about 0.1 ms, of a large heap 36 ms: only some at a time, and
// none after a slow one, in turn; those never measured first.
static void measure(struct session *session)
{
    int64_t until_ms = clock_now_ms() + MEASURE_MS;
    for (int i = 0; i < MEASURE_AT_ONCE && clock_now_ms() <= until_ms; i++) {
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

static uint64_t parked_kb(const struct session *session)
{
    uint64_t sum = 0;
    for (const struct worker *worker = session->workers; worker; worker = worker->next) {
        if (is_parked(worker))
            sum += worker->pss_kb;
    }
    return sum;
}

// --- eviction ------------------------------------------------------------------------------------

static void evict_by_memory(struct session *session)
{
    int64_t now = clock_now_ms();
    if (now - session->measured_ms < MEASURE_EVERY_MS)
        return;
    session->measured_ms = now;
    measure(session);
    while (parked_kb(session) > budget_kb(session)) {
        struct worker *victim = next_for_memory(session);
        if (!victim)
            return;
        worker_kill(victim);
    }
}

void snapshot_evict(struct session *session)
{
    while (count_of(session, ROLE_SNAPSHOT) > (size_t)session->limits.snapshots) {
        struct worker *victim = oldest_snapshot(session);
        if (!victim)
            break;
        worker_kill(victim);
    }
    evict_by_memory(session);
}

void postmortem_evict(struct session *session)
{
    const struct worker *newest = next_postmortem(session->workers);
    struct worker *victim;
    while (count_of_errors(session) > SESSION_POSTMORTEMS &&
           (victim = dispensable_postmortem(session, newest, false)))
        worker_kill(victim);
}
