#include "tools/program/paused_file.h"

#include <stdlib.h>
#include <string.h>

#include "value/text/json.h"

enum { FILE_VERSION = 1, KEY_DIGITS = 16 };

static uint64_t read_key(struct span digits)
{
    char text[KEY_DIGITS + 1] = {0};
    if (digits.length == KEY_DIGITS)
        memcpy(text, digits.data, KEY_DIGITS);
    return strtoull(text, NULL, 16);
}

// --- the file ------------------------------------------------------------------------------------

// Random numbers and the clock are as they were.
static value record_again(struct region *region, value record, value paused)
{
    value options = map_get(record, "options");
    options = value_is_map(options) ? value_retain(options) : map_new(region);
    options = map_put_text(region, options, "seed", value_retain(map_get(paused, "seed")));
    record = map_put_text(region, value_retain(record), "options", options);
    return map_put_text(region, record, "clock", value_retain(map_get(paused, "clock")));
}

struct paused_file paused_file_of(struct region *region, value paused, value record)
{
    return (struct paused_file){.record = record_again(region, record, paused),
                                .call = map_get(paused, "call"),
                                .key = read_key(map_get_string(paused, "key"))};
}

void paused_file_write(const struct paused_file *file, const struct toolbox_run *run,
                       struct region *region, struct buffer *text)
{
    value head = map_put_text(region, map_new(region), "version", value_integer(FILE_VERSION));
    head = map_put_text(region, head, "record", value_retain(file->record));
    head = map_put_text(region, head, "call", value_retain(file->call));
    head = map_put_text(region, head, "key",
                        value_string_format(region, "%016llx", (unsigned long long)file->key));
    head = map_put_text(region, head, "timeout_ms", value_integer(file->timeout_ms));
    head = map_put_text(region, head, "dry_run", value_boolean(run->is_dry));
    head = map_put_text(region, head, "approved", value_retain(run->approved));
    head = map_put_text(region, head, "approved_all", value_retain(run->approved_all));
    if (file->memory_name.length)
        head = map_put_text(region, head, "memory_name", value_string(region, file->memory_name));
    buffer_append_text(text, "{\"head\":");
    json_write(text, head, 0, NULL);
    buffer_append_text(text, ",\"calls\":");
    call_log_write(run->log, text);
    buffer_append_text(text, "}\n");
}

bool paused_file_read(struct paused_file *ret_file, struct toolbox_run *run, struct region *region,
                      struct span text)
{
    struct json_options options = {.max_depth = PAUSED_TEXT_DEPTH};
    struct error error;
    value file;
    if (!json_read(region, text, &options, &file, &error) || !value_is_map(file))
        return false;
    value head = map_get(file, "head"), approved = map_get(head, "approved");
    value approved_all = map_get(head, "approved_all");
    *ret_file = (struct paused_file){.record = map_get(head, "record"),
                                     .call = map_get(head, "call"),
                                     .key = read_key(map_get_string(head, "key")),
                                     .timeout_ms = map_get_integer(head, "timeout_ms", 0),
                                     .memory_name = map_get_string(head, "memory_name")};
    run->is_dry = map_get_boolean(head, "dry_run");
    if (value_is_vector(approved))
        run->approved = value_retain(approved);
    if (value_is_vector(approved_all))
        run->approved_all = value_retain(approved_all);
    return map_get_integer(head, "version", 0) == FILE_VERSION && value_is_map(ret_file->record) &&
           call_log_read(run->log, map_get(file, "calls"));
}

bool paused_file_is_unknown(const struct paused_file *file, const struct toolbox_run *run)
{
    const struct logged_call *call = call_log_find(run->log, file->key);
    return call && !call->is_pending;
}

// --- answers -------------------------------------------------------------------------------------

static bool read_approval(value approve, enum paused_answer_kind *ret_kind)
{
    struct span word = value_is_string(approve) ? value_text(approve) : (struct span){0};
    bool is_all = span_equal_text(word, "all"), is_no = span_equal_text(word, "no");
    bool is_flag = approve.tag == VALUE_BOOLEAN;
    bool is_yes = is_flag ? value_is_true(approve) : span_equal_text(word, "yes");
    *ret_kind = is_all ? ANSWER_ALL : is_yes ? ANSWER_ONCE : ANSWER_REFUSE;
    return is_all || is_no || is_yes || is_flag;
}

static bool read_result(value results, struct paused_answer *ret_answer)
{
    value result = value_is_vector(results) && vector_count(results) == 1 ? vector_at(results, 0)
                                                                          : value_nil();
    if (!value_is_map(result))
        return false;
    ret_answer->kind = ANSWER_VALUE;
    if (map_find_text(result, "value", &ret_answer->given))
        return true;
    ret_answer->kind = ANSWER_ERROR;
    return map_find_text(result, "error", &ret_answer->given) && value_is_string(ret_answer->given);
}

bool paused_answer_read(value approve, value results, struct paused_answer *ret_answer)
{
    *ret_answer = (struct paused_answer){.given = value_nil()};
    if (value_is_nil(results))
        return read_approval(approve, &ret_answer->kind);
    return value_is_nil(approve) && read_result(results, ret_answer);
}

void paused_file_answer(const struct paused_file *file, struct toolbox_run *run,
                        const struct paused_answer *answer)
{
    struct span name = map_get_string(file->call, "name");
    if (answer->kind == ANSWER_ONCE || answer->kind == ANSWER_ALL) {
        toolbox_run_approve(run, file->key);
        if (answer->kind == ANSWER_ALL)
            run->approved_all =
                vector_push(run->region, run->approved_all, value_string(run->region, name));
        return;
    }
    CLEANUP_BUFFER struct buffer arguments, text;
    buffer_init(&arguments, BUFFER_DEFAULT_LIMIT);
    buffer_init(&text, BUFFER_DEFAULT_LIMIT);
    json_write(&arguments, map_get(file->call, "args"), 0, NULL);
    if (answer->kind == ANSWER_VALUE)
        json_write(&text, answer->given, 0, NULL);
    else if (answer->kind == ANSWER_ERROR)
        buffer_append_span(&text, value_text(answer->given));
    else
        buffer_append_text(&text, "a person refused this call");
    call_log_start(run->log, file->key, name, buffer_span(&arguments), false);
    call_log_finish(run->log, file->key, answer->kind == ANSWER_VALUE, buffer_span(&text));
}
