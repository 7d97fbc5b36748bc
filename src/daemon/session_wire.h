// Requests to sessions and their replies as JSON, for clients that use a session of the daemon as if
// it were their own (docs/daemon-protocol.md): what struct session_request and struct session_reply
// hold, without callbacks and tickets.
#pragma once

#include "base/error.h"
#include "session/session.h"

value session_wire_limits(struct region *region, const struct session_limits *limits);
struct session_limits session_wire_read_limits(value map);

value session_wire_request(struct region *region, const struct session_request *request);
// The strings are in `region`. False with a message.
bool session_wire_read_request(struct region *region, value map,
                               struct session_request *ret_request, struct error *error);

value session_wire_reply(struct region *region, const struct session_reply *reply);
// It points into the map, and to `session`. What is missing is as in a reply that changed nothing.
struct session_reply session_wire_read_reply(struct region *region, value map, const char *session);
