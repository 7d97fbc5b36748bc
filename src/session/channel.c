#include "session/channel.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/memory.h"
#include "session/session.h"

// Enough to empty the socket's buffer, few enough to let other sessions have their turn.
enum { FRAMES_PER_TURN = 256 };

static void on_readable(evutil_socket_t fd, short what, void *data)
{
    (void)fd;
    (void)what;
    channel_receive(data, FRAMES_PER_TURN);
}

static void channel_flush(struct channel *channel);

static void on_writable(evutil_socket_t fd, short what, void *data)
{
    (void)fd;
    (void)what;
    channel_flush(data);
}

static int channel_open(struct channel *channel, struct event_base *base)
{
    int fds[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds) < 0)
        return -errno;
    channel->fd = fds[0];
    channel->worker_fd = fds[1];
    int on = 1;
    if (setsockopt(fds[0], SOL_SOCKET, SO_PASSCRED, &on, sizeof(on)) < 0)
        return -errno;
    if (evutil_make_socket_nonblocking(fds[0]) < 0)
        return -errno;
    channel->read_event = event_new(base, fds[0], EV_READ | EV_PERSIST, on_readable, channel);
    channel->write_event = event_new(base, fds[0], EV_WRITE, on_writable, channel);
    if (!channel->read_event || !channel->write_event || event_add(channel->read_event, NULL) < 0)
        return -ENOMEM;
    return 0;
}

int channel_init(struct channel *channel, struct event_base *base, channel_message_fn *on_message,
                 void *data)
{
    *channel = (struct channel){.fd = -1, .worker_fd = -1, .on_message = on_message, .data = data};
    channel->frame = memory_alloc(CHANNEL_HEADER_SIZE + CHANNEL_PAYLOAD_MAX);
    buffer_init(&channel->incoming, SESSION_MESSAGE_MAX);
    buffer_init(&channel->outgoing, (size_t)2 * SESSION_REQUEST_MAX);
    int result = channel_open(channel, base);
    if (result < 0)
        channel_release(channel);
    return result;
}

void channel_release(struct channel *channel)
{
    if (channel->read_event)
        event_free(channel->read_event);
    if (channel->write_event)
        event_free(channel->write_event);
    if (channel->fd >= 0)
        close(channel->fd);
    if (channel->worker_fd >= 0)
        close(channel->worker_fd);
    buffer_release(&channel->incoming);
    buffer_release(&channel->outgoing);
    memory_free(channel->frame);
    *channel = (struct channel){.fd = -1, .worker_fd = -1};
}

// --- sending -------------------------------------------------------------------------------------

// All numbers on the wire are little-endian, as is every machine SBCL's agent was written for.
static void append_header(struct buffer *buffer, const uint32_t header[4])
{
    buffer_append(buffer, header, CHANNEL_HEADER_SIZE);
}

static void channel_flush(struct channel *channel)
{
    struct buffer *outgoing = &channel->outgoing;
    size_t done = 0;
    while (done < outgoing->length) {
        uint32_t header[4];
        memcpy(header, outgoing->data + done, sizeof(header));
        size_t size = CHANNEL_HEADER_SIZE + header[3];
        ssize_t sent = send(channel->fd, outgoing->data + done, size, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (sent < 0 && errno == EINTR)
            continue;
        if (sent < 0)
            break;
        done += size;  // SEQPACKET: all or nothing
    }
    buffer_consume(outgoing, done);
    if (outgoing->length > 0)
        event_add(channel->write_event, NULL);
}

int channel_send(struct channel *channel, uint32_t type, uint32_t number, struct span payload)
{
    size_t offset = 0;
    do {
        size_t length = payload.length - offset;
        if (length > CHANNEL_PAYLOAD_MAX)
            length = CHANNEL_PAYLOAD_MAX;
        uint32_t flags = (offset == 0 ? CHANNEL_FLAG_FIRST : 0) |
                         (offset + length == payload.length ? CHANNEL_FLAG_LAST : 0);
        append_header(&channel->outgoing, (uint32_t[4]){type, flags, number, (uint32_t)length});
        buffer_append(&channel->outgoing, payload.data + offset, length);
        offset += length;
    } while (offset < payload.length);
    if (channel->outgoing.failed) {
        buffer_clear(&channel->outgoing);
        return -EMSGSIZE;
    }
    channel_flush(channel);
    return 0;
}

bool channel_is_unread(const struct channel *channel, uint32_t number)
{
    uint32_t header[4];
    ssize_t size = recv(channel->worker_fd, header, sizeof(header), MSG_PEEK | MSG_DONTWAIT);
    if (size != (ssize_t)sizeof(header))
        return false;
    // Numbers grow: with an older message still there, this one is, too.
    return header[2] == number ? header[1] & CHANNEL_FLAG_FIRST : (int32_t)(header[2] - number) < 0;
}

void channel_forget_outgoing(struct channel *channel)
{
    buffer_clear(&channel->outgoing);
    event_del(channel->write_event);
    char byte;
    while (recv(channel->worker_fd, &byte, 1, MSG_DONTWAIT) >= 0)
        continue;
}

void channel_forget_incoming(struct channel *channel)
{
    buffer_clear(&channel->incoming);
    channel->incoming_sender = 0;
}

// --- receiving -----------------------------------------------------------------------------------

static void deliver(struct channel *channel, pid_t sender, uint32_t type, uint32_t number,
                    struct span payload)
{
    struct channel_message message = {sender, type, number, payload};
    channel->on_message(channel->data, channel, &message);
}

static void deliver_garbage(struct channel *channel, pid_t sender)
{
    channel_forget_incoming(channel);
    deliver(channel, sender, CHANNEL_GARBAGE, 0, (struct span){"", 0});
}

static void accept_frame(struct channel *channel, pid_t sender, size_t size)
{
    uint32_t header[4];
    if (size < sizeof(header)) {
        deliver_garbage(channel, sender);
        return;
    }
    memcpy(header, channel->frame, sizeof(header));
    uint32_t type = header[0], flags = header[1], number = header[2], length = header[3];
    struct span payload = {channel->frame + CHANNEL_HEADER_SIZE, size - CHANNEL_HEADER_SIZE};
    if (length != payload.length || type < CHANNEL_HELLO || type > CHANNEL_WAKE_FAILED ||
        (flags & ~(uint32_t)(CHANNEL_FLAG_FIRST | CHANNEL_FLAG_LAST))) {
        deliver_garbage(channel, sender);
        return;
    }
    if (flags == (CHANNEL_FLAG_FIRST | CHANNEL_FLAG_LAST)) {
        channel_forget_incoming(channel);
        deliver(channel, sender, type, number, payload);
        return;
    }
    if (flags & CHANNEL_FLAG_FIRST) {
        buffer_clear(&channel->incoming);
        channel->incoming_sender = sender;
        channel->incoming_type = type;
        channel->incoming_number = number;
    } else if (channel->incoming_sender != sender || channel->incoming_type != type ||
               channel->incoming_number != number) {
        deliver_garbage(channel, sender);
        return;
    }
    buffer_append_span(&channel->incoming, payload);
    if (channel->incoming.failed) {
        deliver_garbage(channel, sender);
    } else if (flags & CHANNEL_FLAG_LAST) {
        channel->incoming_sender = 0;
        deliver(channel, sender, type, number, buffer_span(&channel->incoming));
        buffer_clear(&channel->incoming);
    }
}

static pid_t sender_of(struct msghdr *message)
{
    for (struct cmsghdr *control = CMSG_FIRSTHDR(message); control;
         control = CMSG_NXTHDR(message, control)) {
        if (control->cmsg_level == SOL_SOCKET && control->cmsg_type == SCM_CREDENTIALS) {
            struct ucred credentials;
            memcpy(&credentials, CMSG_DATA(control), sizeof(credentials));
            return credentials.pid;
        }
    }
    return 0;
}

void channel_receive(struct channel *channel, unsigned max_frames)
{
    for (unsigned i = 0; i < max_frames; i++) {
        struct iovec bytes = {channel->frame, CHANNEL_HEADER_SIZE + CHANNEL_PAYLOAD_MAX};
        union {
            struct cmsghdr align;
            char bytes[CMSG_SPACE(sizeof(struct ucred))];
        } control;
        struct msghdr message = {.msg_iov = &bytes,
                                 .msg_iovlen = 1,
                                 .msg_control = &control,
                                 .msg_controllen = sizeof(control)};
        ssize_t size = recvmsg(channel->fd, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
        if (size < 0 && errno == EINTR)
            continue;
        if (size < 0)
            return;
        pid_t sender = sender_of(&message);
        if (message.msg_flags & MSG_TRUNC)
            deliver_garbage(channel, sender);
        else
            accept_frame(channel, sender, (size_t)size);
    }
}
