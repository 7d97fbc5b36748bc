// A growable run of bytes with a limit. Owned by the caller: buffer_init / buffer_release.
// Appending past the limit (or out of memory) sets `failed` and drops the bytes; later appends do
// nothing. So a writer appends freely and checks once at the end.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/span.h"

struct buffer {
    char *data;  // data[length] is always NUL once something was appended
    size_t length;
    size_t capacity;
    size_t limit;
    bool failed;
};

enum { BUFFER_DEFAULT_LIMIT = 1 << 30 };

void buffer_init(struct buffer *buffer, size_t limit);
void buffer_release(struct buffer *buffer);
void buffer_clear(struct buffer *buffer);  // keeps the memory, forgets a failure

bool buffer_reserve(struct buffer *buffer, size_t extra);  // room for `extra` more bytes
void buffer_append(struct buffer *buffer, const void *data, size_t length);
void buffer_append_span(struct buffer *buffer, struct span text);
void buffer_append_text(struct buffer *buffer, const char *text);
void buffer_append_byte(struct buffer *buffer, char byte);
void buffer_append_format(struct buffer *buffer, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
// Everything up to the end of the file, or until the limit is passed (`failed`). 0 or negative errno.
int buffer_append_descriptor(struct buffer *buffer, int descriptor);
void buffer_consume(struct buffer *buffer, size_t length);   // drops bytes at the front
void buffer_truncate(struct buffer *buffer, size_t length);  // keeps the first bytes

static inline struct span buffer_span(const struct buffer *buffer)
{
    return (struct span){buffer->data ? buffer->data : "", buffer->length};
}

// The text as a C string; "" when nothing was appended.
static inline const char *buffer_text(const struct buffer *buffer)
{
    return buffer->data ? buffer->data : "";
}

#define CLEANUP_BUFFER __attribute__((cleanup(buffer_release)))
