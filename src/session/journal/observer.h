// Tells the observers of a manager what happens in its sessions (session.h).
#pragma once

#include "session/session.h"

struct job;
struct session;

// The request goes to the head: an evaluation begins.
void observer_started(const struct session *session, const struct job *job);
void observer_output(const struct job *job, enum session_stream stream, struct span text);
// `reply` NULL: it was cancelled.
void observer_ended(const struct session *session, const struct job *job,
                    const struct session_reply *reply);
// Told once for each state that lasts until the next event.
void observer_state(struct session *session);
void observer_closed(const struct session *session);
// The manager ends.
void observer_leave_all(struct session_manager *manager);
