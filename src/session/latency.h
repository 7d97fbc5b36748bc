// The latency policy of the server's process (docs/latency.md): when the loop polls instead of
// sleeping, when an idle head is woken in advance, and when a snapshot lets the client go first.
// What the loop calls is in session/session.h.
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct job;
struct session;
struct session_manager;

struct busy_poll {         // of a manager
    uint64_t from_ticket;  // first request that is polled for
    unsigned misses;       // in a row
    int64_t last_ns;       // the last poll
};

struct session_times {
    int64_t used_ns;     // when a process was last sent a request
    int64_t prewake_ns;  // when the head was last pre-woken
    int64_t snapped_ns;  // when its last snapshot was there
};

void busy_poll_init(struct busy_poll *busy_poll);
// The answer has come while it was polled for.
void busy_poll_hit(const struct session *session, const struct job *job);
// Processors are few or busy: the next request will not be polled for.
bool busy_poll_disabled(const struct session_manager *manager);

void session_prewake_head(struct session *session);

// How long the head waits before it makes a snapshot.
int snapshot_delay_us(const struct session_manager *manager);
