#include "session/job.h"

#include <string.h>

#include "base/assert.h"
#include "base/clock.h"
#include "base/memory.h"
#include "base/utf8.h"
#include "process/proc.h"
#include "session/session_internal.h"
#include "session/worker_data.h"
#include "value/text/json.h"

enum { PROGRESS_FIRST_MS = 1000, PROGRESS_NEXT_MS = 500 };

// The frame's text, all but the limits, which are those in force when it is sent. Its size is known
// when it is submitted, and it is written once.
static void write_request(struct job *job, value params)
{
    struct buffer *text = &job->request;
    buffer_init(text, SESSION_REQUEST_MAX);
    if (value_is_map(params) && map_count(params) > 0) {
        json_write(text, params, 0, NULL);
        if (text->failed)
            return;
        text->data[text->length - 1] = ',';  // in place of the brace
    } else {
        buffer_append_byte(text, '{');
    }
    buffer_append_text(text, "\"op\":");
    json_write_string(text, span_from(job->op ? job->op : ""));
    if (job->input)
        buffer_append_text(text, ",\"interactive\":true");
}

struct job *job_new(struct session_manager *manager, const struct session_request *request)
{
    CHECK(request->kind < SESSION_REQUEST_KIND_COUNT && request->reply);
    struct job *job = memory_alloc_zero(sizeof(*job));
    job->ticket = ++manager->last_ticket;
    job->kind = request->kind;
    job->adopt = request->adopt;
    job->beside = request->beside;
    job->name = memory_copy_string(request->session ? request->session : "main");
    job->client = memory_copy_string(request->client.name);
    job->client_id = request->client.id;
    job->op = memory_copy_string(request->op);
    if (request->label) {
        size_t length = strlen(request->label);
        length = utf8_offset(request->label, length, SESSION_CODE_CHARACTERS);
        job->label = memory_copy_text(request->label, length);
    }
    job->timeout = request->timeout;
    job->error = request->error;
    job->rollback_to = request->rollback_to;
    job->rollback_steps = request->rollback_steps;
    job->as = memory_copy_string(request->as);
    job->hidden = request->hidden;
    job->reply = request->reply;
    job->progress = request->progress;
    job->data = request->data;
    job_streams_init(job, request);
    write_request(job, request->params);
    return job;
}

struct job *job_new_code(const char *label, struct span code)
{
    struct job *job = memory_alloc_zero(sizeof(*job));
    job->kind = SESSION_EVALUATE;
    job->internal = true;
    job->op = memory_copy_string("evaluate");
    job->label = memory_copy_string(label);
    job->timeout = -1;
    buffer_init(&job->request, SESSION_REQUEST_MAX);
    buffer_append_text(&job->request, "{\"op\":\"evaluate\",\"code\":");
    json_write_string(&job->request, code);
    return job;
}

struct job *job_new_project(const char *label, int64_t timeout, const char *name, value what)
{
    struct job *job = memory_alloc_zero(sizeof(*job));
    job->kind = SESSION_EVALUATE;
    job->internal = true;
    job->op = memory_copy_string("load-project");
    job->label = memory_copy_string(label);
    job->timeout = timeout;
    buffer_init(&job->request, SESSION_REQUEST_MAX);
    buffer_append_format(&job->request, "{\"op\":\"load-project\",\"%s\":", name);
    json_write(&job->request, what, 0, NULL);
    return job;
}

struct job *job_new_system(const char *name, const char *directories)
{
    struct job *job = memory_alloc_zero(sizeof(*job));
    job->kind = SESSION_EVALUATE;
    job->internal = true;
    job->op = memory_copy_string("load-system");
    job->label = memory_copy_string(name);
    job->timeout = -1;
    buffer_init(&job->request, SESSION_REQUEST_MAX);
    buffer_append_text(&job->request, "{\"op\":\"load-system\",\"system\":");
    json_write_string(&job->request, span_from(name));
    buffer_append_format(&job->request, ",\"directories\":%s", directories ? directories : "[]");
    return job;
}

void job_free(struct session_manager *manager, struct job *job)
{
    if (job->region)
        manager_return_region(manager, job->region);
    buffer_release(&job->request);
    job_streams_release(job);
    memory_free(job->client);
    memory_free(job->name);
    memory_free(job->op);
    memory_free(job->label);
    memory_free(job->as);
    memory_free(job->package_before);
    memory_free(job->refusal_message);
    memory_free(job);
}

struct region *job_region(struct session_manager *manager, struct job *job)
{
    if (!job->region)
        job->region = manager_acquire_region(manager);
    return job->region;
}

// --- the queue -----------------------------------------------------------------------------------

void job_enqueue(struct session *session, struct job *job)
{
    job->session = session;
    *session->queue.end = job;
    session->queue.end = &job->next;
    session->queue.length++;
}

void job_requeue(struct session *session, struct job *job)
{
    job->session = session;
    job->next = session->queue.first;
    session->queue.first = job;
    if (!job->next)
        session->queue.end = &job->next;
    session->queue.length++;
}

static struct job *unlink_queued(struct session *session, struct job **link)
{
    struct job *job = *link;
    *link = job->next;
    if (session->queue.end == &job->next)
        session->queue.end = link;
    job->next = NULL;
    session->queue.length--;
    return job;
}

struct job *job_dequeue(struct session *session)
{
    CHECK(session->queue.first);
    return unlink_queued(session, &session->queue.first);
}

bool job_queued_beside(const struct session *session)
{
    const struct job *job = session->queue.first;
    while (job && !job->beside)
        job = job->next;
    return job;
}

struct job *job_dequeue_beside(struct session *session)
{
    struct job **link = &session->queue.first;
    while (!(*link)->beside)
        link = &(*link)->next;
    return unlink_queued(session, link);
}

struct job *job_take_queued(struct session *session, uint64_t ticket)
{
    for (struct job **link = &session->queue.first; *link; link = &(*link)->next) {
        if ((*link)->ticket == ticket)
            return unlink_queued(session, link);
    }
    return NULL;
}

// --- running -------------------------------------------------------------------------------------

static void on_progress(evutil_socket_t fd, short what, void *data)
{
    (void)fd;
    (void)what;
    struct session *session = data;
    struct job *job = session->job;
    if (!job || !job->progress || job->cancelled)
        return;
    struct session_progress progress;
    job_progress(session, job, &progress);
    struct timeval next = timeval_from_ms(PROGRESS_NEXT_MS);
    event_add(session->progress_timer, &next);
    job->progress(job->data, &progress);
}

void job_progress(const struct session *session, const struct job *job,
                  struct session_progress *ret_progress)
{
    enum { LINE_BYTES = 200 };
    bool queued = job->started_ns == 0;
    *ret_progress = (struct session_progress){.queued = queued, .line = {"", 0}};
    if (queued)
        return;
    ret_progress->elapsed_ms = (clock_now_ns() - job->started_ns) / 1000000;
    ret_progress->tests = job->tests;
    if (job->tests.total > 0) {
        ret_progress->line = span_from(job->test_name);
        return;
    }
    ret_progress->line = capture_newest_line(&session->output, LINE_BYTES);
    if (ret_progress->line.length == 0)
        ret_progress->line = capture_newest_line(&session->errors, LINE_BYTES);
}

void job_begin(struct job *job)
{
    struct session *session = job->session;
    session->job = job;
    session->protocol_broken = false;
    job->started_ns = clock_now_ns();
    session->unit_tick = proc_tick_now();
    session->crowded = false;
    manager_count_processes(session->manager);
    session_resume_output(session);
    if (job->timeout < 0)
        job->timeout = session->limits.timeout;
    job_streams_begin(session, job);
    if (!job->progress)
        return;
    if (!session->progress_timer)
        session->progress_timer = evtimer_new(session->manager->base, on_progress, session);
    CHECK(session->progress_timer);
    struct timeval first = timeval_from_ms(PROGRESS_FIRST_MS);
    event_add(session->progress_timer, &first);
}

int64_t job_elapsed_ms(const struct job *job)
{
    return (clock_now_ns() - job->started_ns) / 1000000;
}

static void write_advice(struct buffer *text, const char *name, const char *advice)
{
    if (!advice)
        return;
    buffer_append_format(text, ",\"%s\":", name);
    json_write_string(text, span_from(advice));
}

static void write_limits(struct buffer *text, const struct job *job)
{
    const struct session_limits *limits = &job->session->limits;
    const struct session_advice *advice = &job->session->manager->config.advice;
    if (job->number && !job->internal)
        buffer_append_format(text, ",\"evaluation\":%lld", (long long)job->number);
    buffer_append_format(text,
                         ",\"limits\":{\"timeout\":%lld,\"max_output\":%lld,\"max_memory\":%lld,"
                         "\"max_frames\":%lld",
                         (long long)job->timeout, (long long)limits->max_output,
                         (long long)limits->max_memory, (long long)limits->max_frames);
    write_advice(text, "raise_timeout", advice->raise_timeout);
    write_advice(text, "raise_memory", advice->raise_memory);
    buffer_append_text(text, "}}");
}

void job_send_request(struct job *job, struct worker *worker)
{
    enum { LIMITS_BYTES = 4096 };
    struct session *session = job->session;
    size_t length = job->request.length;
    job->request.limit = SESSION_REQUEST_MAX + LIMITS_BYTES;
    write_limits(&job->request, job);
    CHECK(!job->request.failed);
    memory_free(job->package_before);
    struct span package = map_get_string(session->agent.state, "package_label");
    job->package_before = memory_copy_text(package.data, package.length);
    worker->offers = 0;
    job->heard = false;
    job->message_number =
        session_send(session, &worker->link->channel, CHANNEL_REQUEST, buffer_span(&job->request));
    buffer_truncate(&job->request, length);  // it may have to be sent again
}

void job_send(struct job *job, struct worker *worker)
{
    job_send_request(job, worker);
    job->deadline_ns = job->timeout > 0 ? clock_now_ns() + job->timeout * 1000000000 : 0;
    session_set_timer(job->session, job->timeout > 0 ? job->timeout * 1000 : -1);
}

bool job_retry(struct job *job)
{
    enum { TRIES = 3 };
    if (job->cancelled || job->tries++ == TRIES)
        return false;
    job->session->job = NULL;
    job_requeue(job->session, job);
    return true;
}

// --- what its process says, and how it ends ------------------------------------------------------

bool job_read_result(struct job *job, const struct channel_message *message)
{
    struct session *session = job->session;
    struct region *region = job_region(session->manager, job);
    if (!session_read(session, region, message->payload, &job->result) ||
        !result_is_well_formed(job->result))
        return false;
    // What the supervisor adds is small; the limit was for the worker.
    region_set_limit(region, SESSION_REGION_LIMIT);
    // Registered before anything could take it for a leftover.
    job->postmortem = worker_add_parked(session->copy ? session->copy : session->head,
                                        message_pid(job->result, "postmortem"), ROLE_POSTMORTEM);
    value adoptable = map_get(job->result, "adoptable");
    if (job->postmortem && adoptable.tag == VALUE_BOOLEAN)
        job->postmortem->adoptable = adoptable.boolean;
    session_drain_output(session);
    return true;
}

void job_read_exit_notice(struct job *job, const struct channel_message *message)
{
    value content;
    if (!session_read_scratch(job->session, message, &content))
        return;
    job->exit_notice = (struct exit_notice){
        .received = true, .exit_code = (int)map_get_integer(content, "exit_code", 0)};
}

void job_read_frames(struct job *job, const struct channel_message *message)
{
    struct session *session = job->session;
    value content;
    struct region *region = job_region(session->manager, job);
    if (session_read(session, region, message->payload, &content))
        job->frames = map_get(content, "error");
}

void job_classify_exit(struct job *job, const struct session_event *event, bool killed_by_us)
{
    struct session *session = job->session;
    CLEANUP_BUFFER struct buffer runtime_text;
    buffer_init(&runtime_text, BUFFER_DEFAULT_LIMIT);
    capture_last(&session->errors, &runtime_text);
    struct process_failure_facts facts = {
        .exit = *event->exit,
        .channel_lost = event->channel_lost,
        .exit_notice = job->exit_notice,
        .runtime_text = buffer_span(&runtime_text),
        .stop = job->stop == STOP_TIMEOUT ? FAILURE_STOP_TIMEOUT
                : job->stop == STOP_NONE  ? FAILURE_STOP_NONE
                                          : FAILURE_STOP_INTERRUPT,
        .killed_by_us = killed_by_us,
        .protocol_broken = session->protocol_broken,
        .processes_max = session->crowded ? session->manager->config.max_processes : 0,
        .timeout = job->timeout,
        .raise_timeout = session->manager->config.advice.raise_timeout,
        .elapsed_ms = job_elapsed_ms(job),
        .heap_mb = session->manager->config.heap_mb,
    };
    job->result = value_nil();
    job->has_failure = true;
    process_failure_classify(&facts, &job->failure);
}
