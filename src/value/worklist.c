#include "value/worklist.h"

#include <string.h>

#include "base/memory.h"
#include "value/fuel.h"

void worklist_init(struct worklist *work, void *first, size_t first_size, size_t frame_size)
{
    *work = (struct worklist){.frames = first,
                              .first = first,
                              .frame_size = frame_size,
                              .capacity = first_size / frame_size,
                              .region = fuel.region};
}

void *worklist_alloc(const struct worklist *work, size_t size)
{
    return work->region ? region_alloc(work->region, size) : memory_alloc(size);
}

void worklist_return(const struct worklist *work, void *pointer, size_t size)
{
    if (work->region)
        region_return(work->region, pointer, size);
    else
        memory_free(pointer);
}

static void return_frames(struct worklist *work)
{
    if (work->frames != work->first)
        worklist_return(work, work->frames, work->capacity * work->frame_size);
}

void worklist_grow(struct worklist *work)
{
    size_t capacity = work->capacity * 2;
    char *frames = worklist_alloc(work, capacity * work->frame_size);
    memcpy(frames, work->frames, work->count * work->frame_size);
    return_frames(work);
    work->frames = frames;
    work->capacity = capacity;
}

void worklist_release(struct worklist *work)
{
    return_frames(work);
    work->frames = NULL;
    work->count = work->capacity = 0;
}
