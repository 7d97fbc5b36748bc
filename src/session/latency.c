// Busy-poll instead of epoll_wait while a short evaluation runs: it takes less time than an idle
// processor needs to fall asleep and wake up again.
//
// Polling occupies a processor. On a machine with one processor, or a busy one, it may be the one that
// the head needs; there the kernel schedules better. So a poll is a miss when the head has not read the
// request in time, or when another process used our processor in between. After a miss some requests
// are waited for asleep, twice as many with each further miss (exponential back-off).
#include <sched.h>

#include "base/clock.h"
#include "session/internal.h"

enum {
    READ_WITHIN_NS = 150 * 1000,    // an idle processor wakes up within 50 us, more on a slow day
    POLL_FOR_NS = 2 * 1000 * 1000,  // a small definition takes one
    POLL_GAP_NS = 50 * 1000,        // between two polls
    WARM_UP_NS = 2 * 1000 * 1000,   // the head's warm-up after a snapshot
    POLL_MISSES_MAX = 6,
};

uint64_t busy_poll_first_ticket(void)
{
    cpu_set_t processors;
    bool many =
        sched_getaffinity(0, sizeof(processors), &processors) == 0 && CPU_COUNT(&processors) > 1;
    return many ? 0 : UINT64_MAX;
}

static bool is_polled_for(const struct session *session, const struct job *job, int64_t now_ns)
{
    return job->ticket >= session->manager->poll_from_ticket &&
           job->started_ns - session->snapped_ns > WARM_UP_NS &&
           now_ns - job->started_ns < POLL_FOR_NS;
}

static void poll_missed(struct session_manager *manager, const struct job *job)
{
    if (manager->poll_misses < POLL_MISSES_MAX)
        manager->poll_misses++;
    manager->poll_from_ticket = job->ticket + (1U << manager->poll_misses);
}

static bool poll_once(struct session_manager *manager, struct session *session, int64_t now_ns)
{
    const struct job *job = session->job;
    bool interrupted =
        manager->last_poll_ns > job->started_ns && now_ns - manager->last_poll_ns > POLL_GAP_NS;
    bool is_due = now_ns - job->started_ns > READ_WITHIN_NS;
    manager->last_poll_ns = now_ns;
    if (!interrupted && !(is_due && channel_is_unread(&session->main, job->message_number)))
        return true;
    poll_missed(manager, job);
    return false;
}

bool session_should_busy_poll(struct session_manager *manager)
{
    int64_t now_ns = clock_now_ns();
    for (struct session *session = manager->sessions; session; session = session->next) {
        if (session->state == STATE_RUNNING && is_polled_for(session, session->job, now_ns) &&
            poll_once(manager, session, now_ns))
            return true;
    }
    return false;
}

void busy_poll_hit(const struct session *session, const struct job *job)
{
    if (is_polled_for(session, job, clock_now_ns()))
        session->manager->poll_misses = 0;
}

bool busy_poll_disabled(const struct session_manager *manager)
{
    return manager->last_ticket + 1 < manager->poll_from_ticket;
}

// --- a request is about to come ------------------------------------------------------------------

// False alarms must not fill the socket of a head that does not read: one in a while is enough.
void session_prewake_head(struct session *session)
{
    enum { WHILE_NS = 1000000000 };
    bool is_ready = session->state == STATE_IDLE && !session->finalizing && !session->handling;
    int64_t now = clock_now_ns();
    bool is_alerted =
        session->prewake_ns > session->used_ns && now - session->prewake_ns < WHILE_NS;
    if (!is_ready || is_alerted || session->main.outgoing.length > 0)
        return;
    session->prewake_ns = now;
    session_send(session, &session->main, CHANNEL_PREWAKE, SPAN(""));
}
