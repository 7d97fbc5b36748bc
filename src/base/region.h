// A region owns all memory of one program run or one request, counts it to the byte and refuses to
// go over its limit.
//
//   - Objects are freed singly (region_return, with their size) or all at once (region_clear,
//     region_free). Sizes are rounded up to 16 bytes; `live` is the sum of the rounded sizes.
//   - The limit is on live bytes. The memory behind small objects is held in slabs that go back to a
//     common pool when empty, so freed memory of one size serves any other size.
//   - region_alloc() never returns NULL: over the limit, or when the system has no memory, it calls
//     the region's exhaustion handler, which must not return (a run jumps out; without a handler the
//     process ends, which is right for requests whose size was bounded beforehand).
//   - Not thread-safe: one region, one thread at a time.
//
// Built with AddressSanitizer every object is its own malloc block, so that overruns are seen.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    REGION_GRAIN = 16,
    REGION_SMALL_MAX = 512,  // larger objects have a malloc block or large pages of their own
    REGION_CLASSES = REGION_SMALL_MAX / REGION_GRAIN + 1,
    REGION_ATTACHED = 4,
};

struct region_slab {
    void *free;  // singly linked through the first word of each free object
    struct region_slab *next;
    struct region_slab *previous;
    char *fresh;     // objects from here to the end were never used
    uint32_t live;   // objects in use
    uint32_t class;  // object size / REGION_GRAIN
};

struct region_block;
struct region_large;

typedef void region_exhausted_fn(void *data, size_t size);

struct region {
    size_t live;
    size_t peak;
    size_t limit;
    size_t fast_limit;  // = limit, or 0 to send every allocation through the slow path
    struct region_slab *partial[REGION_CLASSES];  // slabs with room, by class
    struct region_slab *spare;                    // empty slabs
    struct region_block *blocks;
    struct region_large *large;
    size_t slack;  // of objects in large pages: bytes behind their ends
    size_t fail_countdown;
    region_exhausted_fn *exhausted;
    void *exhausted_data;
    void *attached[REGION_ATTACHED];  // for the layer above: NULL in a new or cleared region
};

struct region *region_new(size_t limit);
void region_free(struct region *region);
// Drops all objects and charges and resets the peak; keeps some memory warm for the next use.
void region_clear(struct region *region);

void region_set_limit(struct region *region, size_t limit);
// The handler gets the size that did not fit. It must not return.
void region_on_exhausted(struct region *region, region_exhausted_fn *handler, void *data);
// The n-th allocation from now on fails as if the limit had been reached; 0 = off. For tests.
void region_fail_nth(struct region *region, size_t n);

void *region_alloc_slow(struct region *region, size_t size);
void region_return_slow(struct region *region, void *pointer, size_t size);
void *region_alloc_zero(struct region *region, size_t size);
// Grows or shrinks an object, moving it when needed.
void *region_resize(struct region *region, void *pointer, size_t old_size, size_t new_size);

// Counts memory that lies elsewhere (stacks, libraries) against the limit.
void region_charge(struct region *region, size_t size);
void region_discharge(struct region *region, size_t size);

static inline size_t region_round(size_t size)
{
    return (size + (REGION_GRAIN - 1)) & ~(size_t)(REGION_GRAIN - 1);
}

static inline void *region_alloc(struct region *region, size_t size)
{
    size_t rounded = region_round(size);
    if (__builtin_expect(
            rounded - 1 < REGION_SMALL_MAX && region->live + rounded <= region->fast_limit, 1)) {
        struct region_slab *slab = region->partial[rounded / REGION_GRAIN];
        if (__builtin_expect(slab && slab->free, 1)) {
            void *object = slab->free;
            slab->free = *(void **)object;
            slab->live++;
            region->live += rounded;
            if (region->live > region->peak)
                region->peak = region->live;
            return object;
        }
    }
    return region_alloc_slow(region, size);
}

static inline void region_return(struct region *region, void *pointer, size_t size)
{
    region_return_slow(region, pointer, size);
}
