// What a client is served by that uses a session of its workspace as if it were its own, with output as
// it comes, input and interrupts (docs/daemon-protocol.md, "Sessions"); `cadre repl` is one. It also
// hears what others evaluate there.
#pragma once

#include "daemon/daemon_internal.h"

struct session_service;

// Takes over the socket.
struct session_service *session_service_open(struct connection *connection, int fd);
// Nothing is read, written or told any more; what runs goes on.
void session_service_hang_up(struct session_service *service);
// Whether nothing runs that would answer to it. If something does, the sessions end before it is freed.
bool session_service_is_idle(const struct session_service *service);
void session_service_free(struct session_service *service);
