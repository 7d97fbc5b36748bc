// From a finished request to its reply: output, error record, notices, rollback.
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/assert.h"
#include "base/clock.h"
#include "base/memory.h"
#include "base/utf8.h"
#include "session/sbcl_output.h"
#include "session/session_internal.h"
#include "session/worker_data.h"

enum { RUNTIME_LOG_BYTES = 4096, LOST_THREADS_MAX = 256, NOTICES_MAX = 64, THREAD_ERRORS_MAX = 20 };

static value put_text(struct region *region, value map, const char *name, const char *text)
{
    return map_put_text(region, map, name, value_string_text(region, text));
}

// --- refusals ------------------------------------------------------------------------------------

static void answer_refused(struct session_manager *manager, struct job *job)
{
    struct region *region = job_region(manager, job);
    value error = map_new(region);
    error = put_text(region, error, "code", job->refusal_code);
    error = put_text(region, error, "message", job->refusal_message);
    struct session_reply reply = {
        .ticket = job->ticket,
        .session = job->name,
        .region = region,
        .error = error,
        .earlier_output = {"", 0},
        .standard_output.text = {"", 0},
        .standard_error.text = {"", 0},
        .notices = vector_new(region, 0),
        .undone = vector_new(region, 0),
        .lost_threads = vector_new(region, 0),
        .snapshot = -1,
        .package = {"", 0},
        .package_label = {"", 0},
        .package_before = {"", 0},
        .limits = job->session ? job->session->limits : manager->config.limits,
        .advice = manager->config.advice,
        .heap_mb = manager->config.heap_mb,
    };
    job->reply(job->data, &reply);
}

void manager_answer_refused(struct session_manager *manager)
{
    while (manager->refused) {
        struct job *job = manager->refused;
        manager->refused = job->next;
        if (!job->cancelled)
            answer_refused(manager, job);
        job_free(manager, job);
    }
}

enum { REFUSAL_MAX = 1023 };  // bytes

void job_refuse(struct session_manager *manager, struct job *job, const char *code,
                const char *format, ...)
{
    if (job->internal || job->cancelled) {
        job_free(manager, job);
        return;
    }
    va_list arguments;
    va_start(arguments, format);
    char *text = memory_format_list(REFUSAL_MAX, format, arguments);
    va_end(arguments);
    snprintf(job->refusal_code, sizeof(job->refusal_code), "%s", code);
    job->refusal_message = text;
    // Always from the loop: callers of session_submit() are not called back from inside it. The
    // session may be gone by then.
    job->session = NULL;
    struct job **end = &manager->refused;
    while (*end)
        end = &(*end)->next;
    job->next = NULL;
    *end = job;
    event_active(manager->refused_event, EV_TIMEOUT, 0);
}

void job_refuse_queued(struct session *session, const char *code, const char *message)
{
    while (session->queue.first)
        job_refuse(session->manager, job_dequeue(session), code, "%s", message);
}

// --- errors --------------------------------------------------------------------------------------

static bool text_is(value text, const char *expected)
{
    return value_is_string(text) && span_equal_text(value_text(text), expected);
}

static value cadre_error(struct region *region, value error, const char *type, const char *code,
                         const char *message)
{
    char qualified[64];
    snprintf(qualified, sizeof(qualified), "CADRE:%s", type);
    error = put_text(region, error, "code", code);
    error = put_text(region, error, "message", message);
    error = put_text(region, error, "type", type);
    error = put_text(region, error, "type_qualified", qualified);
    error = map_put_text(region, error, "superclasses", vector_new(region, 0));
    if (!value_is_vector(map_get(error, "frames"))) {
        error = map_put_text(region, error, "frames", vector_new(region, 0));
        error = map_put_text(region, error, "depth", value_integer(0));
    }
    if (!value_is_vector(map_get(error, "restarts")))
        error = map_put_text(region, error, "restarts", vector_new(region, 0));
    return error;
}

// The error of the request; nil when it succeeded.
static value job_error(struct job *job)
{
    struct region *region = job->region;
    if (job->has_failure) {
        value base =
            value_is_map(job->frames) ? error_history_import(region, job->frames) : map_new(region);
        return cadre_error(region, base, job->failure.type, job->failure.code,
                           job->failure.message);
    }
    if (!value_is_map(job->result))
        return value_nil();
    if (value_is_true(map_get(job->result, "ok")))
        return value_nil();
    value error = error_history_import(region, map_get(job->result, "error"));
    if (job->stop == STOP_INTERRUPT && text_is(map_get(error, "code"), "timeout")) {
        char message[128];
        process_failure_interrupted_message(job_elapsed_ms(job), message, sizeof(message));
        error = cadre_error(region, error, "EVALUATION-INTERRUPTED", "interrupted", message);
    }
    return error;
}

static bool error_is_recorded(const struct job *job)
{
    if (job->internal || job->cancelled)
        return false;
    if (job->kind == SESSION_EVALUATE || job->kind == SESSION_TESTS)
        return true;
    // A restart that was not even invoked did not fail.
    value invoked = map_get(job->result, "invoked");
    return job->kind == SESSION_RESTART && !(invoked.tag == VALUE_BOOLEAN && !invoked.boolean);
}

value session_complete_error(struct session *session, struct region *region, value error,
                             int64_t id, int64_t evaluation, bool frozen)
{
    char time[CLOCK_ISO_SIZE];
    clock_format_iso(clock_unix_seconds(), time);
    if (id > 0)
        error = map_put_text(region, error, "id", value_integer(id));
    error = map_put_text(region, error, "evaluation",
                         value_integer(evaluation > 0 ? evaluation : session->lineage.current));
    error = put_text(region, error, "time", time);
    return map_put_text(region, error, "frozen", value_boolean(frozen));
}

static void touch_last_error(struct session *session, const struct job *job, int64_t id)
{
    if (job->internal || job->cancelled)
        return;
    // The error of a thread that this call reports is the last one when it has none itself.
    if (job->kind == SESSION_TESTS && id == 0)
        return;
    if (job->kind == SESSION_EVALUATE || job->kind == SESSION_TESTS ||
        (job->kind == SESSION_RESTART && job->adopted))
        session->history.last_error = id ? id : session->pending.thread_error;
    else if (job->kind == SESSION_ROLLBACK)
        session->history.last_error = 0;
}

// --- threads and finalizers that ended by an error -----------------------------------------------

static void add_late_error(struct buffer *lines, value error, int64_t id)
{
    struct span type = map_get_string(error, "type");
    struct span message = map_get_string(error, "message");
    struct span thread = map_get_string(error, "thread");
    const char *newline = memchr(message.data, '\n', message.length);
    if (newline)
        message.length = (size_t)(newline - message.data);
    value kind = map_get(error, "kind");
    if (text_is(kind, "timer"))
        buffer_append_text(lines, "; timer");
    else if (text_is(kind, "finalizer") || thread.length == 0)
        buffer_append_text(lines, "; finalizer");
    else
        buffer_append_format(lines, "; thread \"%.*s\"", (int)thread.length, thread.data);
    buffer_append_format(lines, " ended by %.*s: %.*s (error %lld)\n", (int)type.length, type.data,
                         (int)message.length, message.data, (long long)id);
}

void session_record_thread_error(struct session *session, struct region *region, value error)
{
    pid_t pid = message_pid(error, "postmortem");
    struct worker *frozen =
        pid > 0 && session->head ? worker_add_frozen_thread(session->head, pid) : NULL;
    error = session_complete_error(session, region, error_history_import(region, error),
                                   error_history_next_id(&session->history),
                                   session->lineage.current, frozen != NULL);
    int64_t id = error_history_add(&session->history, error);
    if (frozen) {
        frozen->error = id;
        frozen->adoptable = false;
    }
    if (text_is(map_get(error, "kind"), "thread"))
        session->pending.thread_error = id;
    add_late_error(&session->pending.late_errors, error, id);
}

void session_record_thread_errors(struct session *session, struct region *region, value result)
{
    value errors = map_get(result, "thread_errors");
    size_t count = value_is_vector(errors) ? vector_count(errors) : 0;
    if (count > THREAD_ERRORS_MAX)
        count = THREAD_ERRORS_MAX;
    for (size_t i = 0; i < count; i++)
        session_record_thread_error(session, region, vector_at(errors, i));
}

// --- the parts of a reply ------------------------------------------------------------------------

struct reply_texts {
    struct buffer earlier;
    struct buffer output;
    struct buffer errors;
    struct buffer raw_errors;
    struct buffer runtime_log;
};

static void texts_init(struct reply_texts *texts)
{
    buffer_init(&texts->earlier, BUFFER_DEFAULT_LIMIT);
    buffer_init(&texts->output, BUFFER_DEFAULT_LIMIT);
    buffer_init(&texts->errors, BUFFER_DEFAULT_LIMIT);
    buffer_init(&texts->raw_errors, BUFFER_DEFAULT_LIMIT);
    buffer_init(&texts->runtime_log, BUFFER_DEFAULT_LIMIT);
}

static void texts_release(struct reply_texts *texts)
{
    buffer_release(&texts->earlier);
    buffer_release(&texts->output);
    buffer_release(&texts->errors);
    buffer_release(&texts->raw_errors);
    buffer_release(&texts->runtime_log);
}

static void move_output(struct session *session, struct reply_texts *texts, bool died,
                        struct session_reply *reply)
{
    reply->standard_output.omitted = capture_move(&session->output, &texts->output);
    reply->standard_error.omitted = capture_move(&session->errors, &texts->raw_errors);
    buffer_append_span(&texts->errors, buffer_span(&session->pending.late_errors));
    buffer_clear(&session->pending.late_errors);
    sbcl_output_split(buffer_span(&texts->raw_errors), died, &texts->errors, &texts->runtime_log);
    if (texts->runtime_log.length > RUNTIME_LOG_BYTES)
        buffer_consume(
            &texts->runtime_log,
            utf8_cut(texts->runtime_log.data, texts->runtime_log.length - RUNTIME_LOG_BYTES));
    reply->standard_output.text = buffer_span(&texts->output);
    reply->standard_error.text = buffer_span(&texts->errors);
}

// Only some replies show output; for the others it waits.
static void move_earlier_output(struct session *session, const struct job *job,
                                struct reply_texts *texts, struct session_reply *reply)
{
    if (job->kind == SESSION_EVALUATE || job->kind == SESSION_RESTART ||
        job->kind == SESSION_TESTS) {
        buffer_append_span(&texts->earlier, buffer_span(&session->pending.earlier_output));
        buffer_clear(&session->pending.earlier_output);
    }
    reply->earlier_output = buffer_span(&texts->earlier);
}

// A process that dies of its runtime cannot report its stack any more, but the runtime does: on
// standard output in SBCL 2.2.9, on standard error in newer versions.
static void add_runtime_frames(struct reply_texts *texts, struct session_reply *reply)
{
    value frames = sbcl_output_move_frames(reply->region, &texts->output);
    if (vector_count(frames) == 0)
        frames = sbcl_output_move_frames(reply->region, &texts->errors);
    reply->standard_output.text = buffer_span(&texts->output);
    reply->standard_error.text = buffer_span(&texts->errors);
    if (vector_count(frames) == 0 || !value_is_map(reply->error))
        return;
    value depth = value_integer((int64_t)vector_count(frames));
    reply->error = map_put_text(reply->region, reply->error, "frames", frames);
    reply->error = map_put_text(reply->region, reply->error, "depth", depth);
}

static value move_notices(struct session *session, struct region *region, value result)
{
    reach_look(session->manager);
    value notices = vector_new(region, session->pending.notice_count);
    for (size_t i = 0; i < session->pending.notice_count; i++) {
        notices =
            vector_push(region, notices, value_string_text(region, session->pending.notices[i]));
        memory_free(session->pending.notices[i]);
    }
    session->pending.notice_count = 0;
    value more = import_texts(region, map_get(result, "notices"), NOTICES_MAX);
    for (size_t i = 0; i < vector_count(more); i++)
        notices = vector_push(region, notices, value_retain(vector_at(more, i)));
    return notices;
}

// Cause and reason come from the failure, or from a result that asks for the rollback.
static value rollback_map(struct session *session, struct job *job)
{
    struct region *region = job->region;
    value map = map_new(region);
    if (job->has_failure) {
        map = put_text(region, map, "cause", job->failure.cause);
        map = put_text(region, map, "reason", job->failure.reason);
        if (job->failure.exit_code >= 0)
            map = map_put_text(region, map, "exit_code", value_integer(job->failure.exit_code));
        if (job->failure.signal > 0)
            map = map_put_text(region, map, "signal", value_integer(job->failure.signal));
    } else {
        static const struct import_member members[] = {{.name = "cause"}, {.name = "reason"}, {0}};
        map = import_object(region, map_get(job->result, "rollback"), members);
    }
    map = map_put_text(region, map, "snapshot", value_integer(session->lineage.current));
    map = map_put_text(region, map, "lost", value_retain(job->lost));
    if (job->restarted)
        map = map_put_text(region, map, "restarted", value_boolean(true));
    return map_put_text(region, map, "lost_threads", value_retain(job->lost_threads));
}

static struct span state_text(const struct session *session, const char *name)
{
    return map_get_string(session->agent.state, name);
}

static void note_lost_threads(struct session *session, const struct job *job)
{
    bool lost_now = vector_count(job->lost_threads) > 0;  // which the reply tells
    if (job->stop == STOP_TIMEOUT && session->pending.lost_threads && !lost_now)
        session_notice(session,
                       "threads were lost by an earlier rollback (%s); a lock held by one of them "
                       "stays locked",
                       session->pending.lost_threads);
}

static void note_cancelled(struct session *session, const struct job *job)
{
    if (job->number > 0)
        session_notice(session, "evaluation %lld was cancelled%s", (long long)job->number,
                       job->rolled_back ? " and rolled back" : "");
}

static void job_record(struct session *session, struct job *job, struct session_reply *reply)
{
    if (!value_is_nil(reply->error)) {
        bool recorded = error_is_recorded(job);
        int64_t id = recorded ? error_history_next_id(&session->history) : 0;
        reply->frozen = recorded && job->postmortem;
        reply->error = session_complete_error(session, job->region, reply->error, id, job->number,
                                              reply->frozen);
        if (recorded) {
            error_history_add(&session->history, reply->error);
            if (job->postmortem) {
                job->postmortem->error = id;
                job->postmortem->tried_at = job->adopted ? 0 : job->error;
            }
            job->postmortem = NULL;
        }
        reply->error_id = id;
    }
    if (job->postmortem)
        worker_kill(job->postmortem);
    job->postmortem = NULL;
    touch_last_error(session, job, reply->error_id);
}

// Internal and cancelled requests end here without a reply; their effects on the session are the
// same.
static void finish_silently(struct session *session, struct job *job)
{
    if (job->postmortem)
        worker_kill(job->postmortem);
    value error = job->internal ? job_error(job) : value_nil();
    struct span message = map_get_string(error, "message");
    if (project_is_job(job)) {
        CLEANUP_FREE char *text = memory_copy_text(message.data, message.length);
        project_on_job(session, job, value_is_nil(error) ? NULL : text);
    } else if (!value_is_nil(error)) {
        bool is_system = strcmp(job->op, "load-system") == 0;
        session_notice(session, "%s%s%s could not be loaded again: %.*s",
                       is_system ? "the system \"" : "", job->label, is_system ? "\"" : "",
                       (int)message.length, message.data);
    }
    if (job->cancelled) {
        struct reply_texts texts;
        struct session_reply unused = {0};
        texts_init(&texts);
        move_output(session, &texts, false, &unused);
        texts_release(&texts);
        keeping_completed(session, job, false, value_nil());
        note_cancelled(session, job);
        observer_ended(session, job, NULL);
    }
    job_free(session->manager, job);
}

// What the request and the session know; output, error and notices are added later.
static struct session_reply start_reply(const struct session *session, const struct job *job)
{
    return (struct session_reply){
        .ticket = job->ticket,
        .session = session->name,
        .ran = true,
        .region = job->region,
        .result = job->result,
        .adopted = job->adopted,
        .snapshot = job->kind == SESSION_RESET ? job->snapshot : session->lineage.current,
        .evaluation = job->number > 0 ? job->number : session->lineage.current,
        .undone = job->undone,
        .lost_threads = job->lost_threads,
        .package = state_text(session, "package"),
        .package_label = state_text(session, "package_label"),
        .package_before = span_from(job->package_before ? job->package_before : ""),
        .limits = session->limits,
        .advice = session->manager->config.advice,
        .heap_mb = session->manager->config.heap_mb,
        .elapsed_us = (clock_now_ns() - job->started_ns) / 1000,
    };
}

static void send_reply(struct session *session, struct job *job)
{
    struct region *region = job->region;
    struct session_reply reply = start_reply(session, job);
    reply.error = job_error(job);
    struct reply_texts texts;
    texts_init(&texts);
    bool died = job->has_failure && job->failure.by_runtime;
    job_streams_finish(session, job, died);
    move_earlier_output(session, job, &texts, &reply);
    reply.whole_values = reply_limit(session, job);
    reply.result = job->result;
    move_output(session, &texts, died, &reply);
    if (died)
        add_runtime_frames(&texts, &reply);
    if (!value_is_nil(reply.error) && texts.runtime_log.length > 0)
        reply.error = map_put_text(region, reply.error, "runtime_log",
                                   value_string(region, buffer_span(&texts.runtime_log)));
    if (job->rolled_back && value_is_map(reply.error))
        reply.error = map_put_text(region, reply.error, "rolled_back", value_boolean(true));
    job_record(session, job, &reply);
    reply.ok = value_is_nil(reply.error);
    keeping_completed(session, job, reply.ok, reply.error);
    keeping_notice_others(session, job);
    reply.notices = move_notices(session, region, job->result);
    if (job->rolled_back)
        reply.rollback = rollback_map(session, job);
    job->reply(job->data, &reply);
    observer_ended(session, job, &reply);
    texts_release(&texts);
}

void job_finish_beside(struct session *session, struct job *job)
{
    struct region *region = job_region(session->manager, job);
    job->lost_threads = vector_new(region, 0);
    job->undone = vector_new(region, 0);
    struct session_reply reply = start_reply(session, job);
    reply.region = region;
    reply.earlier_output = reply.standard_output.text = reply.standard_error.text = SPAN("");
    reply.error = job_error(job);
    if (!value_is_nil(reply.error))
        reply.error = session_complete_error(session, region, reply.error, 0, 0, false);
    reply.ok = value_is_nil(reply.error);
    reply.notices = vector_new(region, 0);
    reply.beside = session->job ? session->job->number : 0;
    job->reply(job->data, &reply);
    job_free(session->manager, job);
}

void job_finish(struct session *session, struct job *job)
{
    CHECK(job != session->job);
    if (session->progress_timer)
        event_del(session->progress_timer);
    struct region *region = job_region(session->manager, job);
    if (!value_is_vector(job->lost_threads))
        job->lost_threads = vector_new(region, 0);
    if (!value_is_vector(job->undone))
        job->undone = vector_new(region, 0);
    if (!value_is_vector(job->lost))
        job->lost = vector_new(region, 0);
    session->pending.thread_error = 0;
    if (value_is_map(job->result))
        session_record_thread_errors(session, region, job->result);
    if (job->kind == SESSION_TESTS)
        tests_finish(session, job);
    if (job->internal || job->cancelled) {
        finish_silently(session, job);
        return;
    }
    note_lost_threads(session, job);
    send_reply(session, job);
    postmortem_evict(session);  // not before the reply: a process takes a while to die
    job_free(session->manager, job);
}
