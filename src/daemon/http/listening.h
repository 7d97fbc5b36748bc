// What a server on HTTP listens on, and whom it serves. `cadre serve --http` reads it from its options and
// tells it the daemon, whose listener it is.
#pragma once

#include "daemon/http/tokens.h"
#include "value/value.h"

enum { LISTENING_NAMES_MAX = 16, LISTENING_HOST_SIZE = 256 };

struct listening {
    char host[LISTENING_HOST_SIZE];
    uint16_t port;            // 0: any free one
    const char *socket_path;  // an absolute path; NULL: TCP
    const char *allow_hosts[LISTENING_NAMES_MAX + 1];
    const char *allow_origins[LISTENING_NAMES_MAX + 1];
    struct tokens tokens;  // the user's first
};

value listening_write(struct region *region, const struct listening *listening);
// To be released either way; the other strings are in `region`. False: not such a map.
bool listening_read(struct region *region, value map, struct listening *ret_listening);
void listening_release(struct listening *listening);
