// The listener on HTTP of a client, `cadre serve --http`: it is open as long as the client's connection.
#pragma once

#include "daemon/daemon_internal.h"
#include "daemon/http/http_service.h"

// Opens the listener of the connection's greeting.
void listener_open(struct connection *connection);

// What it serves, made of a greeting.
struct tenant_setup listener_setup(struct daemon *daemon, const struct greeting *greeting,
                                   uint64_t id);
// The answer to the greeting: where it listens.
value listener_answer(const struct connection *connection, const struct http_service *http);
