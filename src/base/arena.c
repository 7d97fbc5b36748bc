#include "base/arena.h"

#include <stdalign.h>
#include <stdint.h>
#include <string.h>

#include "base/memory.h"

enum { ARENA_ALIGNMENT = 16, ARENA_BLOCK_SIZE = 16 * 1024 };

struct arena_block {
    struct arena_block *previous;
    alignas(ARENA_ALIGNMENT) char data[];
};

void arena_init(struct arena *arena, size_t limit)
{
    *arena = (struct arena){.limit = limit};
}

void arena_release(struct arena *arena)
{
    for (struct arena_block *block = arena->blocks; block;) {
        struct arena_block *previous = block->previous;
        memory_free(block);
        block = previous;
    }
    arena_init(arena, arena->limit);
}

void arena_clear(struct arena *arena)
{
    arena_release(arena);
}

static void *arena_grow(struct arena *arena, size_t size)
{
    size_t capacity = size > ARENA_BLOCK_SIZE / 4 ? size : ARENA_BLOCK_SIZE;
    struct arena_block *block = memory_try_alloc(sizeof(*block) + capacity);
    if (!block)
        return NULL;
    // A large object gets a block of its own behind the current one, which stays in use.
    if (capacity == size && arena->blocks) {
        block->previous = arena->blocks->previous;
        arena->blocks->previous = block;
        return block->data;
    }
    block->previous = arena->blocks;
    arena->blocks = block;
    arena->next = block->data + size;
    arena->end = block->data + capacity;
    return block->data;
}

void *arena_alloc(struct arena *arena, size_t size)
{
    if (size > SIZE_MAX - ARENA_ALIGNMENT)
        return NULL;
    if (size == 0)
        size = 1;  // NULL means "over the limit" and nothing else
    size = (size + ARENA_ALIGNMENT - 1) & ~(size_t)(ARENA_ALIGNMENT - 1);
    if (size > arena->limit - arena->used)
        return NULL;
    void *pointer;
    if (size <= (size_t)(arena->end - arena->next)) {
        pointer = arena->next;
        arena->next += size;
    } else {
        pointer = arena_grow(arena, size);
    }
    if (pointer)
        arena->used += size;
    return pointer;
}

void *arena_alloc_zero(struct arena *arena, size_t size)
{
    void *pointer = arena_alloc(arena, size);
    return pointer ? memset(pointer, 0, size) : NULL;
}

char *arena_copy_text(struct arena *arena, struct span text)
{
    char *copy = arena_alloc(arena, text.length + 1);
    if (!copy)
        return NULL;
    if (text.length)
        memcpy(copy, text.data, text.length);
    copy[text.length] = '\0';
    return copy;
}
