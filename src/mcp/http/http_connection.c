// Connections of the HTTP transport: from accept to close, their limits and time-outs.
//
// A connection reads one request at a time. What a client sends ahead waits in its buffer, up to a
// limit; it is still read while a request is worked on, so that a close is noticed. When there are
// too many connections, those that have been silent longest make room: clients that connect and
// send nothing, or a byte now and then, keep nobody out.
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/memory.h"
#include "mcp/http/http.h"

// A connection that works counts for its client, too.
static void count_busy(struct http_connection *connection, int step)
{
    if (connection->phase != CONNECTION_BUSY)
        return;
    connection->http->busy_count += (size_t)step;
    if (connection->client)
        connection->client->holder->busy_count += (size_t)step;
}

static void http_connection_free(struct http_connection *connection)
{
    struct mcp_http *http = connection->http;
    TAILQ_REMOVE(&http->connections, connection, link);
    http->connection_count--;
    count_busy(connection, -1);
    // Freeing the buffer would close the socket only after this turn of the loop, and a connection
    // that waits for its descriptor would fail once more.
    int fd = bufferevent_getfd(connection->buffer);
    bufferevent_setfd(connection->buffer, -1);
    bufferevent_free(connection->buffer);
    close(fd);
    http_parser_release(&connection->parser);
    memory_free(connection);
    if (!http->ending)
        evconnlistener_enable(http->listener);
}

void http_connection_free_all(struct mcp_http *http)
{
    while (!TAILQ_EMPTY(&http->connections))
        http_connection_free(TAILQ_FIRST(&http->connections));
}

static void set_phase(struct http_connection *connection, int phase)
{
    count_busy(connection, -1);
    connection->phase = phase;
    count_busy(connection, 1);
    connection->since_ms = clock_now_ms();
}

static void set_timeouts(struct http_connection *connection, int read_s)
{
    struct timeval reading = {.tv_sec = read_s}, writing = {.tv_sec = HTTP_WRITE_S};
    bufferevent_set_timeouts(connection->buffer, read_s > 0 ? &reading : NULL, &writing);
}

static size_t unsent(const struct http_connection *connection)
{
    return evbuffer_get_length(bufferevent_get_output(connection->buffer));
}

// --- the end of a connection ---------------------------------------------------------------------

// Input is read and dropped until the client closes: closing first would reset the connection
// before the client has read the answer.
static void begin_close(struct http_connection *connection)
{
    set_phase(connection, CONNECTION_CLOSING);
    set_timeouts(connection, HTTP_SILENCE_S);
    struct evbuffer *input = bufferevent_get_input(connection->buffer);
    evbuffer_drain(input, evbuffer_get_length(input));
    if (unsent(connection) == 0)
        shutdown(bufferevent_getfd(connection->buffer), SHUT_WR);
}

static void refuse(struct http_connection *connection, const struct refusal *refusal)
{
    http_write_refusal(bufferevent_get_output(connection->buffer), refusal);
    mcp_metric_add(connection->http->refused_counter, 1);
    begin_close(connection);
}

// --- input ---------------------------------------------------------------------------------------

static bool let_in(struct http_connection *connection, const struct http_request *request,
                   struct refusal *refusal)
{
    return access_check(connection->http, request, &connection->client, refusal);
}

static void begin_body(struct http_connection *connection)
{
    const struct http_request *request = connection->parser.request;
    struct refusal refusal;
    struct evbuffer *input = bufferevent_get_input(connection->buffer);
    if (!let_in(connection, request, &refusal))
        refuse(connection, &refusal);
    else if (request->wants_go && evbuffer_get_length(input) == 0)
        evbuffer_add_printf(bufferevent_get_output(connection->buffer),
                            "HTTP/1.1 100 Continue\r\n\r\n");
}

static void begin_work(struct http_connection *connection)
{
    struct http_request *request = http_parser_take(&connection->parser);
    struct refusal refusal;
    bool is_refused = !request->has_body && !let_in(connection, request, &refusal);
    set_phase(connection, CONNECTION_BUSY);
    set_timeouts(connection, 0);
    struct http_reply *reply = http_reply_open(connection, request);
    connection->reply = reply;
    if (is_refused)
        http_reply_refuse(reply, &refusal);
    else
        http_handle_request(connection->http, reply);
}

static void read_piece(struct http_connection *connection, struct evbuffer *input)
{
    if (http_parser_is_empty(&connection->parser)) {
        connection->since_ms = clock_now_ms();
        set_timeouts(connection, HTTP_SILENCE_S);
    }
    struct evbuffer_iovec piece;
    evbuffer_peek(input, -1, NULL, &piece, 1);
    size_t used;
    enum http_progress progress =
        http_parser_feed(&connection->parser, (struct span){piece.iov_base, piece.iov_len}, &used);
    evbuffer_drain(input, used);
    switch (progress) {
    case HTTP_MORE: break;
    case HTTP_HEAD_IN: begin_body(connection); break;
    case HTTP_WHOLE: begin_work(connection); break;
    case HTTP_REFUSED: refuse(connection, &connection->parser.refusal); break;
    }
}

static void on_read(struct bufferevent *buffer, void *data)
{
    struct http_connection *connection = data;
    struct evbuffer *input = bufferevent_get_input(buffer);
    // A client that sends requests and reads no answers waits.
    while (connection->phase == CONNECTION_READING && evbuffer_get_length(input) > 0 &&
           unsent(connection) <= HTTP_QUEUE_BYTES)
        read_piece(connection, input);
    if (connection->phase == CONNECTION_CLOSING)
        evbuffer_drain(input, evbuffer_get_length(input));
}

// Everything is written.
static void on_write(struct bufferevent *buffer, void *data)
{
    struct http_connection *connection = data;
    struct mcp_http *http = connection->http;
    if (connection->phase != CONNECTION_CLOSING)
        on_read(buffer, data);
    else if (connection->input_ended)
        http_connection_free(connection);
    else
        shutdown(bufferevent_getfd(buffer), SHUT_WR);
    http_check_end(http);
}

static void on_event(struct bufferevent *buffer, short what, void *data)
{
    (void)buffer;
    struct http_connection *connection = data;
    struct http_reply *reply = connection->reply;
    connection->input_ended = what & BEV_EVENT_EOF;
    if (connection->input_ended && connection->phase != CONNECTION_BUSY && unsent(connection) > 0) {
        begin_close(connection);
        return;
    }
    http_connection_free(connection);
    if (reply)
        http_reply_lose_connection(reply);
}

void http_connection_next(struct http_connection *connection, bool closes)
{
    connection->reply = NULL;
    if (closes) {
        begin_close(connection);
        return;
    }
    set_phase(connection, CONNECTION_READING);
    set_timeouts(connection, HTTP_KEEP_ALIVE_S);
    if (evbuffer_get_length(bufferevent_get_input(connection->buffer)) > 0)
        bufferevent_trigger(connection->buffer, EV_READ,
                            BEV_TRIG_IGNORE_WATERMARKS | BEV_TRIG_DEFER_CALLBACKS);
}

// --- accept --------------------------------------------------------------------------------------

// Closes the connection that has been of least use; false when all of them work or are younger.
static bool make_room(struct mcp_http *http, int64_t age_ms)
{
    struct http_connection *connection, *victim = NULL;
    int64_t latest = clock_now_ms() - age_ms;
    TAILQ_FOREACH (connection, &http->connections, link) {
        if (connection->phase == CONNECTION_BUSY || connection->since_ms > latest)
            continue;
        bool is_worse =
            !victim || (victim->client && !connection->client) ||
            (!victim->client == !connection->client && connection->since_ms < victim->since_ms);
        if (is_worse)
            victim = connection;
    }
    if (victim)
        http_connection_free(victim);
    return victim != NULL;
}

void http_connection_accept(struct evconnlistener *listener, evutil_socket_t fd,
                            struct sockaddr *address, int length, void *data)
{
    (void)address;
    (void)length;
    struct mcp_http *http = data;
    if (http->socket_path && !http_socket_check_peer(fd)) {
        close(fd);
        return;
    }
    if (http->connection_count >= http->max_connections) {
        bool is_full = http->connection_count + 1 >= http->max_connections * 2;
        make_room(http, is_full ? 0 : HTTP_YOUNG_MS);
    }
    struct http_connection *connection = memory_alloc_zero(sizeof(*connection));
    connection->http = http;
    connection->flow = ++http->last_flow;
    connection->since_ms = clock_now_ms();
    connection->buffer = bufferevent_socket_new(evconnlistener_get_base(listener), fd, 0);
    CHECK(connection->buffer);
    http_parser_init(&connection->parser, MCP_MESSAGE_LIMIT);
    int on = 1;
    if (!http->socket_path)
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    bufferevent_setcb(connection->buffer, on_read, on_write, on_event, connection);
    bufferevent_setwatermark(connection->buffer, EV_READ, 0, HTTP_PIPELINE_BYTES);
    set_timeouts(connection, HTTP_SILENCE_S);
    bufferevent_enable(connection->buffer, EV_READ | EV_WRITE);
    TAILQ_INSERT_TAIL(&http->connections, connection, link);
    // When all connections work, new ones are told so; when even those run out, clients wait in
    // the kernel's queue.
    if (++http->connection_count >= http->max_connections * 2)
        evconnlistener_disable(listener);
}

// Out of descriptors: the connection can be neither accepted nor refused. Where no other makes
// room, it waits in the kernel's queue until the timer enables the listener again.
void http_connection_accept_failed(struct evconnlistener *listener, void *data)
{
    struct mcp_http *http = data;
    int cause = errno;
    int64_t now = clock_now_ms();
    if (http->accept_warned_ms == 0 || now - http->accept_warned_ms > HTTP_ACCEPT_WARN_MS) {
        log_warning("cannot accept a connection: %s", strerror(cause));
        http->accept_warned_ms = now;
    }
    if (!make_room(http, HTTP_YOUNG_MS))
        evconnlistener_disable(listener);
}

static bool takes_too_long(const struct http_connection *connection, int64_t now)
{
    int64_t age = now - connection->since_ms;
    switch (connection->phase) {
    case CONNECTION_BUSY: return false;
    case CONNECTION_CLOSING: return age > HTTP_REQUEST_MS;
    case CONNECTION_READING: break;
    }
    if (http_parser_is_empty(&connection->parser))
        return connection->http->ending && unsent(connection) == 0;
    return age > HTTP_REQUEST_MS;
}

void http_connection_sweep(struct mcp_http *http)
{
    int64_t now = clock_now_ms();
    struct http_connection *connection, *next;
    for (connection = TAILQ_FIRST(&http->connections); connection; connection = next) {
        next = TAILQ_NEXT(connection, link);
        if (takes_too_long(connection, now))
            http_connection_free(connection);
    }
    if (http->listener && http->connection_count < http->max_connections * 2 && !http->ending)
        evconnlistener_enable(http->listener);
}
