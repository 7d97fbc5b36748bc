// Channels: frames and messages.
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "session/channel.h"

struct inbox {
    unsigned messages, garbage, closed;
    uint32_t last_type;
    char last[64];
    size_t last_length;
};

static void on_message(void *data, struct channel *channel, const struct channel_message *message)
{
    (void)channel;
    struct inbox *inbox = data;
    if (message->type == CHANNEL_CLOSED) {
        inbox->closed++;
        return;
    }
    cr_assert_eq(message->sender, getpid());
    if (message->type == CHANNEL_GARBAGE)
        inbox->garbage++;
    else
        inbox->messages++;
    inbox->last_type = message->type;
    inbox->last_length = message->payload.length;
    size_t kept = message->payload.length < 63 ? message->payload.length : 63;
    memcpy(inbox->last, message->payload.data, kept);
    inbox->last[kept] = 0;
}

static void put_frame(struct channel *channel, uint32_t type, uint32_t flags, uint32_t number,
                      const char *text, uint32_t length)
{
    char frame[128];
    uint32_t header[4] = {type, flags, number, length};
    memcpy(frame, header, 16);
    memcpy(frame + 16, text, strlen(text));
    cr_assert_gt(send(channel->worker_fd, frame, 16 + strlen(text), 0), 0);
    channel_receive(channel, 10);
}

Test(channel, frames_make_messages)
{
    struct event_base *base = event_base_new();
    struct channel channel;
    struct inbox inbox = {0};
    cr_assert_eq(channel_init(&channel, base, on_message, &inbox), 0);
    put_frame(&channel, CHANNEL_RESULT, 3, 1, "whole", 5);
    cr_assert(inbox.messages == 1 && strcmp(inbox.last, "whole") == 0);
    put_frame(&channel, CHANNEL_RESULT, 1, 2, "in ", 3);
    put_frame(&channel, CHANNEL_RESULT, 0, 2, "three ", 6);
    cr_assert_eq(inbox.messages, 1);
    put_frame(&channel, CHANNEL_RESULT, 2, 2, "pieces", 6);
    cr_assert(inbox.messages == 2 && strcmp(inbox.last, "in three pieces") == 0);
    // A new beginning discards what was incomplete.
    put_frame(&channel, CHANNEL_RESULT, 1, 3, "lost", 4);
    put_frame(&channel, CHANNEL_HELLO, 3, 0, "hello", 5);
    cr_assert(inbox.messages == 3 && inbox.last_type == CHANNEL_HELLO);
    put_frame(&channel, CHANNEL_RESULT, 2, 3, "orphan", 6);
    put_frame(&channel, CHANNEL_RESULT, 3, 4, "wrong length", 99);
    put_frame(&channel, CHANNEL_REQUEST, 3, 4, "not for us", 10);
    put_frame(&channel, CHANNEL_RESULT, 7, 4, "flags", 5);
    cr_assert_eq(inbox.garbage, 4);
    cr_assert_eq(inbox.messages, 3);
    channel_release(&channel);
    event_base_free(base);
}

// The process of a channel may shut it down in either direction; that is reported once, and sending
// and receiving go on to do nothing.
Test(channel, the_end_is_reported_once)
{
    static const int ways[] = {SHUT_RD, SHUT_WR, SHUT_RDWR};
    for (size_t i = 0; i < 3; i++) {
        struct event_base *base = event_base_new();
        struct channel channel;
        struct inbox inbox = {0};
        cr_assert_eq(channel_init(&channel, base, on_message, &inbox), 0);
        put_frame(&channel, CHANNEL_RESULT, 3, 1, "before", 6);
        cr_assert_eq(send(channel.worker_fd, "", 0, 0), 0);
        channel_receive(&channel, 10);
        cr_assert(inbox.messages == 1 && inbox.garbage == 1 && inbox.closed == 0);
        cr_assert_eq(shutdown(channel.worker_fd, ways[i]), 0);
        for (int round = 0; round < 3; round++) {
            cr_assert_eq(channel_send(&channel, CHANNEL_SNAP, 7, SPAN("{}")), 0);
            event_base_loop(base, EVLOOP_ONCE | EVLOOP_NONBLOCK);
        }
        cr_assert_eq(inbox.closed, 1, "way %zu: closed %u times", i, inbox.closed);
        channel_receive(&channel, 1000000);
        cr_assert_eq(inbox.closed, 1);
        channel_release(&channel);
        event_base_free(base);
    }
}

Test(channel, descriptors_come_with_a_message)
{
    struct event_base *base = event_base_new();
    struct channel channel;
    cr_assert_eq(channel_init(&channel, base, on_message, NULL), 0);
    int fds[2];
    cr_assert_eq(pipe(fds), 0);
    cr_assert_eq(channel_send_descriptors(&channel, CHANNEL_SNAP, 1, SPAN("{}"), fds, 2), 0);
    char bytes[64], control[128];
    struct iovec part = {bytes, sizeof(bytes)};
    struct msghdr message = {.msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = control,
                             .msg_controllen = sizeof(control)};
    cr_assert_eq(recvmsg(channel.worker_fd, &message, 0), CHANNEL_HEADER_SIZE + 2);
    struct cmsghdr *rights = CMSG_FIRSTHDR(&message);
    cr_assert(rights && rights->cmsg_type == SCM_RIGHTS &&
              rights->cmsg_len == CMSG_LEN(2 * sizeof(int)));
    int received[2];
    memcpy(received, CMSG_DATA(rights), sizeof(received));
    cr_assert_eq(write(received[1], "x", 1), 1);
    cr_assert_eq(read(fds[0], bytes, 1), 1);
    channel_release(&channel);
    event_base_free(base);
}

Test(channel, unread_behind_an_older_message)
{
    struct event_base *base = event_base_new();
    struct channel channel;
    char frame[32];
    cr_assert_eq(channel_init(&channel, base, on_message, NULL), 0);
    cr_assert_eq(channel_send(&channel, CHANNEL_SNAP, 7, SPAN("{}")), 0);
    cr_assert_eq(channel_send(&channel, CHANNEL_REQUEST, 8, SPAN("{}")), 0);
    cr_assert(channel_is_unread(&channel, 7));
    cr_assert(channel_is_unread(&channel, 8));
    cr_assert_gt(recv(channel.worker_fd, frame, sizeof(frame), MSG_DONTWAIT), 0);
    cr_assert_not(channel_is_unread(&channel, 7));
    cr_assert(channel_is_unread(&channel, 8));
    cr_assert_gt(recv(channel.worker_fd, frame, sizeof(frame), MSG_DONTWAIT), 0);
    cr_assert_not(channel_is_unread(&channel, 8));
    channel_release(&channel);
    event_base_free(base);
}

Test(channel, long_messages_wait_for_the_reader)
{
    struct event_base *base = event_base_new();
    struct channel channel;
    struct inbox inbox = {0};
    cr_assert_eq(channel_init(&channel, base, on_message, &inbox), 0);
    size_t length = 3 << 20;
    char *text = memset(malloc(length), 'q', length);
    cr_assert_eq(channel_send(&channel, CHANNEL_REQUEST, 7, (struct span){text, length}), 0);
    cr_assert(channel_is_unread(&channel, 7));
    size_t received = 0;
    char *frame = malloc(70000);
    for (int rounds = 0; received < length && rounds < 10000; rounds++) {
        ssize_t size = recv(channel.worker_fd, frame, 70000, MSG_DONTWAIT);
        if (size > 0)
            received += (size_t)size - CHANNEL_HEADER_SIZE;
        else
            event_base_loop(base, EVLOOP_ONCE | EVLOOP_NONBLOCK);
    }
    cr_assert_eq(received, length);
    cr_assert_not(channel_is_unread(&channel, 7));
    free(frame);
    free(text);
    channel_release(&channel);
    event_base_free(base);
}

// Cut into frames, by the sender's end of the channel.
static void put_long_message(struct channel *channel, size_t size)
{
    static char frame[CHANNEL_HEADER_SIZE + CHANNEL_PAYLOAD_MAX];
    for (size_t sent = 0; sent < size;) {
        size_t length = size - sent < CHANNEL_PAYLOAD_MAX ? size - sent : CHANNEL_PAYLOAD_MAX;
        uint32_t flags =
            (sent == 0 ? CHANNEL_FLAG_FIRST : 0) | (sent + length == size ? CHANNEL_FLAG_LAST : 0);
        uint32_t header[4] = {CHANNEL_RESULT, flags, 1, (uint32_t)length};
        memcpy(frame, header, sizeof(header));
        cr_assert_gt(send(channel->worker_fd, frame, CHANNEL_HEADER_SIZE + length, 0), 0);
        channel_receive(channel, 10);
        sent += length;
    }
}

Test(channel, large_messages_leave_no_large_buffer)
{
    enum { SIZE = 64 << 20 };
    struct event_base *base = event_base_new();
    struct channel channel;
    struct inbox inbox = {0};
    cr_assert_eq(channel_init(&channel, base, on_message, &inbox), 0);
    put_long_message(&channel, SIZE);
    cr_assert(inbox.messages == 1 && inbox.last_length == SIZE);
    cr_expect_leq(channel.incoming.capacity, 1 << 20);
    // Nor does one whose sender never finished it, once there is another.
    put_frame(&channel, CHANNEL_RESULT, CHANNEL_FLAG_FIRST, 2, "begun", 5);
    cr_assert(buffer_reserve(&channel.incoming, SIZE / 2));
    put_frame(&channel, CHANNEL_HELLO, 3, 0, "hello", 5);
    cr_expect_leq(channel.incoming.capacity, 1 << 20);
    enum { REQUEST_SIZE = 4 << 20 };
    char *text = calloc(REQUEST_SIZE, 1);
    cr_assert_eq(channel_send(&channel, CHANNEL_REQUEST, 1, (struct span){text, REQUEST_SIZE}), 0);
    char *frame = malloc(70000);
    for (int rounds = 0; channel.outgoing.length > 0 && rounds < 10000; rounds++) {
        if (recv(channel.worker_fd, frame, 70000, MSG_DONTWAIT) < 0)
            event_base_loop(base, EVLOOP_ONCE | EVLOOP_NONBLOCK);
    }
    free(frame);
    cr_expect_leq(channel.outgoing.capacity, 1 << 20);
    free(text);
    channel_release(&channel);
    event_base_free(base);
}
