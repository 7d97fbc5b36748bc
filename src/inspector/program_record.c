#include "inspector/program_record.h"

#include <string.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/utf8.h"
#include "value/text/json.h"

enum {
    RUNS_MAX = 200,
    BYTES_MAX = 32 << 20,
    SOURCE_MAX = 64 << 10,
    ARGUMENTS_MAX = 4 << 10,
    RESULT_MAX = 16 << 10,
    STEP_MAX = 1 << 20,
    CALLS_MAX = 1000,  // of a run
};

void program_records_init(struct program_records *records)
{
    *records = (struct program_records){0};
    TAILQ_INIT(&records->list);
}

static void record_free(struct program_records *records, struct program_record *record)
{
    TAILQ_REMOVE(&records->list, record, link);
    records->count--;
    records->bytes -= record->bytes;
    for (size_t i = 0; i < record->call_count; i++) {
        memory_free(record->calls[i].name);
        memory_free(record->calls[i].arguments);
        memory_free(record->calls[i].result);
    }
    memory_free(record->calls);
    memory_free(record->client);
    memory_free(record->source);
    memory_free(record->step);
    memory_free(record);
}

void program_records_release(struct program_records *records)
{
    while (!TAILQ_EMPTY(&records->list))
        record_free(records, TAILQ_FIRST(&records->list));
}

struct program_record *program_records_find(const struct program_records *records, int64_t id)
{
    struct program_record *record;
    TAILQ_FOREACH (record, &records->list, link)
        if (record->id == id)
            break;
    return record;
}

// --- what programs do ----------------------------------------------------------------------------

static char *keep_text(struct program_records *records, struct program_record *record,
                       struct span text, size_t limit)
{
    bool is_cut = text.length > limit;
    size_t length = is_cut ? utf8_cut(text.data, limit) : text.length;
    char *kept = memory_format("%.*s%s", (int)length, text.data, is_cut ? " …" : "");
    record->bytes += length;
    records->bytes += length;
    return kept;
}

static struct program_record *find_run(const struct program_records *records, const void *run)
{
    struct program_record *record;
    TAILQ_FOREACH (record, &records->list, link)
        if (record->run == run)
            break;
    return record;
}

static struct program_record *begin(struct program_records *records,
                                    const struct program_news *news)
{
    struct program_record *record = memory_alloc_zero(sizeof(*record));
    *record = (struct program_record){.run = news->run,
                                      .id = ++records->last_id,
                                      .number = news->number,
                                      .client = memory_copy_string(news->client),
                                      .started_ms = clock_unix_ms(),
                                      .started_ns = clock_now_ns(),
                                      .elapsed_us = -1,
                                      .outcome = "running"};
    TAILQ_INSERT_HEAD(&records->list, record, link);
    records->count++;
    record->source = keep_text(records, record, news->source, SOURCE_MAX);
    while (records->count > 1 && (records->count > RUNS_MAX || records->bytes > BYTES_MAX))
        record_free(records, TAILQ_LAST(&records->list, program_record_list));
    return record;
}

static int64_t since_start_us(const struct program_record *record)
{
    return (clock_now_ns() - record->started_ns) / 1000;
}

static const struct program_call_record *add_call(struct program_records *records,
                                                  struct program_record *record,
                                                  const struct program_news *news)
{
    if (record->call_count == CALLS_MAX) {
        record->dropped_calls++;
        return NULL;
    }
    if (record->call_count == record->call_capacity) {
        record->call_capacity = record->call_capacity ? 2 * record->call_capacity : 8;
        record->calls =
            memory_resize(record->calls, record->call_capacity * sizeof(*record->calls));
    }
    struct program_call_record *call = &record->calls[record->call_count++];
    *call = (struct program_call_record){
        .call = news->call, .started_us = since_start_us(record), .ended_us = -1};
    call->name = keep_text(records, record, news->name, 200);
    call->arguments = keep_text(records, record, news->text, ARGUMENTS_MAX);
    return call;
}

static const struct program_call_record *end_call(struct program_records *records,
                                                  struct program_record *record,
                                                  const struct program_news *news)
{
    for (size_t i = record->call_count; i > 0; i--) {
        struct program_call_record *call = &record->calls[i - 1];
        if (call->call != news->call || call->is_answered)
            continue;
        call->is_answered = true;
        call->ended_us = since_start_us(record);
        call->ok = news->ok;
        call->result = keep_text(records, record, news->text, RESULT_MAX);
        return call;
    }
    return NULL;
}

// A Step that is too long is kept without its memory, calls and values.
static char *step_text(value step)
{
    CLEANUP_BUFFER struct buffer text;
    buffer_init(&text, STEP_MAX);
    json_write(&text, step, 0, NULL);
    if (!text.failed)
        return memory_copy_text(text.data, text.length);
    return memory_copy_string("{\"is_cut\":true}");
}

static void end(struct program_records *records, struct program_record *record, value step)
{
    record->run = NULL;
    record->elapsed_us = since_start_us(record);
    record->outcome = "cancelled";
    if (!value_is_map(step))
        return;
    record->outcome = value_is_true(map_get(step, "ok")) ? "ok" : "error";
    value ledger = map_get(step, "tool_calls");
    record->ledger_count = value_is_vector(ledger) ? vector_count(ledger) : 0;
    record->step = step_text(step);
    record->bytes += strlen(record->step);
    records->bytes += strlen(record->step);
}

struct program_record *program_records_note(struct program_records *records,
                                            const struct program_news *news,
                                            const struct program_call_record **ret_call)
{
    *ret_call = NULL;
    if (news->kind == PROGRAM_NEWS_STARTED)
        return begin(records, news);
    struct program_record *record = find_run(records, news->run);
    if (!record)
        return NULL;
    if (news->kind == PROGRAM_NEWS_CALL)
        *ret_call = add_call(records, record, news);
    else if (news->kind == PROGRAM_NEWS_ANSWERED)
        *ret_call = end_call(records, record, news);
    else
        end(records, record, news->step);
    return record;
}

// --- JSON ----------------------------------------------------------------------------------------

static value put_text(struct region *region, value map, const char *name, const char *text)
{
    if (!text)
        return map;
    return map_put_text(region, map, name, value_string_repair(region, span_from(text)));
}

value program_call_write(struct region *region, const struct program_call_record *call)
{
    value map = put_text(region, map_new(region), "name", call->name);
    map = put_text(region, map, "arguments", call->arguments);
    map = map_put_text(region, map, "started_us", value_integer(call->started_us));
    if (call->ended_us < 0)
        return map;
    map = map_put_text(region, map, "ended_us", value_integer(call->ended_us));
    map = map_put_text(region, map, "ok", value_boolean(call->ok));
    return put_text(region, map, "result", call->result);
}

static value put_details(struct region *region, value map, const struct program_record *record)
{
    value calls = vector_new(region, record->call_count), step;
    struct error error;
    for (size_t i = 0; i < record->call_count; i++)
        calls = vector_push(region, calls, program_call_write(region, &record->calls[i]));
    map = map_put_text(region, map, "calls", calls);
    map = map_put_text(region, map, "dropped_calls", value_integer((int64_t)record->dropped_calls));
    map = put_text(region, map, "source", record->source);
    if (record->step && json_read(region, span_from(record->step), NULL, &step, &error))
        map = map_put_text(region, map, "step", step);
    return map;
}

value program_record_write(struct region *region, const struct program_record *record,
                           bool with_details)
{
    value map = map_put_text(region, map_new(region), "id", value_integer(record->id));
    map = map_put_text(region, map, "number", value_integer(record->number));
    map = put_text(region, map, "by", record->client);
    map = put_text(region, map, "outcome", record->outcome);
    map = map_put_text(region, map, "at", value_integer(record->started_ms));
    size_t calls = record->call_count + record->dropped_calls;
    if (calls < record->ledger_count)
        calls = record->ledger_count;
    map = map_put_text(region, map, "call_count", value_integer((int64_t)calls));
    if (record->elapsed_us >= 0)
        map = map_put_text(region, map, "us", value_integer(record->elapsed_us));
    if (with_details)
        return put_details(region, map, record);
    struct span source = span_from(record->source);
    source.length = source.length > 200 ? utf8_cut(source.data, 200) : source.length;
    return map_put_text(region, map, "code", value_string_repair(region, source));
}
