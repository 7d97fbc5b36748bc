#include "value/worklist.h"

#include <string.h>

#include "base/memory.h"
#include "value/fuel.h"

void work_init(struct work *work, void *first, size_t first_size, size_t frame_size)
{
    *work = (struct work){.frames = first,
                          .first = first,
                          .frame_size = frame_size,
                          .capacity = first_size / frame_size,
                          .region = fuel.region};
}

void *work_alloc(const struct work *work, size_t size)
{
    return work->region ? region_alloc(work->region, size) : memory_alloc(size);
}

void work_return(const struct work *work, void *pointer, size_t size)
{
    if (work->region)
        region_return(work->region, pointer, size);
    else
        memory_free(pointer);
}

static void return_frames(struct work *work)
{
    if (work->frames != work->first)
        work_return(work, work->frames, work->capacity * work->frame_size);
}

void work_grow(struct work *work)
{
    size_t capacity = work->capacity * 2;
    char *frames = work_alloc(work, capacity * work->frame_size);
    memcpy(frames, work->frames, work->count * work->frame_size);
    return_frames(work);
    work->frames = frames;
    work->capacity = capacity;
}

void work_release(struct work *work)
{
    return_frames(work);
    work->frames = NULL;
    work->count = work->capacity = 0;
}
