#include "program/data_tools.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/memory.h"
#include "program/program.h"
#include "program/run/step.h"
#include "value/collection/key_lookup.h"
#include "value/text/edn.h"

enum {
    CONSTANT_BYTES = 64 * 1024 * 1024,
    INNER_DEPTH_MAX = 8,  // programs that call programs
};

struct data_tool {
    struct data_tool *next;
    struct region *region;  // holds `constant`
    value constant;
    char *error;
    struct program *program;
    const struct tool_table *table;  // of a saved program: the tools that it may call, too
    char *saved;                     // its source, until it is compiled
    const struct remote_host *host;  // NULL unless remote
    char *remote_name;
    bool echo;
    int64_t delay_ms;
};

// --- behaviour -----------------------------------------------------------------------------------

static void sleep_until(int64_t moment_ns)
{
    int64_t left;
    while ((left = moment_ns - clock_now_ns()) > 0) {
        struct timespec pause = {.tv_sec = left / 1000000000, .tv_nsec = left % 1000000000};
        nanosleep(&pause, NULL);
    }
}

static bool run_program(const struct data_tool *tool, struct tool_call *call)
{
    struct region *region = region_new(SIZE_MAX / 2);
    struct program_inputs inputs = {.region = region, .validation = SIGNATURE_DISABLED};
    run_options_default(&inputs.options);
    inputs.options.explicit_memory = true;
    struct run_limits *limits = &inputs.options.limits;
    int64_t left_ms = (call->deadline_ns - clock_now_ns()) / 1000000 + 1;
    if (left_ms < limits->timeout_ms)
        limits->timeout_ms = left_ms > 0 ? left_ms : 0;
    inputs.context =
        map_put_text(region, map_new(region), "args", value_copy(region, call->arguments));
    struct step step;
    program_run(tool->program, &inputs, &step);
    bool ok = step.failure.kind == FAILURE_NONE;
    if (ok)
        call->result = value_copy(call->region, step.result);
    else
        tool_call_fail(call, step_message(&step));
    step_release(&step);
    return ok;
}

// The calls of a saved program, for the run that has called it.
static void report_ledger(struct tool_call *call, const struct ledger *ledger)
{
    struct ledger *report = &call->inner.ledger;
    report->entries = region_alloc(call->region, ledger->count * sizeof(*report->entries) + 1);
    report->count = report->capacity = ledger->count;
    for (size_t i = 0; i < ledger->count; i++) {
        report->entries[i] = ledger->entries[i];
        report->entries[i].arguments = value_copy(call->region, ledger->entries[i].arguments);
        report->entries[i].result = value_copy(call->region, ledger->entries[i].result);
        report->entries[i].error = value_copy(call->region, ledger->entries[i].error);
    }
}

static bool report_step(void *data, struct tool_call *call)
{
    const struct step *step = data;
    report_ledger(call, &step->ledger);
    call->inner.drew_random = step->has_seed;
    if (step->failure.kind == FAILURE_NONE) {
        call->result = value_copy(call->region, step->result);
        return true;
    }
    if (step->failure.kind == PAUSED) {
        call->inner.is_paused = true;
        call->inner.paused_tool = step->paused.tool;
        call->inner.paused_key = step->paused.key;
        call->inner.paused_arguments = value_copy(call->region, step->paused.arguments);
        return tool_call_pause(call);
    }
    call->is_late = step->failure.kind == TIMEOUT;
    return tool_call_fail(call, step_message(step));
}

// Its context are the arguments; what it defines and prints is its own.
static bool run_saved(const struct data_tool *tool, struct tool_call *call)
{
    if (call->inner.depth > INNER_DEPTH_MAX)
        return tool_call_fail(call, SPAN("programs call each other more than 8 deep"));
    struct region *region = region_new(SIZE_MAX / 2);
    struct program_inputs inputs = {.region = region,
                                    .validation = SIGNATURE_DISABLED,
                                    .user = call->user,
                                    .is_cancelled = call->is_cancelled,
                                    .inner = &call->inner,
                                    .inner_key = call->key};
    run_options_default(&inputs.options);
    inputs.options.limits = *call->inner.limits;
    inputs.options.seed = (int64_t)call->inner.seed;
    inputs.options.explicit_memory = true;
    int64_t left_ms = (call->deadline_ns - clock_now_ns()) / 1000000 + 1;
    inputs.options.limits.timeout_ms = left_ms > 0 ? left_ms : 0;
    inputs.context = value_copy(region, call->arguments);
    struct step step;
    program_run(tool->program, &inputs, &step);
    bool ok = tool_call_run(report_step, &step, call);
    region_on_exhausted(call->region, NULL, NULL);  // its handler was that of report_step()
    step_release(&step);
    return ok;
}

static bool call_data_tool(void *data, struct tool_call *call)
{
    const struct data_tool *tool = data;
    if (tool->delay_ms > 0) {
        int64_t until = clock_now_ns() + tool->delay_ms * 1000000;
        call->is_late = until > call->deadline_ns;
        sleep_until(call->is_late ? call->deadline_ns : until);
    }
    if (call->is_late)
        return tool_call_fail(call, SPAN(TOOL_LATE));
    if (tool->error)
        return tool_call_fail(call, span_from(tool->error));
    if (tool->program)
        return tool->table ? run_saved(tool, call) : run_program(tool, call);
    if (tool->host)
        return tool->host->call(tool->host->data, span_from(tool->remote_name), call);
    call->result = tool->echo ? value_copy(call->region, call->arguments)
                              : value_copy(call->region, tool->constant);
    return true;
}

// A part of a tool's record; EDN files may write the names as keywords.
static bool find_part(value record, const char *name, value *ret_part)
{
    return map_find_flexible(record, value_string_borrow(NULL, span_from(name)), ret_part);
}

// --- reading -------------------------------------------------------------------------------------

static bool read_constant(struct data_tool *tool, struct span name, value text,
                          struct diagnostic *diagnostic)
{
    struct error error = {0};
    if (text.tag != VALUE_STRING)
        return tool_table_refuse(diagnostic, name, "constant_edn must be a string");
    tool->region = region_new(CONSTANT_BYTES);
    if (!edn_read(tool->region, value_text(text), NULL, &tool->constant, &error))
        return tool_table_refuse(diagnostic, name, error.message);
    return true;
}

// The text is a function of one argument: compiled as a call of it.
static bool read_program(struct data_tool *tool, struct span name, value text,
                         struct diagnostic *diagnostic)
{
    if (text.tag != VALUE_STRING)
        return tool_table_refuse(diagnostic, name, "program must be a string");
    struct span source = value_text(text);
    struct run_limits limits;
    run_limits_default(&limits);
    limits.max_nesting++;
    char *call = memory_format("(%.*s\nctx/args)", (int)source.length, source.data);
    struct compile_options options = {.source = span_from(call), .limits = &limits};
    struct diagnostic why;
    tool->program = program_compile(&options, &why);
    memory_free(call);
    if (!tool->program)
        return tool_table_refuse(diagnostic, name, why.message);
    if (!program_check_names(tool->program, value_nil(), &why))
        return tool_table_refuse(diagnostic, name, why.message);
    return true;
}

// Once all tools are known. What is wrong with it shows when it is called.
static void compile_saved(struct data_tool *tool)
{
    struct run_limits limits;
    run_limits_default(&limits);
    struct compile_options options = {
        .source = span_from(tool->saved), .limits = &limits, .tools = tool->table};
    struct diagnostic why;
    tool->program = program_compile(&options, &why);
    if (tool->program && program_check_names(tool->program, value_nil(), &why))
        return;
    program_release(tool->program);
    tool->program = NULL;
    tool->error = memory_copy_string(why.message);
}

static bool read_saved(struct data_tool *tool, struct tool_table *table, struct span name,
                       value text, struct diagnostic *diagnostic)
{
    if (text.tag != VALUE_STRING)
        return tool_table_refuse(diagnostic, name, "saved must be a string");
    tool->saved = memory_copy_text(value_text(text).data, value_text(text).length);
    tool->table = table;
    return true;
}

// How many of the members that define the answer are given; switches count when they are on.
static size_t count_behaviours(value record)
{
    static const struct {
        const char *name;
        bool is_switch;
    } behaviours[] = {{"remote", true}, {"constant_edn", false}, {"constant", false},
                      {"error", false}, {"program", false},      {"echo", true},
                      {"saved", false}};
    size_t count = 0;
    value part;
    for (size_t i = 0; i < COUNT_OF(behaviours); i++)
        count += find_part(record, behaviours[i].name, &part) &&
                 (!behaviours[i].is_switch || value_is_true(part));
    return count;
}

static bool read_behaviour(struct data_tool *tool, struct tool_table *table, struct span name,
                           value record, const struct remote_host *host,
                           struct diagnostic *diagnostic)
{
    value part;
    if (count_behaviours(record) > 1)
        return tool_table_refuse(diagnostic, name, "more than one behaviour");
    if (host && find_part(record, "remote", &part) && value_is_true(part)) {
        tool->host = host;
        tool->remote_name = memory_copy_text(name.data, name.length);
        return true;
    }
    if (find_part(record, "delay_ms", &part)) {
        if (part.tag != VALUE_INTEGER || part.integer < 0)
            return tool_table_refuse(diagnostic, name, "delay_ms must be an integer from 0");
        tool->delay_ms = part.integer;
    }
    if (find_part(record, "constant_edn", &part))
        return read_constant(tool, name, part, diagnostic);
    if (find_part(record, "constant", &part)) {
        tool->region = region_new(CONSTANT_BYTES);
        tool->constant = value_copy(tool->region, part);
        return true;
    }
    if (find_part(record, "error", &part)) {
        if (part.tag != VALUE_STRING)
            return tool_table_refuse(diagnostic, name, "error must be a string");
        tool->error = memory_copy_text(value_text(part).data, value_text(part).length);
        return true;
    }
    if (find_part(record, "program", &part))
        return read_program(tool, name, part, diagnostic);
    if (find_part(record, "saved", &part))
        return read_saved(tool, table, name, part, diagnostic);
    if (find_part(record, "echo", &part) && value_is_true(part)) {
        tool->echo = true;
        return true;
    }
    return tool_table_refuse(diagnostic, name,
                             "no behaviour; give constant, constant_edn, echo, error or program "
                             "(command and lisp are for tools files)");
}

static bool read_text(value record, const char *key, struct span name, struct span *ret_text,
                      struct diagnostic *diagnostic)
{
    value part;
    *ret_text = (struct span){0};
    if (!find_part(record, key, &part) || part.tag == VALUE_NIL)
        return true;
    if (part.tag != VALUE_STRING) {
        char why[80];
        snprintf(why, sizeof(why), "%s must be a string", key);
        return tool_table_refuse(diagnostic, name, why);
    }
    *ret_text = value_text(part);
    if (ret_text->length == 0 && strcmp(key, "signature") == 0)
        return tool_table_refuse(diagnostic, name, "the signature is empty");
    return true;
}

static bool add_one(struct tool_table *table, struct data_tool **tools, struct span name,
                    value record, const struct remote_host *host, struct diagnostic *diagnostic)
{
    if (record.tag != VALUE_MAP)
        return tool_table_refuse(diagnostic, name, "must be an object");
    struct data_tool *tool = memory_alloc_zero(sizeof(*tool));
    tool->next = *tools;
    *tools = tool;
    struct tool_definition definition = {.name = name, .function = call_data_tool, .data = tool};
    value part;
    if (find_part(record, "skip", &part) && value_is_true(part))
        definition.flags |= TOOL_SKIP;
    if (find_part(record, "cache", &part) && value_is_true(part))
        definition.flags |= TOOL_CACHE;
    if (find_part(record, "saved", &part))
        definition.flags |= TOOL_PROGRAM;
    return read_behaviour(tool, table, name, record, host, diagnostic) &&
           read_text(record, "signature", name, &definition.signature, diagnostic) &&
           read_text(record, "description", name, &definition.description, diagnostic) &&
           tool_table_add(table, &definition, diagnostic);
}

bool data_tools_add(struct tool_table *table, struct data_tool **tools, value descriptions,
                    const struct remote_host *host, struct diagnostic *ret_diagnostic)
{
    if (descriptions.tag == VALUE_NIL)
        return true;
    if (descriptions.tag != VALUE_MAP) {
        *ret_diagnostic = (struct diagnostic){.kind = INVALID_TOOL};
        strcpy(ret_diagnostic->message, "invalid tools: must be an object");
        return false;
    }
    struct map_cursor cursor = map_iterate(descriptions);
    value name, record;
    while (map_next(&cursor, &name, &record)) {
        if (name.tag != VALUE_STRING && name.tag != VALUE_KEYWORD)
            return tool_table_refuse(ret_diagnostic, SPAN("?"), "the name must be a string");
        if (!add_one(table, tools, value_text(name), record, host, ret_diagnostic))
            return false;
    }
    for (struct data_tool *tool = *tools; tool; tool = tool->next)
        if (tool->saved)
            compile_saved(tool);
    return true;
}

void data_tools_free(struct data_tool *tools)
{
    while (tools) {
        struct data_tool *next = tools->next;
        region_free(tools->region);
        memory_free(tools->error);
        memory_free(tools->saved);
        memory_free(tools->remote_name);
        program_release(tools->program);
        memory_free(tools);
        tools = next;
    }
}
