// run-program and list-program-tools: sandboxed programs over the server's tools.
#include <inttypes.h>
#include <string.h>

#include "base/memory.h"
#include "tools/fields.h"
#include "tools/named_memory.h"
#include "tools/render.h"
#include "tools/run.h"
#include "tools/schema.h"
#include "tools/structure.h"
#include "value/json.h"

enum {
    TIMEOUT_DEFAULT_MS = 1000,
    TIMEOUT_MAX_MS = 600000,
    MEMORY_MAX = 1 << 30,
    ANSWER_DEPTH = 10000
};

// One call of run-program, from its arguments to its reply.
struct program_task {
    struct tools *tools;
    struct mcp_call *call;
    value record;
    int64_t timeout_ms;
    struct named_memory *memory;  // NULL: none
    uint64_t ticket;
};

static void task_free(struct program_task *task)
{
    named_memory_close(task->memory);
    memory_free(task);
}

// --- text of a Step -----------------------------------------------------------------------------

static void render_lines(struct buffer *text, value step, const char *member)
{
    size_t count = count_in(step, member);
    if (count == 0)
        return;
    render_gap(text);
    buffer_append_format(text, "[%s]", member);
    for (size_t i = 0; i < count; i++) {
        buffer_append_byte(text, '\n');
        buffer_append_span(text, value_text(item_in(step, member, i)));
    }
}

static void render_calls(struct buffer *text, value step)
{
    size_t count = count_in(step, "tool_calls");
    if (count == 0)
        return;
    render_gap(text);
    buffer_append_text(text, "[tools]");
    for (size_t i = 0; i < count; i++) {
        value entry = item_in(step, "tool_calls", i);
        struct span name = text_in(entry, "name"), error = text_in(entry, "error");
        buffer_append_format(text, "\n%.*s", (int)name.length, name.data);
        if (error.length)
            buffer_append_format(text, " failed: %.*s", (int)error.length, error.data);
        else
            buffer_append_format(text, " %s(%" PRId64 " ms)",
                                 flag_in(entry, "cached") ? "cached " : "",
                                 integer_in(entry, "duration_ms", 0));
    }
}

static void render_failure(struct buffer *text, value fail)
{
    value details = map_get_text(fail, "details");
    struct span reason = text_in(fail, "reason"), kind = text_in(details, "kind");
    render_gap(text);
    buffer_append_format(text, "[ERROR] %.*s", (int)reason.length, reason.data);
    if (!span_equal(reason, kind))
        buffer_append_format(text, " (%.*s)", (int)kind.length, kind.data);
    buffer_append_byte(text, '\n');
    buffer_append_span(text, text_in(fail, "message"));
    if (integer_in(details, "line", 0))
        buffer_append_format(text, "\n(line %" PRId64 ", column %" PRId64 ")",
                             integer_in(details, "line", 0), integer_in(details, "column", 0));
}

static void render_step(struct buffer *text, value step)
{
    value fail = map_get_text(step, "fail");
    render_lines(text, step, "prints");
    render_calls(text, step);
    render_lines(text, step, "warnings");
    if (value_is_map(fail)) {
        render_failure(text, fail);
        return;
    }
    render_gap(text);
    buffer_append_text(text, "=> ");
    buffer_append_span(text, text_in(step, "printed"));
}

// --- the end of a run ---------------------------------------------------------------------------

static value error_of(struct region *region, value fail)
{
    value map =
        map_put_text(region, map_new(region), "code",
                     value_copy(region, map_get_text(map_get_text(fail, "details"), "kind")));
    return map_put_text(region, map, "message", value_copy(region, map_get_text(fail, "message")));
}

// Functions without a source of their own are gone with the run; the reader must know.
static value warn_of_losses(struct region *region, value step, value memory)
{
    value warnings = value_retain(map_get_text(step, "warnings"));
    for (size_t i = 0; value_is_vector(warnings) && i < count_in(memory, "lost"); i++) {
        struct span name = value_text(item_in(memory, "lost", i));
        warnings = vector_push(
            region, warnings,
            value_string_format(region, "memory: %.*s holds a function that cannot be kept",
                                (int)name.length, name.data));
    }
    return map_put_text(region, step, "warnings", warnings);
}

static void reply_step(struct program_task *task, value step)
{
    struct region *region = mcp_call_region(task->call);
    struct tool_result result = {0};
    buffer_init(&result.text, BUFFER_DEFAULT_LIMIT);
    render_step(&result.text, step);
    value fail = map_get_text(step, "fail");
    result.is_error = value_is_map(fail);
    if (result.is_error)
        step = map_put_text(region, step, "error", error_of(region, fail));
    result.structured = map_put_text(region, step, "ok", value_boolean(!result.is_error));
    tool_send(task->call, &result);
}

static void on_answer(void *data, struct span answer, const char *failure)
{
    struct program_task *task = data;
    struct region *region = mcp_call_region(task->call);
    value message;
    struct error error;
    struct json_options options = {.max_depth = ANSWER_DEPTH};
    mcp_call_on_cancel(task->call, NULL, NULL);
    mcp_metric_add(task->tools->metrics.programs, 1);
    if (failure && strcmp(failure, "timeout") == 0) {
        tool_refuse(task->call, "timeout",
                    "timeout: evaluation exceeded %" PRId64 " ms (option timeout)",
                    task->timeout_ms);
    } else if (failure) {
        tool_refuse(task->call, "worker-failed", "%s", failure);
    } else if (!json_read(region, answer, &options, &message, &error) ||
               !value_is_map(map_get_text(message, "step"))) {
        tool_refuse(task->call, "result-too-large", "the result is larger than 64 MiB");
    } else {
        value step = map_get_text(message, "step"), memory = map_get_text(message, "memory");
        bool ok = value_is_nil(map_get_text(step, "fail"));
        if (ok && task->memory && !named_memory_save(task->memory, memory, &error)) {
            tool_refuse(task->call, "memory-unavailable", "%s", error.message);
        } else {
            if (ok && task->memory)
                step = warn_of_losses(region, value_retain(step), memory);
            reply_step(task, step);
        }
    }
    task_free(task);
}

static void on_tool(void *data, struct program_call *call, struct span name, struct span arguments)
{
    struct program_task *task = data;
    struct tools *tools = task->tools;
    toolbox_call(tools->toolbox, tools->sessions, tools->base, call, name, arguments);
}

static void on_cancel(struct mcp_call *call, void *data)
{
    struct program_task *task = data;
    program_cancel(task->tools->programs, task->ticket);
    task_free(task);
    mcp_call_reply_failure(call, "cancelled", "The call was cancelled.");
}

// --- starting -----------------------------------------------------------------------------------

static void on_resolved(void *data, value tools)
{
    struct program_task *task = data;
    struct region *region = mcp_call_region(task->call);
    CLEANUP_BUFFER struct buffer text;
    buffer_init(&text, PROGRAM_MESSAGE_MAX);
    task->record = map_put_text(region, task->record, "tools", tools);
    json_write(&text, task->record, 0, NULL);
    struct program_request request = {
        .record = buffer_span(&text),
        .timeout_ms = task->timeout_ms,
        .done = on_answer,
        .tool = on_tool,
        .data = task,
    };
    mcp_call_on_cancel(task->call, on_cancel, task);
    task->ticket = text.failed ? 0 : program_submit(task->tools->programs, &request);
    if (task->ticket)
        return;
    mcp_call_on_cancel(task->call, NULL, NULL);
    if (text.failed)
        tool_refuse(task->call, "request-too-large", "the inputs are larger than 64 MiB");
    else
        tool_refuse(task->call, "busy", "%d programs are waiting already", PROGRAM_QUEUE_MAX);
    task_free(task);
}

// `memory`: an object is the memory itself, a string the name of one that the server keeps.
static bool take_memory(struct program_task *task)
{
    struct region *region = mcp_call_region(task->call);
    value memory = mcp_call_argument(task->call, "memory"), content;
    if (value_is_map(memory))
        task->record = map_put_text(region, task->record, "memory", value_retain(memory));
    if (!value_is_string(memory))
        return true;
    if (!session_name_valid(value_text(memory))) {
        tool_refuse(task->call, "invalid-argument",
                    "A memory is named like a session: a-z, 0-9, '.', '_', '-'");
        return false;
    }
    struct error error;
    if (!named_memory_open(tool_text(task->call, "memory"), region, &task->memory, &content,
                           &error)) {
        tool_refuse(task->call, error.code == ERROR_BUSY ? "memory-busy" : "memory-unavailable",
                    "%s", error.message);
        return false;
    }
    task->record = map_put_text(region, task->record, "keep", value_boolean(true));
    if (value_is_map(content)) {
        task->record = map_put_text(region, task->record, "memory_edn",
                                    value_retain(map_get_text(content, "data")));
        task->record = map_put_text(region, task->record, "definitions",
                                    value_retain(map_get_text(content, "definitions")));
    }
    return true;
}

// The limits of a run are checked by the worker; those that would hurt the server, here.
static bool take_options(struct program_task *task)
{
    value options = mcp_call_argument(task->call, "limits");
    task->timeout_ms = TIMEOUT_DEFAULT_MS;
    if (!value_is_map(options))
        return true;
    task->timeout_ms = integer_in(options, "timeout", TIMEOUT_DEFAULT_MS);
    if (task->timeout_ms < 0 || task->timeout_ms > TIMEOUT_MAX_MS) {
        tool_refuse(task->call, "invalid-argument",
                    "Value must be between 0 and %d: limits.timeout = %" PRId64, TIMEOUT_MAX_MS,
                    task->timeout_ms);
        return false;
    }
    int64_t memory = integer_in(options, "max_memory", 0);
    if (memory < 0 || memory > MEMORY_MAX) {
        tool_refuse(task->call, "invalid-argument",
                    "Value must be between 0 and %d: limits.max_memory = %" PRId64, MEMORY_MAX,
                    memory);
        return false;
    }
    task->record =
        map_put_text(mcp_call_region(task->call), task->record, "options", value_retain(options));
    return true;
}

static bool check_allowed(struct program_task *task, value allowed)
{
    for (size_t i = 0; value_is_vector(allowed) && i < vector_count(allowed); i++) {
        struct span name = value_text(vector_at(allowed, i));
        if (toolbox_find(task->tools->toolbox, name))
            continue;
        tool_refuse(task->call, "unknown-tool",
                    "There is no tool \"%.*s\" for programs; list-program-tools lists them",
                    (int)(name.length > 80 ? 80 : name.length), name.data);
        return false;
    }
    return true;
}

static void handle_run(struct mcp_call *call, void *data)
{
    static const char *const passed[] = {"context", "signature", "validation", NULL};
    struct tools *tools = data;
    struct region *region = mcp_call_region(call);
    struct program_task *task = memory_alloc_zero(sizeof(*task));
    *task = (struct program_task){
        .tools = tools, .call = call, .record = tool_parameters(call, passed)};
    task->record = map_put_text(region, task->record, "program",
                                value_retain(mcp_call_argument(call, "source")));
    value allowed = mcp_call_argument(call, "tools");
    if (!take_options(task) || !check_allowed(task, allowed) || !take_memory(task)) {
        task_free(task);
        return;
    }
    toolbox_resolve(tools->toolbox, tools->sessions, region, allowed, on_resolved, task);
}

// --- list-program-tools -------------------------------------------------------------------------

static void on_listed(void *data, value tools)
{
    struct mcp_call *call = data;
    struct region *region = mcp_call_region(call);
    struct tool_result result = {0};
    buffer_init(&result.text, BUFFER_DEFAULT_LIMIT);
    value listed = vector_new(region, 0), name, record;
    struct map_cursor cursor = map_iterate(tools);
    while (map_next(&cursor, &name, &record)) {
        struct span signature = text_in(record, "signature"),
                    description = text_in(record, "description");
        value entry = map_put_text(region, map_new(region), "name", value_retain(name));
        entry = structure_member(region, entry, record, "signature");
        entry = structure_member(region, entry, record, "description");
        listed = vector_push(region, listed, entry);
        buffer_append_text(&result.text, result.text.length ? "\n" : "");
        buffer_append_format(&result.text, "tool/%.*s", (int)value_text(name).length,
                             value_text(name).data);
        if (signature.length)
            buffer_append_format(&result.text, " %.*s", (int)signature.length, signature.data);
        if (description.length)
            buffer_append_format(&result.text, "\n    %.*s", (int)description.length,
                                 description.data);
    }
    if (result.text.length == 0)
        buffer_append_text(&result.text,
                           "No tools. `cadre serve --program-tools FILE` gives programs tools.");
    result.structured = map_put_text(region, map_new(region), "ok", value_boolean(true));
    result.structured = map_put_text(region, result.structured, "tools", listed);
    tool_send(call, &result);
}

static void handle_list(struct mcp_call *call, void *data)
{
    struct tools *tools = data;
    toolbox_resolve(tools->toolbox, tools->sessions, mcp_call_region(call), value_nil(), on_listed,
                    call);
}

#define SCHEMA_OBJECT_OF(name, description) \
    "\"" name "\":{\"type\":\"object\",\"description\":\"" description "\"}"

static const struct mcp_tool program_tools[] = {
    {
        .name = "run-program",
        .title = "Run a sandboxed program",
        .description = "Run a PTC-Lisp program (small Clojure-like language) over data and tools: "
                       "ctx/x reads the "
                       "context, (tool/name {:k v}) calls a tool, the last value is the result. No "
                       "files, no network.",
        .input_schema =
            SCHEMA_OBJECT("\"source\"", SCHEMA_STRING("source", "the program"),
                          SCHEMA_OBJECT_OF("context", "inputs, read as ctx/name"),
                          "\"memory\":{\"type\":[\"object\",\"string\"],\"description\":\"memory, "
                          "or the name of one kept by the server\"}",
                          "\"tools\":{\"type\":\"array\",\"items\":{\"type\":\"string\"},"
                          "\"description\":\"tools to allow, default all\"}",
                          SCHEMA_STRING("signature", "e.g. (orders [:map]) -> {total :float}"),
                          "\"validation\":{\"type\":\"string\",\"enum\":[\"enabled\",\"warn_only\","
                          "\"disabled\",\"strict\"]}",
                          SCHEMA_OBJECT_OF("limits", "timeout (ms), max_memory (bytes), …")),
        .output_schema = "{\"type\":\"object\",\"required\":[\"ok\"],\"properties\":{\"ok\":{"
                         "\"type\":\"boolean\"},"
                         "\"printed\":{\"type\":[\"string\",\"null\"]},\"return\":{},\"fail\":{"
                         "\"type\":[\"object\",\"null\"]},"
                         "\"prints\":" SCHEMA_STRINGS "," SCHEMA_ERROR "}}",
        .flags = MCP_TOOL_DESTRUCTIVE | MCP_TOOL_OPEN_WORLD,
        .handler = handle_run,
    },
    {
        .name = "list-program-tools",
        .title = "Tools of programs",
        .description =
            "Names, signatures and descriptions of the tools that run-program's programs can call.",
        .input_schema = SCHEMA_OBJECT("", ""),
        .output_schema = SCHEMA_RESULT("\"tools\":" SCHEMA_OBJECTS ","),
        .flags = MCP_TOOL_READ_ONLY | MCP_TOOL_IDEMPOTENT,
        .handler = handle_list,
    },
};

void tools_register_program(struct tools *tools)
{
    TOOLS_ADD_ALL(tools, program_tools);
}
