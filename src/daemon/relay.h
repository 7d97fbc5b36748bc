// The relay: `cadre serve` on standard input/output. It carries lines between the client and the
// daemon. When the daemon ends under it, it connects to the next one, repeats what makes up the
// client's state there (initialize, subscriptions, log level) and answers the requests in flight with
// an error, so that the client never has to restart.
//
// Lines are carried whole, those of more than RELAY_LINE_MAX bytes in pieces. While one side does not
// read, the other is not read from either.
#pragma once

#include "daemon/client_settings.h"

enum { RELAY_LINE_MAX = 16 << 20 };

// What the settings do not name, the client's roots do (relay_roots.h). Returns the exit status when the
// client has closed its side, or after a message on standard error.
int relay_run(const char *program, const struct settings *settings);
