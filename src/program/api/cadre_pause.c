// The public API: runs that pause, and how they are resumed. See include/cadre.h.
//
// A run that may pause keeps the results of its tools as EDN. The text of a paused run is
//     {"version":1,"program":"HEX","call":{"name","args"},"key":"HEX","seed":N,"clock":[…],"calls":[…]}
// where `program` is a hash of the source, `key` is that of the call it waits for (run/replay.h), and
// `calls` are those of call_log.h.
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/memory.h"
#include "program/api/cadre_internal.h"
#include "program/call_log.h"
#include "value/text/edn.h"
#include "value/text/json.h"
#include "value/text/print.h"

enum { PAUSED_VERSION = 1, PAUSED_DEPTH = 10000, SOURCE_SEED = 1 };

struct call_record {
    pthread_mutex_t lock;  // tools run in several threads
    struct call_log *log;
};

struct call_record *call_record_new(void)
{
    struct call_record *record = cadre_new_zero(sizeof(*record));
    if (!record)
        return NULL;
    pthread_mutex_init(&record->lock, NULL);
    record->log = call_log_new();
    return record;
}

void call_record_free(struct call_record *record)
{
    if (!record)
        return;
    pthread_mutex_destroy(&record->lock);
    call_log_free(record->log);
    memory_free(record);
}

// --- the calls of a run --------------------------------------------------------------------------

static bool read_literal(struct tool_call *call, struct span text)
{
    struct edn_options options = {.max_depth = SIZE_MAX, .any_integer = true};
    struct error error = {0};
    return edn_read(call->region, text, &options, &call->result, &error) ||
           tool_call_fail(call, SPAN("in a run that may pause, results must be data"));
}

static void print_arguments(const struct tool_call *call, struct buffer *text)
{
    buffer_init(text, CADRE_INPUT_BYTES);
    value_print(text, call->arguments);
}

bool call_record_answer(struct call_record *record, struct tool_call *call, bool *ret_ok)
{
    struct logged_call found = {0};  // its texts stay when the log grows
    pthread_mutex_lock(&record->lock);
    const struct logged_call *logged = call_log_find(record->log, call->key);
    if (logged)
        found = *logged;
    pthread_mutex_unlock(&record->lock);
    if (!found.is_finished)
        return false;
    CLEANUP_BUFFER struct buffer arguments;
    print_arguments(call, &arguments);
    if (!span_equal(buffer_span(&arguments), found.arguments))
        *ret_ok = tool_call_fail(call, SPAN("the program goes another way than before it paused"));
    else if (found.ok)
        *ret_ok = read_literal(call, found.text);
    else
        *ret_ok = tool_call_fail(call, found.text);
    return true;
}

bool call_record_keep(struct call_record *record, struct tool_call *call, bool ok)
{
    CLEANUP_BUFFER struct buffer arguments, result;
    print_arguments(call, &arguments);
    buffer_init(&result, CADRE_INPUT_BYTES);
    if (ok)
        value_print(&result, call->result);
    // What the program sees now is what it will see when it is resumed.
    if (ok)
        ok = result.failed ? tool_call_fail(call, SPAN("the result is too large"))
                           : read_literal(call, buffer_span(&result));
    struct span text = ok ? buffer_span(&result) : buffer_span(&call->error);
    pthread_mutex_lock(&record->lock);
    call_log_start(record->log, call->key, SPAN(""), buffer_span(&arguments), false);
    call_log_finish(record->log, call->key, ok, text);
    pthread_mutex_unlock(&record->lock);
    return ok;
}

bool cadre_call_pause(cadre_call *call)
{
    if (!call)
        return false;
    struct tool_call *inside = cadre_call_inside(call);
    const struct run_user *run = inside->user;
    if (!run->record)
        return cadre_call_fail(call, "there is no answer yet, and this run may not pause");
    pthread_mutex_lock(&run->record->lock);
    bool is_full = call_log_is_full(run->record->log);
    pthread_mutex_unlock(&run->record->lock);
    if (is_full)
        return cadre_call_fail(call, "the results so far are too large to be kept for a pause");
    return tool_call_pause(inside);
}

// --- the text of a paused run --------------------------------------------------------------------

static uint64_t hash_source(struct span source)
{
    return hash_bytes(source.data, source.length, SOURCE_SEED);
}

bool call_record_write(const struct call_record *record, const struct step *step,
                       struct buffer *text)
{
    if (step->failure.kind != PAUSED || !record)
        return false;
    buffer_append_format(text, "{\"version\":%d,\"program\":\"%016" PRIx64 "\",", PAUSED_VERSION,
                         hash_source(step->program->source));
    step_write_paused(step, text);
    buffer_append_text(text, ",\"calls\":");
    call_log_write(record->log, text);
    buffer_append_byte(text, '}');
    return true;
}

static bool read_key(value paused, const char *name, uint64_t *ret_key)
{
    char digits[REPLAY_KEY_DIGITS + 1] = {0};
    struct span text = map_get_string(paused, name);
    if (text.length != REPLAY_KEY_DIGITS)
        return false;
    memcpy(digits, text.data, text.length);
    char *end;
    *ret_key = strtoull(digits, &end, 16);
    return *end == '\0';
}

// [{"value": …}] or [{"error": "…"}]: what the call that the run waits for gives.
static bool add_answer(struct call_record *record, struct region *region, uint64_t key, value call,
                       struct span results)
{
    struct error error = {0};
    value answers, answer, given;
    if (!json_read(region, results, NULL, &answers, &error) || !value_is_vector(answers) ||
        vector_count(answers) != 1 || !value_is_map(vector_at(answers, 0)))
        return false;
    answer = vector_at(answers, 0);
    bool ok = map_find_text(answer, "value", &given);
    if (!ok && (!map_find_text(answer, "error", &given) || !value_is_string(given)))
        return false;
    CLEANUP_BUFFER struct buffer arguments, text;
    buffer_init(&arguments, CADRE_INPUT_BYTES);
    buffer_init(&text, CADRE_INPUT_BYTES);
    value_print(&arguments, map_get(call, "args"));
    if (ok)
        value_print(&text, given);
    call_log_start(record->log, key, SPAN(""), buffer_span(&arguments), false);
    call_log_finish(record->log, key, ok, ok ? buffer_span(&text) : value_text(given));
    return true;
}

bool call_record_read(struct call_record *record, struct region *region, struct span source,
                      struct span text, struct span results, struct program_inputs *inputs)
{
    struct json_options options = {.max_depth = PAUSED_DEPTH};
    struct error error = {0};
    value paused;
    uint64_t program, key;
    if (!json_read(region, text, &options, &paused, &error) || !value_is_map(paused) ||
        map_get_integer(paused, "version", 0) != PAUSED_VERSION ||
        !read_key(paused, "program", &program) || program != hash_source(source) ||
        !read_key(paused, "key", &key) || !call_log_read(record->log, map_get(paused, "calls")))
        return false;
    int64_t seed = map_get_integer(paused, "seed", -1);
    if (seed < 0 || seed >= RUN_SEED_MAX)
        return false;
    inputs->options.seed = seed;
    inputs->clock = map_get(paused, "clock");
    return !results.data || add_answer(record, region, key, map_get(paused, "call"), results);
}
