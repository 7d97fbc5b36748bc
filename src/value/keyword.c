#include <string.h>

#include "base/hash.h"
#include "value/hash.h"
#include "value/region_tables.h"

enum { FIRST_BUCKETS = 16 };

struct heap *heap_make(struct region *region)
{
    struct heap *heap = region_alloc_zero(region, sizeof(*heap));
    region->attached[ATTACHED_HEAP] = heap;
    return heap;
}

static void grow_table(struct region *region, struct heap *heap)
{
    uint32_t buckets = heap->keyword_buckets ? heap->keyword_buckets * 2 : FIRST_BUCKETS;
    struct keyword **table = region_alloc_zero(region, buckets * sizeof(struct keyword *));
    for (uint32_t i = 0; i < heap->keyword_buckets; i++) {
        for (struct keyword *keyword = heap->keywords[i], *next; keyword; keyword = next) {
            next = keyword->next;
            struct keyword **bucket = &table[keyword->hash & (buckets - 1)];
            keyword->next = *bucket;
            *bucket = keyword;
        }
    }
    region_return(region, heap->keywords, heap->keyword_buckets * sizeof(struct keyword *));
    heap->keywords = table;
    heap->keyword_buckets = buckets;
}

static value keyword_value(struct keyword *keyword)
{
    return (value){.tag = VALUE_KEYWORD, .aux = keyword->length, .object = &keyword->header};
}

value value_keyword(struct region *region, struct span name)
{
    struct heap *heap = heap_of(region);
    if (heap->keyword_count >= heap->keyword_buckets)
        grow_table(region, heap);
    uint64_t hash = hash_name(VALUE_KEYWORD, name);
    struct keyword **bucket = &heap->keywords[hash & (heap->keyword_buckets - 1)];
    for (struct keyword *keyword = *bucket; keyword; keyword = keyword->next) {
        if (keyword->hash == hash && keyword->length == name.length &&
            memcmp(keyword->name, name.data, name.length) == 0) {
            object_retain(&keyword->header);
            return keyword_value(keyword);
        }
    }
    struct keyword *keyword = region_alloc(region, sizeof(*keyword) + name.length);
    *keyword = (struct keyword){
        .header = object_header(OBJECT_KEYWORD),
        .length = (uint32_t)name.length,
        .hash = hash,
        .dashed = name.length && memchr(name.data, '-', name.length),
        .next = *bucket,
    };
    if (name.length)
        memcpy(keyword->name, name.data, name.length);
    *bucket = keyword;
    heap->keyword_count++;
    return keyword_value(keyword);
}

void keyword_forget(struct region *region, struct keyword *keyword)
{
    struct heap *heap = heap_of(region);
    struct keyword **link = &heap->keywords[keyword->hash & (heap->keyword_buckets - 1)];
    while (*link != keyword)
        link = &(*link)->next;
    *link = keyword->next;
    heap->keyword_count--;
}
