// What value/ keeps per region besides objects: the tables of keywords and of shapes. Made on first
// use, lives in the region, dropped with it.
#pragma once

#include "value/layout.h"

struct heap {
    struct keyword **keywords;  // buckets; chains through keyword.next
    uint32_t keyword_buckets;   // power of two
    uint32_t keyword_count;
    struct shape **shapes;  // buckets; chains through shape.next
    uint32_t shape_buckets;
    uint32_t shape_count;
    struct shape *wide;  // the wide shape made last, retained; records come in rows
    struct shape *hint;  // the successor of the empty shape met last by the JSON reader
};

// Slots of region.attached.
enum { ATTACHED_HEAP, ATTACHED_DEAD, ATTACHED_FREEING, ATTACHED_SHARED_SHAPES };

struct heap *heap_make(struct region *region);
static inline struct heap *heap_of(struct region *region)
{
    struct heap *heap = region->attached[ATTACHED_HEAP];
    return heap ? heap : heap_make(region);
}

void keyword_forget(struct region *region, struct keyword *keyword);  // takes it off the table
