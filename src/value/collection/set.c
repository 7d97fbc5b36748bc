// Sets: tables of members (table.h).
#include "value/collection/sort.h"
#include "value/collection/table.h"
#include "value/fuel.h"

static value set_value(struct object *object, size_t count)
{
    return (value){.tag = VALUE_SET, .aux = (uint32_t)count, .object = object};
}

value set_new(struct region *region)
{
    (void)region;  // an empty set needs no memory
    return set_value(&table_empty_set.header, 0);
}

size_t set_count(value set)
{
    return set.aux;
}

bool set_has(value set, value item)
{
    struct table_entry entry;
    return table_find(set.object, item, &entry);
}

value set_add(struct region *region, value set, value item)
{
    bool added;
    struct object *table = table_put(region, set.object, &item, &added);
    value result = set_value(table, set.aux + added);
    result.small = set.small;
    return result;
}

value set_remove(struct region *region, value set, value item)
{
    bool removed;
    struct object *table = table_remove(region, set.object, item, &removed);
    value_release(region, item);
    value result = set_value(table, set.aux - removed);
    result.small = set.small;
    return result;
}

struct map_cursor set_iterate(value set)
{
    return table_iterate(set);
}

bool set_next(struct map_cursor *cursor, value *ret_item)
{
    struct table_entry entry;
    if (!table_next(cursor, &entry))
        return false;
    *ret_item = entry.key;
    return true;
}

value set_sorted(struct region *region, value set)
{
    value items = vector_new(region, set.aux);
    struct map_cursor cursor = set_iterate(set);
    value item;
    while (set_next(&cursor, &item)) {
        items = vector_push(region, items, value_retain(item));
        fuel_spend(1);
    }
    return vector_sort_keys(region, items);
}
