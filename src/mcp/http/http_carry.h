// Requests that one process takes from its client and another one answers (docs/fleet.md): the first
// has the client's connection and carries, the second has the server. The transport knows nothing of
// the way between the two.
//
//   router   of the process with the connection: is given each request for the endpoint that was let
//            in, with the reply to be made
//   carrier  of the process with the server: is given the answer, in the pieces in which it is made
#pragma once

#include "mcp/mcp.h"

struct http_reply;

// --- the side of the connection ------------------------------------------------------------------

struct mcp_http_router {
    // Answers the request, now or later, by one of the functions below.
    void (*route)(void *data, struct http_reply *reply);
    // Appends more of /metrics.
    void (*measure)(void *data, struct buffer *out);
    void *data;
    bool leaves;  // a balancer is told to send nothing more
};

// The name of the token's holder, "" for the user.
const char *carried_holder(const struct http_reply *reply);
const char *carried_field(const struct http_reply *reply, const char *name);  // NULL: not given
// For the process with the server: the request as HTTP/1.1, without headers of its connection.
void carried_write_request(struct http_reply *reply, struct buffer *out);
// The reply must be ended by one of the others when the client has gone.
void carried_watch(struct http_reply *reply, void (*on_carried_gone)(void *data), void *data);

// `headers`: lines, each with its CR LF. Ends the reply.
void carried_send(struct http_reply *reply, int status, struct span headers,
                  const char *content_type, struct span body);
// An answer in events: begins, goes on, ends the reply.
void carried_begin(struct http_reply *reply, struct span headers);
void carried_event(struct http_reply *reply, struct span event);
void carried_end(struct http_reply *reply);
// Ends the reply with a JSON-RPC error under this status.
void carried_refuse(struct http_reply *reply, int status, const char *message);

// --- the side of the server ----------------------------------------------------------------------

// An answer on its way. After `send` or `end` it is not used again.
struct mcp_http_carrier {
    void (*send)(struct mcp_http_carrier *carrier, int status, struct span headers,
                 const char *content_type, const struct span *parts, size_t count);
    void (*begin)(struct mcp_http_carrier *carrier, struct span headers);
    void (*event)(struct mcp_http_carrier *carrier, struct span event);
    void (*end)(struct mcp_http_carrier *carrier);
    struct http_reply *reply;  // as long as it is used
};

// A transport without a listener, for requests that are carried to it.
struct mcp_http_carry_options {
    // Sessions of the 2024 protocol have an id that is signed with the key and says all that is known of
    // them, so that another process with the key goes on with them.
    struct span key;
    const char *label;  // of the workspace, in each id
};

struct mcp_http *mcp_http_start_carried(struct mcp_server *server,
                                        const struct mcp_http_carry_options *options,
                                        mcp_end_fn *on_end, void *data);
// False: it is not a request. Otherwise the carrier gets the answer.
bool mcp_http_carry(struct mcp_http *http, struct span request, struct mcp_http_carrier *carrier);
// The client has gone.
void mcp_http_carrier_lost(struct mcp_http_carrier *carrier);

// --- http_session_id.c: signed ids ---------------------------------------------------------------

enum { SESSION_LABEL_MAX = 64 };
// The label of an id that is signed with this key. False: it is not.
bool mcp_session_id_label(struct span key, const char *id, char label[SESSION_LABEL_MAX + 1]);
