#include "session/channel.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/assert.h"
#include "session/session.h"

// Enough to empty the socket's buffer, few enough to let other sessions have their turn.
enum { FRAMES_PER_TURN = 256 };

// The frame being received, of whichever channel: a message is handled before the next is read.
static char frame[CHANNEL_HEADER_SIZE + CHANNEL_PAYLOAD_MAX];

static void on_readable(evutil_socket_t fd, short what, void *data)
{
    (void)fd;
    (void)what;
    struct channel *channel = data;
    if (channel->closed)  // by a send that failed
        channel->on_message(channel->data, channel,
                            &(struct channel_message){.type = CHANNEL_CLOSED, .payload = {"", 0}});
    else
        channel_receive(channel, FRAMES_PER_TURN);
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
    if (channel->freed)
        *channel->freed = true;
    channel_close_worker_end(channel);
    buffer_release(&channel->incoming);
    buffer_release(&channel->outgoing);
    *channel = (struct channel){.fd = -1, .worker_fd = -1, .closed = true};
}

void channel_close_worker_end(struct channel *channel)
{
    if (channel->worker_fd >= 0)
        close(channel->worker_fd);
    channel->worker_fd = -1;
}

// Level-triggered: the end of a socket would be reported for ever.
static void channel_close(struct channel *channel)
{
    channel->closed = true;
    event_del(channel->read_event);
    event_del(channel->write_event);
    buffer_clear(&channel->outgoing);
}

// A large message leaves no large buffer behind.
static void empty_buffer(struct buffer *buffer)
{
    enum { KEEP_CAPACITY = 1 << 20 };
    buffer_clear(buffer);
    if (buffer->capacity > KEEP_CAPACITY)
        buffer_release(buffer);
}

// --- sending -------------------------------------------------------------------------------------

// All numbers on the wire are little-endian, as is every machine SBCL's agent was written for.
static void append_header(struct buffer *buffer, const uint32_t header[4])
{
    buffer_append(buffer, header, CHANNEL_HEADER_SIZE);
}

static bool is_temporary(int error)
{
    return error == EAGAIN || error == ENOBUFS || error == ENOMEM;
}

// Reported from the loop: the caller is in the middle of something.
static void fail_sending(struct channel *channel)
{
    channel_close(channel);
    event_active(channel->read_event, EV_READ, 0);
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
        if (sent < 0 && !is_temporary(errno)) {
            fail_sending(channel);
            return;
        }
        if (sent < 0)
            break;
        done += size;  // SEQPACKET: all or nothing
    }
    buffer_consume(outgoing, done);
    if (outgoing->length > 0)
        event_add(channel->write_event, NULL);
    else
        empty_buffer(outgoing);
}

int channel_send(struct channel *channel, uint32_t type, uint32_t number, struct span payload)
{
    if (channel->closed)
        return 0;
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

int channel_send_descriptors(struct channel *channel, uint32_t type, uint32_t number,
                             struct span payload, const int *fds, size_t count)
{
    CHECK(count > 0 && count <= CHANNEL_DESCRIPTORS_MAX && payload.length <= CHANNEL_PAYLOAD_MAX);
    if (channel->closed)
        return -EPIPE;
    if (channel->outgoing.length > 0)
        return -EAGAIN;  // it would overtake what waits
    uint32_t header[4] = {type, CHANNEL_FLAG_FIRST | CHANNEL_FLAG_LAST, number,
                          (uint32_t)payload.length};
    struct iovec parts[] = {{header, sizeof(header)},
                            {(void *)(uintptr_t)payload.data, payload.length}};
    union {
        struct cmsghdr align;
        char bytes[CMSG_SPACE(CHANNEL_DESCRIPTORS_MAX * sizeof(int))];
    } control = {0};
    struct msghdr message = {.msg_iov = parts,
                             .msg_iovlen = 2,
                             .msg_control = &control,
                             .msg_controllen = CMSG_SPACE(count * sizeof(int))};
    struct cmsghdr *rights = CMSG_FIRSTHDR(&message);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(count * sizeof(int));
    memcpy(CMSG_DATA(rights), fds, count * sizeof(int));
    ssize_t sent;
    do
        sent = sendmsg(channel->fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    while (sent < 0 && errno == EINTR);
    int error = sent < 0 ? errno : 0;
    if (error == EPIPE || error == ECONNRESET)
        fail_sending(channel);
    return -error;
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

static bool has_nothing_to_read(int fd)
{
    char byte;
    return recv(fd, &byte, sizeof(byte), MSG_PEEK | MSG_DONTWAIT) < 0 && errno == EAGAIN;
}

bool channel_is_drained(const struct channel *channel)
{
    return !channel->closed && channel->outgoing.length == 0 &&
           has_nothing_to_read(channel->worker_fd);
}

bool channel_is_silent(const struct channel *channel)
{
    return !channel->closed && has_nothing_to_read(channel->fd);
}

// Drops the message under way.
static void forget_incoming(struct channel *channel)
{
    buffer_clear(&channel->incoming);  // its memory stays: the message may be in somebody's hands
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
    forget_incoming(channel);
    deliver(channel, sender, CHANNEL_GARBAGE, 0, (struct span){"", 0});
}

static void accept_frame(struct channel *channel, pid_t sender, size_t size)
{
    uint32_t header[4];
    if (size < sizeof(header)) {
        deliver_garbage(channel, sender);
        return;
    }
    memcpy(header, frame, sizeof(header));
    uint32_t type = header[0], flags = header[1], number = header[2], length = header[3];
    struct span payload = {frame + CHANNEL_HEADER_SIZE, size - CHANNEL_HEADER_SIZE};
    if (length != payload.length || type < CHANNEL_HELLO || type >= CHANNEL_TYPE_END ||
        (flags & ~(uint32_t)(CHANNEL_FLAG_FIRST | CHANNEL_FLAG_LAST))) {
        deliver_garbage(channel, sender);
        return;
    }
    if (flags == (CHANNEL_FLAG_FIRST | CHANNEL_FLAG_LAST)) {
        forget_incoming(channel);
        empty_buffer(&channel->incoming);
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
        if (channel->freed && !*channel->freed)
            empty_buffer(&channel->incoming);
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

// One frame, or the end. False: there is nothing to read now.
static bool receive_one(struct channel *channel)
{
    struct iovec bytes = {frame, sizeof(frame)};
    union {
        struct cmsghdr align;
        char bytes[CMSG_SPACE(sizeof(struct ucred))];
    } control;
    struct msghdr message = {.msg_iov = &bytes,
                             .msg_iovlen = 1,
                             .msg_control = &control,
                             .msg_controllen = sizeof(control)};
    ssize_t size = recvmsg(channel->fd, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (size < 0 && (errno == EINTR || is_temporary(errno)))
        return errno == EINTR;
    // A packet of no bytes has a sender, the end has none.
    pid_t sender = size < 0 ? 0 : sender_of(&message);
    if (size <= 0 && sender == 0) {
        channel_close(channel);
        deliver(channel, 0, CHANNEL_CLOSED, 0, (struct span){"", 0});
        return false;
    }
    if (message.msg_flags & MSG_TRUNC)
        deliver_garbage(channel, sender);
    else
        accept_frame(channel, sender, (size_t)size);
    return true;
}

void channel_receive(struct channel *channel, unsigned max_frames)
{
    bool freed = false;
    // cppcheck-suppress autoVariables  // reset below, unless the channel is gone
    channel->freed = &freed;
    for (unsigned i = 0; i < max_frames && !channel->closed; i++) {
        bool more = receive_one(channel);
        if (freed)
            return;
        if (!more)
            break;
    }
    channel->freed = NULL;
}
