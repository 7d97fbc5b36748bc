#include "mcp/schema.h"

#include <math.h>
#include <stdio.h>

#include "base/buffer.h"
#include "value/json.h"

enum { PATH_MAX_LENGTH = 200, SHOWN_MAX = 60, NAME_MAX_LENGTH = 64, SCHEMA_DEPTH = 64 };

// Where we are in the instance, for messages. Longer paths are cut.
struct place {
    struct error *error;
    char path[PATH_MAX_LENGTH];
    unsigned depth;
};

static bool check(struct place *place, value schema, value instance);

static bool is_type(value instance, struct span type)
{
    switch (instance.tag) {
    case VALUE_NIL: return span_equal_text(type, "null");
    case VALUE_BOOLEAN: return span_equal_text(type, "boolean");
    case VALUE_INTEGER:
    case VALUE_BIGNUM: return span_equal_text(type, "integer") || span_equal_text(type, "number");
    case VALUE_FLOAT:
        return span_equal_text(type, "number") ||
               (span_equal_text(type, "integer") && instance.number == floor(instance.number));
    case VALUE_STRING: return span_equal_text(type, "string");
    case VALUE_VECTOR: return span_equal_text(type, "array");
    case VALUE_MAP: return span_equal_text(type, "object");
    default: return false;
    }
}

static const char *with_article(struct span type)
{
    static const char *const names[][2] = {
        {"string", "a string"}, {"integer", "an integer"},
        {"number", "a number"}, {"boolean", "true or false"},
        {"array", "an array"},  {"object", "an object"},
        {"null", "null"},
    };
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (span_equal_text(type, names[i][0]))
            return names[i][1];
    return "of another type";
}

// "…, not <the value>", with long values cut.
static bool fail(struct place *place, value instance, const char *expected)
{
    struct buffer shown CLEANUP_BUFFER;
    buffer_init(&shown, BUFFER_DEFAULT_LIMIT);
    if (value_is_map(instance))
        buffer_append_text(&shown, "an object");
    else if (value_is_vector(instance))
        buffer_append_text(&shown, "an array");
    else
        json_write(&shown, instance, 0, NULL);
    bool is_long = shown.length > SHOWN_MAX;
    if (is_long) {
        size_t cut = SHOWN_MAX;
        while (cut > 0 && ((unsigned char)shown.data[cut] & 0xC0) == 0x80)
            cut--;
        buffer_truncate(&shown, cut);
    }
    return error_set(place->error, ERROR_INVALID, "%s must be %s, not %s%s", place->path, expected,
                     buffer_text(&shown), is_long ? "…" : "");
}

static bool check_type(struct place *place, value type, value instance)
{
    if (value_is_string(type))
        return is_type(instance, value_text(type)) ||
               fail(place, instance, with_article(value_text(type)));
    if (!value_is_vector(type))
        return true;
    char expected[SHOWN_MAX * 2] = "";
    for (size_t i = 0; i < vector_count(type); i++) {
        struct span one = value_text(vector_at(type, i));
        if (is_type(instance, one))
            return true;
        size_t used = strlen(expected);
        snprintf(expected + used, sizeof(expected) - used, "%s%s", i ? " or " : "",
                 with_article(one));
    }
    return fail(place, instance, expected);
}

static bool check_enum(struct place *place, value options, value instance)
{
    struct buffer expected CLEANUP_BUFFER;
    buffer_init(&expected, PATH_MAX_LENGTH);
    buffer_append_text(&expected, "one of ");
    for (size_t i = 0; i < vector_count(options); i++) {
        if (value_equal(vector_at(options, i), instance))
            return true;
        if (i > 0)
            buffer_append_text(&expected, ", ");
        json_write(&expected, vector_at(options, i), 0, NULL);
    }
    return fail(place, instance,
                expected.failed ? "one of the listed values" : buffer_text(&expected));
}

static bool check_bound(struct place *place, value bound, value instance, bool is_minimum)
{
    if (instance.tag != VALUE_INTEGER && instance.tag != VALUE_FLOAT &&
        instance.tag != VALUE_BIGNUM)
        return true;
    enum value_order order = value_compare(instance, bound);
    if (order != (is_minimum ? VALUE_LESS : VALUE_GREATER))
        return true;
    struct buffer expected CLEANUP_BUFFER;
    buffer_init(&expected, PATH_MAX_LENGTH);
    buffer_append_text(&expected, is_minimum ? "at least " : "at most ");
    json_write(&expected, bound, 0, NULL);
    return fail(place, instance, buffer_text(&expected));
}

static bool check_member(struct place *place, value schema, value name, value item)
{
    size_t used = strlen(place->path);
    struct span text = value_text(name);
    snprintf(place->path + used, sizeof(place->path) - used, ".%.*s", (int)text.length, text.data);
    bool ok = check(place, schema, item);
    place->path[used] = '\0';
    return ok;
}

static bool check_required(struct place *place, value required, value instance)
{
    for (size_t i = 0; i < vector_count(required); i++) {
        value ignored;
        struct span name = value_text(vector_at(required, i));
        if (!map_find(instance, vector_at(required, i), &ignored))
            return error_set(place->error, ERROR_INVALID, "%s lacks the required member '%.*s'",
                             place->path, (int)name.length, name.data);
    }
    return true;
}

static bool check_object(struct place *place, value schema, value instance)
{
    value properties = map_get_text(schema, "properties");
    value required = map_get_text(schema, "required");
    value additional;
    bool has_additional = map_find_text(schema, "additionalProperties", &additional);
    if (value_is_vector(required) && !check_required(place, required, instance))
        return false;
    struct map_cursor cursor = map_iterate(instance);
    value name, item;
    while (map_next(&cursor, &name, &item)) {
        value property;
        if (value_is_map(properties) && map_find(properties, name, &property)) {
            if (!check_member(place, property, name, item))
                return false;
        } else if (has_additional && additional.tag == VALUE_BOOLEAN && !additional.boolean) {
            struct span text = value_text(name);
            return error_set(place->error, ERROR_INVALID, "%s has the unknown member '%.*s'",
                             place->path, (int)text.length, text.data);
        } else if (has_additional && value_is_map(additional) &&
                   !check_member(place, additional, name, item)) {
            return false;
        }
    }
    return true;
}

static bool check_items(struct place *place, value items, value instance)
{
    size_t used = strlen(place->path);
    for (size_t i = 0; i < vector_count(instance); i++) {
        snprintf(place->path + used, sizeof(place->path) - used, "[%zu]", i);
        if (!check(place, items, vector_at(instance, i)))
            return false;
    }
    place->path[used] = '\0';
    return true;
}

static bool check(struct place *place, value schema, value instance)
{
    if (!value_is_map(schema) || place->depth == SCHEMA_DEPTH)
        return true;
    value part;
    bool ok = true;
    place->depth++;
    if (map_find_text(schema, "type", &part))
        ok = check_type(place, part, instance);
    if (ok && map_find_text(schema, "enum", &part) && value_is_vector(part))
        ok = check_enum(place, part, instance);
    if (ok && map_find_text(schema, "const", &part) && !value_equal(part, instance))
        ok = fail(place, instance, "the constant of its schema");
    if (ok && map_find_text(schema, "minimum", &part))
        ok = check_bound(place, part, instance, true);
    if (ok && map_find_text(schema, "maximum", &part))
        ok = check_bound(place, part, instance, false);
    if (ok && value_is_map(instance))
        ok = check_object(place, schema, instance);
    if (ok && value_is_vector(instance) && map_find_text(schema, "items", &part))
        ok = check_items(place, part, instance);
    place->depth--;
    return ok;
}

bool schema_check(value schema, value instance, const char *root, struct error *error)
{
    struct place place = {.error = error};
    snprintf(place.path, sizeof(place.path), "%s", root);
    return check(&place, schema, instance);
}

// --- arguments of tools -------------------------------------------------------------------------

// Edit distance of short names, insertions, deletions and changes counting one each.
static size_t edit_distance(struct span a, struct span b)
{
    size_t row[NAME_MAX_LENGTH + 1];
    if (a.length > NAME_MAX_LENGTH || b.length > NAME_MAX_LENGTH)
        return NAME_MAX_LENGTH;
    for (size_t j = 0; j <= b.length; j++)
        row[j] = j;
    for (size_t i = 1; i <= a.length; i++) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= b.length; j++) {
            size_t change = diagonal + (a.data[i - 1] != b.data[j - 1]);
            size_t other = (row[j] < row[j - 1] ? row[j] : row[j - 1]) + 1;
            diagonal = row[j];
            row[j] = change < other ? change : other;
        }
    }
    return row[b.length];
}

static bool fail_unknown_name(value properties, struct span name, struct error *error)
{
    struct span best = {NULL, 0};
    size_t best_distance = name.length / 3 + 2;
    if (value_is_map(properties)) {
        struct map_cursor cursor = map_iterate(properties);
        value known, ignored;
        while (map_next(&cursor, &known, &ignored)) {
            size_t distance = edit_distance(name, value_text(known));
            if (distance < best_distance) {
                best_distance = distance;
                best = value_text(known);
            }
        }
    }
    int shown = name.length > NAME_MAX_LENGTH ? NAME_MAX_LENGTH : (int)name.length;
    if (best.data)
        return error_set(error, ERROR_INVALID,
                         "Invalid params: unknown parameter '%.*s' (did you mean '%.*s'?)", shown,
                         name.data, (int)best.length, best.data);
    return error_set(error, ERROR_INVALID, "Invalid params: unknown parameter '%.*s'", shown,
                     name.data);
}

static bool check_names(value schema, value arguments, struct error *error)
{
    value properties = map_get_text(schema, "properties");
    value additional;
    if (!map_find_text(schema, "additionalProperties", &additional) ||
        additional.tag != VALUE_BOOLEAN || additional.boolean)
        return true;
    struct map_cursor cursor = map_iterate(arguments);
    value name, item, ignored;
    while (map_next(&cursor, &name, &item))
        if (!value_is_map(properties) || !map_find(properties, name, &ignored))
            return fail_unknown_name(properties, value_text(name), error);
    return true;
}

bool schema_check_arguments(value schema, value arguments, bool names_only, struct error *error)
{
    if (!check_names(schema, arguments, error))
        return false;
    if (names_only)
        return true;
    value required = map_get_text(schema, "required");
    for (size_t i = 0; value_is_vector(required) && i < vector_count(required); i++) {
        value ignored;
        struct span name = value_text(vector_at(required, i));
        if (!map_find(arguments, vector_at(required, i), &ignored))
            return error_set(error, ERROR_INVALID,
                             "Invalid params: missing required parameter '%.*s'", (int)name.length,
                             name.data);
    }
    value properties = map_get_text(schema, "properties");
    struct map_cursor cursor = map_iterate(arguments);
    value name, item, property;
    while (map_next(&cursor, &name, &item)) {
        if (!value_is_map(properties) || !map_find(properties, name, &property))
            continue;
        struct place place = {.error = error};
        struct span text = value_text(name);
        snprintf(place.path, sizeof(place.path), "Invalid params: '%.*s'", (int)text.length,
                 text.data);
        if (!check(&place, property, item))
            return false;
    }
    return true;
}
