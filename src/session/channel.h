// A SOCK_SEQPACKET pair between the supervisor and the workers of one session, and the frames on it
// (docs/session-protocol.md 2). Both ends stay open here: the worker's end is handed to every new
// worker and lets the supervisor empty what a dead worker left unread.
//
// Sending never blocks: what the socket does not take is kept and sent when it is writable.
// Receiving believes nothing: the sender's pid comes from the kernel, lengths and order are
// checked, a message is at most SESSION_MESSAGE_MAX bytes. A frame that breaks the rules is
// reported as CHANNEL_GARBAGE of its sender and discards the message under way.
#pragma once

#include <event2/event.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/buffer.h"
#include "base/span.h"

enum channel_message_type {
    CHANNEL_GARBAGE = 0,  // never on the wire

    CHANNEL_REQUEST = 1,
    CHANNEL_SNAP = 2,
    CHANNEL_ADOPT = 3,
    CHANNEL_OFFSETS = 4,
    CHANNEL_QUIT = 5,
    CHANNEL_PREWAKE = 6,

    CHANNEL_HELLO = 16,
    CHANNEL_RESULT = 17,
    CHANNEL_SNAPPED = 18,
    CHANNEL_SNAP_FAILED = 19,
    CHANNEL_WOKE = 20,
    CHANNEL_EXITING = 21,
    CHANNEL_FRAMES = 22,
    CHANNEL_ADOPTED = 23,
    CHANNEL_WAKE_FAILED = 24,
};

enum {
    CHANNEL_FLAG_FIRST = 1,
    CHANNEL_FLAG_LAST = 2,
    CHANNEL_HEADER_SIZE = 16,
    CHANNEL_PAYLOAD_MAX = 65520,
};

struct channel_message {
    pid_t sender;  // as the kernel saw it
    uint32_t type;
    uint32_t number;
    struct span payload;  // valid during the callback
};

struct channel;
typedef void channel_message_fn(void *data, struct channel *channel,
                                const struct channel_message *message);

struct channel {
    int fd;         // ours, non-blocking
    int worker_fd;  // the worker's, blocking there; never polled here
    struct event *read_event;
    struct event *write_event;
    channel_message_fn *on_message;
    void *data;
    char *frame;             // one frame being received
    struct buffer incoming;  // payloads of the message under way
    pid_t incoming_sender;   // 0 = none under way
    uint32_t incoming_type;
    uint32_t incoming_number;
    struct buffer outgoing;  // whole frames not yet taken by the socket, each with its header
};

int channel_init(struct channel *channel, struct event_base *base, channel_message_fn *on_message,
                 void *data);
void channel_release(struct channel *channel);

int channel_send(struct channel *channel, uint32_t type, uint32_t number, struct span payload);
// Hands over what has arrived; up to `max_frames` frames. Also called by the loop.
void channel_receive(struct channel *channel, unsigned max_frames);
// Has the message with this number not been taken by any worker yet?
bool channel_is_unread(const struct channel *channel, uint32_t number);
// Drops unsent frames, and frames that a dead worker has not read.
void channel_forget_outgoing(struct channel *channel);
// Drops the incomplete message of a sender that is dead.
void channel_forget_incoming(struct channel *channel);
