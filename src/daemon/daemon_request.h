// Requests to the daemon that runs, for commands.
#pragma once

#include "base/error.h"
#include "value/value.h"

enum daemon_answer {
    DAEMON_ANSWERED,  // *ret_answer is a map with "ok": true
    DAEMON_ABSENT,    // none runs
    DAEMON_FAILED,    // with a message
};

// Sends the map and waits for the answer, which is in `region`.
enum daemon_answer daemon_request(struct region *region, value request, value *ret_answer,
                                  struct error *error);
// After it was told to stop: false when it is still there after 40 s.
bool daemon_wait_for_end(void);
