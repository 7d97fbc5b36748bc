// A work list: what other programs keep on the C stack when they recurse over nested data. The
// first frames lie in the caller's memory; more come from fuel.region, whose limit counts them, or
// from plain memory when no region was named (value/fuel.h).
#pragma once

#include <stddef.h>

#include "base/region.h"

struct work {
    char *frames;
    size_t frame_size;
    size_t count;
    size_t capacity;
    struct region *region;
    char *first;
};

void work_init(struct work *work, void *first, size_t first_size, size_t frame_size);
void work_release(struct work *work);
void work_grow(struct work *work);

// A new frame on top, not initialised. Pointers to other frames become invalid.
static inline void *work_push(struct work *work)
{
    if (work->count == work->capacity)
        work_grow(work);
    return work->frames + work->count++ * work->frame_size;
}
static inline void *work_top(const struct work *work)  // NULL when empty
{
    return work->count ? work->frames + (work->count - 1) * work->frame_size : NULL;
}
static inline void work_pop(struct work *work)
{
    work->count--;
}

// Temporary memory by the same rule.
void *work_alloc(const struct work *work, size_t size);
void work_return(const struct work *work, void *pointer, size_t size);
