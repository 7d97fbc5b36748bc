// A session gets the state of another one: a new session, or one that exists and keeps its own state
// as a snapshot before it.
//
// The snapshot that is wanted is asked for a clone, as for a copy; the clone belongs to the other
// session from then on: it has a kernel session and a mark of its own, and neither open file
// descriptions nor connections in common with the session it came from (lisp/process/forking.lisp).
#include <inttypes.h>
#include <string.h>

#include "base/memory.h"
#include "process/cgroup.h"
#include "process/mark.h"
#include "process/proc.h"
#include "process/sandbox/signal_guard.h"
#include "session/session_internal.h"
#include "session/state/actions.h"

// --- in the session whose state it is ------------------------------------------------------------

static int64_t wanted_number(const struct session *session, const struct job *job)
{
    return job->rollback_to >= 0 ? job->rollback_to : session->lineage.current;
}

static struct session *target_of(struct session_manager *manager, struct job *job)
{
    if (job->hidden)
        job->as = memory_format("#%" PRIu64, manager->last_session + 1);
    bool is_known = manager_knows(manager, job->as);
    if (job->kind == SESSION_FORK && is_known)
        job_refuse(manager, job, "session-exists",
                   "There is a session \"%s\" already; adopt-session gives it this state.",
                   job->as);
    else if (job->kind == SESSION_ADOPT && !is_known && strcmp(job->as, "main") != 0)
        job_refuse(manager, job, "unknown-session",
                   "There is no session \"%s\"; fork-session makes one.", job->as);
    else if (job->kind == SESSION_ADOPT && strcmp(job->as, job->name) == 0)
        job_refuse(manager, job, "invalid-argument",
                   "A session cannot adopt its own state; rollback-session goes back to an "
                   "earlier one.");
    else if (is_known || job->kind == SESSION_ADOPT)
        return manager_find(manager, job->as);
    else if (!manager_refuses_one_more(manager, job))
        return manager_add(manager, job->as);
    return NULL;
}

static void hide(struct session *session)
{
    session->is_hidden = true;
    keeping_close(session);
}

static void hand_over(struct session *session, struct job *job)
{
    struct session *target = target_of(session->manager, job);
    if (!target)
        return;
    if (job->kind == SESSION_FORK) {
        target->is_forked = true;
        session_take_environment(target, session->environment);
        if (job->hidden)
            hide(target);
    }
    job->fork_number = wanted_number(session, job);
    job->fork_from = session->id;
    job_enqueue(target, job);
    if (!target->handling)
        session_handle(target, &(struct session_event){.kind = EVENT_REQUEST});
}

bool fork_at_once(struct session *session, struct job *job)
{
    if (job->kind != SESSION_FORK && job->kind != SESSION_ADOPT)
        return false;
    bool is_busy = session->job && !session->queue.first;
    bool is_ready = (job->rollback_to >= 0 || is_busy) && session->state != STATE_WAKING &&
                    worker_find_snapshot(session, wanted_number(session, job));
    if (is_ready)
        hand_over(session, job);
    return is_ready;
}

enum session_state fork_begin(struct session *session, struct job *job)
{
    int64_t number = wanted_number(session, job);
    if (worker_find_snapshot(session, number)) {
        hand_over(session, job);
    } else if (number == session->lineage.current && !job->waited_for_snapshot) {
        job->waited_for_snapshot = true;
        job_requeue(session, job);
        return snapshotting_begin(session, number, NULL);
    } else {
        job_refuse_snapshot(session, job, number);
    }
    return STATE_IDLE;
}

// --- in the session that gets it -----------------------------------------------------------------

// The session that the request was handed over by; NULL: it was closed.
static struct session *origin(const struct session_manager *manager, const struct job *job)
{
    struct session *session = manager->sessions;
    while (session && session->id != job->fork_from)
        session = session->next;
    return session;
}

struct worker *fork_source(struct session *session, struct job *job)
{
    struct session *from = origin(session->manager, job);
    struct worker *source = from ? worker_find_snapshot(from, job->fork_number) : NULL;
    if (!source) {
        job_refuse(session->manager, job, "no-such-snapshot",
                   "Snapshot %" PRId64 " of session \"%s\" does not exist any more.",
                   job->fork_number, job->name);
        return NULL;
    }
    session_take_mark(session);
    signal_guard_share(session->manager->signal_guards, mark_read(source->process.pid),
                       session_mark(session));
    return source;
}

char *fork_describe(const struct session *session)
{
    return memory_format("{\"as\":\"copy\",\"fork\":\"%s\"}", session->environment_entry);
}

static void inherit_systems(struct session *session, const struct session *from)
{
    for (size_t i = 0; i < session->systems.count; i++)
        memory_free(session->systems.names[i]);
    session->systems.count = from->systems.count;
    for (size_t i = 0; i < from->systems.count; i++)
        session->systems.names[i] = memory_copy_string(from->systems.names[i]);
    memory_free(session->systems.directories);
    session->systems.directories = memory_copy_string(from->systems.directories);
}

static void inherit(struct session *session, struct session *from)
{
    if (session->is_forked)
        session->limits = from->limits;
    if (!session->is_hidden)
        from->lent_temporary = true;
    inherit_systems(session, from);
    memory_free(session->runtime);
    memory_free(session->base);
    session->runtime = memory_copy_string(from->runtime);
    session->base = memory_copy_string(from->base);
    region_clear(session->agent.hello_region);
    session->agent.hello = value_copy(session->agent.hello_region, from->agent.hello);
}

bool fork_accepts(struct session *session, const struct channel_message *message)
{
    struct proc_status status;
    if (!session->source || proc_status_read(message->sender, &status) < 0 ||
        status.session != message->sender || !mark_give(message->sender, session_mark(session)))
        return false;
    session_remember_kernel_session(session, message->sender);
    session_make_cgroup(session);
    cgroup_take(session->cgroup, message->sender);
    inherit(session, session->source->session);
    return true;
}

void fork_finish(struct session *session, struct job *job)
{
    struct session_manager *manager = session->manager;
    int64_t before = session->lineage.current;
    const struct session *from = origin(manager, job);
    const char *label = from ? lineage_label(from, job->fork_number) : "";
    int64_t number = session->is_forked ? job->fork_number : ++session->lineage.evaluations;
    lineage_set_parent(session, number, session->is_forked ? -1 : before);
    lineage_set_label(session, number, session->is_forked ? label : "(adopt-session)");
    session->lineage.current = number;
    if (session->lineage.evaluations < number)
        session->lineage.evaluations = number;
    if (session->is_forked) {
        session->lineage.first = number;
    } else {
        job->number = number;
        job->undone = lineage_undone(session, job_region(manager, job), before, number);
    }
    if (from)
        keeping_became(session, from, job);
    session->is_forked = false;
    job->adopted = true;
}

// --- failures ------------------------------------------------------------------------------------

enum session_state fork_abandon(struct session *session, enum session_state state)
{
    if (!session->is_forked)
        return state;
    session_close(session->manager, session->name);
    return STATE_DOWN;
}

static struct session *asking(const struct worker *source)
{
    struct session *session = source->session->manager->sessions;
    while (session && !(session != source->session && session->state == STATE_COPY &&
                        session->source == source))
        session = session->next;
    return session;
}

bool fork_on_wake_failed(const struct worker *source, const struct channel_message *message)
{
    struct session *session = asking(source);
    if (session)
        session_handle(session, &(struct session_event){.kind = EVENT_MESSAGE, .message = message});
    return session;
}

void fork_forget_source(const struct worker *worker)
{
    for (struct session *session; (session = asking(worker));) {
        session->source = NULL;
        session_set_timer(session, 0);
    }
}
