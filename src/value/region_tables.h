// What value/ keeps per region besides objects: the tables of keywords and of shapes. Created on first
// use; they live in the region and are dropped with it.
#pragma once

#include "value/layout.h"

struct region_tables {
    struct keyword **keywords;  // buckets; chains through keyword.next
    uint32_t keyword_buckets;   // power of two
    uint32_t keyword_count;
    struct shape **shapes;  // buckets; chains through shape.next
    uint32_t shape_buckets;
    uint32_t shape_count;
    struct shape
        *wide;  // the last wide shape made, retained: the next object often has the same keys
    struct shape *hint;  // of the JSON reader: the most recent transition from the empty shape
};

// Slots of region.attached.
enum { ATTACHED_TABLES, ATTACHED_DEAD, ATTACHED_FREEING, ATTACHED_SHARED_SHAPES };

// --- keyword.c: the tables, and the one of keywords ----------------------------------------------
struct region_tables *region_tables_make(struct region *region);
static inline struct region_tables *region_tables_of(struct region *region)
{
    struct region_tables *tables = region->attached[ATTACHED_TABLES];
    return tables ? tables : region_tables_make(region);
}

void keyword_forget(struct region *region, struct keyword *keyword);  // removes it from the table
