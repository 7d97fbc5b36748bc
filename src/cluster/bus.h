// The connection to NATS: messages on subjects, in both directions.
//
// Nothing here blocks the loop. A thread of the connection connects, publishes and subscribes, in the
// order it is told; threads of libnats receive. Both sides are queues with a limit, and the loop is told
// by an eventfd. A connection that breaks is made again for as long as the bus is open; what was sent
// meanwhile, or just before, may be lost: who must know asks for an acknowledgement (jetstream.h).
#pragma once

#include <event2/event.h>

#include "base/error.h"
#include "base/span.h"

enum {
    BUS_PIECE_MAX = 512 << 10,   // bytes of a message; what is longer is cut by who sends it
    BUS_QUEUE_BYTES = 64 << 20,  // waiting to be sent, and received and not looked at
    BUS_HEADERS_MAX = 4,
};

struct bus;

struct bus_options {
    const char *servers;      // URLs, separated by commas
    const char *credentials;  // a .creds file (JWT and NKEY); NULL: none
    const char *ca;           // certificates that are trusted, PEM; NULL: those of the system
    const char *name;         // of the connection, for people
};

struct bus_header {
    const char *name, *text;
};

struct bus_message {
    const char *subject;
    const char *reply;  // where an answer goes; NULL: none
    struct bus_header headers[BUS_HEADERS_MAX];
    struct span body;
};

// What has come; valid until the function returns.
struct bus_delivery {
    const char *subject;
    const char *reply;  // "": no answer is wanted
    struct span body;
    bool no_responders;  // nobody listens to the subject that was asked
};

typedef void bus_delivery_fn(void *data, const struct bus_delivery *delivery);
// The connection is there, or is not any more; from the loop.
typedef void bus_state_fn(void *data, bool is_connected);

// False with a message: the library is missing, or the options are wrong. That no server answers is no
// failure: it is tried again until one does.
bool bus_open(struct event_base *base, const struct bus_options *options, bus_state_fn *on_state,
              void *data, struct bus **ret_bus, struct error *error);
void bus_free(struct bus *bus);
bool bus_is_connected(const struct bus *bus);
// Why there is no connection; "" where there is one.
const char *bus_failure(struct bus *bus);

// 0, -ENOTCONN, or -ENOBUFS when too much waits. Copies the message.
int bus_publish(struct bus *bus, const struct bus_message *message);

struct bus_subscription;
// `group` NULL: every message; else each message goes to one of the group.
struct bus_subscription *bus_subscribe(struct bus *bus, const char *subject, const char *group,
                                       bus_delivery_fn *deliver, void *data);
void bus_unsubscribe(struct bus_subscription *subscription);  // nothing is delivered any more
