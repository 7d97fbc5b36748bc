#include "inspector/inspector.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/assert.h"
#include "base/clock.h"
#include "base/memory.h"
#include "base/utf8.h"
#include "inspector/inspector_internal.h"
#include "value/text/json.h"

enum {
    OUTPUT_KEPT = 16 << 10,   // of a running evaluation, for pages that are opened later
    OUTPUT_FRESH = 16 << 10,  // told at once; what comes faster is counted
    FLUSH_MS = 25,
    SAMPLE_MS = 1000,  // between two samples of a session's memory
    EVENT_MAX = 1 << 20,
};

// --- events --------------------------------------------------------------------------------------

static value event_new_map(struct region *region, const char *type)
{
    return map_put_text(region, map_new(region), "type", value_string_text(region, type));
}

static value session_event(struct region *region, const char *type, const char *session)
{
    return map_put_text(region, event_new_map(region, type), "session",
                        value_string_text(region, session));
}

// Ends the region.
static void publish(struct inspector *inspector, struct region *region, value event)
{
    CLEANUP_BUFFER struct buffer text;
    buffer_init(&text, EVENT_MAX);
    json_write(&text, event, 0, NULL);
    if (!text.failed)
        feed_publish(&inspector->feed, buffer_span(&text));
    region_free(region);
}

// --- sessions ------------------------------------------------------------------------------------

struct session_record *inspector_session(struct inspector *inspector, const char *name)
{
    struct session_record **end = &inspector->sessions_seen;
    for (; *end; end = &(*end)->next)
        if (strcmp((*end)->name, name) == 0)
            return *end;
    struct session_record *record = *end = memory_alloc_zero(sizeof(*record));
    snprintf(record->name, sizeof(record->name), "%s", name);
    snprintf(record->state, sizeof(record->state), "down");
    buffer_init(&record->output, OUTPUT_KEPT);
    buffer_init(&record->fresh, OUTPUT_FRESH);
    return record;
}

static void forget_session(struct inspector *inspector, const char *name)
{
    struct session_record **at = &inspector->sessions_seen;
    while (*at && strcmp((*at)->name, name) != 0)
        at = &(*at)->next;
    struct session_record *record = *at;
    if (!record)
        return;
    *at = record->next;
    session_record_free(record);
}

static void tell_row(struct inspector *inspector, const struct session_record *record,
                     const char *type, const struct evaluation_row *row)
{
    if (!feed_wants(&inspector->feed))
        return;
    struct region *region = region_new(SIZE_MAX);
    value event = session_event(region, type, record->name);
    event = map_put_text(region, event, "current", value_integer(record->current));
    event = map_put_text(region, event, "row", evaluation_row_write(region, row));
    publish(inspector, region, event);
}

static void tell_moved(struct inspector *inspector, const struct session_news *news)
{
    if (!feed_wants(&inspector->feed))
        return;
    struct region *region = region_new(SIZE_MAX);
    value event = session_event(region, "moved", news->session);
    event = map_put_text(region, event, "current", value_integer(news->current));
    event = map_put_text(region, event, "op", value_string_text(region, news->op));
    if (news->client)
        event =
            map_put_text(region, event, "by", value_string_repair(region, span_from(news->client)));
    publish(inspector, region, event);
}

static void tell_state(struct inspector *inspector, const char *session, const char *state)
{
    if (!feed_wants(&inspector->feed))
        return;
    struct region *region = region_new(SIZE_MAX);
    value event = session_event(region, state ? "state" : "closed", session);
    if (state)
        event = map_put_text(region, event, "state", value_string_text(region, state));
    publish(inspector, region, event);
}

// --- output --------------------------------------------------------------------------------------

static void append_some(struct buffer *buffer, struct span text)
{
    size_t room = buffer->limit - buffer->length;
    if (text.length > room)
        text.length = utf8_cut(text.data, room);
    buffer_append_span(buffer, text);
}

static void flush_output(struct inspector *inspector, struct session_record *record)
{
    if (record->fresh.length == 0 && record->dropped == 0)
        return;
    struct region *region = region_new(SIZE_MAX);
    value event = session_event(region, "output", record->name);
    event = map_put_text(region, event, "evaluation", value_integer(record->running));
    event = map_put_text(region, event, "text",
                         value_string_repair(region, buffer_span(&record->fresh)));
    event = map_put_text(region, event, "dropped", value_integer((int64_t)record->dropped));
    buffer_clear(&record->fresh);
    record->dropped = 0;
    publish(inspector, region, event);
}

static void note_output(struct inspector *inspector, struct session_record *record,
                        const struct session_news *news)
{
    record->running = news->evaluation;
    append_some(&record->output, news->text);
    if (!feed_wants(&inspector->feed))
        return;
    size_t before = record->fresh.length;
    append_some(&record->fresh, news->text);
    record->dropped += news->text.length - (record->fresh.length - before);
    struct timeval soon = timeval_from_ms(FLUSH_MS);
    if (!evtimer_pending(inspector->flush_timer, NULL))
        evtimer_add(inspector->flush_timer, &soon);
}

static void on_flush(evutil_socket_t fd, short what, void *data)
{
    (void)fd;
    (void)what;
    struct inspector *inspector = data;
    for (struct session_record *record = inspector->sessions_seen; record; record = record->next)
        flush_output(inspector, record);
}

// --- memory --------------------------------------------------------------------------------------

static int64_t total_kb(value list)
{
    int64_t sum = 0;
    for (size_t i = 0; value_is_vector(list) && i < vector_count(list); i++)
        sum += map_get_integer(vector_at(list, i), "pss_kb", 0);
    return sum;
}

static value snapshot_numbers(struct region *region, value snapshots)
{
    value numbers = vector_new(region, 0);
    for (size_t i = 0; value_is_vector(snapshots) && i < vector_count(snapshots); i++)
        numbers =
            vector_push(region, numbers, value_retain(map_get(vector_at(snapshots, i), "number")));
    return numbers;
}

// Of session-info.
static value what_changes(struct region *region, value info)
{
    static const char *const names[] = {"package_label", "threads", "systems",
                                        "queued",        "sbcl",    "live_bytes"};
    value map = map_new(region);
    for (size_t i = 0; i < COUNT_OF(names); i++)
        map = map_put_text(region, map, names[i], value_retain(map_get(info, names[i])));
    value sandbox = map_get(info, "sandbox");
    return map_put_text(region, map, "workspace", value_retain(map_get(sandbox, "workspace")));
}

static void sample(struct inspector *inspector, struct session_record *record)
{
    struct region *region = region_new(SIZE_MAX);
    value info = session_info(inspector->sessions, record->name, true, region);
    record->wants_sample = false;
    record->sampled_ms = clock_now_ms();
    value event = session_event(region, "memory", record->name);
    int64_t head = map_get_integer(map_get(info, "head"), "pss_kb", 0);
    event = map_put_text(region, event, "at", value_integer(clock_unix_ms()));
    event = map_put_text(region, event, "head_kb", value_integer(head));
    event = map_put_text(region, event, "snapshots_kb",
                         value_integer(total_kb(map_get(info, "snapshots"))));
    event = map_put_text(region, event, "frozen_kb",
                         value_integer(total_kb(map_get(info, "frozen_memory"))));
    event = map_put_text(region, event, "snapshots",
                         snapshot_numbers(region, map_get(info, "snapshots")));
    event = map_put_text(region, event, "frozen", value_retain(map_get(info, "frozen")));
    event = map_put_text(region, event, "info", what_changes(region, info));
    publish(inspector, region, event);
}

// While somebody reads: after each change, and each second while something runs.
static void on_sample(evutil_socket_t fd, short what, void *data)
{
    (void)fd;
    (void)what;
    struct inspector *inspector = data;
    bool goes_on = false;
    if (!feed_is_read(&inspector->feed))
        return;
    for (struct session_record *record = inspector->sessions_seen; record; record = record->next) {
        bool runs = strcmp(record->state, "running") == 0;
        bool is_due = clock_now_ms() - record->sampled_ms >= SAMPLE_MS;
        if ((record->wants_sample || runs) && is_due &&
            session_exists(inspector->sessions, record->name))
            sample(inspector, record);
        goes_on = goes_on || runs || record->wants_sample;
    }
    if (goes_on)
        evtimer_add(inspector->sample_timer, &(struct timeval){.tv_sec = 1});
}

static void want_sample(struct inspector *inspector, struct session_record *record)
{
    record->wants_sample = true;
    if (feed_is_read(&inspector->feed) && !evtimer_pending(inspector->sample_timer, NULL))
        evtimer_add(inspector->sample_timer, &(struct timeval){.tv_usec = 30000});
}

static void on_reader(void *data)
{
    struct inspector *inspector = data;
    for (struct session_record *record = inspector->sessions_seen; record; record = record->next)
        want_sample(inspector, record);
}

// --- what happens --------------------------------------------------------------------------------

static void note_end(struct inspector *inspector, struct session_record *record,
                     const struct session_news *news)
{
    flush_output(inspector, record);
    if (news->evaluation > 0)
        tell_row(inspector, record, "ended", session_record_end(record, news));
    else if (news->reply && news->reply->ok)
        tell_moved(inspector, news);
    want_sample(inspector, record);
}

static void on_session(void *data, const struct session_news *news)
{
    struct inspector *inspector = data;
    if (news->kind == SESSION_NEWS_CLOSED) {
        tell_state(inspector, news->session, NULL);
        forget_session(inspector, news->session);
        return;
    }
    struct session_record *record = inspector_session(inspector, news->session);
    record->current = news->current;
    switch (news->kind) {
    case SESSION_NEWS_STARTED:
        record->running = news->evaluation;
        tell_row(inspector, record, "started", session_record_start(record, news));
        break;
    case SESSION_NEWS_OUTPUT: note_output(inspector, record, news); break;
    case SESSION_NEWS_ENDED: note_end(inspector, record, news); break;
    case SESSION_NEWS_STATE:
        snprintf(record->state, sizeof(record->state), "%s", news->state);
        tell_state(inspector, news->session, news->state);
        want_sample(inspector, record);
        break;
    case SESSION_NEWS_CLOSED: break;
    }
}

static void on_program(void *data, const struct program_news *news)
{
    struct inspector *inspector = data;
    const struct program_call_record *call;
    struct program_record *record = program_records_note(&inspector->programs, news, &call);
    if (!record || !feed_wants(&inspector->feed))
        return;
    struct region *region = region_new(SIZE_MAX);
    bool is_call = news->kind == PROGRAM_NEWS_CALL || news->kind == PROGRAM_NEWS_ANSWERED;
    value event = event_new_map(region, is_call ? "call" : "program");
    event = map_put_text(region, event, "program", program_record_write(region, record, false));
    if (call)
        event = map_put_text(region, event, "call", program_call_write(region, call));
    publish(inspector, region, event);
}

const struct tools_observer *inspector_observer(struct inspector *inspector)
{
    return &inspector->observer;
}

// --- life ----------------------------------------------------------------------------------------

struct inspector *inspector_new(struct event_base *base, struct session_manager *sessions)
{
    struct inspector *inspector = memory_alloc_zero(sizeof(*inspector));
    inspector->sessions = sessions;
    inspector->observer = (struct tools_observer){.on_program = on_program, .data = inspector};
    inspector->flush_timer = evtimer_new(base, on_flush, inspector);
    inspector->sample_timer = evtimer_new(base, on_sample, inspector);
    CHECK(inspector->flush_timer && inspector->sample_timer);
    program_records_init(&inspector->programs);
    feed_init(&inspector->feed, on_reader, inspector);
    inspector->session_observer =
        (struct session_observer){.notice = on_session, .data = inspector};
    session_observe(sessions, &inspector->session_observer);
    return inspector;
}

void inspector_free(struct inspector *inspector)
{
    if (!inspector)
        return;
    session_unobserve(&inspector->session_observer);
    while (inspector->sessions_seen)
        forget_session(inspector, inspector->sessions_seen->name);
    program_records_release(&inspector->programs);
    feed_release(&inspector->feed);
    event_free(inspector->flush_timer);
    event_free(inspector->sample_timer);
    memory_free(inspector);
}
