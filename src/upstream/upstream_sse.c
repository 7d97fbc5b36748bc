#include "upstream/upstream_sse.h"

#include "base/ascii.h"

void sse_init(struct sse_reader *reader, size_t message_max)
{
    *reader = (struct sse_reader){.retry_ms = -1};
    buffer_init(&reader->line, message_max);
    buffer_init(&reader->data, message_max);
    buffer_init(&reader->id, SSE_ID_MAX);
}

void sse_release(struct sse_reader *reader)
{
    buffer_release(&reader->line);
    buffer_release(&reader->data);
    buffer_release(&reader->id);
}

void sse_restart(struct sse_reader *reader)
{
    buffer_clear(&reader->line);
    buffer_clear(&reader->data);
    reader->has_data = reader->is_other = reader->after_return = false;
}

static void read_retry(struct sse_reader *reader, struct span text)
{
    int64_t number = 0;
    if (text.length == 0 || text.length > 9)
        return;
    for (size_t i = 0; i < text.length; i++) {
        if (!ascii_is_digit(text.data[i]))
            return;
        number = 10 * number + (text.data[i] - '0');
    }
    reader->retry_ms = number;
}

static void read_field(struct sse_reader *reader, struct span name, struct span text)
{
    if (span_equal_text(name, "data")) {
        if (reader->has_data)
            buffer_append_byte(&reader->data, '\n');
        buffer_append_span(&reader->data, text);
        reader->has_data = true;
    } else if (span_equal_text(name, "event")) {
        reader->is_other = text.length > 0 && !span_equal_text(text, "message");
    } else if (span_equal_text(name, "id") && !memchr(text.data, '\0', text.length)) {
        buffer_clear(&reader->id);
        buffer_append_span(&reader->id, text);
    } else if (span_equal_text(name, "retry")) {
        read_retry(reader, text);
    }
}

static void read_line(struct sse_reader *reader, struct span line,
                      void (*message)(void *data, struct span text), void *data)
{
    if (line.length == 0) {
        if (reader->data.length && !reader->is_other && !reader->data.failed)
            message(data, buffer_span(&reader->data));
        reader->has_data = reader->is_other = false;
        if (!reader->data.failed)
            buffer_clear(&reader->data);
        return;
    }
    const char *colon = memchr(line.data, ':', line.length);
    size_t end = colon ? (size_t)(colon - line.data) : line.length;
    struct span text = {line.data + end, 0};
    if (colon) {
        size_t skip = end + 1 < line.length && line.data[end + 1] == ' ' ? 2 : 1;
        text = (struct span){line.data + end + skip, line.length - end - skip};
    }
    read_field(reader, (struct span){line.data, end}, text);
}

// The length of the line that begins here; `length` when its end is not there yet.
static size_t line_length(const char *at, size_t length)
{
    const char *feed = memchr(at, '\n', length);
    size_t end = feed ? (size_t)(feed - at) : length;
    const char *carriage_return = memchr(at, '\r', end);
    return carriage_return ? (size_t)(carriage_return - at) : end;
}

bool sse_read(struct sse_reader *reader, struct span bytes,
              void (*message)(void *data, struct span text), void *data)
{
    for (size_t at = 0; at < bytes.length;) {
        bool continues = reader->after_return && bytes.data[at] == '\n';
        reader->after_return = false;
        if (continues) {
            at++;
            continue;
        }
        size_t length = line_length(bytes.data + at, bytes.length - at);
        buffer_append(&reader->line, bytes.data + at, length);
        at += length;
        if (at == bytes.length)
            break;
        reader->after_return = bytes.data[at++] == '\r';
        if (reader->line.failed)
            break;
        read_line(reader, buffer_span(&reader->line), message, data);
        buffer_clear(&reader->line);
    }
    return !reader->line.failed && !reader->data.failed;
}
