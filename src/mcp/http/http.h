// Private to the HTTP transport: the server, connections, replies, sessions and their streams.
//
//   connection  one TCP connection, from accept to close: limits and time-outs
//   reply       the answer to one HTTP request, JSON or SSE; notified when the client closes
//   session     a session of the 2024 protocol (Mcp-Session-Id): a peer and its streams
//   stream      the events of one SSE stream of a session, kept for clients that reconnect
#pragma once

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/listener.h>

#include "mcp/http/http_carry.h"
#include "mcp/http/http_parser.h"
#include "mcp/mcp_internal.h"

enum {
    HTTP_SILENCE_S = 10,      // while a request is being sent
    HTTP_REQUEST_MS = 40000,  // for all of it: 10 s header, 30 s body
    HTTP_KEEP_ALIVE_S = 60,
    HTTP_WRITE_S = 30,
    HTTP_CONNECTIONS = 256,
    HTTP_QUEUE_BYTES = 1 << 20,      // unread bytes of a stream, then it is closed
    HTTP_PIPELINE_BYTES = 64 << 10,  // read ahead of the request that is worked on
    HTTP_BACKLOG = 512,
    HTTP_YOUNG_MS = 200,  // a connection has this long to send its request before it makes room
    HTTP_ACCEPT_WARN_MS = 10000,
    SSE_AFTER_MS = 5000,
    SSE_KEEP_ALIVE_S = 15,
    SSE_RETRY_MS = 1000,
    SESSION_ID_SIZE = 320,
    SESSION_RANDOM_BYTES = 16,
    SESSION_KEY_BYTES = 32,
    SESSIONS_ENDED = 64,  // whose signed ids are remembered, so that they stay ended
    SESSION_IDLE_S = 1800,
    SESSIONS = 256,
    WORKSPACES = 64,   // that clients name, beside their usual ones
    HTTP_RESERVE = 8,  // connections that are kept for each client, when there are several
    STREAM_EVENTS = 256,
    STREAM_BYTES = 1 << 20,
    STREAM_KEEP_MS = 60000,
    STREAMS_PER_SESSION = 64,
    HTTP_FEED_READERS = 16,  // of a holder
};

// --- http.c: the transport -----------------------------------------------------------------------

struct http_session;
struct http_exchange;
TAILQ_HEAD(http_session_list, http_session);

struct http_client {
    struct transport transport;  // of its server
    struct mcp_http *http;
    struct mcp_server *server;
    struct http_client *holder;  // the one of the token; itself, but for other workspaces
    char *name;
    char *workspace;  // real path, or NULL: the holder's usual one
    bool has_token;
    unsigned char token_hash[32];
    size_t session_count, busy_count, reader_count;  // of a holder, with all its workspaces
};

struct mcp_http {
    struct mcp_server *server;    // has the loop and the metrics of the transport
    struct http_client *clients;  // the holders first
    size_t client_count, holder_count, client_limit;
    mcp_http_workspace_fn *open_workspace;
    void *open_data;
    const struct mcp_http_router *router;          // who answers instead; NULL: this process
    unsigned char session_key[SESSION_KEY_BYTES];  // with a label
    char *session_label;                           // NULL: ids are not signed
    char *ended_sessions[SESSIONS_ENDED];
    size_t ended_count;               // ever
    struct evconnlistener *listener;  // NULL: requests are carried to it
    char *address;                    // NULL: a Unix socket
    char *socket_path;                // NULL: TCP
    char *url;
    char **allow_hosts;
    char **allow_origins;
    size_t max_connections, max_sessions;
    int64_t session_idle_ms;
    TAILQ_HEAD(http_connection_head, http_connection) connections;
    size_t connection_count, busy_count;
    uint64_t last_flow;
    int64_t accept_warned_ms;  // when the log last said that a connection could not be accepted
    TAILQ_HEAD(http_reply_head, http_reply) replies;
    TAILQ_HEAD(http_exchange_head, http_exchange) exchanges;
    TAILQ_HEAD(mcp_feed_reader_head, mcp_feed_reader) feed_readers;
    const struct mcp_http_page *pages;  // NULL: none
    struct http_session_list sessions;
    size_t session_count;
    struct event *sweep_timer;
    bool ending, calls_stopped, ended;
    int64_t deadline_ms;
    mcp_end_fn *on_end;
    void *on_end_data;
    struct mcp_metric *connections_gauge, *sessions_gauge, *calls_gauge, *refused_counter;
};

// A request that was let in and read to its end.
void http_handle_request(struct mcp_http *http, struct http_reply *reply);
// Without a listener.
struct mcp_http *http_start_detached(struct mcp_server *server, mcp_end_fn *on_end, void *data);
// Finishes the transport, from the event loop, when it is ending and has nothing left to write.
void http_check_end(struct mcp_http *http);

void http_shutdown(struct transport *transport, unsigned grace_ms);

// --- http_client.c: who asks, and in which workspace -----------------------------------------------

// `holder` NULL: it is one.
struct http_client *http_client_add(struct mcp_http *http, const struct mcp_http_client *given,
                                    struct http_client *holder);
// The client of the holder for the workspace that the request names. False: refused.
bool http_client_choose(struct http_client *holder, const struct http_request *request,
                        struct http_client **ret_client, struct refusal *refusal);

// --- http_connection.c: TCP connections ----------------------------------------------------------

struct http_connection {
    TAILQ_ENTRY(http_connection) link;
    struct mcp_http *http;
    struct bufferevent *buffer;
    enum {
        CONNECTION_READING,  // a request, or waiting for one
        CONNECTION_BUSY,     // a request is worked on
        CONNECTION_CLOSING,  // the last answer is being written, input is dropped
    } phase;
    int64_t since_ms;  // of the phase; while reading: of the request's first byte
    bool input_ended;  // the client has sent all it will
    uint64_t flow;
    struct http_client *client;  // who sent the latest request that was let in, or NULL
    struct http_parser parser;
    struct http_reply *reply;  // of the request that is worked on
};

void http_connection_accept(struct evconnlistener *listener, evutil_socket_t fd,
                            struct sockaddr *address, int length, void *data);  // data: mcp_http
void http_connection_accept_failed(struct evconnlistener *listener, void *data);
// The request is answered; the next one may follow.
void http_connection_next(struct http_connection *connection, bool closes);
// Closes connections that take too long.
void http_connection_sweep(struct mcp_http *http);
void http_connection_free_all(struct mcp_http *http);

// --- http_socket.c: Unix sockets -----------------------------------------------------------------

// Listens for processes of the same user, and root. False with a message.
bool http_socket_bind(struct mcp_http *http, const char *path, struct error *error);
// Does the process at the other end belong to this user, or to root?
bool http_socket_check_peer(evutil_socket_t fd);

// --- http_access.c: who may ask, and for what ----------------------------------------------------

bool access_is_host_name(const char *text);  // as in a Host header, without a port
// False: refused. Checks Host, Origin, target, token and method, before the body is read.
bool access_check(struct mcp_http *http, const struct http_request *request,
                  struct http_client **ret_client, struct refusal *refusal);
bool access_check_content(const struct http_request *request, struct refusal *refusal);

// --- http_reply.c: answers to HTTP requests ------------------------------------------------------

struct http_reply {
    TAILQ_ENTRY(http_reply) link;
    struct mcp_http *http;
    struct http_request *request;        // owned
    struct http_connection *connection;  // NULL: the client closed it, or:
    struct mcp_http_carrier *carrier;    // the answer goes there
    uint64_t flow;
    struct http_client *client;
    struct buffer headers;  // more headers of the answer
    bool streaming;
    void (*on_gone)(struct http_reply *reply);  // never called from http_reply_*()
    void (*on_carried_gone)(void *data);
    void *owner;
    struct event *keep_alive;
};

struct http_reply *http_reply_open(struct http_connection *connection,
                                   struct http_request *request);
struct http_reply *http_reply_open_carried(struct mcp_http *http, struct http_request *request,
                                           struct mcp_http_carrier *carrier);
// Nobody waits for the answer any more.
bool http_reply_is_lost(const struct http_reply *reply);
void http_reply_lose_connection(struct http_reply *reply);
void http_reply_add_header(struct http_reply *reply, const char *name, const char *text);
// Writes the whole answer of a request that is not read any further.
void http_write_refusal(struct evbuffer *output, const struct refusal *refusal);
// Each of the next three ends the reply and frees it.
void http_reply_send(struct http_reply *reply, int status, const char *content_type,
                     const struct span *parts, size_t count);
void http_reply_refuse(struct http_reply *reply, const struct refusal *refusal);
void http_reply_end(struct http_reply *reply);
void http_reply_stream(struct http_reply *reply);  // starts the SSE answer
// id may be NULL; retry_ms 0 = none. An empty message makes an event without content.
void http_reply_event(struct http_reply *reply, const char *id, unsigned retry_ms,
                      struct span message);
void http_reply_write(struct http_reply *reply, struct span event);  // one that is made already

// --- http_session.c: sessions of the 2024 protocol and their streams -----------------------------

struct stored_event {
    STAILQ_ENTRY(stored_event) link;
    unsigned number;
    size_t length;
    char text[];
};

struct stream {
    TAILQ_ENTRY(stream) link;      // session->streams
    struct http_session *session;  // NULL once the session is gone
    unsigned id;                   // 0 = the GET stream
    unsigned next_number;
    unsigned sent;  // number of the latest event that was sent
    bool has_ids;
    bool finished;
    int64_t finished_ms;
    struct http_reply *reply;  // NULL while no client listens
    STAILQ_HEAD(stored_event_head, stored_event) events;
    size_t event_count, event_bytes;
};

struct http_session {
    struct peer peer;  // first
    struct http_client *client;
    uint64_t flow;
    bool is_used;  // after initialize
    TAILQ_ENTRY(http_session) link;
    struct mcp_http *http;
    char id[SESSION_ID_SIZE];
    int64_t used_ms;
    unsigned next_stream;
    struct stream *get_stream;
    TAILQ_HEAD(stream_head, stream) streams;
    size_t stream_count;
};

struct http_session *http_session_new(struct http_client *client);  // NULL: too many
void http_session_free(struct http_session *session);
// The client has ended it.
void http_session_end(struct http_session *session);
// Initialize has succeeded: the session gets the id that is signed.
void http_session_sign(struct http_session *session);
struct http_session *http_session_find(struct http_client *client,
                                       const struct http_request *request, bool *ret_given);
void http_session_sweep(struct mcp_http *http);
void http_session_handle_get(struct http_session *session, struct http_reply *reply,
                             const char *last_event_id);

// --- http_session_id.c: signed ids ---------------------------------------------------------------

// The session is initialized.
void session_id_write(const struct http_session *session, char id[SESSION_ID_SIZE]);
// What an id says of a session. False: it is not signed, or of another workspace.
bool session_id_read(const struct mcp_http *http, const char *id, struct peer *peer);

// --- http_session.c: streams ---------------------------------------------------------------------

struct stream *stream_new(struct http_session *session, struct http_reply *reply,
                          unsigned retry_ms);
void stream_send(struct stream *stream, struct span message);
void stream_finish(struct stream *stream);  // the stream may be gone afterwards
void stream_detach(struct stream *stream);  // its connection is closed; it may be resumed

// --- http_feed.c: events and the page, beside the protocol ---------------------------------------

void http_feed_open(struct http_reply *reply);
void http_feed_close_all(struct mcp_http *http);
const struct mcp_http_page *http_page_find(const struct mcp_http *http, const char *path);
void http_page_send(struct http_reply *reply, const struct mcp_http_page *page);

// --- http_post.c: exchanges opened by POST -------------------------------------------------------

struct http_exchange {
    struct exchange base;
    TAILQ_ENTRY(http_exchange) link;
    struct mcp_http *http;
    struct http_client *client;
    struct http_session *session;  // NULL: 2026, or the session was deleted
    struct http_reply *reply;      // NULL: the client is gone, or the stream serves it
    struct stream *stream;
    bool is_2026;
    bool opens_session;
    struct event *sse_timer;  // when it fires, the answer becomes a stream
};

void post_handle(struct mcp_http *http, struct http_reply *reply);
void exchange_detach_session(struct http_session *session);
void exchange_cancel_all(struct mcp_http *http);
