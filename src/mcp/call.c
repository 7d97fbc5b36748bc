// The life of one request: made by the dispatcher, run by a handler, finished by exactly one
// response or by cancellation.
#include <math.h>
#include <stdarg.h>

#include "base/array.h"
#include "base/assert.h"
#include "base/clock.h"
#include "base/memory.h"
#include "mcp/mcp_internal.h"
#include "value/text/json.h"

enum {
    PROGRESS_FIRST_MS = 1000,
    PROGRESS_EVERY_MS = 500,
    // Some clients report an error when they read a progress notification and the response at once.
    PROGRESS_TO_RESPONSE_MS = 50,
};

struct mcp_call *call_new(struct mcp_server *server, struct exchange *exchange, struct peer *peer,
                          struct region *region, const struct message *message)
{
    struct mcp_call *call = memory_alloc_zero(sizeof(*call));
    call->server = server;
    call->exchange = exchange;
    call->flow = exchange->flow;
    call->peer = peer;
    call->region = region;
    call->id = json_region_text(region, message->id);
    call->params = message->params;
    call->meta = value_nil();
    if (value_is_map(call->params))
        call->meta = map_get(call->params, "_meta");
    else
        call->params = map_new(region);
    call->started_ns = clock_now_ns();
    call->arguments = map_new(region);
    call->content = vector_new(region, 0);
    call->answers = map_new(region);
    call->pending = map_new(region);
    call->handler_state = value_nil();
    call->progress = -INFINITY;
    call->log_level = -1;
    call->structured = !server->info.text_results;
    if (value_is_map(call->meta)) {
        value token = map_get(call->meta, "progressToken");
        if (token.tag == VALUE_STRING || token.tag == VALUE_INTEGER || token.tag == VALUE_BIGNUM ||
            token.tag == VALUE_FLOAT)
            call->progress_token = json_region_text(region, token);
    }
    TAILQ_INSERT_TAIL(&server->calls, call, link);
    server->call_count++;
    if (peer) {
        TAILQ_INSERT_TAIL(&peer->calls, call, peer_link);
        peer->call_count++;
    }
    return call;
}

bool call_read_results(struct mcp_call *call)
{
    value form;
    if (!value_is_map(call->meta) || !map_find_text(call->meta, MCP_RESULTS_META, &form))
        return true;
    struct span name = value_is_string(form) ? value_text(form) : (struct span){"", 0};
    call->structured = span_equal_text(name, "structured");
    if (call->structured || span_equal_text(name, "text"))
        return true;
    call_finish_params_error(call, "Invalid params: _meta \"" MCP_RESULTS_META
                                   "\" is \"text\" or \"structured\"");
    return false;
}

void call_free(struct mcp_call *call)
{
    protocol_2024_cancel_questions(call);
    if (call->state == CALL_LISTENING) {
        TAILQ_REMOVE(&call->server->listeners, call, link);
    } else {
        TAILQ_REMOVE(&call->server->calls, call, link);
        call->server->call_count--;
    }
    if (call->peer) {
        TAILQ_REMOVE(&call->peer->calls, call, peer_link);
        call->peer->call_count--;
    }
    if (call->timer)
        event_free(call->timer);
    buffer_release(&call->delayed);
    server_region_release(call->server, call->region);
    memory_free(call);
}

void call_set_timer(struct mcp_call *call, int64_t ms, event_callback_fn callback)
{
    if (call->timer)
        event_free(call->timer);
    call->timer = evtimer_new(call->server->base, callback, call);
    CHECK(call->timer);
    struct timeval wait = timeval_from_ms(ms);
    evtimer_add(call->timer, &wait);
}

void call_run_handler(struct mcp_call *call)
{
    call->state = CALL_RUNNING;
    call->content = vector_new(call->region, 0);
    call->media_bytes = 0;
    call->pending = map_new(call->region);
    call->needed = 0;
    call->handler(call, call->handler_data);
}

// Ends the work: later messages of the handler are discarded; the client gets `response`, if any.
static void call_end(struct mcp_call *call, struct span response, int status)
{
    if (call->cancelled)
        return;
    call->cancelled = true;
    struct exchange *exchange = call->exchange;
    call->exchange = NULL;
    if (call->state != CALL_RUNNING) {
        call_free(call);
    } else if (call->on_cancel) {
        mcp_handler_fn *on_cancel = call->on_cancel;
        call->on_cancel = NULL;
        on_cancel(call, call->on_cancel_data);
    }
    if (exchange)
        exchange_finish(exchange, response, status);
}

void call_cancel(struct mcp_call *call)
{
    call_end(call, (struct span){NULL, 0}, 200);
}

void call_stop(struct mcp_call *call)
{
    CLEANUP_BUFFER struct buffer out;
    buffer_init(&out, MCP_OUTPUT_LIMIT);
    jsonrpc_write_error(&out, MESSAGE_ID_GIVEN, span_from(call->id), MCP_SERVER_STOPPING,
                        SPAN("The server is stopping: this request was interrupted"), SPAN(""));
    call_end(call, buffer_span(&out), 503);
}

// --- what handlers see ---------------------------------------------------------------------------

struct mcp_server *mcp_call_server(struct mcp_call *call)
{
    return call->server;
}

struct region *mcp_call_region(struct mcp_call *call)
{
    return call->region;
}

value mcp_call_arguments(const struct mcp_call *call)
{
    return call->arguments;
}

uint64_t mcp_call_flow(const struct mcp_call *call)
{
    return call->flow;
}

const char *mcp_call_client_name(struct mcp_call *call)
{
    char text[sizeof(call->peer->name)];
    if (call->peer)
        snprintf(text, sizeof(text), "%s", call->peer->name);
    else
        client_name_read(map_get(call->meta, META_PREFIX "clientInfo"), text, sizeof(text));
    return text[0] ? call_copy_text(call, span_from(text)) : NULL;
}

value mcp_call_argument(const struct mcp_call *call, const char *name)
{
    return map_get(call->arguments, name);
}

bool mcp_call_client_can(const struct mcp_call *call, const char *capability)
{
    static const struct {
        const char *name;
        unsigned bit;
    } capabilities[] = {
        {"elicitation", CLIENT_ELICITATION},
        {"sampling", CLIENT_SAMPLING},
        {"roots", CLIENT_ROOTS},
        {"tasks", CLIENT_TASKS},
    };
    for (size_t i = 0; i < COUNT_OF(capabilities); i++)
        if (strcmp(capability, capabilities[i].name) == 0)
            return (call->client_can & capabilities[i].bit) != 0;
    return false;
}

void mcp_call_on_cancel(struct mcp_call *call, mcp_handler_fn *on_cancel, void *data)
{
    call->on_cancel = on_cancel;
    call->on_cancel_data = data;
}

void mcp_call_close_stream(struct mcp_call *call, unsigned retry_ms)
{
    if (call->exchange && call->version == VERSION_2025_11_25 && call->exchange->ops->close_early)
        call->exchange->ops->close_early(call->exchange, retry_ms);
}

// --- notifications -------------------------------------------------------------------------------

void call_notify(struct mcp_call *call, struct buffer *message)
{
    if (call->exchange && !message->failed)
        exchange_notify(call->exchange, buffer_span(message));
}

static bool wants_progress(const struct mcp_call *call)
{
    return call->progress_token && call->exchange;
}

void mcp_call_progress(struct mcp_call *call, double progress, double total, const char *message)
{
    if (!wants_progress(call) || !(progress > call->progress) || !isfinite(progress))
        return;
    int64_t now = clock_now_ms();
    bool at_once = call->tool && (call->tool->tool.flags & MCP_TOOL_PROGRESS_AT_ONCE);
    if (!at_once && (now - call->started_ns / 1000000 < PROGRESS_FIRST_MS ||
                     (call->progress_ms && now - call->progress_ms < PROGRESS_EVERY_MS)))
        return;
    call->progress = progress;
    call->progress_ms = now;

    CLEANUP_BUFFER struct buffer params, out;
    buffer_init(&params, MCP_OUTPUT_LIMIT);
    buffer_init(&out, MCP_OUTPUT_LIMIT);
    json_put_raw(&params, "progressToken", span_from(call->progress_token));
    json_put_value(&params, "progress", value_float(progress));
    if (total >= 0)
        json_put_value(&params, "total", value_float(total));
    json_put_text(&params, "message", message);
    jsonrpc_write_call(&out, NULL, "notifications/progress", &params);
    call_notify(call, &out);
}

static const char *const log_level_names[MCP_LOG_LEVEL_COUNT] = {
    "debug", "info", "notice", "warning", "error", "critical", "alert", "emergency",
};

bool log_level_find(struct span name, enum mcp_log_level *ret_level)
{
    for (enum mcp_log_level level = 0; level < MCP_LOG_LEVEL_COUNT; level++) {
        if (span_equal_text(name, log_level_names[level])) {
            *ret_level = level;
            return true;
        }
    }
    return false;
}

void mcp_call_log(struct mcp_call *call, enum mcp_log_level level, const char *logger, value data)
{
    if (!call->exchange || call->log_level < 0 || (int)level < call->log_level)
        return;
    CLEANUP_BUFFER struct buffer params, out;
    buffer_init(&params, MCP_OUTPUT_LIMIT);
    buffer_init(&out, MCP_OUTPUT_LIMIT);
    json_put_text(&params, "level", log_level_names[level]);
    json_put_text(&params, "logger", logger);
    json_put_value(&params, "data", data);
    jsonrpc_write_call(&out, NULL, "notifications/message", &params);
    call_notify(call, &out);
}

// --- finishing: the one response -----------------------------------------------------------------

static void on_delayed_reply(evutil_socket_t fd, short what, void *data);

// The one way out: the message goes to the exchange, the call is gone afterwards.
static void call_finish(struct mcp_call *call, struct buffer *message, int status)
{
    struct exchange *exchange = call->exchange;
    int64_t since = clock_now_ms() - call->progress_ms;
    if (exchange && call->progress_ms && since < PROGRESS_TO_RESPONSE_MS) {
        call->state = CALL_DELAYED;
        call->delayed_status = status;
        call->delayed = *message;
        *message = (struct buffer){0};
        call_set_timer(call, PROGRESS_TO_RESPONSE_MS - since, on_delayed_reply);
        return;
    }
    call->exchange = NULL;
    call_free(call);  // first, so that the transport sees which calls still run
    if (exchange)
        exchange_finish(exchange, buffer_span(message), status);
}

static void on_delayed_reply(evutil_socket_t fd, short what, void *data)
{
    (void)fd;
    (void)what;
    struct mcp_call *call = data;
    CLEANUP_BUFFER struct buffer message = call->delayed;
    call->delayed = (struct buffer){0};
    call->progress_ms = 0;  // the delay is over
    call_finish(call, &message, call->delayed_status);
}

static void write_result(struct mcp_call *call, struct buffer *out, const struct buffer *members)
{
    buffer_append_byte(out, '{');
    bool has_type = members && span_starts_with(buffer_span(members), SPAN("\"resultType\":"));
    if (call_is_2026(call) && !has_type)
        json_put_text(out, "resultType", "complete");
    if (members) {
        json_comma(out);
        json_append_part(out, members);
    }
    if (call_is_2026(call)) {
        if (call->method->ttl_ms >= 0 && !has_type) {
            json_put_integer(out, "ttlMs", call->method->ttl_ms);
            json_put_text(out, "cacheScope", call->method->cache_public ? "public" : "private");
        }
        buffer_append_text(out, ",\"_meta\":{");
        if (call->state == CALL_LISTENING)
            json_put_raw(out, META_PREFIX "subscriptionId", span_from(call->id));
        json_name(out, META_PREFIX "serverInfo");
        server_write_info(call->server, out);
        buffer_append_byte(out, '}');
    }
    buffer_append_byte(out, '}');
}

static void write_response(struct mcp_call *call, struct buffer *out, const struct buffer *members)
{
    buffer_append_text(out, "{\"jsonrpc\":\"2.0\"");
    json_put_raw(out, "id", span_from(call->id));
    json_name(out, "result");
    write_result(call, out, members);
    buffer_append_byte(out, '}');
}

void call_leave_channel(struct mcp_call *call)
{
    call->exchange = NULL;
    if (!call->peer)
        return;
    TAILQ_REMOVE(&call->peer->calls, call, peer_link);
    call->peer->call_count--;
    call->peer = NULL;
}

void call_respond_early(struct mcp_call *call, const struct buffer *members)
{
    CLEANUP_BUFFER struct buffer out;
    buffer_init(&out, MCP_OUTPUT_LIMIT);
    write_response(call, &out, members);
    struct exchange *exchange = call->exchange;
    call_leave_channel(call);
    if (exchange)
        exchange_finish(exchange, buffer_span(&out), 200);
}

void call_finish_result(struct mcp_call *call, const struct buffer *members)
{
    CLEANUP_BUFFER struct buffer out;
    buffer_init(&out, MCP_OUTPUT_LIMIT + call->media_bytes);
    if (call->task)
        write_result(call, &out, members);
    else
        write_response(call, &out, members);
    if (out.failed) {
        call_finish_error(call, MCP_RESULT_TOO_LARGE, "The result is larger than 4 MiB", SPAN(""),
                          200);
        return;
    }
    metrics_count_call(call->server, call, false);
    if (call->task)
        task_finish(call, buffer_span(&out));
    else
        call_finish(call, &out, 200);
}

void call_finish_error(struct mcp_call *call, int code, const char *message, struct span data_json,
                       int status)
{
    metrics_count_call(call->server, call, true);
    CLEANUP_BUFFER struct buffer out;
    buffer_init(&out, MCP_OUTPUT_LIMIT);
    if (call->task) {
        buffer_append_byte(&out, '{');
        json_put_integer(&out, "code", code);
        json_put_text(&out, "message", message);
        buffer_append_byte(&out, '}');
        task_finish_error(call, buffer_span(&out));
        return;
    }
    struct span id = span_from(call->id);
    jsonrpc_write_error(&out, MESSAGE_ID_GIVEN, id, code, span_from(message), data_json);
    if (out.failed) {  // the data repeats a very large parameter
        buffer_clear(&out);
        jsonrpc_write_error(&out, MESSAGE_ID_GIVEN, id, code, SPAN("The request was refused"),
                            SPAN(""));
    }
    call_finish(call, &out, status);
}

void call_finish_params_error(struct mcp_call *call, const char *format, ...)
{
    char message[ERROR_MESSAGE_SIZE];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof(message), format, arguments);
    va_end(arguments);
    call_finish_error(call, MCP_INVALID_PARAMS, message, SPAN(""), 200);
}

const char *call_copy_text(struct mcp_call *call, struct span text)
{
    char *copy = region_alloc(call->region, text.length + 1);
    memcpy(copy, text.data, text.length);
    copy[text.length] = '\0';
    return copy;
}

struct span call_param_text(const struct mcp_call *call, const char *name)
{
    value item = map_get(call->params, name);
    return value_is_string(item) ? value_text(item) : (struct span){NULL, 0};
}
