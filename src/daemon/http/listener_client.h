// Listeners of the daemon, from the client's side. `cadre serve --http` through the daemon: the listener is the daemon's, and there as long as this
// process. A daemon that ends is followed by the next one, which listens on the same port.
#pragma once

#include "daemon/client_settings.h"
#include "daemon/http/listening.h"

// The address of the inspector's page, which the daemon shows already or from now on; to be freed. NULL
// with a message.
char *listener_client_page(const char *program, const struct settings *settings,
                           const struct listening *listening, struct error *error);

// `on_open` is told the address once. Returns the exit status after SIGINT or SIGTERM, or after a message
// on standard error.
typedef void listener_open_fn(const struct listening *listening, const char *url);
int listener_client_run(const char *program, const struct settings *settings,
                        struct listening *listening, listener_open_fn *on_open);
