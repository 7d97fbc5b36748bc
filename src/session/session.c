// One session: its structure, and how the messages of its processes become events.
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "base/assert.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/memory.h"
#include "process/cgroup.h"
#include "process/mark.h"
#include "process/proc.h"
#include "process/sandbox/signal_guard.h"
#include "session/session_internal.h"
#include "session/state/actions.h"
#include "session/testing/testing.h"
#include "session/worker_data.h"
#include "value/text/json.h"

enum {
    LINEAGE_LIMIT = 64 << 20,
    LATE_ERRORS_LIMIT = 16 * 1024,
    STATE_REGION_LIMIT = 16 << 20,
    SCRATCH_REGION_LIMIT = 256 << 20,
    STATE_NAMES_MAX = 256,
};

// --- events --------------------------------------------------------------------------------------

static void on_timer(evutil_socket_t fd, short what, void *data)
{
    (void)fd;
    (void)what;
    struct session *session = data;
    session_handle(session, &(struct session_event){.kind = EVENT_TIMER});
    if (session->state == STATE_CLOSING && !session->workers && session_kill_all(session) == 0)
        session_unlink_closed(session);
}

static bool is_from(const struct worker *worker, pid_t sender)
{
    return worker && worker->process.pid == sender;
}

static bool is_working(const struct worker *worker)
{
    return worker && (worker == worker->session->head || worker == worker->session->copy);
}

// Is this message from the process that may send it now? All others are dropped.
static bool message_is_expected(const struct link *link, const struct channel_message *message)
{
    const struct worker *worker = link->worker;
    switch (message->type) {
    case CHANNEL_WOKE: return link == link->session->awaited && link->session->source;
    case CHANNEL_PARKED:
        return !worker || (worker_is_parked(worker) && is_from(worker, message->sender));
    case CHANNEL_WAKE_FAILED:
        return worker && worker == link->session->source && is_from(worker, message->sender);
    default: return is_working(worker) && is_from(worker, message->sender) && !worker->broken;
    }
}

// User code has shut the channel down, or a process has lost its end.
static void on_closed(struct worker *worker)
{
    if (!worker)
        return;
    worker->channel_lost = true;
    process_signal(&worker->process, SIGKILL);
}

// The process asks for the channel of a clone that it is about to make. What was offered before is
// not used any more.
static void on_wanted(struct session *session, struct worker *worker,
                      const struct channel_message *message)
{
    value content;
    struct span purpose = {"", 0};
    if (session_read_scratch(session, message, &content))
        purpose = map_get_string(content, "for");
    bool for_test = span_equal_text(purpose, "test") && worker == session->copy && session->job &&
                    session->job->kind == SESSION_TESTS;
    if (!for_test && ++worker->offers > SESSION_OFFERS_MAX) {
        session_break_protocol(session, worker);
        return;
    }
    int result = for_test ? tests_offer_channel(worker, message->number)
                 : span_equal_text(purpose, "thread")
                     ? worker_offer_link(worker, message->number, &worker->spare)
                     : worker_offer(worker, CHANNEL_OFFER, message->number, SPAN("{}"));
    if (result < 0)
        log_debug("session %s: no channel for a clone", session->name);
}

void session_on_message(void *data, struct channel *channel, const struct channel_message *message)
{
    (void)channel;
    struct link *link = data;
    struct session *session = link->session;
    struct worker *worker = link->worker;
    if (beside_on_message(link, message))
        return;
    if (message->type == CHANNEL_CLOSED) {
        on_closed(worker);
        return;
    }
    if (saving_owns(session, link)) {
        saving_on_message(session, link, message);
        return;
    }
    if (message->type == CHANNEL_WAKE_FAILED && worker && is_from(worker, message->sender) &&
        worker != session->source &&
        (fork_on_wake_failed(worker, message) || saving_on_wake_failed(session, worker)))
        return;
    if (!message_is_expected(link, message)) {
        log_debug("session %s: dropped message %u from process %d", session->name, message->type,
                  (int)message->sender);
        return;
    }
    switch (message->type) {
    case CHANNEL_GARBAGE: session_break_protocol(session, worker); return;
    case CHANNEL_WANTED: on_wanted(session, worker, message); return;
    case CHANNEL_PARKED: worker_parked(link, message->sender); return;
    default: break;
    }
    struct session_event event = {.kind = message->type == CHANNEL_SNAPPED ? EVENT_SNAPPED
                                                                           : EVENT_MESSAGE,
                                  .message = message};
    session_handle(session, &event);
}

void session_break_protocol(struct session *session, struct worker *worker)
{
    session->protocol_broken = true;
    worker->broken = true;
    process_signal(&worker->process, SIGKILL);
}

// --- life ----------------------------------------------------------------------------------------

struct session *session_new(struct session_manager *manager, const char *name)
{
    struct session *session = memory_alloc_zero(sizeof(*session));
    session->manager = manager;
    session->id = ++manager->last_session;
    snprintf(session->name, sizeof(session->name), "%s", name);
    session->environment_entry =
        memory_format("CADRE_SESSION=%s-%llu", manager->id, (unsigned long long)session->id);
    session_take_mark(session);
    session->limits = manager->config.limits;
    session->state = STATE_DOWN;
    session->queue.end = &session->queue.first;
    session->lineage.before_reset = -1;
    session->timer = evtimer_new(manager->base, on_timer, session);
    CHECK(session->timer);
    capture_init(&session->output, (size_t)session->limits.max_output);
    capture_init(&session->errors, (size_t)session->limits.max_output);
    buffer_init(&session->lineage.parents, LINEAGE_LIMIT);
    buffer_init(&session->pending.late_errors, LATE_ERRORS_LIMIT);
    buffer_init(&session->pending.earlier_output, BUFFER_DEFAULT_LIMIT);
    session->agent.state_region = region_new(STATE_REGION_LIMIT);
    session->agent.hello_region = region_new(STATE_REGION_LIMIT);
    session->scratch = region_new(SCRATCH_REGION_LIMIT);
    session->restore.region = region_new(STATE_REGION_LIMIT);
    session->used_ms = clock_now_ms();
    saving_init(session);
    keeping_open(session);
    beside_init(session);
    return session;
}

void session_take_mark(struct session *session)
{
    struct session_manager *manager = session->manager;
    uint64_t mark = mark_of_number(manager->mark_family, ++manager->last_mark);
    if (!mark)
        return;
    if (session->marks.count == COUNT_OF(session->marks.values)) {
        signal_guard_forget(manager->signal_guards, session->marks.values[0]);
        memmove(&session->marks.values[0], &session->marks.values[1],
                (session->marks.count - 1) * sizeof(mark));
        session->marks.count--;
    }
    session->marks.values[session->marks.count++] = mark;
}

void session_take_environment(struct session *session, char *const *environment)
{
    if (session->environment || !environment)
        return;
    size_t count = 0;
    while (environment[count])
        count++;
    session->environment = memory_alloc_zero((count + 1) * sizeof(*session->environment));
    for (size_t i = 0; i < count; i++)
        session->environment[i] = memory_copy_string(environment[i]);
}

static void free_environment(struct session *session)
{
    for (size_t i = 0; session->environment && session->environment[i]; i++)
        memory_free(session->environment[i]);
    memory_free(session->environment);
}

void session_free(struct session *session)
{
    CHECK(!session->workers && !session->job && !session->queue.first);
    saving_release(session);
    cgroup_free(session->cgroup);
    while (session->links)
        link_free(session->links);
    beside_release(session);
    capture_release(&session->output);
    capture_release(&session->errors);
    for (size_t i = 0; i < SESSION_LABELS; i++)
        memory_free(session->lineage.labels[i]);
    event_free(session->timer);
    if (session->progress_timer)
        event_free(session->progress_timer);
    error_history_clear(&session->history);
    for (size_t i = 0; i < session->pending.notice_count; i++)
        memory_free(session->pending.notices[i]);
    for (size_t i = 0; i < session->systems.count; i++)
        memory_free(session->systems.names[i]);
    memory_free(session->systems.directories);
    buffer_release(&session->lineage.parents);
    buffer_release(&session->pending.late_errors);
    buffer_release(&session->pending.earlier_output);
    region_free(session->agent.state_region);
    region_free(session->agent.hello_region);
    region_free(session->scratch);
    region_free(session->restore.region);
    memory_free(session->restore.core);
    memory_free(session->restore.runtime);
    memory_free(session->runtime);
    memory_free(session->base);
    project_release(session);
    keeping_close(session);
    memory_free(session->pending.lost_threads);
    memory_free(session->wake.notice);
    memory_free(session->snap.code);
    for (size_t i = 0; i < session->marks.count; i++)
        signal_guard_forget(session->manager->signal_guards, session->marks.values[i]);
    reach_forget(session);
    memory_free(session->environment_entry);
    tests_release(session);
    free_environment(session);
    memory_free(session);
}

void session_set_timer(struct session *session, int64_t milliseconds)
{
    if (milliseconds < 0) {
        event_del(session->timer);
        return;
    }
    struct timeval time = timeval_from_ms(milliseconds);
    event_add(session->timer, &time);
}

// --- messages ------------------------------------------------------------------------------------

bool session_read(struct session *session, struct region *region, struct span text,
                  value *ret_value)
{
    struct error error;
    value read;
    if (text.length == 0)
        text = SPAN("{}");
    if (!json_read(region, text, &(struct json_options){0}, &read, &error) || !value_is_map(read)) {
        log_debug("session %s: a message is no JSON object", session->name);
        return false;
    }
    *ret_value = read;
    return true;
}

bool session_read_scratch(struct session *session, const struct channel_message *message,
                          value *ret_value)
{
    region_clear(session->scratch);
    shapes_share(session->scratch, session->manager->shapes);
    return session_read(session, session->scratch, message->payload, ret_value);
}

static const struct import_member state_members[] = {
    {.name = "package"},
    {.name = "package_label"},
    {.name = "threads", .kind = IMPORT_TEXTS, .max = STATE_NAMES_MAX},
    {.name = "live_bytes", .kind = IMPORT_INTEGER},
    {.name = "systems", .kind = IMPORT_TEXTS, .max = STATE_NAMES_MAX},
    {0}};

void session_keep_state(struct session *session, value message)
{
    value state = map_get(message, "state");
    if (!value_is_map(state))
        return;
    region_clear(session->agent.state_region);
    shapes_share(session->agent.state_region, session->manager->shapes);
    session->agent.state = import_object(session->agent.state_region, state, state_members);
}

uint32_t session_send(struct session *session, struct channel *channel, uint32_t type,
                      struct span payload)
{
    uint32_t number = ++session->message_number;
    int result = channel_send(channel, type, number, payload);
    // Requests were measured before they were queued; the channel holds twice their maximum.
    CHECK(result == 0);
    return number;
}

// --- members of messages, which may be missing or of any type ------------------------------------

pid_t message_pid(value message, const char *name)
{
    int64_t pid = map_get_integer(message, name, 0);
    return pid > 1 && pid <= INT32_MAX ? (pid_t)pid : 0;
}
