// Connections of the HTTP transport: limits, time-outs and early refusals.
//
// evhttp stops reading while a request is worked on, so it would not notice that the client has
// closed the connection. We enable reading again, but without evhttp's read callback, which ends
// the process when bytes arrive in that state. Input that a client sends ahead stays in the buffer,
// up to a limit, until evhttp asks for it.
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include "base/assert.h"
#include "base/clock.h"
#include "base/memory.h"
#include "mcp/http/http.h"

// Answers in place of evhttp, then reads and discards the rest: closing at once would reset the
// connection before the client has read the answer.
static void refuse_early(struct http_connection *connection, const struct refusal *refusal)
{
    CLEANUP_BUFFER struct buffer body, answer;
    buffer_init(&body, 4096);
    buffer_init(&answer, 4096);
    refusal_write(refusal, &body);
    buffer_append_format(&answer,
                         "HTTP/1.1 %d Refused\r\nContent-Type: application/json\r\n"
                         "Content-Length: %zu\r\nConnection: close\r\n\r\n",
                         refusal->status, body.length);
    buffer_append_span(&answer, buffer_span(&body));
    int fd = bufferevent_getfd(connection->buffer);
    (void)!send(fd, answer.data, answer.length, MSG_DONTWAIT | MSG_NOSIGNAL);
    shutdown(fd, SHUT_WR);
    connection->phase = CONNECTION_DRAINING;
    mcp_metric_add(connection->http->refused_counter, 1);
}

// evhttp has freed its connection: it removed its callbacks from the buffer.
static bool http_connection_is_closed(const struct http_connection *connection)
{
    bufferevent_event_cb on_event;
    bufferevent_getcb(connection->buffer, NULL, NULL, &on_event, NULL);
    return !on_event;
}

static void on_input(struct evbuffer *buffer, const struct evbuffer_cb_info *info, void *data)
{
    struct http_connection *connection = data;
    struct refusal refusal;
    if (info->n_added == 0)
        return;
    if (http_connection_is_closed(connection)) {  // the sweep will close the socket
        bufferevent_disable(connection->buffer, EV_READ);
        return;
    }
    if (connection->phase == CONNECTION_IDLE) {
        connection->phase = CONNECTION_READING;
        connection->since_ms = clock_now_ms();
    }
    if (connection->phase == CONNECTION_READING && !connection->head_seen) {
        enum head_check check = access_check_head(buffer, &refusal);
        connection->head_seen = check != HEAD_PARTIAL;
        if (check == HEAD_REFUSED)
            refuse_early(connection, &refusal);
    }
    if (connection->phase == CONNECTION_DRAINING)
        evbuffer_drain(buffer, evbuffer_get_length(buffer));
}

static void http_connection_free(struct mcp_http *http, struct http_connection *connection)
{
    TAILQ_REMOVE(&http->connections, connection, link);
    http->connection_count--;
    evbuffer_remove_cb(bufferevent_get_input(connection->buffer), on_input, connection);
    bufferevent_decref(connection->buffer);
    memory_free(connection);
}

void http_connection_sweep(struct mcp_http *http)
{
    int64_t now = clock_now_ms();
    struct http_connection *connection, *next;
    for (connection = TAILQ_FIRST(&http->connections); connection; connection = next) {
        next = TAILQ_NEXT(connection, link);
        if (http_connection_is_closed(connection)) {
            http_connection_free(http, connection);
            continue;
        }
        bool flushed = evbuffer_get_length(bufferevent_get_output(connection->buffer)) == 0;
        bool too_long = ((connection->phase == CONNECTION_READING ||
                          connection->phase == CONNECTION_DRAINING) &&
                         now - connection->since_ms > HTTP_REQUEST_MS) ||
                        (connection->phase == CONNECTION_IDLE && flushed &&
                         (now - connection->since_ms > 1000L * HTTP_KEEP_ALIVE_S || http->ending));
        if (too_long)  // evhttp sees the end and frees the connection
            shutdown(bufferevent_getfd(connection->buffer), SHUT_RDWR);
    }
    struct evconnlistener *listener = evhttp_bound_socket_get_listener(http->bound);
    if (http->connection_count < http->max_connections * 2 && !http->ending)
        evconnlistener_enable(listener);
}

struct bufferevent *http_connection_new_buffer(struct event_base *base, void *data)
{
    struct mcp_http *http = data;
    // The buffer closes the socket after it has removed its events. evhttp would close it first,
    // and the events left in the buffer would then act on the next file with this descriptor.
    struct bufferevent *buffer = bufferevent_socket_new(base, -1, BEV_OPT_CLOSE_ON_FREE);
    CHECK(buffer);
    // Connections that closed since the last sweep must not count.
    struct http_connection *connection, *next;
    for (connection = TAILQ_FIRST(&http->connections); connection; connection = next) {
        next = TAILQ_NEXT(connection, link);
        if (http_connection_is_closed(connection))
            http_connection_free(http, connection);
    }
    connection = memory_alloc_zero(sizeof(*connection));
    connection->http = http;
    connection->buffer = buffer;
    connection->since_ms = clock_now_ms();
    connection->refused = http->connection_count >= http->max_connections;
    bufferevent_incref(buffer);
    evbuffer_add_cb(bufferevent_get_input(buffer), on_input, connection);
    TAILQ_INSERT_TAIL(&http->connections, connection, link);
    // Refusals need connections too; when even those run out, clients wait in the kernel's queue.
    if (++http->connection_count >= http->max_connections * 2)
        evconnlistener_disable(evhttp_bound_socket_get_listener(http->bound));
    return buffer;
}

struct http_connection *http_connection_find(struct mcp_http *http, struct evhttp_request *request)
{
    struct bufferevent *buffer =
        evhttp_connection_get_bufferevent(evhttp_request_get_connection(request));
    struct http_connection *connection;
    TAILQ_FOREACH (connection, &http->connections, link)
        if (connection->buffer == buffer)
            return connection;
    UNREACHABLE();
}

void http_connection_disable_all(struct mcp_http *http)
{
    struct http_connection *connection;
    TAILQ_FOREACH (connection, &http->connections, link)
        if (!http_connection_is_closed(connection))
            bufferevent_disable(connection->buffer, EV_READ | EV_WRITE);
}

void http_connection_free_all(struct mcp_http *http)
{
    while (!TAILQ_EMPTY(&http->connections))
        http_connection_free(http, TAILQ_FIRST(&http->connections));
}

// --- work on a request ---------------------------------------------------------------------------

static void set_timeouts(struct http_connection *connection, int read_s)
{
    struct timeval reading = {.tv_sec = read_s}, writing = {.tv_sec = HTTP_WRITE_S};
    bufferevent_set_timeouts(connection->buffer, read_s > 0 ? &reading : NULL, &writing);
}

void http_connection_set_busy(struct http_connection *connection)
{
    connection->phase = CONNECTION_BUSY;
    if (!connection->has_no_delay) {
        int on = 1;
        setsockopt(bufferevent_getfd(connection->buffer), IPPROTO_TCP, TCP_NODELAY, &on,
                   sizeof(on));
        connection->has_no_delay = true;
    }
    bufferevent_data_cb on_write;
    bufferevent_event_cb on_event;
    void *data;
    bufferevent_getcb(connection->buffer, NULL, &on_write, &on_event, &data);
    bufferevent_setcb(connection->buffer, NULL, on_write, on_event, data);
    bufferevent_setwatermark(connection->buffer, EV_READ, 0, HTTP_PIPELINE_BYTES);
    set_timeouts(connection, 0);
    bufferevent_enable(connection->buffer, EV_READ);
}

void http_connection_set_idle(struct http_connection *connection)
{
    bufferevent_setwatermark(connection->buffer, EV_READ, 0, 0);
    set_timeouts(connection, HTTP_KEEP_ALIVE_S);
    connection->phase = CONNECTION_IDLE;
    connection->since_ms = clock_now_ms();
    // evhttp may have read the beginning of a request that was sent ahead.
    connection->head_seen = evbuffer_get_length(bufferevent_get_input(connection->buffer)) > 0;
}
