#include "base/region.h"

#include <stdalign.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/memory.h"

#if defined(__SANITIZE_ADDRESS__)
enum { EVERY_OBJECT_APART = 1 };
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(memory_sanitizer)
enum { EVERY_OBJECT_APART = 1 };
#else
enum { EVERY_OBJECT_APART = 0 };
#endif
#else
enum { EVERY_OBJECT_APART = 0 };
#endif

enum {
    SLAB_SIZE = 8192,  // also the alignment, so that an object finds its slab
    FIRST_BLOCK_SLABS = 2,
    SMALL_BLOCK_SLABS = 32,  // blocks up to here double; the next ones are large pages
    LARGE_BLOCK_SLABS = MEMORY_LARGE_PAGE / SLAB_SIZE,
    WARM_SLABS = 1280,  // what region_clear keeps: 10 MiB, the memory of a run by default
    CARVE_BATCH = 16,   // objects moved to the free list at once
    // Objects from here on are in large pages: one fault for 2 MiB takes as long as some 30 for
    // 4 KiB. What a region may waste by that is bounded.
    MAPPED_MIN = 256 << 10,
    MAX_SLACK = 8 << 20,
};

struct region_block {
    struct region_block *next;
    size_t slab_count;
    size_t used_slabs;  // slabs from here on were never handed out
    bool is_mapped;     // by memory_try_map()
    char *slabs;        // aligned to SLAB_SIZE
};

struct region_large {
    struct region_large *next;
    struct region_large *previous;
    size_t size;    // rounded
    size_t mapped;  // bytes by memory_try_map(), with this header; 0 = a malloc block
    alignas(REGION_GRAIN) char data[];
};

static void update_fast_limit(struct region *region)
{
    region->fast_limit = EVERY_OBJECT_APART || region->fail_countdown ? 0 : region->limit;
}

struct region *region_new(size_t limit)
{
    struct region *region = memory_alloc_zero(sizeof(*region));
    region->limit = limit;
    update_fast_limit(region);
    return region;
}

static void free_large(struct region_large *object)
{
    if (object->mapped)
        memory_unmap(object, object->mapped);
    else
        memory_free(object);
}

static void free_large_objects(struct region *region)
{
    for (struct region_large *object = region->large; object;) {
        struct region_large *next = object->next;
        free_large(object);
        object = next;
    }
    region->large = NULL;
    region->slack = 0;
}

static void free_block(struct region_block *block)
{
    if (block->is_mapped)
        memory_unmap(block->slabs, block->slab_count * SLAB_SIZE);
    else
        memory_free(block->slabs);
    memory_free(block);
}

void region_free(struct region *region)
{
    if (!region)
        return;
    free_large_objects(region);
    for (struct region_block *block = region->blocks; block;) {
        struct region_block *next = block->next;
        free_block(block);
        block = next;
    }
    memory_free(region);
}

void region_clear(struct region *region)
{
    free_large_objects(region);
    size_t kept = 0;
    for (struct region_block **link = &region->blocks; *link;) {
        struct region_block *block = *link;
        if (kept + block->slab_count > WARM_SLABS) {
            *link = block->next;
            free_block(block);
            continue;
        }
        kept += block->slab_count;
        block->used_slabs = 0;
        link = &block->next;
    }
    memset(region->partial, 0, sizeof(region->partial));
    memset(region->attached, 0, sizeof(region->attached));
    region->spare = NULL;
    region->live = region->peak = 0;
}

void region_set_limit(struct region *region, size_t limit)
{
    region->limit = limit;
    update_fast_limit(region);
}

void region_on_exhausted(struct region *region, region_exhausted_fn *handler, void *data)
{
    region->exhausted = handler;
    region->exhausted_data = data;
}

void region_fail_nth(struct region *region, size_t n)
{
    region->fail_countdown = n;
    update_fast_limit(region);
}

static _Noreturn void give_up(struct region *region, size_t size)
{
    if (region->exhausted)
        region->exhausted(region->exhausted_data, size);
    fprintf(stderr, "cadre: out of memory (%zu bytes requested in a region of %zu)\n", size,
            region->limit);
    exit(EXIT_FAILURE);
}

// Fails when the limit would be passed, and where a test injects a failure.
static void check_room(struct region *region, size_t size)
{
    if (region->fail_countdown && --region->fail_countdown == 0) {
        update_fast_limit(region);
        give_up(region, size);
    }
    if (region->live > region->limit || size > region->limit - region->live)
        give_up(region, size);
}

static void count_allocation(struct region *region, size_t rounded)
{
    region->live += rounded;
    if (region->live > region->peak)
        region->peak = region->live;
}

static size_t large_slack(const struct region_large *object)
{
    return object->mapped ? object->mapped - object->size : 0;
}

// The bytes of an object and its header, in whole pages.
static size_t in_large_pages(size_t rounded)
{
    size_t bytes = sizeof(struct region_large) + rounded + MEMORY_LARGE_PAGE - 1;
    return bytes - bytes % MEMORY_LARGE_PAGE;
}

// The bytes to map for an object of this size; 0 = it gets a malloc block.
static size_t mapped_size(const struct region *region, size_t rounded)
{
    size_t mapped = in_large_pages(rounded);
    bool is_worth_it = !EVERY_OBJECT_APART && rounded >= MAPPED_MIN &&
                       region->slack + (mapped - rounded) <= MAX_SLACK;
    return is_worth_it ? mapped : 0;
}

static struct region_large *new_large(struct region *region, size_t rounded)
{
    size_t mapped = mapped_size(region, rounded);
    struct region_large *object = mapped ? memory_try_map(mapped) : NULL;
    if (!object) {
        mapped = 0;
        object = memory_try_alloc(sizeof(*object) + rounded);
    }
    if (!object)
        give_up(region, rounded);
    object->size = rounded;
    object->mapped = mapped;
    region->slack += large_slack(object);
    return object;
}

static void *alloc_large(struct region *region, size_t rounded)
{
    struct region_large *object = new_large(region, rounded);
    object->previous = NULL;
    object->next = region->large;
    if (region->large)
        region->large->previous = object;
    region->large = object;
    count_allocation(region, rounded);
    return object->data;
}

static struct region_large *large_from(void *pointer)
{
    return (struct region_large *)((char *)pointer - offsetof(struct region_large, data));
}

static void unlink_large(struct region *region, struct region_large *object)
{
    if (object->previous)
        object->previous->next = object->next;
    else
        region->large = object->next;
    if (object->next)
        object->next->previous = object->previous;
}

static struct region_block *add_block(struct region *region)
{
    size_t count = FIRST_BLOCK_SLABS;
    if (region->blocks)
        count = region->blocks->slab_count * 2;
    if (count > SMALL_BLOCK_SLABS)
        count = LARGE_BLOCK_SLABS;
    struct region_block *block = memory_try_alloc(sizeof(*block));
    char *slabs = NULL;
    if (block && count == LARGE_BLOCK_SLABS)
        slabs = memory_try_map(count * SLAB_SIZE);
    bool is_mapped = slabs != NULL;
    if (block && !is_mapped)
        slabs = memory_try_alloc_aligned(SLAB_SIZE, count * SLAB_SIZE);
    if (!slabs) {
        memory_free(block);
        give_up(region, SLAB_SIZE);
    }
    *block = (struct region_block){
        .next = region->blocks, .slab_count = count, .is_mapped = is_mapped, .slabs = slabs};
    region->blocks = block;
    return block;
}

static struct region_slab *detach_empty_slab(struct region *region)
{
    struct region_slab *slab = region->spare;
    if (slab) {
        region->spare = slab->next;
        return slab;
    }
    struct region_block *block = region->blocks;
    while (block && block->used_slabs == block->slab_count)
        block = block->next;
    if (!block)
        block = add_block(region);
    return (struct region_slab *)(block->slabs + block->used_slabs++ * SLAB_SIZE);
}

static void push_partial(struct region *region, struct region_slab *slab)
{
    struct region_slab **head = &region->partial[slab->class];
    slab->previous = NULL;
    slab->next = *head;
    if (*head)
        (*head)->previous = slab;
    *head = slab;
}

static void remove_partial(struct region *region, struct region_slab *slab)
{
    if (slab->previous)
        slab->previous->next = slab->next;
    else
        region->partial[slab->class] = slab->next;
    if (slab->next)
        slab->next->previous = slab->previous;
}

static char *slab_end(struct region_slab *slab)
{
    return (char *)slab + SLAB_SIZE;
}

static bool slab_is_full(const struct region_slab *slab)
{
    return !slab->free && !slab->fresh;
}

// Moves never-used objects to the free list, a few at a time: pages are touched only when needed.
static void carve(struct region_slab *slab)
{
    size_t size = (size_t)slab->class * REGION_GRAIN;
    for (unsigned i = 0; i < CARVE_BATCH && slab->fresh; i++) {
        void *object = slab->fresh;
        *(void **)object = slab->free;
        slab->free = object;
        slab->fresh += size;
        if ((size_t)(slab_end(slab) - slab->fresh) < size)
            slab->fresh = NULL;
    }
}

static struct region_slab *slab_with_room(struct region *region, size_t class)
{
    struct region_slab *slab;
    while ((slab = region->partial[class]) && slab_is_full(slab))
        remove_partial(region, slab);
    if (!slab) {
        slab = detach_empty_slab(region);
        *slab = (struct region_slab){.class = (uint32_t) class};
        slab->fresh = (char *)slab + region_round(sizeof(*slab));
        push_partial(region, slab);
    }
    if (!slab->free)
        carve(slab);
    return slab;
}

void *region_alloc_slow(struct region *region, size_t size)
{
    if (size > SIZE_MAX / 2)
        give_up(region, size);
    size_t rounded = region_round(size ? size : 1);
    check_room(region, rounded);
    if (EVERY_OBJECT_APART || rounded > REGION_SMALL_MAX)
        return alloc_large(region, rounded);
    struct region_slab *slab = slab_with_room(region, rounded / REGION_GRAIN);
    void *object = slab->free;
    slab->free = *(void **)object;
    slab->live++;
    count_allocation(region, rounded);
    return object;
}

void region_return_slow(struct region *region, void *pointer, size_t size)
{
    if (!pointer)
        return;
    size_t rounded = region_round(size ? size : 1);
    region->live -= rounded;
    if (EVERY_OBJECT_APART || rounded > REGION_SMALL_MAX) {
        struct region_large *object = large_from(pointer);
        CHECK(object->size == rounded);
        unlink_large(region, object);
        region->slack -= large_slack(object);
        free_large(object);
        return;
    }
    struct region_slab *slab =
        (struct region_slab *)((uintptr_t)pointer & ~(uintptr_t)(SLAB_SIZE - 1));
    // A full slab may still be listed (it leaves the list lazily); it is listed iff it is the head
    // or has a predecessor.
    bool listed = region->partial[slab->class] == slab || slab->previous;
    *(void **)pointer = slab->free;
    slab->free = pointer;
    slab->live--;
    if (!listed)
        push_partial(region, slab);
    // One empty slab per class stays where it is, so that a loop at the edge does not thrash.
    if (slab->live == 0 && (slab->previous || slab->next)) {
        remove_partial(region, slab);
        slab->next = region->spare;
        region->spare = slab;
    }
}

void *region_alloc_zero(struct region *region, size_t size)
{
    void *pointer = region_alloc(region, size);
    if (size > REGION_SMALL_MAX && large_from(pointer)->mapped)
        return pointer;  // new pages are zero
    return memset(pointer, 0, size);
}

static struct region_large *resize_mapped(struct region_large *object, size_t new_size)
{
    size_t old_mapped = object->mapped, mapped = in_large_pages(new_size);
    if (mapped > old_mapped)
        object = memory_try_remap(object, old_mapped, mapped);
    else if (mapped < old_mapped)
        memory_unmap((char *)object + mapped, old_mapped - mapped);
    if (object)
        object->mapped = mapped;
    return object;
}

static struct region_large *resize_unmapped(const struct region *region,
                                            struct region_large *object, size_t new_size)
{
    size_t mapped = new_size > object->size ? mapped_size(region, new_size) : 0;
    struct region_large *moved = mapped ? memory_try_map(mapped) : NULL;
    if (!moved)
        return memory_try_resize(object, sizeof(*object) + new_size);
    memcpy(moved, object, sizeof(*object) + object->size);
    moved->mapped = mapped;
    memory_free(object);
    return moved;
}

static void *resize_large(struct region *region, void *pointer, size_t old_size, size_t new_size)
{
    if (new_size > old_size)
        check_room(region, new_size - old_size);
    struct region_large *object = large_from(pointer);
    size_t old_slack = large_slack(object);
    struct region_large *moved = object->mapped ? resize_mapped(object, new_size)
                                                : resize_unmapped(region, object, new_size);
    if (!moved)
        give_up(region, new_size);
    moved->size = new_size;
    region->slack += large_slack(moved) - old_slack;
    if (moved->previous)
        moved->previous->next = moved;
    else
        region->large = moved;
    if (moved->next)
        moved->next->previous = moved;
    region->live -= old_size;
    count_allocation(region, new_size);
    return moved->data;
}

void *region_resize(struct region *region, void *pointer, size_t old_size, size_t new_size)
{
    if (!pointer)
        return region_alloc(region, new_size);
    if (new_size > SIZE_MAX / 2)
        give_up(region, new_size);
    size_t old_rounded = region_round(old_size ? old_size : 1);
    size_t new_rounded = region_round(new_size ? new_size : 1);
    if (old_rounded == new_rounded)
        return pointer;
    bool both_large =
        EVERY_OBJECT_APART || (old_rounded > REGION_SMALL_MAX && new_rounded > REGION_SMALL_MAX);
    if (both_large)
        return resize_large(region, pointer, old_rounded, new_rounded);
    void *moved = region_alloc(region, new_size);
    memcpy(moved, pointer, old_size < new_size ? old_size : new_size);
    region_return(region, pointer, old_size);
    return moved;
}

void region_charge(struct region *region, size_t size)
{
    check_room(region, size);
    count_allocation(region, size);
}

void region_discharge(struct region *region, size_t size)
{
    CHECK(size <= region->live);
    region->live -= size;
}
