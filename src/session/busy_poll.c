// Is an answer so near that the loop should look for it instead of sleeping? A small evaluation takes
// less time than an idle processor needs to fall asleep and wake up again.
//
// Looking takes a processor, and where there is only one, or on a busy machine, it may be the one that
// the head waits for. There the kernel knows better whose turn it is. So a look was in vain when the
// head does not take the request, or when somebody else used our processor meanwhile; after that some
// requests are waited for asleep, twice as many with each look in vain.
#include <sched.h>

#include "base/clock.h"
#include "session/internal.h"

enum {
    TAKEN_WITHIN_NS = 150 * 1000,    // an idle processor wakes up within 50 us, more on a slow day
    LOOK_FOR_NS = 2 * 1000 * 1000,   // a small definition takes one
    LOOK_GAP_NS = 50 * 1000,         // between two looks
    REHEARSAL_NS = 2 * 1000 * 1000,  // what the head still does for itself after a snapshot
    VAIN_LOOKS_MAX = 6,
};

uint64_t near_first_ticket(void)
{
    cpu_set_t processors;
    bool many =
        sched_getaffinity(0, sizeof(processors), &processors) == 0 && CPU_COUNT(&processors) > 1;
    return many ? 0 : UINT64_MAX;
}

static bool is_looked_for(const struct session *session, const struct job *job, int64_t now_ns)
{
    return job->ticket >= session->manager->look_from &&
           job->started_ns - session->snapped_ns > REHEARSAL_NS &&
           now_ns - job->started_ns < LOOK_FOR_NS;
}

static void look_in_vain(struct session_manager *manager, const struct job *job)
{
    if (manager->vain_looks < VAIN_LOOKS_MAX)
        manager->vain_looks++;
    manager->look_from = job->ticket + (1U << manager->vain_looks);
}

static bool look(struct session_manager *manager, struct session *session, int64_t now_ns)
{
    const struct job *job = session->job;
    bool interrupted =
        manager->looked_ns > job->started_ns && now_ns - manager->looked_ns > LOOK_GAP_NS;
    bool is_due = now_ns - job->started_ns > TAKEN_WITHIN_NS;
    manager->looked_ns = now_ns;
    if (!interrupted && !(is_due && channel_is_unread(&session->main, job->message_number)))
        return true;
    look_in_vain(manager, job);
    return false;
}

bool session_answer_is_near(struct session_manager *manager)
{
    int64_t now_ns = clock_now_ns();
    for (struct session *session = manager->sessions; session; session = session->next) {
        if (session->state == STATE_RUNNING && is_looked_for(session, session->job, now_ns) &&
            look(manager, session, now_ns))
            return true;
    }
    return false;
}

void near_answer_came(const struct session *session, const struct job *job)
{
    if (is_looked_for(session, job, clock_now_ns()))
        session->manager->vain_looks = 0;
}

bool near_is_crowded(const struct session_manager *manager)
{
    return manager->last_ticket + 1 < manager->look_from;
}
