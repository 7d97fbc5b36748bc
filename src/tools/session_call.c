#include "tools/session_call.h"

#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "base/memory.h"
#include "base/utf8.h"
#include "tools/auto_context.h"
#include "tools/result/result_structured.h"
#include "tools/result/result_text.h"

enum {
    CODE_LIMIT = 4 << 20,
    TASK_AFTER_MS = 10000,  // a running evaluation becomes a task where the client knows tasks
    // Escaping in JSON makes a newline two bytes and a control character six: the shares leave room
    // for that.
    TEXT_SHARE = MCP_OUTPUT_LIMIT / 4,
    MEMBER_SHARE = MCP_OUTPUT_LIMIT / 16,
};

value session_call_parameters(struct mcp_call *call, const char *const *names)
{
    struct region *region = mcp_call_region(call);
    value params = map_new(region);
    for (; *names; names++) {
        value v = mcp_call_argument(call, *names);
        if (value_is_nil(v))
            continue;
        size_t size = strlen(*names) + 1;
        char *key = region_alloc(region, size);
        memcpy(key, *names, size);
        for (char *c = key; *c; c++)
            if (*c == '-')
                *c = '_';
        params = map_put_text(region, params, key, value_retain(v));
    }
    return params;
}

bool session_call_require_session(struct tools *tools, struct mcp_call *call, const char *name)
{
    if (!session_name_valid(span_from(name))) {
        tool_refuse(call, "invalid-argument", "%s", SESSION_NAME_RULE);
        return false;
    }
    if (session_exists(tools->sessions, name))
        return true;
    CLEANUP_BUFFER struct buffer text;
    buffer_init(&text, ERROR_MESSAGE_SIZE);
    session_unknown_text(tools->sessions, name, &text);
    tool_refuse(call, "unknown-session", "%s", buffer_text(&text));
    return false;
}

bool session_call_render_failure(struct mcp_call *call, const struct session_reply *reply,
                                 struct tool_result *result)
{
    result->structured = structured_reply(mcp_call_region(call), reply);
    if (!reply->ok)
        render_evaluation(&result->text, reply, &(struct render_evaluation){0});
    return !reply->ok;
}

// --- truncation ----------------------------------------------------------------------------------
// One reply holds MCP_OUTPUT_LIMIT bytes. A session may be allowed to print more: the rest is cut
// off, in the text and in the structured form, and both say so.

static void truncate_text(struct buffer *text)
{
    if (text->length <= TEXT_SHARE)
        return;
    size_t kept = utf8_cut(text->data, TEXT_SHARE);
    size_t omitted = utf8_count(text->data + kept, text->length - kept);
    buffer_truncate(text, kept);
    buffer_append_text(text, "\n[truncated: ");
    render_counted(text, (int64_t)omitted, "character");
    buffer_append_format(text, " omitted; one answer holds %d bytes]", MCP_OUTPUT_LIMIT);
}

static value truncate_string(struct region *region, value v, int64_t *omitted)
{
    struct span text = value_text(v);
    if (text.length <= MEMBER_SHARE)
        return value_retain(v);
    size_t kept = utf8_cut(text.data, MEMBER_SHARE);
    *omitted += (int64_t)utf8_count(text.data + kept, text.length - kept);
    return value_string(region, (struct span){text.data, kept});
}

// All strings of a vector together get one share.
static value truncate_strings(struct region *region, value vector, int64_t *omitted)
{
    value kept = vector_new(region, 0);
    size_t used = 0;
    for (size_t i = 0; i < vector_count(vector); i++) {
        struct span text = value_text(vector_at(vector, i));
        if (used + text.length > MEMBER_SHARE && used > 0) {
            *omitted += (int64_t)utf8_count(text.data, text.length);
            continue;
        }
        kept = vector_push(region, kept, truncate_string(region, vector_at(vector, i), omitted));
        used += text.length;
    }
    return kept;
}

static void truncate_member(struct region *region, struct tool_result *result, const char *name)
{
    value v = map_get(result->structured, name), shortened;
    int64_t omitted = 0;
    if (value_is_string(v))
        shortened = truncate_string(region, v, &omitted);
    else if (value_is_vector(v))
        shortened = truncate_strings(region, v, &omitted);
    else
        return;
    if (omitted == 0)
        return;
    value counts = map_get(result->structured, "omitted");
    counts = value_is_map(counts) ? value_retain(counts) : map_new(region);
    value before = map_get(counts, name);
    omitted += before.tag == VALUE_INTEGER ? before.integer : 0;
    counts = map_put_text(region, counts, name, value_integer(omitted));
    result->structured = map_put_text(region, result->structured, name, shortened);
    result->structured = map_put_text(region, result->structured, "omitted", counts);
}

static void truncate_result(struct mcp_call *call, struct tool_result *result)
{
    static const char *const members[] = {"stdout", "stderr", "values"};
    truncate_text(&result->text);
    for (size_t i = 0; i < COUNT_OF(members); i++)
        truncate_member(mcp_call_region(call), result, members[i]);
}

// --- the request ---------------------------------------------------------------------------------

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

static void finish(struct session_call *run)
{
    struct mcp_call *call = run->call;
    struct tool_result result = run->result;
    memory_free(run);
    truncate_result(call, &result);
    tool_reply(call, &result);
}

static void on_reply(void *data, const struct session_reply *reply)
{
    struct session_call *run = data;
    mcp_call_on_cancel(run->call, NULL, NULL);
    count_metrics(run->tools, reply);
    run->result.is_error = !reply->ok;
    buffer_init(&run->result.text, TOOL_TEXT_LIMIT);
    run->render(run, reply, &run->result);
    if (run->auto_context && reply->ran)
        auto_context_store(run, reply, finish);
    else
        finish(run);
}

static void on_progress(void *data, const struct session_progress *progress)
{
    struct session_call *run = data;
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
    struct session_call *run = data;
    session_cancel(run->tools->sessions, run->ticket);
    memory_free(run);
    mcp_call_reply_failure(call, "cancelled", "The call was cancelled.");
}

// NULL: the call was refused.
static struct session_call *submit(struct tools *tools, struct mcp_call *call,
                                   struct session_request *request, tool_render_fn *render)
{
    int64_t timeout;
    value code = mcp_call_argument(call, "code");
    if (value_is_string(code) && value_text(code).length > CODE_LIMIT) {
        tool_refuse(call, "invalid-argument", "code is longer than %d MiB", CODE_LIMIT >> 20);
        return NULL;
    }
    if (!tool_integer(call, "timeout", -1, 0, 86400, &timeout))
        return NULL;
    struct session_call *run = memory_alloc_zero(sizeof(*run));
    *run = (struct session_call){.tools = tools, .call = call, .render = render};
    request->session = tool_session_name(call);
    request->timeout = timeout;
    request->reply = on_reply;
    request->progress = on_progress;
    request->data = run;
    mcp_call_on_cancel(call, on_cancel, run);
    run->ticket = session_submit(tools->sessions, request);
    return run;
}

void session_call_submit(struct tools *tools, struct mcp_call *call,
                         struct session_request *request, tool_render_fn *render)
{
    submit(tools, call, request, render);
}

void session_call_submit_recorded(struct tools *tools, struct mcp_call *call,
                                  struct session_request *request, tool_render_fn *render)
{
    struct session_call *run = submit(tools, call, request, render);
    // After submission: the session works while the setting is read from the store. The reply
    // comes from the loop, so the run is still there.
    if (run)
        run->auto_context = auto_context_begin(tools, call);
}
