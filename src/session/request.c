// Requests: submitted, cancelled, interrupted.
#include "base/clock.h"
#include "process/proc.h"
#include "session/session_internal.h"

static void refuse_unknown(struct session_manager *manager, struct job *job)
{
    CLEANUP_BUFFER struct buffer text;
    buffer_init(&text, 1024);
    session_unknown_text(manager, job->name, &text);
    job_refuse(manager, job, "unknown-session", "%s", buffer_text(&text));
}

// Sessions are limited by their number only where the user wants that; else by the memory of the
// machine. The first one is always made.
static bool refuse_one_more(struct session_manager *manager, struct job *job)
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

// The session of a request, made when it may be; NULL: the request was refused.
static struct session *session_for(struct session_manager *manager, struct job *job, bool create)
{
    if (!session_name_valid(span_from(job->name))) {
        job_refuse(manager, job, "invalid-argument",
                   "Invalid session name \"%.100s\". " SESSION_NAME_RULE ".", job->name);
        return NULL;
    }
    struct session *session = manager_find(manager, job->name);
    if (session)
        return session;
    if (!create) {
        refuse_unknown(manager, job);
        return NULL;
    }
    if (refuse_one_more(manager, job))
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
        if (beside_cancel(session, ticket) || job_remove_queued(session, ticket))
            return;
    }
}

void session_interrupt(struct session_manager *manager, uint64_t ticket)
{
    for (struct session *session = manager->sessions; session; session = session->next) {
        if (session->job && session->job->ticket == ticket)
            stop_running(session, STOP_INTERRUPT);
    }
}

static void give_number(struct session *session, struct job *job)
{
    if (job->kind == SESSION_EVALUATE && !job->internal && job->number == 0)
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
