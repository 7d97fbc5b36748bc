// POST /mcp: one message or batch. The form of the answer is decided late: plain JSON if the
// response comes first, server-sent events if a notification precedes it or it takes five seconds.
#include "base/assert.h"
#include "base/clock.h"
#include "base/memory.h"
#include "mcp/http/http.h"

static struct http_exchange *upcast(struct exchange *exchange)
{
    return (struct http_exchange *)exchange;
}

static void post_free(struct http_exchange *post)
{
    TAILQ_REMOVE(&post->http->exchanges, post, link);
    if (post->sse_timer)
        event_free(post->sse_timer);
    exchange_release(&post->base);
    memory_free(post);
}

// --- the way back --------------------------------------------------------------------------------

static void start_stream(struct http_exchange *post, unsigned retry_ms)
{
    if (post->session)
        post->stream = stream_new(post->session, post->reply, retry_ms);
    else
        http_reply_stream(post->reply);
}

static bool is_streaming(const struct http_exchange *post)
{
    return post->stream || (post->reply && post->reply->streaming);
}

static void send_event(struct http_exchange *post, struct span message)
{
    if (post->stream)
        stream_send(post->stream, message);
    else if (post->reply)
        http_reply_event(post->reply, NULL, 0, message);
}

static void post_notify(struct exchange *exchange, struct span message)
{
    struct http_exchange *post = upcast(exchange);
    if (!is_streaming(post) && post->reply)
        start_stream(post, SSE_RETRY_MS);
    send_event(post, message);
}

static void send_json(struct http_exchange *post, const struct span *messages, size_t count,
                      int status)
{
    struct http_reply *reply = post->reply;
    if (post->opens_session && post->session && post->session->peer.initialized) {
        http_session_sign(post->session);
        http_reply_add_header(reply, "Mcp-Session-Id", post->session->id);
    }
    if (!post->base.is_batch) {
        http_reply_send(reply, status, "application/json", messages, count);
        return;
    }
    struct span parts[2 * MCP_BATCH_MAX + 1];
    size_t used = 0;
    for (size_t i = 0; i < count; i++) {
        parts[used++] = i == 0 ? SPAN("[") : SPAN(",");
        parts[used++] = messages[i];
    }
    parts[used++] = SPAN("]");
    http_reply_send(reply, status, "application/json", parts, count > 0 ? used : 0);
}

static void post_write(struct exchange *exchange, const struct span *messages, size_t count,
                       int status)
{
    struct http_exchange *post = upcast(exchange);
    struct http_reply *reply = post->reply;
    struct http_session *opened = post->opens_session ? post->session : NULL;
    if (reply)
        reply->on_gone = NULL;
    if (!is_streaming(post) && count == 0 && status != 202 && reply)
        start_stream(post, SSE_RETRY_MS);  // cancelled: an empty stream without a response
    if (is_streaming(post)) {
        for (size_t i = 0; i < count; i++)
            send_event(post, messages[i]);
        if (post->stream)
            stream_finish(post->stream);
        else
            http_reply_end(reply);
    } else if (reply && http_reply_is_lost(reply)) {
        http_reply_end(reply);
    } else if (reply) {
        send_json(post, messages, count, status);
    }
    struct mcp_http *http = post->http;
    post_free(post);
    if (opened && !opened->peer.initialized)  // initialize was refused
        http_session_free(opened);
    http_check_end(http);
}

static const char *post_header(struct exchange *exchange, const char *name, size_t *ret_count)
{
    struct http_exchange *post = upcast(exchange);
    return http_request_field(post->reply->request, name, ret_count);
}

static void post_close_early(struct exchange *exchange, unsigned retry_ms)
{
    struct http_exchange *post = upcast(exchange);
    if (!post->session || !post->reply)
        return;
    if (!post->stream)
        start_stream(post, retry_ms);
    struct http_reply *reply = post->reply;
    reply->on_gone = NULL;
    post->reply = NULL;
    stream_detach(post->stream);
    http_reply_end(reply);
}

static const struct exchange_ops post_ops = {
    .notify = post_notify,
    .write = post_write,
    .header = post_header,
    .close_early = post_close_early,
};

// --- the client closes the connection ------------------------------------------------------------

static struct mcp_call *find_call(struct mcp_server *server, const struct exchange *exchange)
{
    struct mcp_call *call;
    TAILQ_FOREACH (call, &server->calls, link)
        if (call->exchange == exchange)
            return call;
    TAILQ_FOREACH (call, &server->listeners, link)
        if (call->exchange == exchange)
            return call;
    UNREACHABLE();
}

// 2026: closing the connection cancels the call. 2024: the work continues, the client may reconnect
// for the response.
static void on_post_gone(struct http_reply *reply)
{
    struct http_exchange *post = reply->owner;
    if (post->is_2026) {
        call_cancel(find_call(post->client->server, &post->base));
        return;
    }
    post->reply = NULL;
    if (post->stream)
        stream_detach(post->stream);
    http_reply_end(reply);
}

void exchange_detach_session(struct http_session *session)
{
    struct http_exchange *post;
    TAILQ_FOREACH (post, &session->http->exchanges, link) {
        if (post->session != session)
            continue;
        post->session = NULL;
        if (!post->stream)
            continue;
        TAILQ_REMOVE(&session->streams, post->stream, link);
        session->stream_count--;
        post->stream->session = NULL;
    }
}

void exchange_cancel_all(struct mcp_http *http)
{
    struct http_exchange *post;
    while ((post = TAILQ_FIRST(&http->exchanges)))
        call_cancel(find_call(post->client->server, &post->base));
}

static void on_sse_timer(evutil_socket_t fd, short what, void *data)
{
    (void)fd;
    (void)what;
    struct http_exchange *post = data;
    if (!is_streaming(post) && post->reply)
        start_stream(post, SSE_RETRY_MS);
}

// --- the way in ----------------------------------------------------------------------------------

static struct http_exchange *post_open(struct mcp_http *http, struct http_reply *reply)
{
    struct http_exchange *post = memory_alloc_zero(sizeof(*post));
    exchange_init(&post->base, &post_ops);
    post->http = http;
    post->client = reply->client;
    post->base.flow = reply->flow;
    post->reply = reply;
    reply->owner = post;
    reply->on_gone = on_post_gone;
    TAILQ_INSERT_TAIL(&http->exchanges, post, link);
    return post;
}

static void start_sse_timer(struct http_exchange *post)
{
    post->sse_timer = evtimer_new(post->http->server->base, on_sse_timer, post);
    CHECK(post->sse_timer);
    struct timeval delay = timeval_from_ms(SSE_AFTER_MS);
    evtimer_add(post->sse_timer, &delay);
}

static void refuse(struct http_exchange *post, const struct message *message, int status,
                   const char *text)
{
    bool has_id = message && message->kind == MESSAGE_REQUEST;
    dispatch_refuse(&post->base, status, has_id ? MESSAGE_ID_GIVEN : MESSAGE_ID_NULL,
                    has_id ? message->id : value_nil(), MCP_INVALID_REQUEST, text);
}

// The session that a message of the 2024 protocol belongs to; NULL when the message was refused.
static struct http_session *find_session(struct http_exchange *post, const struct message *message)
{
    bool given;
    struct http_session *session = http_session_find(post->client, post->reply->request, &given);
    if (session)
        return session;
    bool is_initialize = message && message->kind == MESSAGE_REQUEST &&
                         span_equal_text(message->method, "initialize");
    if (given) {
        refuse(post, message, 404, "Unknown or expired session: send initialize");
    } else if (!is_initialize) {
        refuse(post, message, 400, "Mcp-Session-Id header required");
    } else {
        session = http_session_new(post->client);
        if (!session)
            refuse(post, message, 503, "Too many sessions");
        post->opens_session = true;
    }
    return session;
}

static void dispatch_in_session(struct http_exchange *post, struct region *region, value whole,
                                const struct message *message)
{
    struct mcp_server *server = post->client->server;
    struct http_session *session = find_session(post, message);
    if (!session) {  // refused, and the exchange is gone
        server_region_release(server, region);
        return;
    }
    post->session = session;
    post->base.flow = session->flow;
    start_sse_timer(post);
    if (message)
        dispatch_2024(server, &post->base, &post->session->peer, region, message);
    else
        dispatch_batch(server, &post->base, &post->session->peer, region, whole);
}

static void dispatch_single(struct http_exchange *post, struct region *region, value whole)
{
    struct mcp_server *server = post->client->server;
    struct message message = message_classify(whole);
    const char *version = http_request_field(post->reply->request, "MCP-Protocol-Version", NULL);
    switch (protocol_choose(&message, version)) {
    case PROTOCOL_2026:
        post->is_2026 = true;
        start_sse_timer(post);
        dispatch_2026(server, &post->base, NULL, region, &message);
        return;
    case PROTOCOL_2024: dispatch_in_session(post, region, whole, &message); return;
    case PROTOCOL_HEADER_CONFLICT:
        dispatch_refuse(&post->base, 400, MESSAGE_ID_GIVEN, message.id, MCP_HEADER_MISMATCH,
                        "Header mismatch: initialize belongs to the versions before 2026-07-28");
        server_region_release(server, region);
        return;
    }
}

void post_handle(struct mcp_http *http, struct http_reply *reply)
{
    struct http_exchange *post = post_open(http, reply);
    struct buffer *body = &reply->request->body;
    const char *version = http_request_field(reply->request, "MCP-Protocol-Version", NULL);
    enum version ignored;
    bool is_2024 = !version || version_find_2024(span_from(version), &ignored);
    value whole;
    struct region *region =
        dispatch_read(post->client->server, &post->base,
                      is_2024 ? MESSAGE_ID_NULL : MESSAGE_ID_ABSENT, buffer_span(body), &whole);
    if (!region)
        return;
    buffer_release(body);
    if (value_is_vector(whole))
        dispatch_in_session(post, region, whole, NULL);
    else
        dispatch_single(post, region, whole);
}
