#include "session/error_history.h"

#include <string.h>

#include "base/assert.h"
#include "base/buffer.h"
#include "session/worker_data.h"
#include "value/text/json.h"

enum {
    HISTORY_REGION_LIMIT =
        1 << 30,            // never reached: error_history_import() makes at most 40 MiB each
    MESSAGE_BYTES = 16384,  // 4000 characters
    FRAMES_MAX = 1000,
    ITEMS_MAX = 200,
};

static const struct import_member slot_members[] = {{.name = "name"}, {.name = "value"}, {0}};

static const struct import_member frame_members[] = {
    {.name = "number", .kind = IMPORT_INTEGER},
    {.name = "call"},
    {.name = "function"},
    {.name = "arguments", .kind = IMPORT_TEXTS, .max = 16},
    {.name = "machinery", .kind = IMPORT_BOOLEAN},
    {.name = "source"},
    {.name = "file"},
    {0}};

static const struct import_member restart_members[] = {
    {.name = "number", .kind = IMPORT_INTEGER}, {.name = "name"}, {.name = "description"}, {0}};

static const struct import_member error_members[] = {
    {.name = "code"},
    {.name = "message", .max = MESSAGE_BYTES},
    {.name = "hint"},
    {.name = "type"},
    {.name = "type_qualified"},
    {.name = "superclasses", .kind = IMPORT_TEXTS, .max = ITEMS_MAX},
    {.name = "slots", .kind = IMPORT_OBJECTS, .max = ITEMS_MAX, .items = slot_members},
    {.name = "form", .kind = IMPORT_INTEGER},
    {.name = "line", .kind = IMPORT_INTEGER},
    {.name = "column", .kind = IMPORT_INTEGER},
    {.name = "path"},
    {.name = "phase"},
    {.name = "thread"},
    {.name = "kind"},
    {.name = "frames", .kind = IMPORT_OBJECTS, .max = FRAMES_MAX, .items = frame_members},
    {.name = "depth", .kind = IMPORT_INTEGER},
    {.name = "restarts", .kind = IMPORT_OBJECTS, .max = ITEMS_MAX, .items = restart_members},
    {0}};

value error_history_import(struct region *region, value error)
{
    value result = import_object(region, error, error_members);
    if (!value_is_string(map_get(result, "code")))
        result = map_put_text(region, result, "code", value_string_text(region, "protocol"));
    if (!value_is_string(map_get(result, "message")))
        result = map_put_text(region, result, "message", value_string_text(region, "(no message)"));
    return result;
}

int64_t error_history_next_id(const struct error_history *history)
{
    return history->last_id + 1;
}

static struct error_record make_record(struct error_history *history, value error)
{
    if (!history->region)
        history->region = region_new(HISTORY_REGION_LIMIT);
    return (struct error_record){.id = ++history->last_id,
                                 .error = value_copy(history->region, error)};
}

int64_t error_history_add(struct error_history *history, value error)
{
    if (history->count == SESSION_ERROR_HISTORY) {
        value_release(history->region, history->records[0].error);
        memmove(&history->records[0], &history->records[1],
                (SESSION_ERROR_HISTORY - 1) * sizeof(history->records[0]));
        history->count--;
    }
    history->records[history->count++] = make_record(history, error);
    return history->last_id;
}

// --- of tests ------------------------------------------------------------------------------------

bool error_history_tests_are_full(const struct error_history *history)
{
    return history->test_count == SESSION_TEST_ERRORS;
}

int64_t error_history_add_test(struct error_history *history, value error)
{
    CHECK(!error_history_tests_are_full(history));
    history->tests[history->test_count++] = make_record(history, error);
    return history->last_id;
}

void error_history_forget_tests(struct error_history *history)
{
    for (size_t i = 0; i < history->test_count; i++)
        value_release(history->region, history->tests[i].error);
    history->test_count = 0;
}

// --- finding -------------------------------------------------------------------------------------

const struct error_record *error_history_find(const struct error_history *history, int64_t id)
{
    for (size_t i = 0; i < history->count; i++) {
        if (history->records[i].id == id)
            return &history->records[i];
    }
    for (size_t i = 0; i < history->test_count; i++) {
        if (history->tests[i].id == id)
            return &history->tests[i];
    }
    return NULL;
}

void error_history_clear(struct error_history *history)
{
    if (history->region)
        region_free(history->region);
    *history = (struct error_history){0};
}

// --- in an image ---------------------------------------------------------------------------------

value error_history_write(const struct error_history *history, struct region *region)
{
    enum { WRITTEN_MAX = 64 << 10 };
    CLEANUP_BUFFER struct buffer json;
    size_t first = history->count;
    buffer_init(&json, WRITTEN_MAX);
    while (first > 0) {
        json_write(&json, history->records[first - 1].error, 0, NULL);
        if (json.failed)
            break;
        first--;
    }
    value records = vector_new(region, 0);
    for (size_t i = first; i < history->count; i++)
        records = vector_push(region, records, value_copy(region, history->records[i].error));
    value map = map_put_text(region, map_new(region), "last_id", value_integer(history->last_id));
    map = map_put_text(region, map, "last_error", value_integer(history->last_error));
    return map_put_text(region, map, "records", records);
}

// Where the error was recorded.
static const struct import_member place_members[] = {{.name = "id", .kind = IMPORT_INTEGER},
                                                     {.name = "evaluation", .kind = IMPORT_INTEGER},
                                                     {.name = "time"},
                                                     {.name = "frozen", .kind = IMPORT_BOOLEAN},
                                                     {0}};

static value read_record(struct region *region, value written)
{
    value error = error_history_import(region, written);
    value place = import_object(region, written, place_members);
    for (const struct import_member *member = place_members; member->name; member++)
        error = map_put_text(region, error, member->name,
                             value_copy(region, map_get(place, member->name)));
    return error;
}

void error_history_read(struct error_history *history, value written)
{
    value records = map_get(written, "records");
    size_t count = value_is_vector(records) ? vector_count(records) : 0;
    if (history->count > 0 || count > SESSION_ERROR_HISTORY)
        return;
    struct region *scratch = region_new(HISTORY_REGION_LIMIT);
    for (size_t i = 0; i < count; i++) {
        value record = read_record(scratch, vector_at(records, i));
        int64_t id = map_get_integer(record, "id", 0);
        if (id <= history->last_id)
            continue;
        history->last_id = id - 1;
        error_history_add(history, record);
    }
    region_free(scratch);
    int64_t last_id = map_get_integer(written, "last_id", 0);
    history->last_id = last_id > history->last_id ? last_id : history->last_id;
    history->last_error = map_get_integer(written, "last_error", 0);
}
