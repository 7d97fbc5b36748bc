// Where text is written to: a buffer of the caller, or a string in a region. A full buffer drops
// the text and says so in buffer->failed; a full region leaves by its handler.
//
//     struct sink sink;
//     sink_to_buffer(&sink, buffer);  … sink_text(&sink, …) …  sink_end(&sink);
//     sink_to_region(&sink, region);  … sink_text(&sink, …) …  value text = sink_string(&sink);
#pragma once

#include "base/buffer.h"
#include "value/chunks.h"
#include "value/value.h"

struct string;

struct sink {
    char *data;
    size_t length;
    size_t capacity;
    struct buffer *buffer;
    struct region *region;
    struct string *string;
    bool without_quotes;  // strings inside of collections are written as they are, as println does
    bool as_clojure;  // values are written as Clojure prints them: commas in maps, floats as Java's
};

void sink_to_buffer(struct sink *sink, struct buffer *buffer);
void sink_to_region(struct sink *sink, struct region *region);
void sink_end(struct sink *sink);      // of a buffer
value sink_string(struct sink *sink);  // of a region; the sink is done

// Where `size` more bytes may be written, NULL when the buffer is full; then call sink_wrote().
char *sink_room_slow(struct sink *sink, size_t size);
static inline char *sink_room(struct sink *sink, size_t size)
{
    if (__builtin_expect(size <= sink->capacity - sink->length, 1))
        return sink->data + sink->length;
    return sink_room_slow(sink, size);
}
static inline void sink_wrote(struct sink *sink, size_t size)
{
    sink->length += size;
}

static inline void sink_span(struct sink *sink, struct span text)
{
    char *room = sink_room(sink, text.length);
    if (room) {
        chunks_copy(room, text.data, text.length);
        sink->length += text.length;
    }
}
static inline void sink_text(struct sink *sink, const char *text)
{
    sink_span(sink, span_from(text));
}
static inline void sink_byte(struct sink *sink, char byte)
{
    char *room = sink_room(sink, 1);
    if (room) {
        *room = byte;
        sink->length++;
    }
}
