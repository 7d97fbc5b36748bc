// JetStream: streams of messages that a majority of the NATS servers has stored when it says so, and
// key-value buckets, which are streams of which the last message of each subject counts.
//
// The library's own functions for it wait for each answer. Here every request is a message to a
// documented subject ($JS.API…, ADR-1 to ADR-8 of NATS), whose answer comes to the loop; one that does
// not come in time is told as JETSTREAM_SILENT, and what was asked may have been done or not.
#pragma once

#include "cluster/bus.h"
#include "value/value.h"

struct jetstream;
struct jetstream_request;

enum jetstream_status {
    JETSTREAM_DONE,
    JETSTREAM_NONE,      // there is no such message, stream or subject
    JETSTREAM_CONFLICT,  // the subject has another last message than was expected
    JETSTREAM_SILENT,    // no answer in time, or no connection
    JETSTREAM_REFUSED,   // `text` says why
};

// Valid until the function returns.
struct jetstream_answer {
    enum jetstream_status status;
    uint64_t sequence;  // of the message in its stream
    struct span body;   // of a message that was asked for
    struct span id;     // its Nats-Msg-Id, or ""
    const char *text;   // REFUSED
    value content;      // of an answer of the API, a map; nil
};

typedef void jetstream_fn(void *data, const struct jetstream_answer *answer);

enum { JETSTREAM_WAIT_MS = 1000, JETSTREAM_ANY = -1 };

struct jetstream *jetstream_new(struct event_base *base, struct bus *bus);
// Requests that wait are dropped: their functions are not called.
void jetstream_free(struct jetstream *jetstream);
struct bus *jetstream_bus(const struct jetstream *jetstream);

struct jetstream_message {
    const char *subject;
    struct span body;
    int64_t
        expected;  // sequence of the last message of the subject, 0: there is none; or JETSTREAM_ANY
    const char *id;  // a second message with it is not stored; or NULL
};

// Each of the following answers once, from the loop, unless it is dropped.

struct jetstream_request *jetstream_publish(struct jetstream *jetstream,
                                            const struct jetstream_message *stored,
                                            jetstream_fn *done, void *data);
// The last message of the subject, as the leader of the stream knows it. It may be told an older one
// after it has been elected: what follows from it must be made sure by a publish that expects it.
struct jetstream_request *jetstream_get_last(struct jetstream *jetstream, const char *stream,
                                             const char *subject, jetstream_fn *done, void *data);
// The first message of the subject from this sequence on.
struct jetstream_request *jetstream_get_next(struct jetstream *jetstream, const char *stream,
                                             const char *subject, uint64_t from, jetstream_fn *done,
                                             void *data);
// Removes the messages of the subject before this sequence.
struct jetstream_request *jetstream_purge(struct jetstream *jetstream, const char *stream,
                                          const char *subject, uint64_t before, jetstream_fn *done,
                                          void *data);
// Makes the stream, whose configuration is a JSON object; one that is there is left as it is.
struct jetstream_request *jetstream_provide(struct jetstream *jetstream, const char *stream,
                                            struct span configuration, jetstream_fn *done,
                                            void *data);
// A message whose answer is plain text: body. NONE: nobody listens to the subject.
struct jetstream_request *jetstream_ask(struct jetstream *jetstream, const char *subject,
                                        struct span body, int64_t wait_ms, jetstream_fn *done,
                                        void *data);
// The function will not be called.
void jetstream_drop(struct jetstream_request *request);
