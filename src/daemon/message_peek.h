// What a relay needs to know of a JSON-RPC message without reading all of it: its id and its method.
#pragma once

#include <stdbool.h>

#include "base/span.h"

struct message_peek {
    struct span id;          // as it is written: 3, "a"; empty: none
    struct span method;      // without quotes, escapes as they are; empty: none
    struct span uri;         // `uri` of `params`, as it is written, quotes included; empty: none
    struct span request_id;  // the same of `requestId`
};

// The next message of a line, which is one object or an array of them; *at is where to look, 0 at
// first. False: there is none left, or what is there is no JSON object.
bool message_peek(struct span line, size_t *at, struct message_peek *ret_peek);
