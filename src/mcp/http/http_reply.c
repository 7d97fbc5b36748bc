// The answer to one HTTP request: JSON in one piece, or a stream of server-sent events.
#include <sys/socket.h>

#include "base/assert.h"
#include "base/memory.h"
#include "mcp/http/http.h"

static void http_reply_free(struct http_reply *reply)
{
    TAILQ_REMOVE(&reply->http->replies, reply, link);
    if (reply->keep_alive)
        event_free(reply->keep_alive);
    memory_free(reply);
}

static void on_close(struct evhttp_connection *connection, void *data)
{
    (void)connection;
    struct http_reply *reply = data;
    reply->gone = true;
    if (reply->on_gone)
        reply->on_gone(reply);
}

struct http_reply *http_reply_open(struct mcp_http *http, struct evhttp_request *request)
{
    struct http_reply *reply = memory_alloc_zero(sizeof(*reply));
    reply->http = http;
    reply->request = request;
    reply->connection = http_connection_find(http, request);
    TAILQ_INSERT_TAIL(&http->replies, reply, link);
    http_connection_set_busy(reply->connection);
    evhttp_connection_set_closecb(evhttp_request_get_connection(request), on_close, reply);
    return reply;
}

// Returns the connection to evhttp; the request must be ended right after this.
static void release_connection(struct http_reply *reply)
{
    if (reply->gone)
        return;
    evhttp_connection_set_closecb(evhttp_request_get_connection(reply->request), NULL, NULL);
    http_connection_set_idle(reply->connection);
    if (reply->connection->refused || reply->http->ending)
        http_reply_add_header(reply, "Connection", "close");
}

void http_reply_add_header(struct http_reply *reply, const char *name, const char *text)
{
    evhttp_add_header(evhttp_request_get_output_headers(reply->request), name, text);
}

void http_reply_send(struct http_reply *reply, int status, const char *content_type,
                     const struct span *parts, size_t count)
{
    struct mcp_http *http = reply->http;
    struct evbuffer *body = evbuffer_new();
    CHECK(body);
    release_connection(reply);
    if (evhttp_request_get_command(reply->request) != EVHTTP_REQ_HEAD)
        for (size_t i = 0; i < count; i++)
            CHECK(evbuffer_add(body, parts[i].data, parts[i].length) == 0);
    if (evbuffer_get_length(body) > 0)
        http_reply_add_header(reply, "Content-Type", content_type);
    evhttp_send_reply(reply->request, status, NULL, body);
    evbuffer_free(body);
    http_reply_free(reply);
    http_check_end(http);
}

void http_reply_refuse(struct http_reply *reply, const struct refusal *refusal)
{
    CLEANUP_BUFFER struct buffer body;
    buffer_init(&body, 4096);
    refusal_write(refusal, &body);
    if (refusal->header)
        http_reply_add_header(reply, refusal->header, refusal->header_value);
    mcp_metric_add(reply->http->refused_counter, 1);
    struct span text = buffer_span(&body);
    http_reply_send(reply, refusal->status, "application/json", &text, 1);
}

// --- server-sent events --------------------------------------------------------------------------

static void send_chunk(struct http_reply *reply, struct evbuffer *chunk)
{
    if (reply->gone)
        return;
    struct evbuffer *output = bufferevent_get_output(reply->connection->buffer);
    if (evbuffer_get_length(output) > HTTP_QUEUE_BYTES) {
        // The client reads too slowly or not at all. The event loop reports the close to us.
        shutdown(bufferevent_getfd(reply->connection->buffer), SHUT_RDWR);
        return;
    }
    evhttp_send_reply_chunk(reply->request, chunk);
    evtimer_add(reply->keep_alive, &(struct timeval){.tv_sec = SSE_KEEP_ALIVE_S});
}

static void on_silence(evutil_socket_t fd, short what, void *data)
{
    (void)fd;
    (void)what;
    struct evbuffer *chunk = evbuffer_new();
    CHECK(chunk && evbuffer_add(chunk, ":\n\n", 3) == 0);
    send_chunk(data, chunk);
    evbuffer_free(chunk);
}

void http_reply_stream(struct http_reply *reply)
{
    reply->streaming = true;
    reply->keep_alive = evtimer_new(reply->http->server->base, on_silence, reply);
    CHECK(reply->keep_alive);
    if (reply->gone)
        return;
    http_reply_add_header(reply, "Content-Type", "text/event-stream");
    http_reply_add_header(reply, "Cache-Control", "no-cache, no-transform");
    http_reply_add_header(reply, "X-Accel-Buffering", "no");
    evhttp_send_reply_start(reply->request, 200, NULL);
    evtimer_add(reply->keep_alive, &(struct timeval){.tv_sec = SSE_KEEP_ALIVE_S});
}

void http_reply_event(struct http_reply *reply, const char *id, unsigned retry_ms,
                      struct span message)
{
    struct evbuffer *chunk = evbuffer_new();
    CHECK(chunk);
    if (id)
        evbuffer_add_printf(chunk, "id: %s\n", id);
    if (retry_ms > 0)
        evbuffer_add_printf(chunk, "retry: %u\n", retry_ms);
    if (message.length > 0) {
        evbuffer_add_printf(chunk, "event: message\ndata: ");
        CHECK(evbuffer_add(chunk, message.data, message.length) == 0);
        evbuffer_add_printf(chunk, "\n\n");
    } else {
        evbuffer_add_printf(chunk, "data:\n\n");
    }
    send_chunk(reply, chunk);
    evbuffer_free(chunk);
}

void http_reply_end(struct http_reply *reply)
{
    struct mcp_http *http = reply->http;
    release_connection(reply);
    if (reply->streaming)
        evhttp_send_reply_end(reply->request);
    else
        evhttp_send_reply(reply->request, 200, NULL, NULL);
    http_reply_free(reply);
    http_check_end(http);
}
