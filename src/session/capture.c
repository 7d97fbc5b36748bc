#include "session/capture.h"

#include <string.h>

#include "base/utf8.h"

enum { TAIL_SLACK = 64 * 1024 };  // characters; trimming less often costs less

void capture_init(struct capture *capture, size_t max_characters)
{
    *capture = (struct capture){0};
    buffer_init(&capture->head, BUFFER_DEFAULT_LIMIT);
    buffer_init(&capture->tail, BUFFER_DEFAULT_LIMIT);
    capture_set_limit(capture, max_characters);
}

void capture_release(struct capture *capture)
{
    buffer_release(&capture->head);
    buffer_release(&capture->tail);
}

bool capture_is_full(const struct capture *capture)
{
    return capture->dropped > 0 ||
           capture->head_characters + capture->tail_characters >= capture->max_characters;
}

void capture_set_limit(struct capture *capture, size_t max_characters)
{
    capture->max_characters = max_characters;
}

void capture_listen(struct capture *capture, capture_listener_fn *listener, void *data)
{
    capture->listener = listener;
    capture->listener_data = data;
    if (listener && capture->head.length > 0)
        listener(data, capture, buffer_span(&capture->head));
    if (listener && capture->tail.length > 0)
        listener(data, capture, buffer_span(&capture->tail));
}

static size_t tail_limit(const struct capture *capture)
{
    return capture->max_characters / 4;
}

static size_t head_limit(const struct capture *capture)
{
    return capture->max_characters - tail_limit(capture);
}

static void tail_shrink(struct capture *capture, size_t keep)
{
    if (capture->tail_characters <= keep)
        return;
    size_t drop = capture->tail_characters - keep;
    buffer_consume(&capture->tail, utf8_offset(capture->tail.data, capture->tail.length, drop));
    capture->tail_characters = keep;
    capture->dropped += drop;
}

size_t capture_characters(const struct capture *capture)
{
    size_t tail = capture->tail_characters, limit = tail_limit(capture);
    return capture->head_characters + (tail < limit ? tail : limit);
}

// The end of the head becomes the beginning of the tail: nothing is missing between them.
static void move_to_tail(struct capture *capture, size_t offset)
{
    struct buffer joined;
    buffer_init(&joined, BUFFER_DEFAULT_LIMIT);
    struct span moved = {capture->head.data + offset, capture->head.length - offset};
    buffer_append_span(&joined, moved);
    buffer_append_span(&joined, buffer_span(&capture->tail));
    capture->tail_characters += utf8_count(moved.data, moved.length);
    buffer_release(&capture->tail);
    capture->tail = joined;
}

void capture_shrink(struct capture *capture, size_t keep)
{
    size_t tail = keep / 4, head = keep - tail;
    if (capture_characters(capture) <= keep)
        return;
    if (capture->head_characters > head) {
        size_t offset = utf8_offset(capture->head.data, capture->head.length, head);
        if (capture->dropped == 0 && capture->tail_characters < tail)
            move_to_tail(capture, offset);
        else
            capture->dropped += capture->head_characters - head;
        buffer_truncate(&capture->head, offset);
        capture->head_characters = head;
    }
    tail_shrink(capture, tail);
}

// Adds valid text.
static void add_text(struct capture *capture, const char *text, size_t length)
{
    if (capture->listener && length > 0)
        capture->listener(capture->listener_data, capture, (struct span){text, length});
    size_t characters = utf8_count(text, length);
    size_t head_limit_now = head_limit(capture);
    if (capture->tail_characters == 0 && capture->dropped == 0 &&
        capture->head_characters < head_limit_now) {
        size_t room = head_limit_now - capture->head_characters;
        size_t taken = characters < room ? characters : room;
        size_t bytes = taken == characters ? length : utf8_offset(text, length, taken);
        buffer_append(&capture->head, text, bytes);
        capture->head_characters += taken;
        text += bytes;
        length -= bytes;
        characters -= taken;
    }
    buffer_append(&capture->tail, text, length);
    capture->tail_characters += characters;
    // Trimmed only when twice too long, so that the cost per byte stays constant.
    if (capture->tail_characters > 2 * tail_limit(capture) + TAIL_SLACK)
        tail_shrink(capture, tail_limit(capture));
}

static void remember_last(struct capture *capture, const char *data, size_t length)
{
    if (length >= CAPTURE_LAST_BYTES) {
        memcpy(capture->last, data + length - CAPTURE_LAST_BYTES, CAPTURE_LAST_BYTES);
        capture->last_length = CAPTURE_LAST_BYTES;
        return;
    }
    size_t keep = CAPTURE_LAST_BYTES - length;
    if (capture->last_length > keep) {
        memmove(capture->last, capture->last + capture->last_length - keep, keep);
        capture->last_length = keep;
    }
    memcpy(capture->last + capture->last_length, data, length);
    capture->last_length += length;
}

// How many bytes the character that begins with this byte should have.
static size_t expected_bytes(unsigned char first)
{
    return first < 0x80   ? 1
           : first < 0xC2 ? 1
           : first < 0xE0 ? 2
           : first < 0xF0 ? 3
           : first < 0xF5 ? 4
                          : 1;
}

// Could more bytes make a character of this? (A truncated but so far valid sequence.)
static bool is_incomplete(const char *data, size_t length)
{
    if (length == 0 || length >= expected_bytes((unsigned char)data[0]))
        return false;
    for (size_t i = 1; i < length; i++) {
        if (((unsigned char)data[i] & 0xC0) != 0x80)
            return false;
    }
    return true;
}

static void add_invalid(struct capture *capture)
{
    char bytes[UTF8_MAX_BYTES];
    add_text(capture, bytes, utf8_encode(UTF8_REPLACEMENT, bytes));
}

static void add_bytes(struct capture *capture, const char *data, size_t length)
{
    while (length > 0) {
        size_t valid = utf8_valid_prefix(data, length);
        add_text(capture, data, valid);
        data += valid;
        length -= valid;
        if (length == 0)
            return;
        if (is_incomplete(data, length)) {
            memcpy(capture->partial, data, length);
            capture->partial_length = length;
            return;
        }
        uint32_t code_point;
        size_t skip = utf8_decode(data, length, &code_point);
        add_invalid(capture);
        data += skip;
        length -= skip;
    }
}

void capture_add(struct capture *capture, const char *data, size_t length)
{
    remember_last(capture, data, length);
    // Complete a character that the last read cut in two.
    while (capture->partial_length > 0 && length > 0) {
        char joined[4];
        size_t joined_length = capture->partial_length;
        memcpy(joined, capture->partial, joined_length);
        joined[joined_length++] = *data;
        capture->partial_length = 0;
        if (is_incomplete(joined, joined_length) || utf8_is_valid(joined, joined_length)) {
            data++;
            length--;
            add_bytes(capture, joined, joined_length);
        } else {
            add_invalid(capture);
        }
    }
    add_bytes(capture, data, length);
}

uint64_t capture_move(struct capture *capture, struct buffer *text)
{
    if (capture->partial_length > 0) {
        capture->partial_length = 0;
        add_invalid(capture);
    }
    tail_shrink(capture, tail_limit(capture));
    uint64_t omitted = capture->dropped;
    buffer_append_span(text, buffer_span(&capture->head));
    if (omitted > 0) {
        if (capture->head.length > 0 && capture->head.data[capture->head.length - 1] != '\n')
            buffer_append_byte(text, '\n');
        buffer_append_format(text, "[truncated: %llu characters omitted; max-output %zu]\n",
                             (unsigned long long)omitted, capture->max_characters);
    }
    buffer_append_span(text, buffer_span(&capture->tail));
    buffer_clear(&capture->head);
    buffer_clear(&capture->tail);
    capture->head_characters = 0;
    capture->tail_characters = 0;
    capture->dropped = 0;
    capture->last_length = 0;
    return omitted;
}

void capture_move_text(struct capture *capture, struct buffer *text)
{
    size_t last_length = capture->last_length;
    capture_move(capture, text);
    capture->last_length = last_length;
}

void capture_last(const struct capture *capture, struct buffer *text)
{
    utf8_append_repaired(text, (struct span){capture->last, capture->last_length});
}

struct span capture_newest_line(const struct capture *capture, size_t max_bytes)
{
    const struct buffer *buffer = capture->tail.length > 0 ? &capture->tail : &capture->head;
    size_t end = buffer->length;
    while (end > 0 && (buffer->data[end - 1] == '\n' || buffer->data[end - 1] == '\r'))
        end--;
    size_t start = end;
    while (start > 0 && buffer->data[start - 1] != '\n' && end - start < max_bytes)
        start--;
    while (start < end && ((unsigned char)buffer->data[start] & 0xC0) == 0x80)
        start++;
    return (struct span){buffer->data ? buffer->data + start : "", end - start};
}
