#include "program/batch.h"

#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/utf8.h"
#include "value/text/edn.h"

enum { SIGNATURE_ARENA_BYTES = 16 * 1024 * 1024 };

static bool refuse(struct diagnostic *diagnostic, const char *why, struct span name)
{
    *diagnostic = (struct diagnostic){.kind = INVALID_RECORD};
    int length = name.length > 80 ? 80 : (int)name.length;
    snprintf(diagnostic->message, sizeof(diagnostic->message), "%s: %.*s", why, length, name.data);
    return false;
}

static bool read_options(struct run_options *options, value map, struct diagnostic *diagnostic)
{
    if (map.tag == VALUE_NIL)
        return true;
    if (map.tag != VALUE_MAP)
        return refuse(diagnostic, "must be an object", SPAN("options"));
    struct map_cursor cursor = map_iterate(map);
    value name, v;
    while (map_next(&cursor, &name, &v)) {
        if (v.tag != VALUE_NIL && !run_option_set(options, value_text(name), v, diagnostic))
            return false;
    }
    return true;
}

static bool read_edn(struct region *region, value text, const char *name, value *ret_value,
                     struct diagnostic *diagnostic)
{
    struct error error = {0};
    if (text.tag != VALUE_STRING)
        return refuse(diagnostic, "must be a string", span_from(name));
    if (edn_read(region, value_text(text), NULL, ret_value, &error))
        return true;
    refuse(diagnostic, "unreadable", span_from(name));
    size_t used = strlen(diagnostic->message);
    snprintf(diagnostic->message + used, sizeof(diagnostic->message) - used, " (%.200s)",
             error.message);
    return false;
}

// `name` as JSON or `name`_edn as text; nil when absent.
static bool read_map(struct region *region, value record, const char *name, const char *edn_name,
                     value *ret_value, struct diagnostic *diagnostic)
{
    value text = map_get(record, edn_name);
    *ret_value = map_get(record, name);
    if (text.tag != VALUE_NIL && ret_value->tag != VALUE_NIL) {
        *ret_value = value_nil();
        return refuse(diagnostic, "given twice, as JSON and as EDN", span_from(name));
    }
    if (text.tag != VALUE_NIL && !read_edn(region, text, edn_name, ret_value, diagnostic))
        return false;
    return ret_value->tag == VALUE_NIL || ret_value->tag == VALUE_MAP ||
           refuse(diagnostic, "must be an object", span_from(name));
}

static bool read_history(struct region *region, value record, value *ret_history,
                         struct diagnostic *diagnostic)
{
    value texts = map_get(record, "turn_history_edn");
    *ret_history = vector_new(region, 0);
    if (texts.tag == VALUE_NIL)
        return true;
    if (texts.tag != VALUE_VECTOR)
        return refuse(diagnostic, "must be a list", SPAN("turn_history_edn"));
    for (size_t i = 0; i < vector_count(texts); i++) {
        value entry;
        if (!read_edn(region, vector_at(texts, i), "turn_history_edn", &entry, diagnostic))
            return false;
        *ret_history = vector_push(region, *ret_history, entry);
    }
    return true;
}

static bool read_signature(value record, struct program_inputs *inputs,
                           struct diagnostic *diagnostic)
{
    value text = map_get(record, "signature");
    if (text.tag == VALUE_STRING) {
        inputs->signature = value_text(text);
        if (!inputs->signature.data)
            inputs->signature = SPAN("");
    } else if (text.tag != VALUE_NIL) {
        return refuse(diagnostic, "must be a string", SPAN("signature"));
    }
    value mode = map_get(record, "validation");
    if (mode.tag == VALUE_NIL)
        return true;
    return (mode.tag == VALUE_STRING &&
            signature_mode_from_name(value_text(mode), &inputs->validation)) ||
           refuse(diagnostic, "must be enabled, warn_only, disabled or strict", SPAN("validation"));
}

static bool read_inputs(value record, struct program_inputs *inputs, const struct remote_host *host,
                        struct batch_run *run, struct diagnostic *diagnostic)
{
    if (record.tag != VALUE_MAP)
        return refuse(diagnostic, "not an object", SPAN("record"));
    if (!read_map(inputs->region, record, "memory", "memory_edn", &inputs->memory, diagnostic))
        return false;
    value source = map_get(record, "program");
    if (source.tag != VALUE_STRING)
        return refuse(diagnostic, "missing or not a string", SPAN("program"));
    inputs->source = utf8_without_mark(value_text(source));
    inputs->clock = map_get(record, "clock");
    value definitions = map_get(record, "definition_bytes");
    if (definitions.tag == VALUE_INTEGER)
        inputs->definition_bytes = (size_t)definitions.integer;
    return read_map(inputs->region, record, "context", "context_edn", &inputs->context,
                    diagnostic) &&
           read_history(inputs->region, record, &inputs->history, diagnostic) &&
           read_options(&inputs->options, map_get(record, "options"), diagnostic) &&
           read_signature(record, inputs, diagnostic) &&
           data_tools_add(&run->tools, &run->data_tools, map_get(record, "tools"), host,
                          diagnostic);
}

void batch_run(struct region *region, value record, const struct remote_host *host,
               struct batch_run *ret_run)
{
    *ret_run = (struct batch_run){0};
    tool_table_init(&ret_run->tools);
    arena_init(&ret_run->arena, SIGNATURE_ARENA_BYTES);
    struct program_inputs inputs = {
        .region = region, .tools = &ret_run->tools, .validation = SIGNATURE_ENABLED};
    run_options_default(&inputs.options);
    struct diagnostic diagnostic;
    if (read_inputs(record, &inputs, host, ret_run, &diagnostic))
        program_compile_and_run(&inputs, &ret_run->arena, &ret_run->step);
    else
        step_fail(&ret_run->step, region, inputs.memory, inputs.source, &diagnostic);
}

void batch_run_release(struct batch_run *run)
{
    step_release(&run->step);
    arena_release(&run->arena);
    tool_table_release(&run->tools);
    data_tools_free(run->data_tools);
}
