#include "value/collection/key_lookup.h"

#include <string.h>

#include "base/memory.h"

enum { NAME_ON_STACK = 256 };

static value name_value(enum value_tag tag, struct span name)
{
    return (value){.tag = (uint8_t)tag,
                   .flags = VALUE_BORROWED,
                   .aux = (uint32_t)name.length,
                   .text = name.data};
}

static bool find_underscored(key_probe_fn *probe, const void *container, value key,
                             enum value_tag other, struct span name, char *copy, void *ret_found)
{
    for (size_t i = 0; i < name.length; i++)
        copy[i] = name.data[i] == '-' ? '_' : name.data[i];
    struct span spelling = {copy, name.length};
    return probe(container, name_value(key.tag, spelling), ret_found) ||
           probe(container, name_value(other, spelling), ret_found);
}

// The other spellings of a key.
static bool lookup_otherwise(key_probe_fn *probe, const void *container, value key, void *ret_found)
{
    if (key.tag != VALUE_KEYWORD && key.tag != VALUE_STRING)
        return false;
    enum value_tag other = key.tag == VALUE_KEYWORD ? VALUE_STRING : VALUE_KEYWORD;
    struct span name = value_text(key);
    if (probe(container, name_value(other, name), ret_found))
        return true;
    if (name.length == 0 || !memchr(name.data, '-', name.length))
        return false;
    char small[NAME_ON_STACK];
    char *copy = name.length <= sizeof(small) ? small : memory_alloc(name.length);
    bool found = find_underscored(probe, container, key, other, name, copy, ret_found);
    if (copy != small)
        memory_free(copy);
    return found;
}

bool key_lookup(key_probe_fn *probe, const void *container, value key, void *ret_found)
{
    return probe(container, key, ret_found) || lookup_otherwise(probe, container, key, ret_found);
}

struct entry {
    value key;
    value item;
};

static bool probe_map(const void *container, value key, void *ret_found)
{
    struct entry *entry = ret_found;
    return map_find_entry(*(const value *)container, key, &entry->key, &entry->item);
}

bool map_find_entry_flexible(value map, value key, value *ret_key, value *ret_item)
{
    if (map_find_entry(map, key, ret_key, ret_item))
        return true;
    struct entry entry;
    if (!lookup_otherwise(probe_map, &map, key, &entry))
        return false;
    *ret_key = entry.key;
    *ret_item = entry.item;
    return true;
}

bool map_find_flexible(value map, value key, value *ret_item)
{
    value found;
    return map_find_entry_flexible(map, key, &found, ret_item);
}

// Puts it first: most keys that are written are there, or there are no other spellings to look for.
value map_put_flexible(struct region *region, value map, value key, value item)
{
    if (key.tag != VALUE_KEYWORD && key.tag != VALUE_STRING)
        return map_put(region, map, key, item);
    size_t before = map_count(map);
    struct entry other;
    map = map_put(region, map, value_retain(key), item);
    if (map_count(map) > before && before > 0 && lookup_otherwise(probe_map, &map, key, &other)) {
        value_retain(item);
        value_retain(other.key);
        map = map_remove(region, map, value_retain(key));
        map = map_put(region, map, other.key, item);
    }
    value_release(region, key);
    return map;
}

value map_remove_flexible(struct region *region, value map, value key)
{
    value found, item;
    if (!map_find_entry_flexible(map, key, &found, &item)) {
        value_release(region, key);
        return map;
    }
    value_retain(found);
    value_release(region, key);
    return map_remove(region, map, found);
}
