// A work list: an explicit stack of frames in place of recursion over nested data. The first frames
// lie in the caller's memory; more come from fuel.region, whose limit counts them, or from malloc when
// no region was named (value/fuel.h).
#pragma once

#include <stddef.h>

#include "base/region.h"

struct worklist {
    char *frames;
    size_t frame_size;
    size_t count;
    size_t capacity;
    struct region *region;
    char *first;
};

void worklist_init(struct worklist *work, void *first, size_t first_size, size_t frame_size);
void worklist_release(struct worklist *work);
void worklist_grow(struct worklist *work);

// A new frame on top, not initialised. Pointers to other frames become invalid.
static inline void *worklist_push(struct worklist *work)
{
    if (work->count == work->capacity)
        worklist_grow(work);
    return work->frames + work->count++ * work->frame_size;
}
static inline void *worklist_top(const struct worklist *work)  // NULL when empty
{
    return work->count ? work->frames + (work->count - 1) * work->frame_size : NULL;
}
static inline void worklist_pop(struct worklist *work)
{
    work->count--;
}

// Temporary memory from the same source.
void *worklist_alloc(const struct worklist *work, size_t size);
void worklist_return(const struct worklist *work, void *pointer, size_t size);
