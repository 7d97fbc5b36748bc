// The reader of event streams: the same messages, however the stream is cut into pieces.
#include <criterion/criterion.h>
#include <string.h>

#include "upstream/upstream_sse.h"

static struct buffer heard;  // the messages, each with '|' behind it

static void on_message(void *data, struct span text)
{
    (void)data;
    buffer_append_span(&heard, text);
    buffer_append_byte(&heard, '|');
}

static bool read_in_pieces(struct sse_reader *reader, const char *stream, size_t piece)
{
    size_t length = strlen(stream);
    for (size_t at = 0; at < length; at += piece) {
        size_t part = length - at < piece ? length - at : piece;
        if (!sse_read(reader, (struct span){stream + at, part}, on_message, NULL))
            return false;
    }
    return true;
}

static void expect(const char *stream, const char *messages)
{
    for (size_t piece = 1; piece <= strlen(stream); piece++) {
        struct sse_reader reader;
        buffer_init(&heard, 1000);
        sse_init(&reader, 100);
        cr_assert(read_in_pieces(&reader, stream, piece));
        cr_assert_str_eq(buffer_text(&heard), messages, "%s in pieces of %zu: %s", stream, piece,
                         buffer_text(&heard));
        sse_release(&reader);
        buffer_release(&heard);
    }
}

Test(upstream_sse, messages)
{
    expect("data: a\n\ndata:b\n\n", "a|b|");
    expect("data: a\r\rdata: b\r\n\r\ndata: c\n\n", "a|b|c|");
    expect("data: a\ndata:  b\ndata\n\n", "a\n b\n|");
    expect(": comment\n:\nevent: message\ndata: a\n\n", "a|");
}

Test(upstream_sse, what_is_no_message)
{
    expect("event: endpoint\ndata: /x\n\ndata: a\n\n", "a|");
    expect("data:\n\nid: 1\n\n\n\n", "");
    expect("data: not ended", "");
    expect("data: not ended\n", "");
    expect("unknown: x\ndata2: y\n\n", "");
}

Test(upstream_sse, ids_and_times)
{
    struct sse_reader reader;
    buffer_init(&heard, 1000);
    sse_init(&reader, 100);
    cr_assert(read_in_pieces(&reader, "id: 7\nretry: 250\ndata: a\n\nretry: soon\nid\n", 3));
    cr_assert_eq(reader.retry_ms, 250);
    cr_assert_eq(reader.id.length, 0);
    cr_assert(read_in_pieces(&reader, "id: eight\n\n", 100));
    cr_assert_str_eq(buffer_text(&reader.id), "eight");
    sse_restart(&reader);
    cr_assert_str_eq(buffer_text(&reader.id), "eight");
    sse_release(&reader);
    buffer_release(&heard);
}

Test(upstream_sse, limits)
{
    struct sse_reader reader;
    buffer_init(&heard, 1000);
    sse_init(&reader, 20);
    cr_assert(!read_in_pieces(&reader, "data: 0123456789012345\n\n", 5));
    sse_release(&reader);
    sse_init(&reader, 20);
    cr_assert(!read_in_pieces(&reader, "data: 01234567\ndata: 0123456789012\n\n", 100));
    sse_release(&reader);
    sse_init(&reader, 20);
    cr_assert(!read_in_pieces(&reader, "no end of this line at all", 100));
    sse_release(&reader);
    buffer_release(&heard);
}
