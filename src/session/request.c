// Requests: submitted, cancelled, interrupted.
#include "session/session_internal.h"

static void refuse_unknown(struct session_manager *manager, struct job *job)
{
    CLEANUP_BUFFER struct buffer text;
    buffer_init(&text, 1024);
    session_unknown_text(manager, job->name, &text);
    job_refuse(manager, job, "unknown-session", "%s", buffer_text(&text));
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
    if (manager->session_count >= manager->config.max_sessions) {
        job_refuse(manager, job, "too-many-sessions",
                   "There are %u sessions already; close-session ends one.",
                   manager->session_count);
        return NULL;
    }
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
    if (session->queue.length >= manager->config.max_queue) {
        job_refuse(manager, job, "busy", "%u requests are already waiting for session \"%s\".",
                   manager->config.max_queue, session->name);
        return ticket;
    }
    job_enqueue(session, job);
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
        if (job_remove_queued(session, ticket))
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

bool session_progress(struct session_manager *manager, uint64_t ticket,
                      struct session_progress *ret_progress)
{
    for (struct session *session = manager->sessions; session; session = session->next) {
        struct job *job = session->job;
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
