// The channel from a worker: any packets, in any order. What is handed over is a whole message of one
// sender within its limit, or garbage named as such; the payload is then read as JSON, as the supervisor
// does.
#include <event2/event.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/assert.h"
#include "fuzz.h"
#include "session/channel.h"
#include "session/session.h"
#include "value/text/json.h"

enum { PACKET_MAX = 4096, FRAMES_AT_ONCE = 64 };

static void on_message(void *data, struct channel *channel, const struct channel_message *message)
{
    (void)data;
    (void)channel;
    CHECK(message->sender == getpid());
    CHECK(message->payload.length <= SESSION_MESSAGE_MAX);
    if (message->type == CHANNEL_GARBAGE)
        return;
    struct region *region = region_new((size_t)64 << 20);
    struct error error;
    value v;
    json_read(region, message->payload, NULL, &v, &error);
    region_free(region);
}

// The input is a row of packets, each after two bytes of length; a header of four words is completed
// where the input says so, so that well-formed frames come up often.
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct event_base *base = event_base_new();
    struct channel channel;
    CHECK(channel_init(&channel, base, on_message, NULL) == 0);
    while (size >= 3) {
        size_t length = (size_t)(data[0] | data[1] << 8) % PACKET_MAX;
        bool completed = data[2] & 1;
        data += 3;
        size -= 3;
        if (length > size)
            length = size;
        char packet[CHANNEL_HEADER_SIZE + PACKET_MAX] = {0};
        size_t sent = length;
        if (completed && length >= 3) {
            uint32_t header[4] = {data[0], data[1], data[2] % 4u, (uint32_t)(length - 3)};
            memcpy(packet, header, sizeof(header));
            memcpy(packet + sizeof(header), data + 3, length - 3);
            sent = sizeof(header) + length - 3;
        } else if (length) {
            memcpy(packet, data, length);
        }
        if (send(channel.worker_fd, packet, sent, MSG_DONTWAIT) < 0)
            channel_receive(&channel, FRAMES_AT_ONCE);
        channel_receive(&channel, FRAMES_AT_ONCE);
        data += length;
        size -= length;
    }
    channel_release(&channel);
    event_base_free(base);
    return 0;
}
