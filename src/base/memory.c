#include "base/memory.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/assert.h"
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

void memory_unmap(void *pointer, size_t size)
{
    CHECK(munmap(pointer, size) == 0);
}

// Addresses aligned to large pages, with nothing of their surplus left mapped.
static char *map_aligned(size_t size)
{
    if (size > SIZE_MAX - MEMORY_LARGE_PAGE)
        return NULL;
    char *start = mmap(NULL, size + MEMORY_LARGE_PAGE, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (start == MAP_FAILED)
        return NULL;
    size_t before = -(uintptr_t)start % MEMORY_LARGE_PAGE;
    if (before > 0)
        memory_unmap(start, before);
    memory_unmap(start + before + size, MEMORY_LARGE_PAGE - before);
    return start + before;
}

void *memory_try_map(size_t size)
{
    char *pointer = must_fail() ? NULL : map_aligned(size);
    if (pointer)
        (void)madvise(pointer, size, MADV_HUGEPAGE);  // small pages will do
    return pointer;
}

void *memory_try_remap(void *pointer, size_t old_size, size_t size)
{
    if (must_fail())
        return NULL;
    char *target = map_aligned(size);
    int flags = target ? MREMAP_MAYMOVE | MREMAP_FIXED : MREMAP_MAYMOVE;
    void *moved = mremap(pointer, old_size, size, flags, target);
    if (moved != MAP_FAILED)
        return moved;
    if (target)
        memory_unmap(target, size);
    return NULL;
}

void memory_fail_nth(size_t n)
{
    atomic_store(&fail_countdown, n);
}
