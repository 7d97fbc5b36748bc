// Answers to HTTP requests, and the watch over the connections they travel on.
//
// evhttp stops reading while a request is worked on and so would not see the client leave. We
// switch reading on again, but without evhttp's read callback: it ends the process when bytes
// arrive in that state. What a client sends ahead stays in the buffer, up to a bound, until evhttp
// asks for it.
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include "base/assert.h"
#include "base/clock.h"
#include "base/memory.h"
#include "mcp/http/http.h"

// --- connections ---------------------------------------------------------------------------------

static void write_refusal(struct buffer *body, const struct refusal *refusal)
{
    jsonrpc_write_error(body, MESSAGE_ID_ABSENT, SPAN(""), MCP_INVALID_REQUEST,
                        span_from(refusal->message), SPAN(""));
}

// Answers in place of evhttp and reads on, for nothing: closing at once would take the answer from
// the client as well.
static void refuse_early(struct watch *watch, const struct refusal *refusal)
{
    CLEANUP_BUFFER struct buffer body, answer;
    buffer_init(&body, 4096);
    buffer_init(&answer, 4096);
    write_refusal(&body, refusal);
    buffer_append_format(&answer,
                         "HTTP/1.1 %d Refused\r\nContent-Type: application/json\r\n"
                         "Content-Length: %zu\r\nConnection: close\r\n\r\n",
                         refusal->status, body.length);
    buffer_append_span(&answer, buffer_span(&body));
    int fd = bufferevent_getfd(watch->buffer);
    (void)!send(fd, answer.data, answer.length, MSG_DONTWAIT | MSG_NOSIGNAL);
    shutdown(fd, SHUT_WR);
    watch->phase = WATCH_DRAINING;
    mcp_metric_add(watch->http->refused_counter, 1);
}

// evhttp has freed its connection: it took its callbacks off the buffer.
static bool watch_is_closed(const struct watch *watch)
{
    bufferevent_event_cb on_event;
    bufferevent_getcb(watch->buffer, NULL, NULL, &on_event, NULL);
    return !on_event;
}

static void on_input(struct evbuffer *buffer, const struct evbuffer_cb_info *info, void *data)
{
    struct watch *watch = data;
    struct refusal refusal;
    if (info->n_added == 0)
        return;
    if (watch_is_closed(watch)) {  // nobody reads any more, and the sweep closes the socket
        bufferevent_disable(watch->buffer, EV_READ);
        return;
    }
    if (watch->phase == WATCH_IDLE) {
        watch->phase = WATCH_READING;
        watch->since_ms = clock_now_ms();
    }
    if (watch->phase == WATCH_READING && !watch->head_seen) {
        enum head_check check = guard_check_head(buffer, &refusal);
        watch->head_seen = check != HEAD_PARTIAL;
        if (check == HEAD_REFUSED)
            refuse_early(watch, &refusal);
    }
    if (watch->phase == WATCH_DRAINING)
        evbuffer_drain(buffer, evbuffer_get_length(buffer));
}

static void watch_free(struct mcp_http *http, struct watch *watch)
{
    TAILQ_REMOVE(&http->watches, watch, link);
    http->watch_count--;
    evbuffer_remove_cb(bufferevent_get_input(watch->buffer), on_input, watch);
    bufferevent_decref(watch->buffer);
    memory_free(watch);
}

void watch_sweep(struct mcp_http *http)
{
    int64_t now = clock_now_ms();
    struct watch *watch, *next;
    for (watch = TAILQ_FIRST(&http->watches); watch; watch = next) {
        next = TAILQ_NEXT(watch, link);
        if (watch_is_closed(watch)) {
            watch_free(http, watch);
            continue;
        }
        bool flushed = evbuffer_get_length(bufferevent_get_output(watch->buffer)) == 0;
        bool too_long = ((watch->phase == WATCH_READING || watch->phase == WATCH_DRAINING) &&
                         now - watch->since_ms > HTTP_REQUEST_MS) ||
                        (watch->phase == WATCH_IDLE && flushed &&
                         (now - watch->since_ms > 1000L * HTTP_KEEP_ALIVE_S || http->ending));
        if (too_long)  // evhttp sees the end and frees the connection
            shutdown(bufferevent_getfd(watch->buffer), SHUT_RDWR);
    }
    struct evconnlistener *listener = evhttp_bound_socket_get_listener(http->bound);
    if (http->watch_count < http->max_connections * 2 && !http->ending)
        evconnlistener_enable(listener);
}

struct bufferevent *watch_new_buffer(struct event_base *base, void *data)
{
    struct mcp_http *http = data;
    // The buffer closes the socket, after its events. evhttp would do it while we keep the buffer, whose
    // events then stand in the way of whoever gets the same descriptor next.
    struct bufferevent *buffer = bufferevent_socket_new(base, -1, BEV_OPT_CLOSE_ON_FREE);
    CHECK(buffer);
    // Those that closed since the last sweep must not count.
    struct watch *watch, *next;
    for (watch = TAILQ_FIRST(&http->watches); watch; watch = next) {
        next = TAILQ_NEXT(watch, link);
        if (watch_is_closed(watch))
            watch_free(http, watch);
    }
    watch = memory_alloc_zero(sizeof(*watch));
    watch->http = http;
    watch->buffer = buffer;
    watch->since_ms = clock_now_ms();
    watch->refused = http->watch_count >= http->max_connections;
    bufferevent_incref(buffer);
    evbuffer_add_cb(bufferevent_get_input(buffer), on_input, watch);
    TAILQ_INSERT_TAIL(&http->watches, watch, link);
    // Refusals need connections too; when even those run out, the rest waits in the kernel's queue.
    if (++http->watch_count >= http->max_connections * 2)
        evconnlistener_disable(evhttp_bound_socket_get_listener(http->bound));
    return buffer;
}

struct watch *watch_find(struct mcp_http *http, struct evhttp_request *request)
{
    struct bufferevent *buffer =
        evhttp_connection_get_bufferevent(evhttp_request_get_connection(request));
    struct watch *watch;
    TAILQ_FOREACH (watch, &http->watches, link)
        if (watch->buffer == buffer)
            return watch;
    UNREACHABLE();
}

void watch_silence_all(struct mcp_http *http)
{
    struct watch *watch;
    TAILQ_FOREACH (watch, &http->watches, link)
        if (!watch_is_closed(watch))
            bufferevent_disable(watch->buffer, EV_READ | EV_WRITE);
}

void watch_free_all(struct mcp_http *http)
{
    while (!TAILQ_EMPTY(&http->watches))
        watch_free(http, TAILQ_FIRST(&http->watches));
}

// --- replies -------------------------------------------------------------------------------------

static void set_timeouts(struct watch *watch, int read_s)
{
    struct timeval reading = {.tv_sec = read_s}, writing = {.tv_sec = HTTP_WRITE_S};
    bufferevent_set_timeouts(watch->buffer, read_s > 0 ? &reading : NULL, &writing);
}

static void reply_free(struct reply *reply)
{
    TAILQ_REMOVE(&reply->http->replies, reply, link);
    if (reply->keep_alive)
        event_free(reply->keep_alive);
    memory_free(reply);
}

static void on_close(struct evhttp_connection *connection, void *data)
{
    (void)connection;
    struct reply *reply = data;
    reply->gone = true;
    if (reply->on_gone)
        reply->on_gone(reply);
}

struct reply *reply_open(struct mcp_http *http, struct evhttp_request *request)
{
    struct reply *reply = memory_alloc_zero(sizeof(*reply));
    reply->http = http;
    reply->request = request;
    reply->watch = watch_find(http, request);
    TAILQ_INSERT_TAIL(&http->replies, reply, link);

    struct watch *watch = reply->watch;
    watch->phase = WATCH_BUSY;
    if (!watch->tuned) {
        int on = 1;
        setsockopt(bufferevent_getfd(watch->buffer), IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
        watch->tuned = true;
    }
    bufferevent_data_cb on_write;
    bufferevent_event_cb on_event;
    void *data;
    bufferevent_getcb(watch->buffer, NULL, &on_write, &on_event, &data);
    bufferevent_setcb(watch->buffer, NULL, on_write, on_event, data);
    bufferevent_setwatermark(watch->buffer, EV_READ, 0, HTTP_PIPELINE_BYTES);
    set_timeouts(watch, 0);
    bufferevent_enable(watch->buffer, EV_READ);
    evhttp_connection_set_closecb(evhttp_request_get_connection(request), on_close, reply);
    return reply;
}

// Gives the connection back to evhttp; the request must be ended right after this.
static void hand_back(struct reply *reply)
{
    if (reply->gone)
        return;
    struct watch *watch = reply->watch;
    evhttp_connection_set_closecb(evhttp_request_get_connection(reply->request), NULL, NULL);
    bufferevent_setwatermark(watch->buffer, EV_READ, 0, 0);
    set_timeouts(watch, HTTP_KEEP_ALIVE_S);
    watch->phase = WATCH_IDLE;
    watch->since_ms = clock_now_ms();
    // Of a request sent ahead evhttp may have taken the beginning already.
    watch->head_seen = evbuffer_get_length(bufferevent_get_input(watch->buffer)) > 0;
    if (watch->refused || reply->http->ending)
        reply_add_header(reply, "Connection", "close");
}

void reply_add_header(struct reply *reply, const char *name, const char *text)
{
    evhttp_add_header(evhttp_request_get_output_headers(reply->request), name, text);
}

void reply_send(struct reply *reply, int status, const char *content_type, const struct span *parts,
                size_t count)
{
    struct mcp_http *http = reply->http;
    struct evbuffer *body = evbuffer_new();
    CHECK(body);
    hand_back(reply);
    if (evhttp_request_get_command(reply->request) != EVHTTP_REQ_HEAD)
        for (size_t i = 0; i < count; i++)
            CHECK(evbuffer_add(body, parts[i].data, parts[i].length) == 0);
    if (evbuffer_get_length(body) > 0)
        reply_add_header(reply, "Content-Type", content_type);
    evhttp_send_reply(reply->request, status, NULL, body);
    evbuffer_free(body);
    reply_free(reply);
    http_check_end(http);
}

void reply_refuse(struct reply *reply, const struct refusal *refusal)
{
    CLEANUP_BUFFER struct buffer body;
    buffer_init(&body, 4096);
    write_refusal(&body, refusal);
    if (refusal->header)
        reply_add_header(reply, refusal->header, refusal->header_value);
    mcp_metric_add(reply->http->refused_counter, 1);
    struct span text = buffer_span(&body);
    reply_send(reply, refusal->status, "application/json", &text, 1);
}

// --- server-sent events --------------------------------------------------------------------------

static void send_chunk(struct reply *reply, struct evbuffer *chunk)
{
    if (reply->gone)
        return;
    struct evbuffer *output = bufferevent_get_output(reply->watch->buffer);
    if (evbuffer_get_length(output) > HTTP_QUEUE_BYTES) {
        // Reads too slowly or not at all. The close comes back to us through the event loop.
        shutdown(bufferevent_getfd(reply->watch->buffer), SHUT_RDWR);
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

void reply_stream(struct reply *reply)
{
    reply->streaming = true;
    reply->keep_alive = evtimer_new(reply->http->server->base, on_silence, reply);
    CHECK(reply->keep_alive);
    if (reply->gone)
        return;
    reply_add_header(reply, "Content-Type", "text/event-stream");
    reply_add_header(reply, "Cache-Control", "no-cache, no-transform");
    reply_add_header(reply, "X-Accel-Buffering", "no");
    evhttp_send_reply_start(reply->request, 200, NULL);
    evtimer_add(reply->keep_alive, &(struct timeval){.tv_sec = SSE_KEEP_ALIVE_S});
}

void reply_event(struct reply *reply, const char *id, unsigned retry_ms, struct span message)
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

void reply_end(struct reply *reply)
{
    struct mcp_http *http = reply->http;
    hand_back(reply);
    if (reply->streaming)
        evhttp_send_reply_end(reply->request);
    else
        evhttp_send_reply(reply->request, 200, NULL, NULL);
    reply_free(reply);
    http_check_end(http);
}
