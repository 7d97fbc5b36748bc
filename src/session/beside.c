// Questions that do not wait for a long evaluation. When the head has worked on one for a second, a
// copy of the newest snapshot answers what is asked of the session, beside the head and the states of
// the session: one question at a time, and its copy is killed afterwards. What cannot be answered so
// (no snapshot, no memory for a copy) stays in the queue, as if there were nothing of this.
//
// The copy does not touch the offsets of files, which it shares with the head that works.
#include <signal.h>

#include "base/assert.h"
#include "base/clock.h"
#include "session/session_internal.h"
#include "session/worker_data.h"

enum { BESIDE_AFTER_MS = 1000, BESIDE_WAKE_MS = 3000, BESIDE_OUTPUT = 1000 };

static void set_timer(struct session *session, int64_t milliseconds)
{
    struct timeval time = timeval_from_ms(milliseconds);
    event_add(session->beside.timer, &time);
}

// What the copy was for is over, one way or the other.
static void end_copy(struct session *session)
{
    struct worker *copy = session->beside.copy;
    event_del(session->beside.timer);
    link_free(session->beside.awaited);
    session->beside.awaited = NULL;
    session->beside.source = NULL;
    session->beside.copy = NULL;
    session->beside.job = NULL;
    if (copy)
        worker_kill(copy);
}

// It waits for the head after all.
static void give_back(struct session *session)
{
    struct job *job = session->beside.job;
    end_copy(session);
    job->beside = false;
    job->started_ns = 0;
    job_requeue(session, job);
    beside_consider(session);
    if (!session->handling)
        session_handle(session, &(struct session_event){.kind = EVENT_REQUEST});
}

static void refuse(struct session *session, const char *code, const char *message)
{
    struct job *job = session->beside.job;
    end_copy(session);
    job_refuse(session->manager, job, code, "%s", message);
    beside_consider(session);
}

static void begin(struct session *session, struct worker *snapshot)
{
    struct link *link = link_new(session, true);
    if (!link)
        return;
    link->output.capture = &session->beside.output;
    link->errors.capture = &session->beside.errors;
    session->beside.job = job_dequeue_beside(session);
    session->beside.source = snapshot;
    session->beside.awaited = link;
    if (worker_wake(snapshot, SPAN("{\"as\":\"copy\",\"beside\":true}"), link) < 0)
        give_back(session);
    else
        set_timer(session, BESIDE_WAKE_MS);
}

void beside_consider(struct session *session)
{
    if (session->beside.job || session->state != STATE_RUNNING || !session->job ||
        session->job->kind != SESSION_EVALUATE || !job_queued_beside(session))
        return;
    int64_t left = BESIDE_AFTER_MS - job_elapsed_ms(session->job);
    struct worker *snapshot = worker_find_snapshot(session, session->lineage.current);
    if (left > 0)
        set_timer(session, left);
    else if (snapshot && snapshot->answered && snapshot != session->source)
        begin(session, snapshot);
}

static void on_timer(evutil_socket_t fd, short what, void *data)
{
    (void)fd;
    (void)what;
    struct session *session = data;
    if (!session->beside.job)
        beside_consider(session);
    else if (!session->beside.copy)
        give_back(session);
    else
        refuse(session, "timeout", "The question took longer than the timeout of the session.");
}

// --- messages ------------------------------------------------------------------------------------

static void on_woke(struct session *session, const struct channel_message *message)
{
    value content;
    struct worker *source = session->beside.source;
    struct job *job = session->beside.job;
    if (!source || !session->beside.awaited || !session_read_scratch(session, message, &content) ||
        message_pid(content, "pid") != message->sender ||
        message_pid(content, "from") != source->process.pid)
        return;
    struct worker *copy = worker_add_announced(session, message->sender, ROLE_BESIDE);
    if (!copy)
        return;  // the timer ends the wait
    copy->link = session->beside.awaited;
    copy->link->worker = copy;
    session->beside.awaited = NULL;
    session->beside.source = NULL;
    session->beside.copy = copy;
    job->started_ns = clock_now_ns();
    if (job->timeout < 0)
        job->timeout = session->limits.timeout;
    event_del(session->beside.timer);
    if (job->timeout > 0)
        set_timer(session, job->timeout * 1000);
    job_send_request(job, copy);
}

static void on_result(struct session *session, const struct channel_message *message)
{
    struct job *job = session->beside.job;
    struct region *region = job_region(session->manager, job);
    if (message->number != job->message_number)
        return;
    if (!session_read(session, region, message->payload, &job->result) ||
        !result_is_well_formed(job->result)) {
        refuse(session, "protocol", "The copy of the session gave an answer that is none.");
        return;
    }
    region_set_limit(region, SESSION_REGION_LIMIT);
    end_copy(session);
    job_finish_beside(session, job);
    beside_consider(session);
}

bool beside_on_message(struct link *link, const struct channel_message *message)
{
    struct session *session = link->session;
    struct worker *worker = link->worker;
    if (!session->beside.job)
        return false;
    if (message->type == CHANNEL_WAKE_FAILED && worker && worker == session->beside.source &&
        worker != session->source) {
        give_back(session);
        return true;
    }
    if (link != session->beside.awaited && (!worker || worker != session->beside.copy))
        return false;
    bool is_copy = worker && message->sender == worker->process.pid;
    if (message->type == CHANNEL_WOKE && !worker)
        on_woke(session, message);
    else if (message->type == CHANNEL_RESULT && is_copy)
        on_result(session, message);
    else if ((message->type == CHANNEL_CLOSED || message->type == CHANNEL_GARBAGE) && worker)
        process_signal(&worker->process, SIGKILL);
    return true;
}

// --- ends ----------------------------------------------------------------------------------------

void beside_forget(struct worker *worker)
{
    struct session *session = worker->session;
    if (session->beside.source == worker)
        session->beside.source = NULL;  // the timer gives the question back
    if (session->beside.copy == worker)
        session->beside.copy = NULL;
}

void beside_on_exit(struct session *session)
{
    refuse(session, "copy-ended", "The copy of the session that worked on the question has ended.");
}

bool beside_cancel(struct session *session, uint64_t ticket)
{
    struct job *job = session->beside.job;
    if (!job || job->ticket != ticket)
        return false;
    end_copy(session);
    job_free(session->manager, job);
    beside_consider(session);
    return true;
}

void beside_close(struct session *session, const char *code, const char *message)
{
    struct job *job = session->beside.job;
    if (!job)
        return;
    end_copy(session);
    job_refuse(session->manager, job, code, "%s", message);
}

void beside_init(struct session *session)
{
    session->beside.timer = evtimer_new(session->manager->base, on_timer, session);
    CHECK(session->beside.timer);
    capture_init(&session->beside.output, BESIDE_OUTPUT);
    capture_init(&session->beside.errors, BESIDE_OUTPUT);
}

void beside_release(struct session *session)
{
    CHECK(!session->beside.job);
    event_free(session->beside.timer);
    capture_release(&session->beside.output);
    capture_release(&session->beside.errors);
}
