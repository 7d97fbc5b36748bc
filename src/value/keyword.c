// Keywords: one object per name and region, found by a hash table.
#include <string.h>

#include "base/hash.h"
#include "value/region_tables.h"
#include "value/value_hash.h"

enum { FIRST_BUCKETS = 16 };

struct region_tables *region_tables_make(struct region *region)
{
    struct region_tables *tables = region_alloc_zero(region, sizeof(*tables));
    region->attached[ATTACHED_TABLES] = tables;
    return tables;
}

static void grow_table(struct region *region, struct region_tables *tables)
{
    uint32_t buckets = tables->keyword_buckets ? tables->keyword_buckets * 2 : FIRST_BUCKETS;
    struct keyword **table = region_alloc_zero(region, buckets * sizeof(struct keyword *));
    for (uint32_t i = 0; i < tables->keyword_buckets; i++) {
        for (struct keyword *keyword = tables->keywords[i], *next; keyword; keyword = next) {
            next = keyword->next;
            struct keyword **bucket = &table[keyword->hash & (buckets - 1)];
            keyword->next = *bucket;
            *bucket = keyword;
        }
    }
    region_return(region, tables->keywords, tables->keyword_buckets * sizeof(struct keyword *));
    tables->keywords = table;
    tables->keyword_buckets = buckets;
}

static value keyword_value(struct keyword *keyword)
{
    return (value){.tag = VALUE_KEYWORD, .aux = keyword->length, .object = &keyword->header};
}

value value_keyword(struct region *region, struct span name)
{
    struct region_tables *tables = region_tables_of(region);
    if (tables->keyword_count >= tables->keyword_buckets)
        grow_table(region, tables);
    uint64_t hash = hash_name(VALUE_KEYWORD, name);
    struct keyword **bucket = &tables->keywords[hash & (tables->keyword_buckets - 1)];
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
    tables->keyword_count++;
    return keyword_value(keyword);
}

void keyword_forget(struct region *region, struct keyword *keyword)
{
    struct region_tables *tables = region_tables_of(region);
    struct keyword **link = &tables->keywords[keyword->hash & (tables->keyword_buckets - 1)];
    while (*link != keyword)
        link = &(*link)->next;
    *link = keyword->next;
    tables->keyword_count--;
}
