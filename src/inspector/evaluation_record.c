#include "inspector/evaluation_record.h"

#include <string.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/utf8.h"
#include "inspector/evaluation_detail.h"
#include "session/journal/journal.h"

enum {
    ROWS_MAX = 20000,
    DETAIL_BYTES_MAX = 32 << 20,  // of all evaluations of a session
    LINE_MAX = 240,               // bytes of code and summary in a row
    JOURNAL_BYTES = 4 << 20,
};

static void row_release(struct evaluation_row *row)
{
    memory_free(row->client);
    memory_free(row->code);
    memory_free(row->summary);
    memory_free(row->detail);
}

void session_record_free(struct session_record *record)
{
    for (size_t i = 0; i < record->count; i++)
        row_release(&record->rows[i]);
    memory_free(record->rows);
    buffer_release(&record->output);
    buffer_release(&record->fresh);
    memory_free(record);
}

// --- rows ----------------------------------------------------------------------------------------

// The index of the first row with this number or a greater one.
static size_t find_place(const struct session_record *record, int64_t number)
{
    size_t low = 0, high = record->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (record->rows[middle].number < number)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

struct evaluation_row *session_record_find(struct session_record *record, int64_t number)
{
    size_t at = find_place(record, number);
    bool is_there = at < record->count && record->rows[at].number == number;
    return is_there ? &record->rows[at] : NULL;
}

static void drop_oldest(struct session_record *record)
{
    enum { DROPPED = ROWS_MAX / 10 };
    for (size_t i = 0; i < DROPPED; i++) {
        record->detail_bytes -= record->rows[i].detail_bytes;
        row_release(&record->rows[i]);
    }
    record->count -= DROPPED;
    record->first_detail -= record->first_detail < DROPPED ? record->first_detail : DROPPED;
    memmove(record->rows, record->rows + DROPPED, record->count * sizeof(*record->rows));
}

static struct evaluation_row *add_row(struct session_record *record, int64_t number)
{
    if (record->count == ROWS_MAX)
        drop_oldest(record);
    if (record->count == record->capacity) {
        record->capacity = record->capacity ? 2 * record->capacity : 64;
        record->rows = memory_resize(record->rows, record->capacity * sizeof(*record->rows));
    }
    size_t at = find_place(record, number);
    struct evaluation_row *row = &record->rows[at];
    memmove(row + 1, row, (record->count - at) * sizeof(*row));
    record->count++;
    if (at < record->first_detail)
        record->first_detail++;
    *row = (struct evaluation_row){.number = number, .parent = -1, .elapsed_us = -1};
    return row;
}

static char *first_line(struct span text)
{
    while (text.length > 0 && (*text.data == '\n' || *text.data == ' '))
        text = (struct span){text.data + 1, text.length - 1};
    const char *newline = memchr(text.data, '\n', text.length);
    size_t length = newline ? (size_t)(newline - text.data) : text.length;
    bool is_cut = length < text.length || length > LINE_MAX;
    if (length > LINE_MAX)
        length = utf8_cut(text.data, LINE_MAX);
    return memory_format("%.*s%s", (int)length, text.data, is_cut ? " …" : "");
}

static void keep_detail(struct session_record *record, struct evaluation_row *row, char *detail)
{
    record->detail_bytes -= row->detail_bytes;
    memory_free(row->detail);
    row->detail = detail;
    row->detail_bytes = detail ? strlen(detail) : 0;
    record->detail_bytes += row->detail_bytes;
    while (record->detail_bytes > DETAIL_BYTES_MAX && record->first_detail < record->count) {
        struct evaluation_row *oldest = &record->rows[record->first_detail++];
        record->detail_bytes -= oldest->detail_bytes;
        memory_free(oldest->detail);
        oldest->detail = NULL;
        oldest->detail_bytes = 0;
    }
}

// --- what sessions tell --------------------------------------------------------------------------

struct evaluation_row *session_record_start(struct session_record *record,
                                            const struct session_news *news)
{
    struct evaluation_row *row = session_record_find(record, news->evaluation);
    if (!row)
        row = add_row(record, news->evaluation);
    memory_free(row->client);
    memory_free(row->code);
    row->parent = news->parent;
    row->client = memory_copy_string(news->client);
    row->outcome = "running";
    row->started_ms = clock_unix_ms();
    row->elapsed_us = -1;
    struct region *region = region_new(SIZE_MAX);
    value request = evaluation_request(region, news);
    row->code = first_line(evaluation_code(request));
    keep_detail(record, row, evaluation_detail(region, request, NULL));
    region_free(region);
    buffer_clear(&record->output);
    return row;
}

static const char *outcome_of(const struct session_reply *reply)
{
    if (!reply)
        return "cancelled";
    if (!value_is_nil(reply->rollback))
        return "rolled-back";
    return reply->ok ? "ok" : "error";
}

static char *summary_of(const struct session_reply *reply)
{
    if (!reply)
        return NULL;
    if (!reply->ok) {
        struct span type = map_get_string(reply->error, "type");
        struct span message = map_get_string(reply->error, "message");
        CLEANUP_FREE char *text =
            memory_format("%.*s%s%.*s", (int)type.length, type.data, type.length ? ": " : "",
                          (int)(message.length > 1000 ? 1000 : message.length), message.data);
        return first_line(span_from(text));
    }
    if (map_get_count(reply->result, "values") == 0)
        return NULL;
    return first_line(value_text(map_get_item(reply->result, "values", 0)));
}

struct evaluation_row *session_record_end(struct session_record *record,
                                          const struct session_news *news)
{
    const struct session_reply *reply = news->reply;
    struct evaluation_row *row = session_record_find(record, news->evaluation);
    if (!row)
        row = session_record_start(record, news);
    row->outcome = outcome_of(reply);
    memory_free(row->summary);
    row->summary = summary_of(reply);
    row->elapsed_us = reply ? reply->elapsed_us : (clock_unix_ms() - row->started_ms) * 1000;
    row->error = reply ? reply->error_id : 0;
    if (!reply)
        return row;
    value state = map_get(reply->result, "state");
    row->live_bytes = map_get_integer(state, "live_bytes", 0);
    struct region *region = region_new(SIZE_MAX);
    keep_detail(record, row, evaluation_detail(region, evaluation_request(region, news), reply));
    region_free(region);
    return row;
}

// --- the journal ---------------------------------------------------------------------------------

static void read_started(struct session_record *record, struct region *region, value entry)
{
    int64_t number = map_get_integer(entry, "evaluation", 0);
    if (session_record_find(record, number))
        return;
    struct evaluation_row *row = add_row(record, number);
    value request = map_get(entry, "request");
    struct span client = map_get_string(entry, "client");
    row->parent = map_get_integer(entry, "parent", -1);
    row->client = client.length ? memory_copy_text(client.data, client.length) : NULL;
    row->code = first_line(evaluation_code(request));
    row->outcome = "unfinished";
    row->started_ms = map_get_integer(entry, "time", 0) * 1000;
    row->elapsed_us = 0;
    keep_detail(record, row, evaluation_detail(region, request, NULL));
}

static void read_completed(struct session_record *record, value entry)
{
    struct evaluation_row *row =
        session_record_find(record, map_get_integer(entry, "evaluation", 0));
    if (!row || strcmp(row->outcome, "unfinished") != 0)
        return;
    struct span outcome = map_get_string(entry, "outcome");
    bool is_ok = map_get_boolean(entry, "ok");
    if (is_ok && outcome.length > 3 && memcmp(outcome.data, "=> ", 3) == 0)
        outcome = (struct span){outcome.data + 3, outcome.length - 3};
    row->outcome = is_ok ? "ok" : "error";
    row->elapsed_us = map_get_integer(entry, "us", 0);
    row->summary = first_line(outcome);
}

void session_record_read_journal(struct session_record *record, const char *directory)
{
    record->has_journal = true;
    if (!directory)
        return;
    struct region *region = region_new(SIZE_MAX);
    value entries = journal_read(region, directory, JOURNAL_BYTES);
    for (size_t i = 0; i < vector_count(entries) && record->count < ROWS_MAX; i++) {
        value entry = vector_at(entries, i);
        struct span event = map_get_string(entry, "event");
        if (span_equal_text(event, "started"))
            read_started(record, region, entry);
        else if (span_equal_text(event, "completed"))
            read_completed(record, entry);
    }
    region_free(region);
}

// --- JSON ----------------------------------------------------------------------------------------

static value put_text(struct region *region, value map, const char *name, const char *text)
{
    if (!text)
        return map;
    return map_put_text(region, map, name, value_string_repair(region, span_from(text)));
}

value evaluation_row_write(struct region *region, const struct evaluation_row *row)
{
    value map = map_put_text(region, map_new(region), "number", value_integer(row->number));
    map = map_put_text(region, map, "parent", value_integer(row->parent));
    map = put_text(region, map, "by", row->client);
    map = put_text(region, map, "code", row->code);
    map = put_text(region, map, "outcome", row->outcome);
    map = put_text(region, map, "summary", row->summary);
    map = map_put_text(region, map, "at", value_integer(row->started_ms));
    if (row->elapsed_us >= 0)
        map = map_put_text(region, map, "us", value_integer(row->elapsed_us));
    if (row->error)
        map = map_put_text(region, map, "error", value_integer(row->error));
    if (row->live_bytes)
        map = map_put_text(region, map, "live", value_integer(row->live_bytes));
    return map;
}

value session_record_rows(struct region *region, const struct session_record *record,
                          int64_t before, size_t limit)
{
    size_t end = find_place(record, before);
    value rows = vector_new(region, 0);
    for (size_t i = end; i > 0 && end - i < limit; i--)
        rows = vector_push(region, rows, evaluation_row_write(region, &record->rows[i - 1]));
    return rows;
}
