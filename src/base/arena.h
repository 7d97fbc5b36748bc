// Bump allocation for data that lives and dies together: one request, one parsed program.
// Nothing is freed singly; arena_clear() and arena_release() drop everything.
// A limit bounds the sum of all blocks; over it arena_alloc() returns NULL.
#pragma once

#include <stddef.h>

#include "base/span.h"

struct arena_block;

struct arena {
    struct arena_block *blocks;
    char *next;
    char *end;
    size_t used;   // bytes handed out, padding included
    size_t limit;  // upper bound of `used`
};

void arena_init(struct arena *arena, size_t limit);
void arena_release(struct arena *arena);
void arena_clear(struct arena *arena);

void *arena_alloc(struct arena *arena, size_t size);       // 16-byte aligned, NULL over the limit
void *arena_alloc_zero(struct arena *arena, size_t size);  // the same, zeroed
char *arena_copy_text(struct arena *arena, struct span text);  // NUL-terminated copy
