#include "program/run/step.h"
#include <inttypes.h>

#include <stdio.h>
#include <string.h>
#include <utf8proc.h>

#include "base/utf8.h"
#include "value/text/json.h"
#include "value/text/print.h"

void step_fail(struct step *ret_step, struct region *region, value memory, struct span source,
               const struct diagnostic *diagnostic)
{
    *ret_step = (struct step){.region = region, .memory = memory, .source = source};
    struct failure *failure = &ret_step->failure;
    failure->kind = diagnostic->kind;
    memcpy(failure->op, diagnostic->op, sizeof(failure->op));
    memcpy(failure->message, diagnostic->message, sizeof(failure->message));
    failure->limit_option = diagnostic->limit_option;
    failure->limit_value = diagnostic->limit_value;
    memcpy(ret_step->suggestions, diagnostic->suggestions, sizeof(ret_step->suggestions));
    ret_step->suggestion_count = diagnostic->suggestion_count;
    ret_step->problems = diagnostic->problems;
    bool has_place = diagnostic->kind != INVALID_TOOL && diagnostic->kind != INVALID_SIGNATURE &&
                     diagnostic->kind != INVALID_RECORD;
    if (has_place)
        source_position(source, diagnostic->offset, &ret_step->line, &ret_step->column);
}

void step_release(struct step *step)
{
    region_free(step->region);
    program_release(step->program);
    *step = (struct step){0};
}

struct span step_message(const struct step *step)
{
    if (step->failure.kind == FAILURE_NONE)
        return (struct span){"", 0};
    if (step->failure.long_message.tag == VALUE_STRING)
        return value_text(step->failure.long_message);
    size_t length = strlen(step->failure.message);
    // A message that was cut may end inside a character.
    return (struct span){step->failure.message, utf8_valid_prefix(step->failure.message, length)};
}

// --- JSON ----------------------------------------------------------------------------------------

static void write_key(struct buffer *buffer, const char *name)
{
    buffer_append_format(buffer, "%s\"%s\":", buffer->data[buffer->length - 1] == '{' ? "" : ",",
                         name);
}

static void write_text(struct buffer *buffer, const char *text)
{
    json_write_string(buffer, span_from(text));
}

static void write_text_or_null(struct buffer *buffer, const char *text)
{
    if (text[0])
        write_text(buffer, text);
    else
        buffer_append_text(buffer, "null");
}

static void write_limit(const struct failure *failure, struct buffer *buffer)
{
    buffer_append_text(buffer, "{\"name\":");
    write_text(buffer, failure->limit_option);
    buffer_append_format(buffer, ",\"value\":%lld,\"option\":", (long long)failure->limit_value);
    write_text(buffer, failure->limit_option);
    buffer_append_byte(buffer, '}');
}

static void write_suggestions(const struct step *step, struct buffer *buffer)
{
    write_key(buffer, "suggestions");
    for (unsigned i = 0; i < step->suggestion_count; i++) {
        buffer_append_byte(buffer, i ? ',' : '[');
        write_text(buffer, step->suggestions[i]);
    }
    buffer_append_byte(buffer, ']');
}

static void write_details(const struct step *step, struct buffer *buffer)
{
    const struct failure *failure = &step->failure;
    buffer_append_byte(buffer, '{');
    write_key(buffer, "kind");
    if (failure->kind_text.tag == VALUE_STRING)
        json_write(buffer, failure->kind_text, 0, NULL);
    else
        write_text(buffer, failure_kind_name(failure->kind));
    if (step->line) {
        write_key(buffer, "line");
        buffer_append_format(buffer, "%u", step->line);
        write_key(buffer, "column");
        buffer_append_format(buffer, "%u", step->column);
    }
    if (failure->limit_option) {
        write_key(buffer, "limit");
        write_limit(failure, buffer);
    }
    if (failure->has_index) {
        write_key(buffer, "index");
        buffer_append_format(buffer, "%zu", failure->index);
    }
    if (step->suggestion_count)
        write_suggestions(step, buffer);
    if (step->problems.count) {
        write_key(buffer, "problems");
        problem_list_write_json(&step->problems, buffer);
    }
    if (failure->details.tag == VALUE_MAP) {
        struct map_cursor cursor = map_iterate(failure->details);
        value key, item;
        while (map_next(&cursor, &key, &item)) {
            buffer_append_byte(buffer, ',');
            json_write_string(buffer, value_text(key));
            buffer_append_byte(buffer, ':');
            json_write(buffer, item, 0, NULL);
        }
    }
    buffer_append_byte(buffer, '}');
}

static void write_failure(const struct step *step, struct buffer *buffer)
{
    const struct failure *failure = &step->failure;
    if (failure->kind == FAILURE_NONE || failure->kind == PAUSED) {
        buffer_append_text(buffer, "null");
        return;
    }
    buffer_append_byte(buffer, '{');
    write_key(buffer, "reason");
    write_text(buffer, failure_kind_reason(failure->kind));
    write_key(buffer, "message");
    json_write_string(buffer, step_message(step));
    write_key(buffer, "op");
    write_text_or_null(buffer, failure->op);
    write_key(buffer, "details");
    write_details(step, buffer);
    buffer_append_byte(buffer, '}');
}

static void write_ledger_entry(const struct step *step, const struct ledger_entry *entry,
                               struct buffer *buffer)
{
    buffer_append_byte(buffer, '{');
    write_key(buffer, "name");
    write_text(buffer, step->tools->tools[entry->tool].name);
    write_key(buffer, "args");
    json_write(buffer, entry->arguments, 0, NULL);
    if (entry->arguments_bytes) {
        write_key(buffer, "args_bytes");
        buffer_append_format(buffer, "%zu", entry->arguments_bytes);
    }
    write_key(buffer, "result");
    json_write(buffer, entry->failed ? value_nil() : entry->result, 0, NULL);
    if (entry->result_bytes) {
        write_key(buffer, "result_bytes");
        buffer_append_format(buffer, "%zu", entry->result_bytes);
    }
    write_key(buffer, "error");
    json_write(buffer, entry->error, 0, NULL);
    write_key(buffer, "cached");
    buffer_append_text(buffer, entry->cached ? "true" : "false");
    if (entry->caught) {
        write_key(buffer, "caught");
        buffer_append_text(buffer, "true");
    }
    write_key(buffer, "duration_ms");
    buffer_append_format(buffer, "%lld", (long long)entry->duration_ms);
    buffer_append_byte(buffer, '}');
}

// A value, counting the map keys that were dropped because another has the same JSON name.
static void write_value(struct buffer *buffer, value v, size_t *dropped)
{
    size_t here = 0;
    json_write(buffer, v, 0, &here);
    *dropped += here;
}

static void write_lines(struct buffer *buffer, value lines, size_t dropped)
{
    buffer_append_byte(buffer, '[');
    size_t count = lines.tag == VALUE_VECTOR ? vector_count(lines) : 0;
    for (size_t i = 0; i < count; i++) {
        if (i > 0)
            buffer_append_byte(buffer, ',');
        json_write(buffer, vector_at(lines, i), 0, NULL);
    }
    if (dropped) {
        char text[120];
        snprintf(text, sizeof(text),
                 "%zu map key%s left out of the JSON: another key has the same name", dropped,
                 dropped == 1 ? " was" : "s were");
        if (count)
            buffer_append_byte(buffer, ',');
        write_text(buffer, text);
    }
    buffer_append_byte(buffer, ']');
}

static void write_printed(const struct step *step, struct buffer *buffer)
{
    struct buffer text;
    buffer_init(&text, BUFFER_DEFAULT_LIMIT);
    value_print(&text, step->result);
    json_write_string(buffer, buffer_span(&text));
    if (text.failed)
        buffer->failed = true;
    buffer_release(&text);
}

static void write_ledger(const struct step *step, struct buffer *buffer)
{
    buffer_append_byte(buffer, '[');
    for (size_t i = 0; i < step->ledger.count; i++) {
        if (i > 0)
            buffer_append_byte(buffer, ',');
        write_ledger_entry(step, &step->ledger.entries[i], buffer);
    }
    buffer_append_byte(buffer, ']');
}

static void write_usage(const struct step *step, struct buffer *buffer)
{
    if (!step->has_usage) {
        buffer_append_text(buffer, "null");
        return;
    }
    buffer_append_format(buffer, "{\"duration_ms\":%lld,\"memory_bytes\":%zu,\"steps\":%llu}",
                         (long long)step->duration_ms, step->memory_bytes,
                         (unsigned long long)step->steps);
}

void step_write_paused(const struct step *step, struct buffer *buffer)
{
    buffer_append_text(buffer, "\"call\":{\"name\":");
    write_text(buffer, step->tools->tools[step->paused.tool].name);
    buffer_append_text(buffer, ",\"args\":");
    json_write(buffer, step->paused.arguments, 0, NULL);
    buffer_append_format(buffer, "},\"key\":\"%016" PRIx64 "\",\"seed\":%" PRIu64 ",\"clock\":",
                         step->paused.key, step->seed);
    clock_record_write(&step->clock, buffer);
}

void step_write_json(const struct step *step, struct buffer *buffer, const value *id)
{
    bool ok = step->failure.kind == FAILURE_NONE;
    size_t dropped = 0;
    buffer_append_byte(buffer, '{');
    if (id) {
        write_key(buffer, "id");
        json_write(buffer, *id, 0, NULL);
    }
    write_key(buffer, "return");
    write_value(buffer, ok ? step->result : value_nil(), &dropped);
    write_key(buffer, "printed");
    if (ok)
        write_printed(step, buffer);
    else
        buffer_append_text(buffer, "null");
    write_key(buffer, "fail");
    write_failure(step, buffer);
    if (step->failure.kind == PAUSED) {
        write_key(buffer, "paused");
        buffer_append_byte(buffer, '{');
        step_write_paused(step, buffer);
        buffer_append_byte(buffer, '}');
    }
    write_key(buffer, "memory");
    if (step->memory.tag == VALUE_MAP)
        write_value(buffer, step->memory, &dropped);
    else
        buffer_append_text(buffer, "{}");
    write_key(buffer, "memory_delta");
    json_write(buffer, ok ? step->delta : value_nil(), 0, NULL);
    write_key(buffer, "signature");
    if (ok && step->signature.length)
        json_write_string(buffer, step->signature);
    else
        buffer_append_text(buffer, "null");
    write_key(buffer, "warnings");
    write_lines(buffer, step->warnings, dropped);
    write_key(buffer, "prints");
    write_lines(buffer, step->prints, 0);
    write_key(buffer, "tool_calls");
    write_ledger(step, buffer);
    write_key(buffer, "usage");
    write_usage(step, buffer);
    if (step->has_seed) {
        write_key(buffer, "seed");
        buffer_append_format(buffer, "%" PRIu64, step->seed);
    }
    buffer_append_byte(buffer, '}');
}

// --- for a person --------------------------------------------------------------------------------

// As wide as the text on a terminal.
static void write_blank(struct buffer *buffer, struct span text)
{
    for (size_t at = 0; at < text.length;) {
        uint32_t point;
        at += utf8_decode(text.data + at, text.length - at, &point);
        for (int column = 0; column < utf8proc_charwidth((utf8proc_int32_t)point); column++)
            buffer_append_byte(buffer, ' ');
        if (point == '\t')
            buffer_append_byte(buffer, '\t');
    }
}

static void write_caret(const struct failure_text *failure, struct buffer *buffer)
{
    struct span source = failure->source;
    size_t start = 0;
    for (unsigned line = 1; line < failure->line; line++) {
        const char *end = memchr(source.data + start, '\n', source.length - start);
        if (!end)
            return;
        start = (size_t)(end - source.data) + 1;
    }
    const char *end = memchr(source.data + start, '\n', source.length - start);
    size_t length = end ? (size_t)(end - source.data) - start : source.length - start;
    if (!utf8_is_valid(source.data + start, length))
        return;
    int margin = snprintf(NULL, 0, "%u", failure->line);
    buffer_append_format(buffer, "  %u | %.*s\n", failure->line, (int)length, source.data + start);
    buffer_append_format(buffer, "  %*s | ", margin, "");
    size_t before = utf8_offset(source.data + start, length, failure->column - 1);
    write_blank(buffer, (struct span){source.data + start, before});
    buffer_append_text(buffer, "^\n");
}

void failure_write_text(const struct failure_text *failure, struct buffer *buffer)
{
    buffer_append_text(buffer, "error: ");
    buffer_append_span(buffer, failure->message);
    buffer_append_text(buffer, " [");
    buffer_append_span(buffer, failure->kind);
    buffer_append_text(buffer, "]\n");
    if (!failure->line)
        return;
    buffer_append_format(buffer, "  at line %u, column %u\n", failure->line, failure->column);
    write_caret(failure, buffer);
}

void step_write_failure(const struct step *step, struct buffer *buffer)
{
    const struct failure *failure = &step->failure;
    if (failure->kind == FAILURE_NONE)
        return;
    struct span kind = failure->kind_text.tag == VALUE_STRING
                           ? value_text(failure->kind_text)
                           : span_from(failure_kind_name(failure->kind));
    struct failure_text text = {step_message(step), kind, step->source, step->line, step->column};
    failure_write_text(&text, buffer);
    problem_list_write_text(&step->problems, buffer);
}
