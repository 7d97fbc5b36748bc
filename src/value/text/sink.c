#include "value/text/sink.h"

#include "value/layout.h"
#include "value/text/text.h"

enum { FIRST_CAPACITY = 48 };

// How long the text may become without asking the buffer.
static size_t room_of(const struct buffer *buffer)
{
    if (buffer->failed || buffer->capacity == 0)
        return buffer->length;
    size_t room = buffer->capacity - 1;  // the final NUL
    return room < buffer->limit ? room : buffer->limit;
}

void sink_to_buffer(struct sink *sink, struct buffer *buffer)
{
    *sink = (struct sink){.buffer = buffer,
                          .data = buffer->data,
                          .length = buffer->length,
                          .capacity = room_of(buffer)};
}

void sink_to_region(struct sink *sink, struct region *region)
{
    struct string *string = string_reserve(region, FIRST_CAPACITY);
    *sink = (struct sink){
        .region = region, .string = string, .data = string->bytes, .capacity = string->capacity};
}

static char *grow_string(struct sink *sink, size_t size)
{
    struct string *string = sink->string;
    size_t need = sink->length + size;
    size_t wanted = need < SIZE_MAX / 4 ? need + need / 2 : SIZE_MAX / 4;
    if (wanted > STRING_MAX)
        wanted = need <= STRING_MAX ? STRING_MAX : SIZE_MAX / 4;  // the region refuses the latter
    size_t new_size = region_round(sizeof(*string) + wanted);
    fuel_spend(sink->length / CHUNK_BYTES_PER_UNIT);
    string = region_resize(sink->region, string, sizeof(*string) + string->capacity, new_size);
    string->capacity = (uint32_t)(new_size - sizeof(*string));
    sink->string = string;
    sink->data = string->bytes;
    sink->capacity = string->capacity;
    return sink->data + sink->length;
}

char *sink_room_slow(struct sink *sink, size_t size)
{
    if (sink->region)
        return grow_string(sink, size);
    struct buffer *buffer = sink->buffer;
    buffer->length = sink->length;
    if (!buffer_reserve(buffer, size)) {
        sink->capacity = sink->length;
        return NULL;
    }
    sink->data = buffer->data;
    sink->capacity = room_of(buffer);
    return sink->data + sink->length;
}

void sink_end(struct sink *sink)
{
    struct buffer *buffer = sink->buffer;
    buffer->length = sink->length;
    if (buffer->data)
        buffer->data[buffer->length] = '\0';
}

value sink_string(struct sink *sink)
{
    return string_finish(sink->region, sink->string, sink->length);
}
