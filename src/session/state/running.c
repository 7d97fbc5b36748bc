// RUNNING, INTERRUPTING, STOPPING: the head works on a request, and is stopped in three stages when
// its time is over: SIGINT (the evaluation ends, the process lives), SIGUSR1 (it says where it is and
// ends), SIGKILL.
#include <signal.h>
#include <string.h>

#include "base/assert.h"
#include "base/memory.h"
#include "session/internal.h"
#include "session/worker_data.h"
#include "value/text/json.h"

// --- results -------------------------------------------------------------------------------------

static void remember_directories(struct session *session, value directories)
{
    enum { DIRECTORIES_MAX = 1 << 18 };
    if (!value_is_vector(directories))
        return;
    CLEANUP_BUFFER struct buffer text;
    buffer_init(&text, DIRECTORIES_MAX);
    json_write(&text, directories, 0, NULL);
    memory_free(session->system_directories);
    session->system_directories = text.failed ? NULL : memory_copy_text(text.data, text.length);
}

static void remember_system(struct session *session, const struct job *job)
{
    if (strcmp(job->op, "load-system") != 0 || job->internal)
        return;
    struct span name = map_get_string(job->result, "system");
    if (name.length == 0 || name.length > 200 || session->system_count == SESSION_SYSTEMS)
        return;
    remember_directories(session, map_get(job->result, "directories"));
    for (size_t i = 0; i < session->system_count; i++) {
        if (span_equal_text(name, session->systems[i]))
            return;
    }
    session->systems[session->system_count++] = memory_copy_text(name.data, name.length);
}

bool session_read_result(struct session *session, struct job *job,
                         const struct channel_message *message)
{
    struct region *region = job_region(session->manager, job);
    if (!session_read(session, region, message->payload, &job->result) ||
        !result_is_well_formed(job->result))
        return false;
    // What the supervisor adds is small; the limit was for the worker.
    region_set_limit(region, SESSION_REGION_LIMIT);
    // Registered before anything could take it for a leftover.
    job->postmortem =
        worker_add_announced(session, message_pid(job->result, "postmortem"), ROLE_POSTMORTEM);
    value adoptable = map_get(job->result, "adoptable");
    if (job->postmortem && adoptable.tag == VALUE_BOOLEAN)
        job->postmortem->adoptable = adoptable.boolean;
    capture_drain(&session->output);
    capture_drain(&session->errors);
    return true;
}

void session_handle_exit_notice(struct session *session, struct job *job,
                                const struct channel_message *message)
{
    value content;
    if (!session_read_scratch(session, message, &content))
        return;
    job->exit_notice = (struct exit_notice){
        .received = true, .exit_code = (int)map_get_integer(content, "exit_code", 0)};
}

void session_handle_frames(struct session *session, struct job *job,
                           const struct channel_message *message)
{
    value content;
    struct region *region = job_region(session->manager, job);
    if (session_read(session, region, message->payload, &content))
        job->frames = map_get(content, "error");
}

static enum session_state finish_in_head(struct session *session, struct job *job)
{
    busy_poll_hit(session, job);
    session_set_timer(session, -1);
    session->died_idle = false;
    session->job = NULL;
    if (job->stop != STOP_NONE)
        session_kill_leftovers(session);
    if (job->kind == SESSION_QUERY) {
        job_finish(session, job);
        return STATE_IDLE;
    }
    int64_t number = job->internal ? 0 : job->number;
    if (!job->internal) {
        lineage_set_parent(session, number, session->current);
        session->current = number;
    }
    if (value_is_true(map_get(job->result, "ok")))
        remember_system(session, job);
    CLEANUP_FREE char *label = memory_copy_string(job->label);
    job_finish(session, job);
    snapshot_begin(session, number, label);
    return STATE_SNAPSHOTTING;
}

enum session_state action_result(struct session *session, const struct session_event *event)
{
    const struct channel_message *message = event->message;
    struct job *job = session->job;
    if (message->type == CHANNEL_EXITING)
        session_handle_exit_notice(session, job, message);
    else if (message->type == CHANNEL_FRAMES)
        session_handle_frames(session, job, message);
    if (message->type != CHANNEL_RESULT || message->number != job->message_number)
        return session->state;
    if (!session_read_result(session, job, message)) {
        session_break_protocol(session, session->head);
        return session->state;
    }
    session_keep_state(session, job->result);
    if (!value_is_map(map_get(job->result, "rollback")))
        return finish_in_head(session, job);
    // The image asks to be thrown away; the reply comes when the snapshot is awake.
    job->rolled_back = true;
    return session_begin_wake(session, session->current);
}

enum session_state action_frames(struct session *session, const struct session_event *event)
{
    if (event->message->type == CHANNEL_FRAMES)
        session_handle_frames(session, session->job, event->message);
    return STATE_STOPPING;
}

// --- the three stages ----------------------------------------------------------------------------

// Time is over and the head has not even read the request: something else keeps it, as a rule a timer
// of the user, which SBCL runs in the main thread with interrupts off. The request is innocent, so the
// head is replaced and the request begins again.
static enum session_state stop_stalled(struct session *session, const struct session_event *event)
{
    int64_t early_ms = TIME_READ_REQUEST_MS - job_elapsed_ms(session->job);
    if (early_ms > 0) {
        session_set_timer(session, early_ms);
        return STATE_RUNNING;
    }
    session->job->stop = STOP_TIMEOUT;
    return action_hard_stop(session, event);
}

enum session_state action_soft_stop(struct session *session, const struct session_event *event)
{
    struct job *job = session->job;
    if (event->kind == EVENT_TIMER) {
        if (channel_is_unread(&session->main, job->message_number))
            return stop_stalled(session, event);
        job->stop = STOP_TIMEOUT;
    }
    process_stop_request(&session->head->process, job->message_number);
    session_set_timer(session, TIME_INTERRUPT_MS);
    return STATE_INTERRUPTING;
}

enum session_state action_hard_stop(struct session *session, const struct session_event *event)
{
    (void)event;
    process_interrupt(&session->head->process, SIGUSR1);
    session_set_timer(session, TIME_HARD_STOP_MS);
    return STATE_STOPPING;
}

enum session_state action_kill(struct session *session, const struct session_event *event)
{
    (void)event;
    process_signal(&session->head->process, SIGKILL);
    session_set_timer(session, TIME_HARD_STOP_MS);
    return STATE_STOPPING;
}

// --- the end of the process ----------------------------------------------------------------------

void session_classify_exit(struct session *session, struct job *job,
                           const struct process_exit *exit, bool killed_by_us)
{
    CLEANUP_BUFFER struct buffer runtime_text;
    buffer_init(&runtime_text, BUFFER_DEFAULT_LIMIT);
    capture_last(&session->errors, &runtime_text);
    struct failure_facts facts = {
        .exit = *exit,
        .exit_notice = job->exit_notice,
        .runtime_text = buffer_span(&runtime_text),
        .stop = job->stop == STOP_TIMEOUT ? FAILURE_STOP_TIMEOUT
                : job->stop == STOP_NONE  ? FAILURE_STOP_NONE
                                          : FAILURE_STOP_INTERRUPT,
        .killed_by_us = killed_by_us,
        .protocol_broken = session->protocol_broken,
        .timeout = job->timeout,
        .raise_timeout = session->manager->config.advice.raise_timeout,
        .elapsed_ms = job_elapsed_ms(job),
        .heap_mb = session->manager->config.heap_mb,
    };
    job->result = value_nil();
    job->has_failure = true;
    failure_classify(&facts, &job->failure);
}

// The head ended before it took the request, which waits for the next head as if that had been seen in
// time.
static bool begin_again(struct session *session, struct job *job, const struct process_exit *exit)
{
    enum { TRIES = 3 };
    bool stalled = session->state == STATE_STOPPING && job->stop == STOP_TIMEOUT;
    if ((session->state != STATE_RUNNING && !stalled) || job->cancelled || job->tries++ == TRIES)
        return false;
    if (stalled) {
        char seconds[32];
        failure_format_seconds(job_elapsed_ms(job) / 1000, seconds, sizeof(seconds));
        session_wake_notice(session,
                            "the session's process did not take the call within %s and was ended",
                            seconds);
        if (value_is_map(job->frames))
            session_record_thread_error(session, job->region, job->frames);
        job->frames = value_nil();
        job->stop = STOP_NONE;
    } else {
        session_notice_idle_death(session, exit);
    }
    session->job = NULL;
    job_requeue(session, job);
    return true;
}

enum session_state action_running_exit(struct session *session, const struct session_event *event)
{
    struct job *job = session->job;
    bool unread = channel_is_unread(&session->main, job->message_number);
    session->discard_timers = unread && session->state == STATE_STOPPING;
    if (unread && begin_again(session, job, event->exit))
        return session_begin_wake(session, session->current);
    session_classify_exit(session, job, event->exit, session->state == STATE_STOPPING);
    job->rolled_back = true;
    return session_begin_wake(session, session->current);
}
