#include "session/latency.h"

#include <sched.h>

#include "base/clock.h"
#include "session/session_internal.h"

// --- busy-poll -----------------------------------------------------------------------------------
// Instead of epoll_wait while a short evaluation runs: it takes less time than an idle processor
// needs to fall asleep and wake up again.
//
// Polling occupies a processor. On a machine with one processor, or a busy one, it may be the one
// that the head needs; there the kernel schedules better. So a poll is a miss when the head has not
// read the request in time, or when another process used our processor in between. After a miss
// some requests are waited for asleep, twice as many with each further miss (exponential back-off).

enum {
    READ_WITHIN_NS = 150 * 1000,    // an idle processor wakes up within 50 us, more on a slow day
    POLL_FOR_NS = 2 * 1000 * 1000,  // a small definition takes one
    POLL_GAP_NS = 50 * 1000,        // between two polls
    WARM_UP_NS = 2 * 1000 * 1000,   // the head's warm-up after a snapshot
    POLL_MISSES_MAX = 6,
};

void busy_poll_init(struct busy_poll *busy_poll)
{
    cpu_set_t processors;
    bool many =
        sched_getaffinity(0, sizeof(processors), &processors) == 0 && CPU_COUNT(&processors) > 1;
    *busy_poll = (struct busy_poll){.from_ticket = many ? 0 : UINT64_MAX};
}

static bool is_polled_for(const struct session *session, const struct job *job, int64_t now_ns)
{
    return job->ticket >= session->manager->busy_poll.from_ticket &&
           job->started_ns - session->times.snapped_ns > WARM_UP_NS &&
           now_ns - job->started_ns < POLL_FOR_NS;
}

static void poll_missed(struct busy_poll *busy_poll, const struct job *job)
{
    if (busy_poll->misses < POLL_MISSES_MAX)
        busy_poll->misses++;
    busy_poll->from_ticket = job->ticket + (1U << busy_poll->misses);
}

static bool poll_once(struct busy_poll *busy_poll, struct session *session, int64_t now_ns)
{
    const struct job *job = session->job;
    bool interrupted =
        busy_poll->last_ns > job->started_ns && now_ns - busy_poll->last_ns > POLL_GAP_NS;
    bool is_due = now_ns - job->started_ns > READ_WITHIN_NS;
    busy_poll->last_ns = now_ns;
    if (!interrupted && !(is_due && channel_is_unread(&session->main, job->message_number)))
        return true;
    poll_missed(busy_poll, job);
    return false;
}

bool session_should_busy_poll(struct session_manager *manager, size_t active_calls)
{
    if (active_calls != 1)
        return false;
    int64_t now_ns = clock_now_ns();
    for (struct session *session = manager->sessions; session; session = session->next) {
        if (session->state == STATE_RUNNING && is_polled_for(session, session->job, now_ns) &&
            poll_once(&manager->busy_poll, session, now_ns))
            return true;
    }
    return false;
}

void busy_poll_hit(const struct session *session, const struct job *job)
{
    if (is_polled_for(session, job, clock_now_ns()))
        session->manager->busy_poll.misses = 0;
}

bool busy_poll_disabled(const struct session_manager *manager)
{
    return manager->last_ticket + 1 < manager->busy_poll.from_ticket;
}

// --- pre-wake ------------------------------------------------------------------------------------

// False alarms must not fill the socket of a head that does not read: one in a second is enough.
void session_prewake_head(struct session *session)
{
    enum { AGAIN_NS = 1000000000 };
    const struct session_times *times = &session->times;
    int64_t now = clock_now_ns();
    bool is_ready =
        session->state == STATE_IDLE && !session->finalizer.running && !session->handling;
    bool is_awake = times->prewake_ns > times->used_ns && now - times->prewake_ns < AGAIN_NS;
    if (!is_ready || is_awake || session->main.outgoing.length > 0)
        return;
    session->times.prewake_ns = now;
    session_send(session, &session->main, CHANNEL_PREWAKE, SPAN(""));
}

void session_prewake(struct session_manager *manager)
{
    struct session *latest = manager->sessions;
    for (struct session *session = latest; session; session = session->next) {
        if (session->times.used_ns > latest->times.used_ns)
            latest = session;
    }
    if (latest && !busy_poll_disabled(manager))
        session_prewake_head(latest);
}

// --- snapshot delay ------------------------------------------------------------------------------

// Where processors are few, the client may need the head's to read its reply.
int snapshot_delay_us(const struct session_manager *manager)
{
    enum { CLIENT_FIRST_US = 100 };
    return busy_poll_disabled(manager) ? CLIENT_FIRST_US : 0;
}
