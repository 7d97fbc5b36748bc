// Sessions of the 2024 protocol and their streams. A session holds the result of initialize and
// nothing else. A stream keeps its latest events, so that a client whose connection broke can
// reconnect and receive the rest.
#include <sodium.h>

#include "base/assert.h"
#include "base/clock.h"
#include "base/memory.h"
#include "mcp/http/http.h"

// --- streams -------------------------------------------------------------------------------------

static void drop_first_event(struct stream *stream)
{
    struct stored_event *event = STAILQ_FIRST(&stream->events);
    STAILQ_REMOVE_HEAD(&stream->events, link);
    stream->event_count--;
    stream->event_bytes -= event->length;
    memory_free(event);
}

static void stream_free(struct stream *stream)
{
    if (stream->session) {
        if (stream->session->get_stream == stream) {
            stream->session->get_stream = NULL;
        } else {
            TAILQ_REMOVE(&stream->session->streams, stream, link);
            stream->session->stream_count--;
        }
    }
    while (!STAILQ_EMPTY(&stream->events))
        drop_first_event(stream);
    memory_free(stream);
}

static void format_event_id(const struct stream *stream, unsigned number, char text[32])
{
    snprintf(text, 32, "%u-%u", stream->id, number);
}

static struct stream *stream_alloc(struct http_session *session, unsigned id)
{
    struct stream *stream = memory_alloc_zero(sizeof(*stream));
    stream->session = session;
    stream->id = id;
    stream->next_number = 1;
    stream->has_ids = session->peer.version == VERSION_2025_11_25;
    STAILQ_INIT(&stream->events);
    return stream;
}

// In version 2025-11-25 the first event is empty: its id lets the client reconnect at once.
static void send_priming(struct stream *stream, unsigned retry_ms)
{
    char id[32];
    format_event_id(stream, 0, id);
    if (stream->has_ids)
        http_reply_event(stream->reply, id, retry_ms, SPAN(""));
}

struct stream *stream_new(struct http_session *session, struct http_reply *reply, unsigned retry_ms)
{
    struct stream *stream = stream_alloc(session, ++session->next_stream);
    TAILQ_INSERT_TAIL(&session->streams, stream, link);
    session->stream_count++;
    stream->reply = reply;
    http_reply_stream(reply);
    send_priming(stream, retry_ms);
    return stream;
}

static void store(struct stream *stream, unsigned number, struct span message)
{
    struct stored_event *event = memory_alloc(sizeof(*event) + message.length);
    event->number = number;
    event->length = message.length;
    memcpy(event->text, message.data, message.length);
    STAILQ_INSERT_TAIL(&stream->events, event, link);
    stream->event_count++;
    stream->event_bytes += message.length;
    while (stream->event_count > STREAM_EVENTS ||
           (stream->event_bytes > STREAM_BYTES && stream->event_count > 1))
        drop_first_event(stream);
}

static void send_numbered(struct stream *stream, unsigned number, struct span message)
{
    char id[32];
    format_event_id(stream, number, id);
    http_reply_event(stream->reply, stream->has_ids ? id : NULL, 0, message);
    if (number > stream->sent)
        stream->sent = number;
}

void stream_send(struct stream *stream, struct span message)
{
    unsigned number = stream->next_number++;
    // Without ids a client cannot resume: events are kept only for a GET stream that is not open.
    if (stream->has_ids || (stream->id == 0 && !stream->reply))
        store(stream, number, message);
    if (stream->reply)
        send_numbered(stream, number, message);
}

void stream_finish(struct stream *stream)
{
    stream->finished = true;
    stream->finished_ms = clock_now_ms();
    struct http_reply *reply = stream->reply;
    stream->reply = NULL;
    if (reply) {
        reply->on_gone = NULL;
        stream_free(stream);
        http_reply_end(reply);
    } else if (!stream->session || !stream->has_ids) {
        stream_free(stream);
    }
}

void stream_detach(struct stream *stream)
{
    stream->reply = NULL;
}

// The connection of a resumed stream or of the GET stream broke.
static void on_stream_gone(struct http_reply *reply)
{
    struct stream *stream = reply->owner;
    stream_detach(stream);
    http_reply_end(reply);
}

// Sends the events after number `after`; a finished stream then ends.
static void resume(struct stream *stream, struct http_reply *reply, unsigned after)
{
    stream->reply = reply;
    reply->owner = stream;
    reply->on_gone = on_stream_gone;
    http_reply_stream(reply);
    if (after == 0)
        send_priming(stream, SSE_RETRY_MS);
    struct stored_event *event;
    STAILQ_FOREACH (event, &stream->events, link)
        if (event->number > after)
            send_numbered(stream, event->number, (struct span){event->text, event->length});
    if (stream->finished)
        stream_finish(stream);
}

// --- GET -----------------------------------------------------------------------------------------

static void refuse_get(struct http_reply *reply, int status, const char *message)
{
    http_reply_refuse(reply, &(struct refusal){status, message, status == 405 ? "Allow" : NULL,
                                               "POST, GET, DELETE"});
}

static void resume_stream(struct http_session *session, struct http_reply *reply,
                          const char *last_event_id)
{
    unsigned id, number;
    int used = 0;
    struct stream *stream = NULL;
    if (sscanf(last_event_id, "%u-%u%n", &id, &number, &used) == 2 && last_event_id[used] == '\0') {
        if (id == 0 && session->get_stream) {
            stream = session->get_stream;
        } else {
            TAILQ_FOREACH (stream, &session->streams, link)
                if (stream->id == id)
                    break;
        }
    }
    // Clients accept 405 without an error: there is nothing to wait for.
    if (!stream || !stream->has_ids || (stream->finished && number + 1 >= stream->next_number)) {
        refuse_get(reply, 405, "There is nothing left on this stream");
        return;
    }
    if (stream->reply) {
        refuse_get(reply, 409, "This stream is already open");
        return;
    }
    resume(stream, reply, number);
}

void http_session_handle_get(struct http_session *session, struct http_reply *reply,
                             const char *last_event_id)
{
    if (last_event_id) {
        resume_stream(session, reply, last_event_id);
        return;
    }
    if (!session->get_stream)
        session->get_stream = stream_alloc(session, 0);
    struct stream *stream = session->get_stream;
    if (stream->reply) {
        refuse_get(reply, 409, "The stream of this session is already open");
        return;
    }
    resume(stream, reply, stream->sent);
}

// --- sessions ------------------------------------------------------------------------------------

static void peer_send(struct peer *peer, struct span message)
{
    struct http_session *session = (struct http_session *)peer;
    if (!session->get_stream)
        session->get_stream = stream_alloc(session, 0);
    stream_send(session->get_stream, message);
}

static bool is_idle(const struct http_session *session)
{
    if (session->peer.call_count > 0 || (session->get_stream && session->get_stream->reply))
        return false;
    const struct stream *stream;
    TAILQ_FOREACH (stream, &session->streams, link)
        if (stream->reply)
            return false;
    return true;
}

// Of the client with more sessions; then one that was opened and never used; then the oldest.
static bool goes_first(const struct http_session *a, const struct http_session *b)
{
    if (a->client->holder->session_count != b->client->holder->session_count)
        return a->client->holder->session_count > b->client->holder->session_count;
    return a->is_used != b->is_used ? b->is_used : a->used_ms < b->used_ms;
}

// A client that opens many sessions loses its own.
static bool make_room(struct mcp_http *http, const struct http_client *client)
{
    if (http->session_count < http->max_sessions)
        return true;
    struct http_session *session, *first = NULL;
    TAILQ_FOREACH (session, &http->sessions, link) {
        bool may_go = session->client->holder == client->holder ||
                      session->client->holder->session_count > client->holder->session_count;
        if (may_go && is_idle(session) && (!first || goes_first(session, first)))
            first = session;
    }
    if (first)
        http_session_free(first);
    return first != NULL;
}

static void make_random_id(struct http_session *session)
{
    unsigned char random[SESSION_RANDOM_BYTES];
    randombytes_buf(random, sizeof(random));
    sodium_bin2hex(session->id, sizeof(session->id), random, sizeof(random));
}

void http_session_sign(struct http_session *session)
{
    if (session->http->session_label)
        session_id_write(session, session->id);
}

struct http_session *http_session_new(struct http_client *client)
{
    struct mcp_http *http = client->http;
    if (!make_room(http, client))
        return NULL;
    struct http_session *session = memory_alloc_zero(sizeof(*session));
    make_random_id(session);
    session->http = http;
    session->used_ms = clock_now_ms();
    session->client = client;
    session->flow = ++http->last_flow;
    client->holder->session_count++;
    peer_init(&session->peer, client->server, peer_send);
    TAILQ_INIT(&session->streams);
    TAILQ_INSERT_TAIL(&http->sessions, session, link);
    http->session_count++;
    return session;
}

static void stream_close(struct stream *stream)
{
    struct http_reply *reply = stream->reply;
    stream_free(stream);
    if (!reply)
        return;
    reply->on_gone = NULL;
    http_reply_end(reply);
}

void http_session_free(struct http_session *session)
{
    struct mcp_http *http = session->http;
    exchange_detach_session(session);
    struct stream *stream;
    while ((stream = TAILQ_FIRST(&session->streams)))
        stream_close(stream);
    if (session->get_stream)
        stream_close(session->get_stream);
    peer_release(&session->peer);
    TAILQ_REMOVE(&http->sessions, session, link);
    http->session_count--;
    session->client->holder->session_count--;
    memory_free(session);
}

static bool has_ended(const struct mcp_http *http, const char *id)
{
    for (size_t i = 0; i < SESSIONS_ENDED && http->ended_sessions[i]; i++)
        if (strcmp(http->ended_sessions[i], id) == 0)
            return true;
    return false;
}

void http_session_end(struct http_session *session)
{
    struct mcp_http *http = session->http;
    if (http->session_label) {
        char **ended = &http->ended_sessions[http->ended_count++ % SESSIONS_ENDED];
        memory_free(*ended);
        *ended = memory_copy_string(session->id);
    }
    http_session_free(session);
}

// A session that another process has opened, or this one before it forgot it.
static struct http_session *go_on(struct http_client *client, const char *id)
{
    const struct mcp_http *http = client->http;
    struct peer known = {0};
    if (!http->session_label || has_ended(http, id) || !session_id_read(http, id, &known))
        return NULL;
    struct http_session *session = http_session_new(client);
    if (!session)
        return NULL;
    struct peer *peer = &session->peer;
    peer->version = known.version;
    peer->client_can = known.client_can;
    peer->structured = known.structured;
    peer->all_tools = known.all_tools;
    peer->log_level = known.log_level;
    peer->initialized = true;
    memcpy(peer->name, known.name, sizeof(peer->name));
    snprintf(session->id, sizeof(session->id), "%s", id);
    return session;
}

struct http_session *http_session_find(struct http_client *client,
                                       const struct http_request *request, bool *ret_given)
{
    size_t count;
    const char *id = http_request_field(request, "Mcp-Session-Id", &count);
    *ret_given = id != NULL;
    if (!id || count != 1)
        return NULL;
    size_t length = strlen(id);
    struct http_session *session;
    TAILQ_FOREACH (session, &client->http->sessions, link) {
        if (session->client == client && strlen(session->id) == length &&
            sodium_memcmp(session->id, id, length) == 0) {
            session->is_used = true;
            session->used_ms = clock_now_ms();
            return session;
        }
    }
    return go_on(client, id);
}

void http_session_sweep(struct mcp_http *http)
{
    int64_t now = clock_now_ms();
    struct http_session *session, *next_session;
    for (session = TAILQ_FIRST(&http->sessions); session; session = next_session) {
        next_session = TAILQ_NEXT(session, link);
        if (now - session->used_ms > http->session_idle_ms && is_idle(session)) {
            http_session_free(session);
            continue;
        }
        struct stream *stream, *next;
        for (stream = TAILQ_FIRST(&session->streams); stream; stream = next) {
            next = TAILQ_NEXT(stream, link);
            bool old = stream->finished && now - stream->finished_ms > STREAM_KEEP_MS;
            bool surplus = stream->finished && session->stream_count > STREAMS_PER_SESSION;
            if (!stream->reply && (old || surplus))
                stream_free(stream);
        }
    }
}
