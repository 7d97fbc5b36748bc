// The stream of events and those who read it. Events are numbered; the newest are kept for readers that
// come back (Last-Event-ID), until a minute after the last one has left.
//
// A reader first gets {"type":"hello","resumed":…}: false means that it must read all resources anew.
#pragma once

#include <sys/queue.h>

#include "base/buffer.h"
#include "mcp/mcp.h"

struct feed_event;

struct feed {
    char epoch[17];  // tells this stream from one of another process
    TAILQ_HEAD(feed_link_list, feed_link) readers;
    STAILQ_HEAD(feed_event_list, feed_event) events;
    size_t event_count, event_bytes;
    uint64_t last;                  // number of the newest event
    bool has_gap;                   // something happened that was not kept
    int64_t until_ms;               // events are kept, though nobody reads
    void (*on_reader)(void *data);  // somebody begins to read
    void *data;
};

void feed_init(struct feed *feed, void (*on_reader)(void *data), void *data);
void feed_release(struct feed *feed);
// False: nobody would see an event, so none needs to be made.
bool feed_wants(struct feed *feed);
bool feed_is_read(const struct feed *feed);  // now
// The text of an event is JSON.
void feed_publish(struct feed *feed, struct span text);
void feed_serve(struct feed *feed, struct mcp_server *server);
