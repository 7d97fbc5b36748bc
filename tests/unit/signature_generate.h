// Random signatures, values that fit them, and values that fit but for one place.
#pragma once

#include "base/hash.h"
#include "signature/signature.h"
#include "value/value.h"

struct generator {
    uint64_t state;
    struct region *region;
};

static inline size_t pick(struct generator *generator, size_t count)
{
    generator->state = hash_u64(generator->state, 0x9E3779B97F4A7C15u);
    return (size_t)(generator->state >> 33) % count;
}

// --- signatures ----------------------------------------------------------------------------------

static inline void generate_type(struct generator *generator, struct buffer *text, int depth);

static inline void generate_fields(struct generator *generator, struct buffer *text, int depth)
{
    size_t count = pick(generator, 4);
    for (size_t i = 0; i < count; i++) {
        buffer_append_format(text, "%s%s%c%zu%s ", i && pick(generator, 2) ? ", " : " ",
                             pick(generator, 2) ? ":" : "", (int)('a' + pick(generator, 26)), i,
                             pick(generator, 3) ? "" : "-x_y");
        generate_type(generator, text, depth + 1);
    }
}

static inline void generate_type(struct generator *generator, struct buffer *text, int depth)
{
    static const char *const scalars[] = {":string",
                                          ":int",
                                          ":float",
                                          ":bool",
                                          ":boolean",
                                          ":keyword",
                                          ":any",
                                          ":map",
                                          ":datetime",
                                          "[:int -500 _ ]",
                                          "[:float >-1 90]",
                                          "[:string 2 _ #\"^s\\d+$\"]",
                                          "[:enum \"x\" 7 true]"};
    size_t choice = pick(generator, depth > 4 ? 13 : 18);
    if (choice < 13) {
        buffer_append_text(text, scalars[choice]);
    } else if (choice == 13) {
        buffer_append_text(text, "[:or :keyword ");
        generate_type(generator, text, depth + 1);
        buffer_append_byte(text, ']');
    } else if (choice < 16) {
        buffer_append_text(text, "[ ");
        generate_type(generator, text, depth + 1);
        buffer_append_byte(text, ']');
    } else {
        buffer_append_byte(text, '{');
        generate_fields(generator, text, depth);
        buffer_append_byte(text, '}');
    }
    if (pick(generator, 4) == 0)
        buffer_append_byte(text, '?');
}

static inline void generate_signature(struct generator *generator, struct buffer *text)
{
    if (pick(generator, 3)) {
        buffer_append_byte(text, '(');
        generate_fields(generator, text, 0);
        buffer_append_text(text, ")->");
    }
    generate_type(generator, text, 0);
}

// --- values --------------------------------------------------------------------------------------

static inline value generate_key(struct generator *generator, struct span name)
{
    char spelled[64];
    size_t length = name.length < sizeof(spelled) ? name.length : sizeof(spelled);
    memcpy(spelled, name.data, length);
    for (size_t i = 0; i < length; i++) {
        if (spelled[i] == '-' || spelled[i] == '_')
            spelled[i] = pick(generator, 2) ? '-' : '_';
    }
    struct span text = {spelled, length};
    return pick(generator, 2) ? value_keyword(generator->region, text)
                              : value_string(generator->region, text);
}

static inline value generate_value(struct generator *generator, const struct signature_type *type)
{
    struct region *region = generator->region;
    if (type->optional && pick(generator, 3) == 0)
        return value_nil();
    switch (type->kind) {
    case SIGNATURE_STRING: return value_string_format(region, "s%zu", pick(generator, 100));
    case SIGNATURE_INT: return value_integer((int64_t)pick(generator, 1000) - 500);
    case SIGNATURE_FLOAT:
        return pick(generator, 2) ? value_float(0.5 + (double)pick(generator, 9))
                                  : value_integer((int64_t)pick(generator, 9));
    case SIGNATURE_BOOL: return value_boolean(pick(generator, 2));
    case SIGNATURE_KEYWORD: return value_keyword(region, SPAN("key"));
    case SIGNATURE_DATETIME: return value_string(region, SPAN("2026-02-28T23:59:60.5+01:00"));
    case SIGNATURE_ENUM: return pick(generator, 2) ? value_integer(7) : value_boolean(true);
    case SIGNATURE_UNION: return generate_value(generator, &type->element[pick(generator, 2)]);
    case SIGNATURE_ANY: return pick(generator, 2) ? value_nil() : value_integer(1);
    case SIGNATURE_LIST: {
        value list = vector_new(region, 0);
        for (size_t count = pick(generator, 4); count > 0; count--)
            list = vector_push(region, list, generate_value(generator, type->element));
        return list;
    }
    default: break;
    }
    value map = map_new(region);
    for (size_t i = 0; i < type->fields.count; i++) {
        const struct signature_field *field = &type->fields.items[i];
        if (!field->type.optional || pick(generator, 2))
            map = map_put(region, map, generate_key(generator, field->name),
                          generate_value(generator, &field->type));
    }
    return map;
}

// --- one wrong place -----------------------------------------------------------------------------

static inline void append_field(struct buffer *place, struct span name)
{
    if (place->length > 0)
        buffer_append_byte(place, '.');
    buffer_append_span(place, name);
}

static inline bool find_key(value map, const struct signature_fields *fields, size_t index,
                            value *ret_key, value *ret_item)
{
    struct map_cursor cursor = map_iterate(map);
    value key;
    value item;
    while (map_next(&cursor, &key, &item)) {
        struct span name = value_text(key);
        struct span wanted = fields->items[index].name;
        bool same = name.length == wanted.length;
        for (size_t i = 0; same && i < name.length; i++)
            same = (name.data[i] == '-' ? '_' : name.data[i]) ==
                   (wanted.data[i] == '-' ? '_' : wanted.data[i]);
        if (same) {
            *ret_key = key;
            *ret_item = item;
            return true;
        }
    }
    return false;
}

// Puts something wrong somewhere into a value of the type and appends where. False when the type
// accepts everything there.
static inline bool mutate_value(struct generator *generator, const struct signature_type *type,
                                value *v, struct buffer *place)
{
    struct region *region = generator->region;
    if (type->kind == SIGNATURE_LIST && value_is_vector(*v) && vector_count(*v) > 0 &&
        pick(generator, 3)) {
        size_t index = pick(generator, vector_count(*v));
        value item = value_retain(vector_at(*v, index));
        buffer_append_format(place, "%s[%zu]", place->length ? "" : "return", index);
        if (!mutate_value(generator, type->element, &item, place))
            return false;
        *v = vector_put(region, *v, index, item);
        return true;
    }
    if (type->kind == SIGNATURE_RECORD && value_is_map(*v) && type->fields.count > 0 &&
        pick(generator, 3)) {
        size_t index = pick(generator, type->fields.count);
        value key;
        value item;
        if (!find_key(*v, &type->fields, index, &key, &item))
            return false;
        append_field(place, type->fields.items[index].name);
        if (!type->fields.items[index].type.optional && pick(generator, 3) == 0) {
            *v = map_remove(region, *v, value_retain(key));
            return true;
        }
        item = value_retain(item);
        if (!mutate_value(generator, &type->fields.items[index].type, &item, place))
            return false;
        *v = map_put(region, *v, value_retain(key), item);
        return true;
    }
    if (type->kind == SIGNATURE_ANY || type->kind == SIGNATURE_UNION)
        return false;
    if (place->length == 0)
        buffer_append_text(place, "return");
    *v = set_new(region);
    return true;
}
