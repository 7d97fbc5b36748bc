#include "base/memory.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"

static _Atomic size_t fail_countdown;

static _Noreturn void out_of_memory(size_t size)
{
    fprintf(stderr, "cadre: out of memory (%zu bytes requested)\n", size);
    exit(EXIT_FAILURE);
}

void *memory_alloc(size_t size)
{
    void *pointer = malloc(size ? size : 1);
    if (!pointer)
        out_of_memory(size);
    return pointer;
}

void *memory_alloc_zero(size_t size)
{
    void *pointer = calloc(1, size ? size : 1);
    if (!pointer)
        out_of_memory(size);
    return pointer;
}

void *memory_resize(void *pointer, size_t size)
{
    void *resized = realloc(pointer, size ? size : 1);
    if (!resized)
        out_of_memory(size);
    return resized;
}

void *memory_copy(const void *source, size_t size)
{
    void *copy = memory_alloc(size);
    if (size)
        memcpy(copy, source, size);
    return copy;
}

char *memory_copy_text(const char *source, size_t length)
{
    char *copy = memory_alloc(length + 1);
    if (length)
        memcpy(copy, source, length);
    copy[length] = '\0';
    return copy;
}

char *memory_copy_string(const char *source)
{
    return source ? memory_copy_text(source, strlen(source)) : NULL;
}

char *memory_format(const char *format, ...)
{
    va_list arguments;
    char *text = NULL;
    va_start(arguments, format);
    int length = vasprintf(&text, format, arguments);
    va_end(arguments);
    if (length < 0)
        out_of_memory(0);
    return text;
}

char *memory_format_list(size_t limit, const char *format, va_list arguments)
{
    char *text = NULL;
    int length = vasprintf(&text, format, arguments);
    if (length < 0)
        out_of_memory(0);
    if ((size_t)length > limit)
        text[utf8_cut(text, limit)] = '\0';
    return text;
}

void memory_free(void *pointer)
{
    free(pointer);
}

void memory_free_pointer(void *pointer_to_pointer)
{
    void *pointer;
    memcpy(&pointer, pointer_to_pointer, sizeof(pointer));
    free(pointer);
}

static bool must_fail(void)
{
    size_t left = atomic_load_explicit(&fail_countdown, memory_order_relaxed);
    return left != 0 && atomic_fetch_sub(&fail_countdown, 1) == 1;
}

void *memory_try_alloc(size_t size)
{
    return must_fail() ? NULL : malloc(size ? size : 1);
}

void *memory_try_alloc_aligned(size_t alignment, size_t size)
{
    return must_fail() ? NULL : aligned_alloc(alignment, size);
}

void *memory_try_resize(void *pointer, size_t size)
{
    return must_fail() ? NULL : realloc(pointer, size ? size : 1);
}

void memory_fail_nth(size_t n)
{
    atomic_store(&fail_countdown, n);
}
