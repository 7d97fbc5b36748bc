// COPY: a clone of a snapshot or post-mortem works on a request beside the idle head, then is
// killed, or takes the head's place (adoption).
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "session/session_internal.h"
#include "session/state/actions.h"
#include "session/worker_data.h"

enum { WAKE_SIGNALS = 5, LOST_THREADS_MAX = 256 };

// It had none before, or it has died.
static enum session_state leave_without_head(struct session *session)
{
    bool had_state = value_is_map(session->agent.state);
    return had_state ? waking_begin(session, session->lineage.current) : STATE_DOWN;
}

// The copy is gone. If the head has died, too, its snapshot is woken.
static enum session_state leave(struct session *session)
{
    session_set_timer(session, -1);
    link_free(session->awaited);
    session->awaited = NULL;
    session->source = NULL;
    if (!session->head)
        return session->is_forked ? fork_abandon(session, STATE_DOWN) : leave_without_head(session);
    session_send(session, &session->head->link->channel, CHANNEL_OFFSETS, SPAN("{}"));
    return STATE_IDLE;
}

static enum session_state refuse_copy(struct session *session, const char *reason)
{
    struct job *job = session->job;
    session->job = NULL;
    job_refuse(session->manager, job, "start-failed", "The process could not be copied: %s.",
               reason);
    return leave(session);
}

static enum session_state begin(struct session *session, struct worker *source, struct span how)
{
    session->source = source;
    session->copy_phase = COPY_WAKING;
    session->wake.tries = 0;
    session->awaited = link_new(session, true);
    if (!session->awaited)
        return refuse_copy(session, strerror(errno));
    int result = worker_wake(source, how, session->awaited);
    if (result < 0 && result != -ESRCH && result != -EPIPE)
        return refuse_copy(session, strerror(-result));
    session_set_timer(session, TIME_WAKE_MS);
    return STATE_COPY;
}

enum session_state copy_begin(struct session *session, struct worker *source)
{
    return begin(session, source, SPAN("{\"as\":\"copy\"}"));
}

enum session_state copy_begin_fork(struct session *session, struct worker *source)
{
    CLEANUP_FREE char *how = fork_describe(session);
    return begin(session, source, span_from(how));
}

static enum session_state end_copy(struct session *session)
{
    session->copy_phase = COPY_ENDING;
    process_signal(&session->copy->process, SIGKILL);
    session_set_timer(session, TIME_HARD_STOP_MS);
    return STATE_COPY;
}

static void finish_job(struct session *session)
{
    struct job *job = session->job;
    session->job = NULL;
    job_finish(session, job);
}

// --- adoption ------------------------------------------------------------------------------------

static bool wants_adoption(const struct job *job)
{
    value invoked = map_get(job->result, "invoked");
    return job->adopt && !job->cancelled && !(invoked.tag == VALUE_BOOLEAN && !invoked.boolean) &&
           !value_is_map(map_get(job->result, "rollback"));
}

static enum session_state send_adopt(struct session *session)
{
    session->copy_phase = COPY_ADOPTING;
    session_send(session, &session->copy->link->channel, CHANNEL_ADOPT, SPAN("{}"));
    session_set_timer(session, TIME_WAKE_MS);
    return STATE_COPY;
}

static enum session_state replace_head(struct session *session)
{
    if (!session->head)
        return send_adopt(session);
    session->copy_phase = COPY_REPLACING_HEAD;
    waking_kill_head(session);
    return STATE_COPY;
}

static bool is_fork(const struct job *job)
{
    return job->kind == SESSION_FORK || job->kind == SESSION_ADOPT;
}

// It began where the failed evaluation had stopped.
static void adopt_try(struct session *session, struct job *job)
{
    const struct error_record *record = error_history_find(&session->history, job->error);
    job->adopted = true;
    job->number = ++session->lineage.evaluations;
    int64_t parent = record ? map_get_integer(record->error, "evaluation", -1) : -1;
    lineage_set_parent(session, job->number, parent < job->number ? parent : -1);
    job->undone = lineage_undone(session, job_region(session->manager, job),
                                 session->lineage.current, job->number);
    session->lineage.current = job->number;
}

static enum session_state adopted(struct session *session, const struct channel_message *message)
{
    struct job *job = session->job;
    value content = value_nil();
    bool has_state = session_read_scratch(session, message, &content);
    bool has_remarks = map_get_count(content, "lost_threads") > 0;
    if (!is_fork(job))  // whose WOKE has named them
        job->lost_threads =
            value_copy(job_region(session->manager, job),
                       session_collect_lost_threads(session, has_remarks ? content : value_nil()));
    if (has_state)
        session_keep_state(session, content);
    session->copy->role = ROLE_HEAD;
    session->head = session->copy;
    session->copy = NULL;
    if (is_fork(job))
        fork_finish(session, job);
    else
        adopt_try(session, job);
    CLEANUP_FREE char *label =
        is_fork(job) ? memory_copy_string(lineage_label(session, session->lineage.current))
                     : memory_copy_string("(invoke-restart)");
    finish_job(session);
    return snapshotting_begin(session, session->lineage.current, label);
}

// --- messages ------------------------------------------------------------------------------------

// What the clone says of itself is kept for the reply.
static enum session_state take_fork(struct session *session, value woke)
{
    static const struct import_member members[] = {{.name = "connections", .kind = IMPORT_INTEGER},
                                                   {0}};
    struct job *job = session->job;
    struct region *region = job_region(session->manager, job);
    job->result =
        map_put_text(region, import_object(region, woke, members), "ok", value_boolean(true));
    job->lost_threads = import_texts(region, map_get(woke, "lost_threads"), LOST_THREADS_MAX);
    return replace_head(session);
}

static enum session_state copy_woke(struct session *session, const struct channel_message *message)
{
    value content;
    if (!session_read_scratch(session, message, &content) ||
        message_pid(content, "pid") != message->sender ||
        message_pid(content, "from") != session->source->process.pid)
        return STATE_COPY;
    struct job *job = session->job;
    if (is_fork(job) && !fork_accepts(session, message))
        return refuse_copy(session, "it did not leave the session it came from");
    session->copy = worker_add_woken(session, message->sender, ROLE_COPY);
    if (!session->copy)
        return STATE_COPY;  // dead again: the timer ends the wait
    session->source = NULL;
    if (job->cancelled) {
        finish_job(session);
        return end_copy(session);
    }
    if (is_fork(job))
        return take_fork(session, content);
    session->copy_phase = COPY_WORKING;
    job_send(job, session->copy);
    return STATE_COPY;
}

static enum session_state refuse_failed(struct session *session,
                                        const struct channel_message *message)
{
    value content;
    char reason[128] = "no reason given";
    if (session_read_scratch(session, message, &content)) {
        struct span text = map_get_string(content, "reason");
        snprintf(reason, sizeof(reason), "%.*s", (int)text.length, text.data);
    }
    return refuse_copy(session, reason);
}

// What a stopped copy has started ends with it, and whatever that still prints has no reader.
static void end_leftovers(struct session *session)
{
    session_kill_leftovers(session);
    session_drain_output(session);
    if (session->copy)
        link_close_pipes(session->copy->link);
}

static enum session_state copy_result(struct session *session,
                                      const struct channel_message *message)
{
    struct job *job = session->job;
    if (message->number != job->message_number || session->copy_phase > COPY_INTERRUPTING)
        return STATE_COPY;
    if (!job_read_result(job, message)) {
        session_break_protocol(session, session->copy);
        return STATE_COPY;
    }
    if (wants_adoption(job))
        return replace_head(session);
    if (job->kind == SESSION_TESTS)
        tests_keep_postmortems(job, session->copy);  // before anything takes them for leftovers
    if (job->stop != STOP_NONE || job->kind == SESSION_TESTS)
        end_leftovers(session);
    finish_job(session);
    return end_copy(session);
}

enum session_state copy_on_message(struct session *session, const struct session_event *event)
{
    const struct channel_message *message = event->message;
    struct job *job = session->job;
    switch (message->type) {
    case CHANNEL_WOKE: return copy_woke(session, message);
    case CHANNEL_WAKE_FAILED: return refuse_failed(session, message);
    case CHANNEL_ADOPTED:
        return session->copy_phase == COPY_ADOPTING ? adopted(session, message) : STATE_COPY;
    default: break;
    }
    // Messages of the idle head are ignored.
    if (!job || !session->copy || message->sender != session->copy->process.pid)
        return STATE_COPY;
    if (message->type == CHANNEL_RESULT)
        return copy_result(session, message);
    if (message->type == CHANNEL_EXITING)
        job_read_exit_notice(job, message);
    else if (message->type == CHANNEL_FRAMES)
        job_read_frames(job, message);
    else if (message->type == CHANNEL_PROGRESS && job->kind == SESSION_TESTS)
        tests_read_progress(job, message);
    else if (message->type == CHANNEL_INPUT_WANTED && message->number == job->message_number &&
             session->copy_phase == COPY_WORKING)
        job_want_input(session, job);
    return STATE_COPY;
}

// --- stopping ------------------------------------------------------------------------------------

static enum session_state soft_stop(struct session *session)
{
    session->copy_phase = COPY_INTERRUPTING;
    process_stop_request(&session->copy->process, session->job->message_number);
    session_set_timer(session, TIME_INTERRUPT_MS);
    return STATE_COPY;
}

enum session_state copy_on_cancel(struct session *session, const struct session_event *event)
{
    (void)event;
    return session->copy_phase == COPY_WORKING ? soft_stop(session) : STATE_COPY;
}

// The parked process was stopped, or waits for a processor. If it makes its clone later, that finds
// its channel closed and ends.
static enum session_state signal_again(struct session *session)
{
    if (!session->source)
        return refuse_copy(session, "its snapshot has ended");
    if (++session->wake.tries == WAKE_SIGNALS)
        return refuse_copy(session, "it does not answer");
    process_wake(&session->source->process);
    session_set_timer(session, TIME_WAKE_MS);
    return STATE_COPY;
}

enum session_state copy_on_timer(struct session *session, const struct session_event *event)
{
    (void)event;
    struct worker *late = session->copy;
    switch (session->copy_phase) {
    case COPY_WORKING: session->job->stop = STOP_TIMEOUT; return soft_stop(session);
    case COPY_INTERRUPTING:
        session->copy_phase = COPY_STOPPING;
        process_interrupt(&session->copy->process, SIGUSR1);
        session_set_timer(session, TIME_HARD_STOP_MS);
        return STATE_COPY;
    case COPY_WAKING: return signal_again(session);
    case COPY_REPLACING_HEAD: late = session->head; break;
    case COPY_STOPPING:
    case COPY_ENDING:
    case COPY_ADOPTING: break;
    }
    if (late)
        process_signal(&late->process, SIGKILL);
    session_set_timer(session, TIME_HARD_STOP_MS);
    return STATE_COPY;
}

// --- ends ----------------------------------------------------------------------------------------

enum session_state copy_on_copy_exit(struct session *session, const struct session_event *event)
{
    enum copy_phase phase = session->copy_phase;
    if (phase == COPY_WAKING)
        return refuse_copy(session, "it has ended");
    if (phase != COPY_ENDING) {
        job_classify_exit(session->job, event, phase == COPY_STOPPING);
        end_leftovers(session);
        finish_job(session);
    }
    if ((phase == COPY_REPLACING_HEAD || phase == COPY_ADOPTING) && !session->is_forked)
        return waking_begin(session, session->lineage.current);
    return leave(session);
}

enum session_state copy_on_head_exit(struct session *session, const struct session_event *event)
{
    if (session->copy_phase == COPY_REPLACING_HEAD)
        return send_adopt(session);
    idle_notice_death(session, event->exit);
    return STATE_COPY;
}
