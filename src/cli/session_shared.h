// The part of session_loop.h for a session of the daemon, which others use, too.
#pragma once

#include "cli/session_loop.h"

void session_shared_call(struct session_loop *loop, const struct session_request *request,
                         const struct session_console *console, session_loop_reply_fn *handle,
                         void *data);
// What session_info(), session_errors() and session_error() answer; nil: the daemon is gone.
value session_shared_ask(struct session_loop *loop, const char *question, int64_t number,
                         struct region *region);
bool session_shared_set_limits(struct session_loop *loop, const struct session_limits *limits,
                               struct error *error);
// Reads what others have done meanwhile; does not wait.
void session_shared_hear(struct session_loop *loop);
