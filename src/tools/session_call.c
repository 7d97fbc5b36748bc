#include "tools/session_call.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "tools/result/result_structured.h"
#include "tools/result/result_text.h"
#include "tools/truncate.h"

enum {
    CODE_LIMIT = 4 << 20,
    TEXT_LIMIT = 64 << 20,  // above what any session reply can hold
    TASK_AFTER_MS = 10000,  // a running evaluation becomes a task where the client knows tasks
};

struct tool_run {
    struct tools *tools;
    struct mcp_call *call;
    tool_render_fn *render;
    uint64_t ticket;
};

// The call's region outlives every use of the text.
static const char *text_of(struct mcp_call *call, value v)
{
    struct span text = value_text(v);
    char *copy = region_alloc(mcp_call_region(call), text.length + 1);
    memcpy(copy, text.data, text.length);
    copy[text.length] = '\0';
    return copy;
}

const char *tool_text(struct mcp_call *call, const char *name)
{
    value v = mcp_call_argument(call, name);
    return value_is_string(v) ? text_of(call, v) : NULL;
}

const char *tool_session_name(struct mcp_call *call)
{
    value v = mcp_call_argument(call, "session");
    if (!value_is_string(v))
        return "main";
    // A name with a NUL inside must not pass as the name before it: "" is no valid name.
    return memchr(value_text(v).data, '\0', value_text(v).length) ? "" : text_of(call, v);
}

bool tool_flag(struct mcp_call *call, const char *name)
{
    value v = mcp_call_argument(call, name);
    return v.tag == VALUE_BOOLEAN && v.boolean;
}

bool tool_integer(struct mcp_call *call, const char *name, int64_t fallback, int64_t low,
                  int64_t high, int64_t *ret_number)
{
    value v = mcp_call_argument(call, name);
    int64_t number = v.tag == VALUE_INTEGER ? v.integer : fallback;
    bool given = v.tag == VALUE_INTEGER || v.tag == VALUE_BIGNUM;
    if (given && v.tag == VALUE_INTEGER && number < 0 && low >= 0) {
        tool_refuse(call, "invalid-argument", "Value must be non-negative: %s = %lld", name,
                    (long long)number);
        return false;
    }
    if (given && (v.tag == VALUE_BIGNUM || number < low || number > high)) {
        struct span shown =
            v.tag == VALUE_INTEGER
                ? value_text(value_string_format(mcp_call_region(call), "%lld", (long long)number))
                : SPAN("(a number beyond 64 bits)");
        tool_refuse(call, "invalid-argument", "Value must be between %lld and %lld: %s = %.*s",
                    (long long)low, (long long)high, name, (int)shown.length, shown.data);
        return false;
    }
    *ret_number = number;
    return true;
}

value tool_parameters(struct mcp_call *call, const char *const *names)
{
    struct region *region = mcp_call_region(call);
    value params = map_new(region);
    for (; *names; names++) {
        value v = mcp_call_argument(call, *names);
        if (value_is_nil(v))
            continue;
        value key = value_string_text(region, *names);
        char *bytes = (char *)text_of(call, key);
        for (char *c = bytes; *c; c++)
            if (*c == '-')
                *c = '_';
        params = map_put_text(region, params, bytes, value_retain(v));
    }
    return params;
}

void tool_send(struct mcp_call *call, struct tool_result *result)
{
    mcp_call_reply(call, buffer_span(&result->text), result->structured, result->is_error);
    buffer_release(&result->text);
}

bool tool_render_failure(struct mcp_call *call, const struct session_reply *reply,
                         struct tool_result *result)
{
    result->structured = structure_reply(mcp_call_region(call), reply);
    if (!reply->ok)
        render_evaluation(&result->text, reply, &(struct render_evaluation){0});
    return !reply->ok;
}

void tool_refuse(struct mcp_call *call, const char *code, const char *format, ...)
{
    char message[ERROR_MESSAGE_SIZE];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof(message), format, arguments);
    va_end(arguments);
    struct region *region = mcp_call_region(call);
    value error = map_new(region);
    error = map_put_text(region, error, "code", value_string_text(region, code));
    error = map_put_text(region, error, "message", value_string_format(region, "%s", message));
    struct tool_result result = {.is_error = true};
    buffer_init(&result.text, TEXT_LIMIT);
    render_error_heading(&result.text, error);
    result.structured = map_put_text(region, map_new(region), "ok", value_boolean(false));
    result.structured = map_put_text(region, result.structured, "error", error);
    tool_send(call, &result);
}

bool tool_require_session(struct tools *tools, struct mcp_call *call, const char *name)
{
    if (!session_name_valid(span_from(name))) {
        tool_refuse(call, "invalid-argument", "%s", RENDER_BAD_SESSION_NAME);
        return false;
    }
    if (session_exists(tools->sessions, name))
        return true;
    CLEANUP_BUFFER struct buffer known;
    buffer_init(&known, ERROR_MESSAGE_SIZE);
    render_names(&known, session_names(tools->sessions, mcp_call_region(call)));
    tool_refuse(call, "unknown-session", "Unknown session \"%s\". Known sessions: %s", name,
                buffer_text(&known));
    return false;
}

static void count_metrics(struct tools *tools, const struct session_reply *reply)
{
    struct tool_metrics *metrics = &tools->metrics;
    if (!reply->ran)
        return;
    mcp_metric_add(metrics->evaluations, 1);
    mcp_metric_observe(metrics->seconds, (double)reply->elapsed_us / 1e6);
    if (!reply->ok)
        mcp_metric_add(metrics->errors, 1);
    if (!value_is_nil(reply->rollback))
        mcp_metric_add(metrics->rollbacks, 1);
}

static void on_reply(void *data, const struct session_reply *reply)
{
    struct tool_run *run = data;
    struct mcp_call *call = run->call;
    count_metrics(run->tools, reply);
    struct tool_result result = {.is_error = !reply->ok};
    buffer_init(&result.text, TEXT_LIMIT);
    run->render(call, reply, &result);
    tool_result_fit(call, &result);
    memory_free(run);
    mcp_call_on_cancel(call, NULL, NULL);
    tool_send(call, &result);
}

static void on_progress(void *data, const struct session_progress *progress)
{
    struct tool_run *run = data;
    if (progress->elapsed_ms >= TASK_AFTER_MS && !mcp_call_is_task(run->call))
        mcp_call_become_task(run->call);
    char message[256];
    if (progress->queued)
        snprintf(message, sizeof(message), "waiting for the session");
    else if (progress->line.length)
        snprintf(message, sizeof(message), "%.*s", (int)progress->line.length, progress->line.data);
    else
        snprintf(message, sizeof(message), "running");
    mcp_call_progress(run->call, (double)progress->elapsed_ms / 1000, MCP_NO_TOTAL, message);
}

static void on_cancel(struct mcp_call *call, void *data)
{
    struct tool_run *run = data;
    session_cancel(run->tools->sessions, run->ticket);
    memory_free(run);
    mcp_call_reply_failure(call, "cancelled", "The call was cancelled.");
}

void tool_submit(struct tools *tools, struct mcp_call *call, struct session_request *request,
                 tool_render_fn *render)
{
    int64_t timeout;
    value code = mcp_call_argument(call, "code");
    if (value_is_string(code) && value_text(code).length > CODE_LIMIT) {
        tool_refuse(call, "invalid-argument", "code is longer than %d MiB", CODE_LIMIT >> 20);
        return;
    }
    if (!tool_integer(call, "timeout", -1, 0, 86400, &timeout))
        return;
    struct tool_run *run = memory_alloc_zero(sizeof(*run));
    *run = (struct tool_run){.tools = tools, .call = call, .render = render};
    request->session = tool_session_name(call);
    request->timeout = timeout;
    request->reply = on_reply;
    request->progress = on_progress;
    request->data = run;
    mcp_call_on_cancel(call, on_cancel, run);
    run->ticket = session_submit(tools->sessions, request);
}
