// What a relay remembers of the conversation, to go on with another daemon.
#pragma once

#include "base/buffer.h"
#include "base/span.h"

enum { RELAY_IN_FLIGHT_MAX = 1024, RELAY_REPLAYS_MAX = 1024 };

// A line that the next daemon must see, too.
struct relay_replay {
    struct buffer line;
    char *key;  // what a later line of the same key replaces
};

struct relay_state {
    char *in_flight[RELAY_IN_FLIGHT_MAX];  // ids as written
    size_t in_flight_count;
    struct relay_replay replays[RELAY_REPLAYS_MAX];
    size_t replay_count;
    char *swallowed[RELAY_REPLAYS_MAX];  // ids whose answers the client has had before
    size_t swallowed_count;
};

void relay_state_release(struct relay_state *state);
// A line from the client goes to the daemon.
void relay_state_sent(struct relay_state *state, struct span line);
// A line from the daemon; false: it is not for the client.
bool relay_state_received(struct relay_state *state, struct span line);
// Why requests get no answer of the daemon.
enum relay_failure { RELAY_DAEMON_ENDED, RELAY_TERMINATED };
// Appends an error for every request in flight, and forgets them.
void relay_state_fail(struct relay_state *state, enum relay_failure failure,
                      struct buffer *to_client);
// Another daemon is there: appends what it must see first.
void relay_state_replay(struct relay_state *state, struct buffer *to_daemon);
