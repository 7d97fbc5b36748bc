// One session: its structure, its channels and pipes, and how their messages become events.
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base/assert.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/memory.h"
#include "process/proc.h"
#include "session/session_internal.h"
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
    if (session->state == STATE_CLOSING && !session->workers && session_reap_orphans(session) == 0)
        session_unlink_closed(session);
}

static bool is_from(const struct worker *worker, pid_t sender)
{
    return worker && worker->process.pid == sender;
}

// Is this message from the process that may send it now? All others are dropped.
static bool message_is_expected(const struct session *session, const struct channel *channel,
                                const struct channel_message *message)
{
    bool on_main = channel == &session->main;
    bool waking = on_main ? session->state == STATE_WAKING
                          : session->state == STATE_COPY && session->copy_phase == COPY_WAKING;
    switch (message->type) {
    case CHANNEL_WOKE: return waking && session->source;
    case CHANNEL_WAKE_FAILED: return waking && is_from(session->source, message->sender);
    case CHANNEL_ADOPTED:
        return on_main && session->state == STATE_COPY && is_from(session->copy, message->sender);
    default: {
        struct worker *worker = on_main ? session->head : session->copy;
        return is_from(worker, message->sender) && !worker->broken;
    }
    }
}

static void on_message(void *data, struct channel *channel, const struct channel_message *message)
{
    struct session *session = data;
    if (!message_is_expected(session, channel, message)) {
        log_debug("session %s: dropped message %u from process %d", session->name, message->type,
                  (int)message->sender);
        return;
    }
    if (message->type == CHANNEL_GARBAGE) {
        session_break_protocol(session, channel == &session->main ? session->head : session->copy);
        return;
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
    snprintf(session->name, sizeof(session->name), "%s", name);
    session->environment_entry = memory_format("CADRE_SESSION=%s-%llu", manager->id,
                                               (unsigned long long)++manager->last_session);
    session->limits = manager->config.limits;
    session->state = STATE_DOWN;
    session->queue.end = &session->queue.first;
    session->lineage.before_reset = -1;
    session->timer = evtimer_new(manager->base, on_timer, session);
    CHECK(session->timer);
    buffer_init(&session->lineage.parents, LINEAGE_LIMIT);
    buffer_init(&session->pending.late_errors, LATE_ERRORS_LIMIT);
    session->agent.state_region = region_new(STATE_REGION_LIMIT);
    session->agent.hello_region = region_new(STATE_REGION_LIMIT);
    session->scratch = region_new(SCRATCH_REGION_LIMIT);
    return session;
}

static void release_parts(struct session *session)
{
    if (!session->open)
        return;
    channel_release(&session->main);
    channel_release(&session->aux);
    capture_release(&session->output);
    capture_release(&session->errors);
    session->open = false;
}

void session_free(struct session *session)
{
    CHECK(!session->workers && !session->job && !session->queue.first);
    release_parts(session);
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
    region_free(session->agent.state_region);
    region_free(session->agent.hello_region);
    region_free(session->scratch);
    memory_free(session->pending.lost_threads);
    memory_free(session->wake.notice);
    memory_free(session->snap.code);
    memory_free(session->environment_entry);
    memory_free(session);
}

int session_open(struct session *session)
{
    if (session->open)
        return 0;
    struct event_base *base = session->manager->base;
    size_t max_output = (size_t)session->limits.max_output;
    session->main.fd = session->main.worker_fd = -1;
    session->aux = session->main;
    session->output.fd = session->output.worker_fd = -1;
    session->errors = session->output;
    int result = channel_init(&session->main, base, on_message, session);
    if (result == 0)
        result = channel_init(&session->aux, base, on_message, session);
    if (result == 0)
        result = capture_init(&session->output, base, max_output);
    if (result == 0)
        result = capture_init(&session->errors, base, max_output);
    session->open = true;
    if (result < 0)
        release_parts(session);
    return result;
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
