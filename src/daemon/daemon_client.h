// A connection to the daemon, from the client's side: finds the daemon or starts it, replaces one that
// is older than this program, and greets it.
#pragma once

#include <signal.h>

#include "base/buffer.h"
#include "base/error.h"
#include "value/value.h"

struct daemon_client {
    const char *program;                    // of which a daemon is started
    const struct buffer *greeting;          // one line
    const volatile sig_atomic_t *is_ended;  // true: give up; or NULL
};

// A socket on which the daemon has accepted the greeting; -1 with a message. `ret_answer` (may be NULL)
// gets the line with which it has.
int daemon_client_connect(const struct daemon_client *client, struct buffer *ret_answer,
                          struct error *error);

// Waits until all is written. False: the daemon is gone.
bool daemon_client_send(int fd, struct span text);
// Waits for the next line, which replaces `line`; what follows it stays in `input`. False: there is
// none.
bool daemon_client_read_line(int fd, struct buffer *input, struct buffer *line);
