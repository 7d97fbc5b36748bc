#include "base/buffer.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/memory.h"

void buffer_init(struct buffer *buffer, size_t limit)
{
    *buffer = (struct buffer){.limit = limit};
}

void buffer_release(struct buffer *buffer)
{
    memory_free(buffer->data);
    buffer_init(buffer, buffer->limit);
}

void buffer_clear(struct buffer *buffer)
{
    buffer->length = 0;
    buffer->failed = false;
    if (buffer->data)
        buffer->data[0] = '\0';
}

bool buffer_reserve(struct buffer *buffer, size_t extra)
{
    if (buffer->failed || extra > buffer->limit - buffer->length) {
        buffer->failed = true;
        return false;
    }
    size_t need = buffer->length + extra + 1;
    if (need <= buffer->capacity)
        return true;
    size_t capacity = buffer->capacity ? buffer->capacity * 2 : 64;
    if (capacity < need)
        capacity = need;
    char *data = memory_try_resize(buffer->data, capacity);
    if (!data) {
        buffer->failed = true;
        return false;
    }
    buffer->data = data;
    buffer->capacity = capacity;
    return true;
}

void buffer_append(struct buffer *buffer, const void *data, size_t length)
{
    if (!buffer_reserve(buffer, length))
        return;
    if (length)
        memcpy(buffer->data + buffer->length, data, length);
    buffer->length += length;
    buffer->data[buffer->length] = '\0';
}

void buffer_append_span(struct buffer *buffer, struct span text)
{
    buffer_append(buffer, text.data, text.length);
}

void buffer_append_text(struct buffer *buffer, const char *text)
{
    buffer_append(buffer, text, strlen(text));
}

void buffer_append_byte(struct buffer *buffer, char byte)
{
    buffer_append(buffer, &byte, 1);
}

void buffer_append_format(struct buffer *buffer, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(NULL, 0, format, arguments);
    va_end(arguments);
    CHECK(length >= 0);
    if (!buffer_reserve(buffer, (size_t)length))
        return;
    va_start(arguments, format);
    vsnprintf(buffer->data + buffer->length, (size_t)length + 1, format, arguments);
    va_end(arguments);
    buffer->length += (size_t)length;
}

int buffer_append_descriptor(struct buffer *buffer, int descriptor)
{
    while (!buffer->failed) {
        char block[65536];
        ssize_t length = read(descriptor, block, sizeof(block));
        if (length < 0 && errno == EINTR)
            continue;
        if (length <= 0)
            return length < 0 ? -errno : 0;
        buffer_append(buffer, block, (size_t)length);
    }
    return 0;
}

void buffer_consume(struct buffer *buffer, size_t length)
{
    CHECK(length <= buffer->length);
    if (length == 0)
        return;
    buffer->length -= length;
    memmove(buffer->data, buffer->data + length, buffer->length);
    buffer->data[buffer->length] = '\0';
}

void buffer_truncate(struct buffer *buffer, size_t length)
{
    CHECK(length <= buffer->length);
    buffer->length = length;
    if (buffer->data)
        buffer->data[length] = '\0';
}
