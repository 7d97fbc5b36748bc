// The only place that calls malloc. Two idioms:
//   memory_alloc() and friends never fail: the process is out of memory when they would, and ends.
//   memory_try_*() return NULL, for allocations whose size a hostile input decides.
// Tests can make the n-th memory_try_* allocation of the process fail.
#pragma once

#include <stdarg.h>
#include <stddef.h>

void *memory_alloc(size_t size);
void *memory_alloc_zero(size_t size);
void *memory_resize(void *pointer, size_t size);
void *memory_copy(const void *source, size_t size);
char *memory_copy_text(const char *source, size_t length);  // adds the final NUL
char *memory_copy_string(const char *source);               // up to its NUL; NULL stays NULL
char *memory_format(const char *format, ...) __attribute__((format(printf, 1, 2)));
// At most `limit` bytes, cut between characters.
char *memory_format_list(size_t limit, const char *format, va_list arguments)
    __attribute__((format(printf, 2, 0)));
void memory_free(void *pointer);

void *memory_try_alloc(size_t size);
void *memory_try_alloc_aligned(size_t alignment, size_t size);
void *memory_try_resize(void *pointer, size_t size);

// Memory in large pages, where the system has them: a page fault for each 2 MiB and not for each 4 KiB.
// Zeroed; sizes are multiples of MEMORY_LARGE_PAGE. Resizing moves pages instead of copying bytes.
enum { MEMORY_LARGE_PAGE = 2 << 20 };
void *memory_try_map(size_t size);
void *memory_try_remap(void *pointer, size_t old_size, size_t size);
void memory_unmap(void *pointer, size_t size);

// The n-th memory_try_* call from now on fails, once; 0 switches this off. For tests.
void memory_fail_nth(size_t n);

// Scope-bound ownership: `CLEANUP_FREE char *path = memory_format(…);`
void memory_free_pointer(void *pointer_to_pointer);
#define CLEANUP_FREE __attribute__((cleanup(memory_free_pointer)))
