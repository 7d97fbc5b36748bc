// Whether a server that shows the inspector listens on an address.
#pragma once

#include <stdint.h>

#include "base/buffer.h"

enum { PROBE_HOST_SIZE = 256 };

struct probe {
    char host[PROBE_HOST_SIZE];  // a numeric address
    uint16_t port;
    const char *token;  // NULL: none
};

enum { PROBE_FOREIGN = -1 };

// The status of the server's answer, 200 when it accepts the token; 0: there is none, and errno says why.
// PROBE_FOREIGN: another user than this one and root listens there, and was told nothing.
int probe_status(const struct probe *probe);
// "127.0.0.1:7433", "[::1]:7433"
void probe_append_authority(const struct probe *probe, struct buffer *text);
