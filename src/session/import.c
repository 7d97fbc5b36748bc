#include "session/import.h"

#include "base/assert.h"
#include "base/utf8.h"

static value import_text(struct region *region, value text, size_t max)
{
    struct span bytes = value_text(text);
    if (max == 0)
        max = IMPORT_TEXT_BYTES;
    if (bytes.length > max)
        bytes.length = utf8_cut(bytes.data, max);
    return value_string(region, bytes);
}

static bool member_accepts(const struct import_member *member, value item)
{
    switch (member->kind) {
    case IMPORT_TEXT: return value_is_string(item);
    case IMPORT_INTEGER: return item.tag == VALUE_INTEGER;
    case IMPORT_BOOLEAN: return item.tag == VALUE_BOOLEAN;
    case IMPORT_TEXTS:
    case IMPORT_OBJECTS: return value_is_vector(item);
    }
    UNREACHABLE();
}

value import_texts(struct region *region, value texts, size_t max)
{
    size_t count = value_is_vector(texts) ? vector_count(texts) : 0;
    if (count > max)
        count = max;
    value result = vector_new(region, count);
    for (size_t i = 0; i < count; i++) {
        value text = vector_at(texts, i);
        if (value_is_string(text))
            result = vector_push(region, result, import_text(region, text, 0));
    }
    return result;
}

static value import_objects(struct region *region, value objects,
                            const struct import_member *member)
{
    size_t count = vector_count(objects);
    if (count > member->max)
        count = member->max;
    value result = vector_new(region, count);
    for (size_t i = 0; i < count; i++) {
        value object = vector_at(objects, i);
        if (value_is_map(object))
            result = vector_push(region, result, import_object(region, object, member->items));
    }
    return result;
}

static value import_member(struct region *region, const struct import_member *member, value item)
{
    switch (member->kind) {
    case IMPORT_TEXT: return import_text(region, item, member->max);
    case IMPORT_INTEGER:
    case IMPORT_BOOLEAN: return item;
    case IMPORT_TEXTS: return import_texts(region, item, member->max);
    case IMPORT_OBJECTS: return import_objects(region, item, member);
    }
    UNREACHABLE();
}

value import_object(struct region *region, value object, const struct import_member *members)
{
    value result = map_new(region);
    if (!value_is_map(object))
        return result;
    for (const struct import_member *member = members; member->name; member++) {
        value item;
        if (map_find_text(object, member->name, &item) && member_accepts(member, item))
            result =
                map_put_text(region, result, member->name, import_member(region, member, item));
    }
    return result;
}
