// Requests: submitted, cancelled, interrupted.
#include "base/clock.h"
#include "process/proc.h"
#include "session/session_internal.h"
#include "session/state/actions.h"

static void refuse_unknown(struct session_manager *manager, struct job *job)
{
    CLEANUP_BUFFER struct buffer text;
    buffer_init(&text, 1024);
    session_unknown_text(manager, job->name, &text);
    job_refuse(manager, job, "unknown-session", "%s", buffer_text(&text));
}

// Sessions are limited by their number only where the user wants that; else by the memory of the
// machine. The first one is always made.
bool manager_refuses_one_more(struct session_manager *manager, struct job *job)
{
    unsigned count = manager->session_count, max = manager->config.max_sessions;
    uint64_t available_kb;
    if (max > 0 && count >= max) {
        job_refuse(manager, job, "too-many-sessions",
                   "There are %u sessions already (--max-sessions); close-session ends one.",
                   count);
        return true;
    }
    if (count == 0 || proc_available_kb(&available_kb) < 0 ||
        available_kb / 1024 >= manager->config.spare_memory_mb)
        return false;
    job_refuse(manager, job, "too-many-sessions",
               "This machine has %llu MB of memory left; a new session needs %u MB. There are %u; "
               "close-session ends one.",
               (unsigned long long)(available_kb / 1024), manager->config.spare_memory_mb, count);
    return true;
}

static bool refuse_name(struct session_manager *manager, struct job *job, const char *name)
{
    if (session_name_valid(span_from(name)))
        return false;
    job_refuse(manager, job, "invalid-argument",
               "Invalid session name \"%.100s\". " SESSION_NAME_RULE ".", name);
    return true;
}

// The session of a request, made when it may be; NULL: the request was refused.
static struct session *session_for(struct session_manager *manager, struct job *job, bool create)
{
    struct session *session = manager_find(manager, job->name);
    if (session)
        return session;
    if (refuse_name(manager, job, job->name))
        return NULL;
    if (!create) {
        refuse_unknown(manager, job);
        return NULL;
    }
    if (manager_refuses_one_more(manager, job))
        return NULL;
    session = manager_add(manager, job->name);
    session_notice(session, "session \"%s\" was started", session->name);
    return session;
}

uint64_t session_submit(struct session_manager *manager, const struct session_request *request)
{
    struct job *job = job_new(manager, request);
    uint64_t ticket = job->ticket;
    if (job->request.failed) {
        job_refuse(manager, job, "request-too-large", "The request is larger than %d MiB.",
                   SESSION_REQUEST_MAX >> 20);
        return ticket;
    }
    if (job->as && !job->hidden && refuse_name(manager, job, job->as))
        return ticket;
    struct session *session = session_for(manager, job, request->create);
    if (!session)
        return ticket;
    session_take_environment(session, request->client.environment);
    session->used_ms = clock_now_ms();
    session->wants_rest = false;
    if (session->queue.length >= manager->config.max_queue) {
        job_refuse(manager, job, "busy", "%u requests are already waiting for session \"%s\".",
                   manager->config.max_queue, session->name);
        return ticket;
    }
    if (fork_at_once(session, job))
        return ticket;
    job_enqueue(session, job);
    beside_consider(session);
    if (!session->handling)
        session_handle(session, &(struct session_event){.kind = EVENT_REQUEST});
    return ticket;
}

static void stop_running(struct session *session, enum job_stop stop)
{
    struct job *job = session->job;
    if (stop == STOP_CANCEL)
        job->cancelled = true;
    if (job->stop == STOP_NONE)
        job->stop = stop;
    if (!session->handling)
        session_handle(session, &(struct session_event){.kind = EVENT_CANCEL});
}

void session_cancel(struct session_manager *manager, uint64_t ticket)
{
    for (struct job *job = manager->refused; job; job = job->next) {
        if (job->ticket == ticket)
            job->cancelled = true;
    }
    for (struct session *session = manager->sessions; session; session = session->next) {
        if (session->job && session->job->ticket == ticket) {
            stop_running(session, STOP_CANCEL);
            return;
        }
        struct job *queued = job_take_queued(session, ticket);
        if (queued)
            job_free(manager, queued);
        if (queued || beside_cancel(session, ticket))
            return;
    }
}

// A request that does not run in the head or a copy of its own: it waits, or is answered beside.
static void refuse_waiting(struct session *session, uint64_t ticket)
{
    struct job *job = job_take_queued(session, ticket);
    if (job)
        job_refuse(session->manager, job, "interrupted", "It was interrupted before it began.");
    if (!session->beside.job || session->beside.job->ticket != ticket)
        return;
    beside_close(session, "interrupted", "The question was interrupted.");
    beside_consider(session);
}

void session_interrupt(struct session_manager *manager, uint64_t ticket)
{
    for (struct session *session = manager->sessions; session; session = session->next) {
        if (session->job && session->job->ticket == ticket)
            stop_running(session, STOP_INTERRUPT);
        else
            refuse_waiting(session, ticket);
    }
}

bool session_interrupt_evaluation(struct session_manager *manager, const char *name, int64_t number)
{
    struct session *session = manager_find(manager, name);
    if (!session || !session->job || session->job->number != number || number == 0)
        return false;
    stop_running(session, STOP_INTERRUPT);
    return true;
}

static void give_number(struct session *session, struct job *job)
{
    bool numbered = job->kind == SESSION_EVALUATE || job->kind == SESSION_TESTS;
    if (numbered && !job->internal && job->number == 0)
        job->number = ++session->lineage.evaluations;
}

int64_t session_evaluation_number(struct session_manager *manager, uint64_t ticket)
{
    for (struct session *session = manager->sessions; session; session = session->next) {
        if (session->job && session->job->ticket == ticket)
            return session->job->number;
        struct job *job = session->queue.first;
        while (job && job->ticket != ticket)
            job = job->next;
        if (!job)
            continue;
        for (struct job *before = session->queue.first; before != job; before = before->next)
            give_number(session, before);
        give_number(session, job);
        return job->number;
    }
    return 0;
}

bool session_progress(struct session_manager *manager, uint64_t ticket,
                      struct session_progress *ret_progress)
{
    for (struct session *session = manager->sessions; session; session = session->next) {
        struct job *job = session->job;
        if (session->beside.job && session->beside.job->ticket == ticket)
            job = session->beside.job;
        if (!job || job->ticket != ticket) {
            job = session->queue.first;
            while (job && job->ticket != ticket)
                job = job->next;
        }
        if (job) {
            job_progress(session, job, ret_progress);
            return true;
        }
    }
    return false;
}
