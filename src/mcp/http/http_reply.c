// The answer to one HTTP request: JSON in one piece, or a stream of server-sent events.
#include <sys/socket.h>
#include <time.h>

#include "base/array.h"
#include "base/assert.h"
#include "base/memory.h"
#include "mcp/http/http.h"

enum { REPLY_HEADERS_MAX = 4096 };

static void http_reply_free(struct http_reply *reply)
{
    TAILQ_REMOVE(&reply->http->replies, reply, link);
    if (reply->keep_alive)
        event_free(reply->keep_alive);
    http_request_free(reply->request);
    buffer_release(&reply->headers);
    memory_free(reply);
}

struct http_reply *http_reply_open(struct http_connection *connection, struct http_request *request)
{
    struct http_reply *reply = memory_alloc_zero(sizeof(*reply));
    reply->http = connection->http;
    reply->request = request;
    reply->connection = connection;
    reply->client = connection->client;
    reply->flow = connection->flow;
    buffer_init(&reply->headers, REPLY_HEADERS_MAX);
    TAILQ_INSERT_TAIL(&reply->http->replies, reply, link);
    return reply;
}

struct http_reply *http_reply_open_carried(struct mcp_http *http, struct http_request *request,
                                           struct mcp_http_carrier *carrier)
{
    struct http_reply *reply = memory_alloc_zero(sizeof(*reply));
    reply->http = http;
    reply->request = request;
    reply->carrier = carrier;
    reply->client = &http->clients[0];
    reply->flow = ++http->last_flow;
    buffer_init(&reply->headers, REPLY_HEADERS_MAX);
    TAILQ_INSERT_TAIL(&http->replies, reply, link);
    return reply;
}

bool http_reply_is_lost(const struct http_reply *reply)
{
    return !reply->connection && !reply->carrier;
}

void http_reply_lose_connection(struct http_reply *reply)
{
    reply->connection = NULL;
    reply->carrier = NULL;
    if (reply->on_gone)
        reply->on_gone(reply);
}

void http_reply_add_header(struct http_reply *reply, const char *name, const char *text)
{
    buffer_append_format(&reply->headers, "%s: %s\r\n", name, text);
}

// --- the head of an answer -----------------------------------------------------------------------

static const char *reason(int status)
{
    static const struct {
        int status;
        const char *text;
    } reasons[] = {
        {200, "OK"},
        {202, "Accepted"},
        {204, "No Content"},
        {400, "Bad Request"},
        {401, "Unauthorized"},
        {403, "Forbidden"},
        {404, "Not Found"},
        {405, "Method Not Allowed"},
        {406, "Not Acceptable"},
        {409, "Conflict"},
        {413, "Content Too Large"},
        {415, "Unsupported Media Type"},
        {417, "Expectation Failed"},
        {431, "Request Header Fields Too Large"},
        {501, "Not Implemented"},
        {503, "Service Unavailable"},
        {505, "HTTP Version Not Supported"},
    };
    for (size_t i = 0; i < COUNT_OF(reasons); i++)
        if (reasons[i].status == status)
            return reasons[i].text;
    return status < 500 ? "Refused" : "Failed";
}

static void write_status(struct evbuffer *output, int status)
{
    static const char *const days[] = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
    static const char *const months[] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                         "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
    time_t now = time(NULL);
    struct tm date;
    CHECK(gmtime_r(&now, &date));
    evbuffer_add_printf(output, "HTTP/1.1 %d %s\r\nDate: %s, %02d %s %d %02d:%02d:%02d GMT\r\n",
                        status, reason(status), days[date.tm_wday], date.tm_mday,
                        months[date.tm_mon], date.tm_year + 1900, date.tm_hour, date.tm_min,
                        date.tm_sec);
}

void http_write_refusal(struct evbuffer *output, const struct refusal *refusal)
{
    CLEANUP_BUFFER struct buffer body;
    buffer_init(&body, 4096);
    jsonrpc_write_error(&body, MESSAGE_ID_ABSENT, SPAN(""), MCP_INVALID_REQUEST,
                        span_from(refusal->message), SPAN(""));
    write_status(output, refusal->status);
    if (refusal->header)
        evbuffer_add_printf(output, "%s: %s\r\n", refusal->header, refusal->header_value);
    evbuffer_add_printf(output,
                        "Content-Type: application/json\r\nContent-Length: %zu\r\n"
                        "Connection: close\r\n\r\n",
                        body.length);
    CHECK(evbuffer_add(output, body.data, body.length) == 0);
}

static bool closes_after(const struct http_reply *reply)
{
    bool has_end = !reply->streaming || reply->request->minor > 0;
    return reply->request->wants_close || reply->http->ending || !has_end;
}

static struct evbuffer *output_of(const struct http_reply *reply)
{
    return bufferevent_get_output(reply->connection->buffer);
}

static void write_head(struct http_reply *reply, int status)
{
    struct evbuffer *output = output_of(reply);
    write_status(output, status);
    if (closes_after(reply))
        http_reply_add_header(reply, "Connection", "close");
    buffer_append_text(&reply->headers, "\r\n");
    CHECK(!reply->headers.failed);
    CHECK(evbuffer_add(output, reply->headers.data, reply->headers.length) == 0);
}

// The reply is over; its connection, if there still is one, goes on.
static void finish(struct http_reply *reply)
{
    struct mcp_http *http = reply->http;
    struct http_connection *connection = reply->connection;
    bool closes = closes_after(reply);
    http_reply_free(reply);
    if (connection)
        http_connection_next(connection, closes);
    http_check_end(http);
}

// The carrier is not used again.
static struct mcp_http_carrier *take_carrier(struct http_reply *reply)
{
    struct mcp_http_carrier *carrier = reply->carrier;
    reply->carrier = NULL;
    carrier->reply = NULL;
    return carrier;
}

static void carry_whole(struct http_reply *reply, int status, const char *content_type,
                        const struct span *parts, size_t count)
{
    struct mcp_http_carrier *carrier = take_carrier(reply);
    carrier->send(carrier, status, buffer_span(&reply->headers), content_type, parts, count);
    finish(reply);
}

void http_reply_send(struct http_reply *reply, int status, const char *content_type,
                     const struct span *parts, size_t count)
{
    size_t length = 0;
    for (size_t i = 0; i < count; i++)
        length += parts[i].length;
    if (reply->carrier) {
        carry_whole(reply, status, content_type, parts, count);
        return;
    }
    if (!reply->connection) {
        finish(reply);
        return;
    }
    if (length > 0)
        http_reply_add_header(reply, "Content-Type", content_type);
    if (status != 204)
        buffer_append_format(&reply->headers, "Content-Length: %zu\r\n", length);
    write_head(reply, status);
    if (reply->request->method != HTTP_HEAD)
        for (size_t i = 0; i < count; i++)
            CHECK(evbuffer_add(output_of(reply), parts[i].data, parts[i].length) == 0);
    finish(reply);
}

void http_reply_refuse(struct http_reply *reply, const struct refusal *refusal)
{
    CLEANUP_BUFFER struct buffer body;
    buffer_init(&body, 4096);
    jsonrpc_write_error(&body, MESSAGE_ID_ABSENT, SPAN(""), MCP_INVALID_REQUEST,
                        span_from(refusal->message), SPAN(""));
    if (refusal->header)
        http_reply_add_header(reply, refusal->header, refusal->header_value);
    mcp_metric_add(reply->http->refused_counter, 1);
    struct span text = buffer_span(&body);
    http_reply_send(reply, refusal->status, "application/json", &text, 1);
}

// --- server-sent events --------------------------------------------------------------------------

static void send_chunk(struct http_reply *reply, struct span text)
{
    if (reply->carrier)
        reply->carrier->event(reply->carrier, text);
    if (!reply->connection)
        return;
    struct evbuffer *output = output_of(reply);
    if (evbuffer_get_length(output) > HTTP_QUEUE_BYTES) {
        // The client reads too slowly or not at all. The event loop reports the close to us.
        shutdown(bufferevent_getfd(reply->connection->buffer), SHUT_RDWR);
        return;
    }
    bool is_chunked = reply->request->minor > 0;
    if (is_chunked)
        evbuffer_add_printf(output, "%zx\r\n", text.length);
    CHECK(evbuffer_add(output, text.data, text.length) == 0);
    if (is_chunked)
        CHECK(evbuffer_add(output, "\r\n", 2) == 0);
    evtimer_add(reply->keep_alive, &(struct timeval){.tv_sec = SSE_KEEP_ALIVE_S});
}

static void on_silence(evutil_socket_t fd, short what, void *data)
{
    (void)fd;
    (void)what;
    send_chunk(data, SPAN(":\n\n"));
}

void http_reply_stream(struct http_reply *reply)
{
    reply->streaming = true;
    reply->keep_alive = evtimer_new(reply->http->server->base, on_silence, reply);
    CHECK(reply->keep_alive);
    if (reply->carrier)
        reply->carrier->begin(reply->carrier, buffer_span(&reply->headers));
    if (!reply->connection)
        return;
    http_reply_add_header(reply, "Content-Type", "text/event-stream");
    http_reply_add_header(reply, "Cache-Control", "no-cache, no-transform");
    http_reply_add_header(reply, "X-Accel-Buffering", "no");
    if (reply->request->minor > 0)
        http_reply_add_header(reply, "Transfer-Encoding", "chunked");
    write_head(reply, 200);
    evtimer_add(reply->keep_alive, &(struct timeval){.tv_sec = SSE_KEEP_ALIVE_S});
}

void http_reply_event(struct http_reply *reply, const char *id, unsigned retry_ms,
                      struct span message)
{
    CLEANUP_BUFFER struct buffer event;
    buffer_init(&event, BUFFER_DEFAULT_LIMIT);
    if (id)
        buffer_append_format(&event, "id: %s\n", id);
    if (retry_ms > 0)
        buffer_append_format(&event, "retry: %u\n", retry_ms);
    buffer_append_text(&event, message.length > 0 ? "event: message\ndata: " : "data:");
    buffer_append_span(&event, message);
    buffer_append_text(&event, "\n\n");
    CHECK(!event.failed);
    send_chunk(reply, buffer_span(&event));
}

void http_reply_write(struct http_reply *reply, struct span event)
{
    send_chunk(reply, event);
}

void http_reply_end(struct http_reply *reply)
{
    if (!reply->streaming) {
        http_reply_send(reply, 200, NULL, NULL, 0);
        return;
    }
    if (reply->carrier) {
        struct mcp_http_carrier *carrier = take_carrier(reply);
        carrier->end(carrier);
    }
    if (reply->connection && reply->request->minor > 0)
        CHECK(evbuffer_add(output_of(reply), "0\r\n\r\n", 5) == 0);
    finish(reply);
}
