#include "inspector/feed.h"

#include <inttypes.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/memory.h"

enum { EVENTS_MAX = 1024, EVENTS_BYTES_MAX = 2 << 20, KEEP_MS = 60000, ID_SIZE = 48 };

struct feed_link {
    TAILQ_ENTRY(feed_link) link;
    struct mcp_feed_reader *reader;
};

struct feed_event {
    STAILQ_ENTRY(feed_event) link;
    uint64_t number;
    size_t length;
    char text[];
};

void feed_init(struct feed *feed, void (*on_reader)(void *data), void *data)
{
    unsigned char random[8];
    *feed = (struct feed){.on_reader = on_reader, .data = data};
    TAILQ_INIT(&feed->readers);
    STAILQ_INIT(&feed->events);
    randombytes_buf(random, sizeof(random));
    sodium_bin2hex(feed->epoch, sizeof(feed->epoch), random, sizeof(random));
}

static void drop_first(struct feed *feed)
{
    struct feed_event *event = STAILQ_FIRST(&feed->events);
    STAILQ_REMOVE_HEAD(&feed->events, link);
    feed->event_count--;
    feed->event_bytes -= event->length;
    memory_free(event);
}

void feed_release(struct feed *feed)
{
    while (!STAILQ_EMPTY(&feed->events))
        drop_first(feed);
    struct feed_link *link;
    while ((link = TAILQ_FIRST(&feed->readers))) {
        TAILQ_REMOVE(&feed->readers, link, link);
        memory_free(link);
    }
}

bool feed_is_read(const struct feed *feed)
{
    return !TAILQ_EMPTY(&feed->readers);
}

bool feed_wants(struct feed *feed)
{
    if (feed_is_read(feed) || clock_now_ms() < feed->until_ms)
        return true;
    feed->has_gap = true;
    return false;
}

// --- events --------------------------------------------------------------------------------------

static void write_id(const struct feed *feed, uint64_t number, char text[ID_SIZE])
{
    snprintf(text, ID_SIZE, "%s-%" PRIu64, feed->epoch, number);
}

static void keep(struct feed *feed, struct span text)
{
    struct feed_event *event = memory_alloc(sizeof(*event) + text.length);
    event->number = feed->last;
    event->length = text.length;
    memcpy(event->text, text.data, text.length);
    STAILQ_INSERT_TAIL(&feed->events, event, link);
    feed->event_count++;
    feed->event_bytes += text.length;
    while (feed->event_count > EVENTS_MAX ||
           (feed->event_bytes > EVENTS_BYTES_MAX && feed->event_count > 1))
        drop_first(feed);
}

void feed_publish(struct feed *feed, struct span text)
{
    char id[ID_SIZE];
    write_id(feed, ++feed->last, id);
    keep(feed, text);
    const struct feed_link *link;
    TAILQ_FOREACH (link, &feed->readers, link)
        mcp_feed_send(link->reader, id, text);
}

// --- readers -------------------------------------------------------------------------------------

// The number of the last event that a reader has seen, if all that came later is still there.
static bool find_place(const struct feed *feed, const char *id, uint64_t *ret_number)
{
    size_t length = strlen(feed->epoch);
    if (!id || feed->has_gap || strncmp(id, feed->epoch, length) != 0 || id[length] != '-')
        return false;
    const char *digits = id + length + 1;
    if (*digits == '\0' || strlen(digits) > 18 || digits[strspn(digits, "0123456789")] != '\0')
        return false;
    sscanf(digits, "%" SCNu64, ret_number);
    const struct feed_event *first = STAILQ_FIRST(&feed->events);
    uint64_t oldest = first ? first->number : feed->last + 1;
    return *ret_number <= feed->last && *ret_number + 1 >= oldest;
}

static void open_reader(void *data, struct mcp_feed_reader *reader, const char *last_event_id)
{
    struct feed *feed = data;
    char id[ID_SIZE], hello[64];
    uint64_t after = 0;
    bool resumes = find_place(feed, last_event_id, &after);
    if (!resumes) {
        feed->has_gap = false;
        after = feed->last;
    }
    struct feed_link *link = memory_alloc_zero(sizeof(*link));
    link->reader = reader;
    TAILQ_INSERT_TAIL(&feed->readers, link, link);
    write_id(feed, after, id);
    int length = snprintf(hello, sizeof(hello), "{\"type\":\"hello\",\"resumed\":%s}",
                          resumes ? "true" : "false");
    mcp_feed_send(reader, id, (struct span){hello, (size_t)length});
    const struct feed_event *event;
    STAILQ_FOREACH (event, &feed->events, link) {
        if (event->number <= after)
            continue;
        write_id(feed, event->number, id);
        mcp_feed_send(reader, id, (struct span){event->text, event->length});
    }
    feed->on_reader(feed->data);
}

static void close_reader(void *data, struct mcp_feed_reader *reader)
{
    struct feed *feed = data;
    struct feed_link *link;
    TAILQ_FOREACH (link, &feed->readers, link)
        if (link->reader == reader)
            break;
    if (!link)
        return;
    TAILQ_REMOVE(&feed->readers, link, link);
    memory_free(link);
    feed->until_ms = clock_now_ms() + KEEP_MS;
}

void feed_serve(struct feed *feed, struct mcp_server *server)
{
    const struct mcp_feed served = {.open = open_reader, .close = close_reader, .data = feed};
    mcp_server_set_feed(server, &served);
}
