// A SOCK_SEQPACKET pair between the supervisor and one process of a session, and the frames on it
// (docs/session-protocol.md 2). The end of a process that works stays open here, too: it tells what
// that process has not read.
//
// Sending never blocks: what the socket does not take is kept and sent when it is writable.
// Receiving believes nothing: the sender's pid comes from the kernel, lengths and order are
// checked, a message is at most SESSION_MESSAGE_MAX bytes. A frame that breaks the rules is
// reported as CHANNEL_GARBAGE of its sender and discards the message under way. User code shares
// the process and may shut the socket down: that is reported once, as CHANNEL_CLOSED of sender 0,
// and nothing is sent or read any more.
#pragma once

#include <event2/event.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/buffer.h"
#include "base/span.h"

enum channel_message_type {
    CHANNEL_GARBAGE = 0,  // these two never on the wire
    CHANNEL_CLOSED = UINT32_MAX,

    CHANNEL_REQUEST = 1,
    CHANNEL_SNAP = 2,
    CHANNEL_ADOPT = 3,
    CHANNEL_OFFSETS = 4,
    CHANNEL_QUIT = 5,
    CHANNEL_INPUT = 6,
    CHANNEL_OFFER = 7,
    CHANNEL_WAKE = 8,
    CHANNEL_STOP_LISTENING = 9,
    CHANNEL_SAVE = 10,

    CHANNEL_HELLO = 16,
    CHANNEL_RESULT = 17,
    CHANNEL_SNAPPED = 18,
    CHANNEL_SNAP_FAILED = 19,
    CHANNEL_WOKE = 20,
    CHANNEL_EXITING = 21,
    CHANNEL_FRAMES = 22,
    CHANNEL_ADOPTED = 23,
    CHANNEL_WAKE_FAILED = 24,
    CHANNEL_INPUT_WANTED = 25,
    CHANNEL_PARKED = 26,
    CHANNEL_WANTED = 27,
    CHANNEL_SAVING = 28,
    CHANNEL_PROGRESS = 29,
    CHANNEL_TYPE_END,
};

enum {
    CHANNEL_FLAG_FIRST = 1,
    CHANNEL_FLAG_LAST = 2,
    CHANNEL_HEADER_SIZE = 16,
    CHANNEL_PAYLOAD_MAX = 65520,
    CHANNEL_DESCRIPTORS_MAX = 3,  // sent with one message
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
    int worker_fd;  // the worker's, blocking there; never polled here; -1 = not kept
    bool closed;    // nothing is sent or read any more
    bool *freed;    // set when the channel is released while it hands over messages
    struct event *read_event;
    struct event *write_event;
    channel_message_fn *on_message;
    void *data;
    struct buffer incoming;  // payloads of the message under way
    pid_t incoming_sender;   // 0 = none under way
    uint32_t incoming_type;
    uint32_t incoming_number;
    struct buffer outgoing;  // whole frames not yet taken by the socket, each with its header
};

int channel_init(struct channel *channel, struct event_base *base, channel_message_fn *on_message,
                 void *data);
void channel_release(struct channel *channel);

// A closed channel takes every message and sends none.
int channel_send(struct channel *channel, uint32_t type, uint32_t number, struct span payload);
// A message of one frame, with copies of descriptors. Sent at once or not at all.
int channel_send_descriptors(struct channel *channel, uint32_t type, uint32_t number,
                             struct span payload, const int *fds, size_t count);
// The worker's end is the worker's alone from now on: when it ends, the channel is closed.
void channel_close_worker_end(struct channel *channel);
// Hands over what has arrived; up to `max_frames` frames. Also called by the loop.
void channel_receive(struct channel *channel, unsigned max_frames);
// Has the message with this number not been taken by any worker yet?
bool channel_is_unread(const struct channel *channel, uint32_t number);
// Everything sent has been taken by somebody.
bool channel_is_drained(const struct channel *channel);
// Nothing has arrived that is not handed over.
bool channel_is_silent(const struct channel *channel);
