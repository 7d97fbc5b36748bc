#include "tools/session_call.h"

#include <event2/event.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/assert.h"
#include "base/clock.h"
#include "base/memory.h"
#include "base/utf8.h"
#include "session/workspace/reach.h"
#include "tools/auto_context.h"
#include "tools/kept_output.h"
#include "tools/result/result_structured.h"
#include "tools/result/result_text.h"
#include "tools/running.h"
#include "tools/shown.h"
#include "tools/trust/ask_trust.h"

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

// --- paths ---------------------------------------------------------------------------------------

// NULL: there is no such place.
static char *absolute_path(struct session_manager *sessions, const char *given, struct error *error)
{
    CLEANUP_FREE char *directory = NULL;
    const char *home = getenv("HOME");
    if (*given == '/')
        return memory_copy_string(given);
    if (given[0] == '~' && given[1] == '/' && home && *home == '/')
        return memory_format("%s%s", home, given + 1);
    if (!session_directory(sessions, &directory, error))
        return NULL;
    return memory_format("%s/%s", directory, given);
}

static char *refuse_path(struct mcp_call *call, const char *why)
{
    tool_refuse(call, "invalid-argument", "%s", why);
    return NULL;
}

char *session_call_path(struct tools *tools, struct mcp_call *call)
{
    const char *given = tool_text(call, "path");
    struct error error;
    if (!given || !*given)
        return refuse_path(call, "path is empty");
    if (strlen(given) < value_text(mcp_call_argument(call, "path")).length)
        return refuse_path(call, "path contains a NUL character");
    char *absolute = absolute_path(tools->sessions, given, &error);
    if (!absolute)
        return refuse_path(call, error.message);
    if (strlen(absolute) < PATH_MAX)
        return absolute;
    memory_free(absolute);
    return refuse_path(call, "path is longer than 4095 bytes");
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

void session_call_truncate(struct mcp_call *call, struct tool_result *result)
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

void session_call_free(struct session_call *run)
{
    shown_release(run);
    if (run->yield_timer)
        event_free(run->yield_timer);
    if (run->output)
        kept_output_free(run->output);
    buffer_release(&run->input);
    buffer_release(&run->first_text);
    memory_free(run);
}

static void answer(struct session_call *run)
{
    struct mcp_call *call = run->call;
    struct tool_result result = run->result;
    struct tools *tools = run->tools;
    bool was_answered = run->running;
    session_call_free(run);
    session_call_truncate(call, &result);
    if (!was_answered)
        running_append_notices(tools, tool_session_name(call), &result.text);
    tool_reply(call, &result);
}

static void finish(struct session_call *run)
{
    shown_add(run, answer);
}

static void append_values(struct buffer *text, value values)
{
    for (size_t i = 0; value_is_vector(values) && i < vector_count(values); i++) {
        buffer_append_text(text, i == 0 ? "=> " : "\n=> ");
        buffer_append_span(text, value_text(vector_at(values, i)));
    }
}

// Values that were cut follow the output; true when they are all there is.
static bool keep_values(struct kept_output *output, const struct session_reply *reply)
{
    bool is_first = kept_output_characters(output) == 0;
    CLEANUP_BUFFER struct buffer text;
    buffer_init(&text, TOOL_TEXT_LIMIT);
    buffer_append_text(&text, is_first ? "" : "\n\n");
    append_values(&text, reply->whole_values);
    kept_output_add(output, buffer_span(&text));
    return is_first;
}

// What was cut stays within reach.
static void keep_output(struct session_call *run, const struct session_reply *reply)
{
    if (!run->output || !reply->ran)
        return;
    bool cut_values = !value_is_nil(reply->whole_values);
    bool cut_output = reply->standard_output.omitted > 0 || reply->standard_error.omitted > 0;
    if (run->running)  // what was given before may have been cut
        cut_output = (int64_t)kept_output_characters(run->output) > reply->limits.max_output;
    if (!cut_output && !cut_values)
        return;
    CLEANUP_BUFFER struct buffer shown;  // what the answer has of it, when that is one text
    buffer_init(&shown, TOOL_TEXT_LIMIT);
    if (!cut_values && reply->standard_error.text.length == 0 && !run->running)
        buffer_append_span(&shown, reply->standard_output.text);
    if (cut_values && keep_values(run->output, reply))
        append_values(&shown, map_get(reply->result, "values"));
    kept_output_store(run->tools, run->output, reply->session, reply->evaluation,
                      buffer_span(&shown), &run->result.text);
    run->output = NULL;
}

static void on_output(void *data, enum session_stream stream, struct span text)
{
    (void)stream;
    kept_output_add(((struct session_call *)data)->output, text);
}

// The answer is from a snapshot.
static void note_beside(struct session_call *run, int64_t evaluation)
{
    struct region *region = mcp_call_region(run->call);
    value notice = value_string_format(region, "evaluation %lld runs; this is the state before it",
                                       (long long)evaluation);
    value notices = vector_push(region, vector_new(region, 0), notice);
    render_notices(&run->result.text, notices);
    run->result.structured = map_put_text(region, run->result.structured, "notices", notices);
}

static bool go_on(struct session_call *run, const struct session_reply *reply);

static void on_reply(void *data, const struct session_reply *reply)
{
    struct session_call *run = data;
    if (reply->ok && run->next && go_on(run, reply))
        return;
    if (run->yield_timer)
        event_del(run->yield_timer);
    mcp_call_on_cancel(run->call, NULL, NULL);
    count_metrics(run->tools, reply);
    run->result.is_error = !reply->ok;
    buffer_init(&run->result.text, TOOL_TEXT_LIMIT);
    run->render(run, reply, &run->result);
    shown_take(run, reply);
    if (reply->beside)
        note_beside(run, reply->beside);
    keep_output(run, reply);
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
    else if (progress->tests.total > 0)
        snprintf(message, sizeof(message), "%lld of %lld tests, %lld failed: %.*s",
                 (long long)progress->tests.done, (long long)progress->tests.total,
                 (long long)progress->tests.failed, (int)progress->line.length,
                 progress->line.data);
    else if (progress->line.length)
        snprintf(message, sizeof(message), "%.*s", (int)progress->line.length, progress->line.data);
    else
        snprintf(message, sizeof(message), "running");
    double seconds = (double)progress->elapsed_ms / 1000;
    bool yields_soon = run->yield_timer && run->yield_ms - clock_now_ms() < PROGRESS_GAP_MS;
    if (run->running)
        running_progress(run->running, seconds, message);
    else if (!yields_soon)
        mcp_call_progress(run->call, seconds, MCP_NO_TOTAL, message);
}

static void on_yield(evutil_socket_t fd, short what, void *data)
{
    (void)fd;
    (void)what;
    running_yield(data);
}

static void on_input(void *data, uint64_t ticket)
{
    (void)ticket;
    running_on_input(data);
}

// Arguments `yield`, `input` and `interactive`. The time counts from the call's arrival.
static bool read_streams(struct session_call *run, struct session_request *request)
{
    struct mcp_call *call = run->call;
    int64_t yield;
    value input = mcp_call_argument(call, "input");
    if (!tool_integer(call, "yield", run->tools->yield, 0, 86400, &yield))
        return false;
    buffer_init(&run->input, SESSION_INPUT_MAX);
    if (value_is_string(input))
        buffer_append_span(&run->input, value_text(input));
    if (run->input.failed) {
        tool_refuse(call, "invalid-argument", "input is longer than 1 MiB.");
        return false;
    }
    run->interactive = tool_flag(call, "interactive");
    if (run->interactive || value_is_string(input))
        request->input = on_input;
    run->is_evaluation = request->kind == SESSION_EVALUATE || request->kind == SESSION_TESTS;
    if (run->is_evaluation || request->kind == SESSION_DEBUG || request->kind == SESSION_RESTART) {
        run->output = kept_output_new();
        request->output = on_output;
        request->earlier_apart = true;
    }
    if (yield == 0)
        return true;
    run->yield_timer = evtimer_new(run->tools->base, on_yield, run);
    CHECK(run->yield_timer);
    run->yield_ms = clock_now_ms() + yield * 1000;
    struct timeval wait = timeval_from_ms(yield * 1000);
    event_add(run->yield_timer, &wait);
    return true;
}

static void on_cancel(struct mcp_call *call, void *data)
{
    struct session_call *run = data;
    session_cancel(run->tools->sessions, run->ticket);
    session_call_free(run);
    mcp_call_reply_failure(call, "cancelled", "The call was cancelled.");
}

static void send_request(struct session_call *run, struct session_request *request)
{
    if (!request->session)
        request->session = tool_session_name(run->call);
    request->reply = on_reply;
    request->progress = on_progress;
    request->data = run;
    request->client = run->tools->client;
    request->client.name = tool_client_name(run->tools, run->call);
    mcp_call_on_cancel(run->call, on_cancel, run);
    run->ticket = session_submit(run->tools->sessions, request);
}

static bool go_on(struct session_call *run, const struct session_reply *reply)
{
    struct session_request request = {.timeout = -1};
    if (!run->next(run, reply, &request))
        return false;
    run->next = NULL;
    send_request(run, &request);
    return true;
}

// NULL: the call was refused, or asks and will run again.
static struct session_call *submit(struct tools *tools, struct mcp_call *call,
                                   struct session_request *request, tool_next_fn *next,
                                   tool_render_fn *render)
{
    int64_t timeout;
    value code = mcp_call_argument(call, "code");
    if (ask_trust(tools, call, request))
        return NULL;
    if (value_is_string(code) && value_text(code).length > CODE_LIMIT) {
        tool_refuse(call, "invalid-argument", "code is longer than %d MiB", CODE_LIMIT >> 20);
        return NULL;
    }
    if (!tool_integer(call, "timeout", -1, 0, 86400, &timeout))
        return NULL;
    struct session_call *run = memory_alloc_zero(sizeof(*run));
    *run = (struct session_call){.tools = tools, .call = call, .render = render, .next = next};
    if (!read_streams(run, request)) {
        session_call_free(run);
        return NULL;
    }
    request->timeout = request->kind == SESSION_TESTS ? 0 : timeout;  // the other is that of a test
    send_request(run, request);
    return run;
}

void session_call_submit(struct tools *tools, struct mcp_call *call,
                         struct session_request *request, tool_render_fn *render)
{
    submit(tools, call, request, NULL, render);
}

void session_call_submit_first(struct tools *tools, struct mcp_call *call,
                               struct session_request *request, tool_next_fn *next,
                               tool_render_fn *render)
{
    submit(tools, call, request, next, render);
}

void session_call_submit_recorded(struct tools *tools, struct mcp_call *call,
                                  struct session_request *request, tool_render_fn *render)
{
    struct session_call *run = submit(tools, call, request, NULL, render);
    // After submission: the session works while the setting is read from the store. The reply
    // comes from the loop, so the run is still there.
    if (run)
        run->auto_context = auto_context_begin(tools, call);
}
