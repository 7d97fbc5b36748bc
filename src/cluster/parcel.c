#include "cluster/parcel.h"

#include <inttypes.h>
#include <stdio.h>

enum { HEADER_MAX = 64 << 10, LINE_BYTES = PARCEL_CALL_MAX + 64 };

static int send_piece(struct parcel_writer *writer, struct span header, struct span body, bool more)
{
    CLEANUP_BUFFER struct buffer text;
    buffer_init(&text, (size_t)2 * BUS_PIECE_MAX);
    buffer_append_format(&text, "%s %" PRIu64 " %d %zu\n", writer->call, ++writer->last, more,
                         header.length);
    buffer_append_span(&text, header);
    buffer_append_span(&text, body);
    const struct bus_message message = {
        .subject = writer->subject, .reply = writer->reply, .body = buffer_span(&text)};
    return bus_publish(writer->bus, &message);
}

int parcel_send(struct parcel_writer *writer, struct span header, struct span body)
{
    int result = 0;
    do {
        size_t length = body.length < BUS_PIECE_MAX ? body.length : BUS_PIECE_MAX;
        bool more = length < body.length;
        result = send_piece(writer, header, (struct span){body.data, length}, more);
        body = (struct span){body.data + length, body.length - length};
        header.length = 0;
    } while (result == 0 && body.length > 0);
    return result;
}

void parcel_reader_init(struct parcel_reader *reader, size_t body_limit)
{
    reader->last = 0;
    buffer_init(&reader->header, HEADER_MAX);
    buffer_init(&reader->body, body_limit);
}

void parcel_reader_release(struct parcel_reader *reader)
{
    buffer_release(&reader->header);
    buffer_release(&reader->body);
}

struct first_line {
    char call[PARCEL_CALL_MAX + 1];
    uint64_t number;
    unsigned more;
    size_t header, length;  // bytes
};

static bool read_line(struct span piece, struct first_line *line)
{
    char text[LINE_BYTES + 1];
    int used = 0;
    size_t limit = piece.length < LINE_BYTES ? piece.length : LINE_BYTES;
    const char *end = memchr(piece.data, '\n', limit);
    if (!end)
        return false;
    line->length = (size_t)(end - piece.data) + 1;
    memcpy(text, piece.data, line->length - 1);
    text[line->length - 1] = '\0';
    return sscanf(text, "%96s %" SCNu64 " %1u %zu%n", line->call, &line->number, &line->more,
                  &line->header, &used) == 4 &&
           used > 0 && text[used] == '\0' && line->header <= piece.length - line->length;
}

bool parcel_find_call(struct span piece, char call[PARCEL_CALL_MAX + 1], uint64_t *ret_number)
{
    struct first_line line;
    if (!read_line(piece, &line))
        return false;
    memcpy(call, line.call, sizeof(line.call));
    *ret_number = line.number;
    return true;
}

enum parcel_progress parcel_read(struct parcel_reader *reader, struct span piece)
{
    struct first_line line;
    if (!read_line(piece, &line) || line.number != reader->last + 1)
        return PARCEL_BROKEN;
    reader->last = line.number;
    buffer_append(&reader->header, piece.data + line.length, line.header);
    size_t start = line.length + line.header;
    buffer_append(&reader->body, piece.data + start, piece.length - start);
    if (reader->header.failed || reader->body.failed)
        return PARCEL_BROKEN;
    return line.more ? PARCEL_PART : PARCEL_WHOLE;
}

void parcel_next(struct parcel_reader *reader)
{
    buffer_clear(&reader->header);
    buffer_clear(&reader->body);
}
