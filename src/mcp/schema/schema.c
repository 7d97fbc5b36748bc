#include "mcp/schema/schema.h"

#include <math.h>
#include <stdio.h>

#include "base/buffer.h"
#include "base/utf8.h"
#include "mcp/schema/schema_internal.h"
#include "value/text/json.h"

enum { PATH_MAX_LENGTH = 200, SHOWN_MAX = 60 };

// --- messages ------------------------------------------------------------------------------------

// Longer paths are cut.
static void write_place(struct buffer *out, const struct schema_place *place)
{
    if (place->outer)
        write_place(out, place->outer);
    if (out->length >= PATH_MAX_LENGTH)
        return;
    if (place->name.data)
        buffer_append_format(out, "%s%.*s%s", place->before, (int)place->name.length,
                             place->name.data, place->after);
    else
        buffer_append_format(out, "[%zu]", place->index);
}

static bool fail(struct error *error, const struct schema_place *place, const char *what)
{
    CLEANUP_BUFFER struct buffer path;
    buffer_init(&path, BUFFER_DEFAULT_LIMIT);
    write_place(&path, place);
    if (path.length > PATH_MAX_LENGTH)
        buffer_truncate(&path, utf8_cut(path.data, PATH_MAX_LENGTH));
    return error_set(error, ERROR_INVALID, "%s %s", buffer_text(&path), what);
}

static bool fail_member(struct error *error, const struct schema_place *place, const char *what,
                        struct span name)
{
    char text[ERROR_MESSAGE_SIZE];
    snprintf(text, sizeof(text), "%s '%.*s'", what, (int)name.length, name.data);
    return fail(error, place, text);
}

// "… must be <expected>, not <the value>", with long values cut.
static bool fail_value(struct error *error, const struct schema_place *place, value instance,
                       const char *expected)
{
    CLEANUP_BUFFER struct buffer shown, what;
    buffer_init(&shown, BUFFER_DEFAULT_LIMIT);
    buffer_init(&what, BUFFER_DEFAULT_LIMIT);
    if (value_is_map(instance))
        buffer_append_text(&shown, "an object");
    else if (value_is_vector(instance))
        buffer_append_text(&shown, "an array");
    else
        json_write(&shown, instance, 0, NULL);
    bool is_long = shown.length > SHOWN_MAX;
    if (is_long)
        buffer_truncate(&shown, utf8_cut(shown.data, SHOWN_MAX));
    buffer_append_format(&what, "must be %s, not %s%s", expected, buffer_text(&shown),
                         is_long ? "…" : "");
    return fail(error, place, buffer_text(&what));
}

static bool fail_type(struct error *error, const struct schema_place *place, value instance,
                      unsigned types)
{
    CLEANUP_BUFFER struct buffer expected;
    buffer_init(&expected, BUFFER_DEFAULT_LIMIT);
    for (unsigned i = 0; i < SCHEMA_TYPES; i++)
        if (types & (1U << i))
            buffer_append_format(&expected, "%s%s", expected.length ? " or " : "",
                                 schema_type_names[i].with_article);
    return fail_value(error, place, instance, buffer_text(&expected));
}

static bool fail_options(struct error *error, const struct schema_place *place, value instance,
                         value options)
{
    CLEANUP_BUFFER struct buffer expected;
    buffer_init(&expected, PATH_MAX_LENGTH);
    buffer_append_text(&expected, "one of ");
    for (size_t i = 0; i < vector_count(options); i++) {
        if (i > 0)
            buffer_append_text(&expected, ", ");
        json_write(&expected, vector_at(options, i), 0, NULL);
    }
    return fail_value(error, place, instance,
                      expected.failed ? "one of the listed values" : buffer_text(&expected));
}

static bool fail_bound(struct error *error, const struct schema_place *place, value instance,
                       const char *which, value bound)
{
    CLEANUP_BUFFER struct buffer expected;
    buffer_init(&expected, PATH_MAX_LENGTH);
    buffer_append_text(&expected, which);
    json_write(&expected, bound, 0, NULL);
    return fail_value(error, place, instance, buffer_text(&expected));
}

// --- members -------------------------------------------------------------------------------------

const struct schema_member *schema_member_find(const struct schema *schema, struct span name,
                                               size_t *hint)
{
    for (size_t i = 0; i < schema->member_count; i++) {
        size_t at = *hint + i < schema->member_count ? *hint + i : *hint + i - schema->member_count;
        if (span_equal(schema->members[at].name, name)) {
            *hint = at;
            return &schema->members[at];
        }
    }
    return NULL;
}

const struct schema_member *schema_missing_member(const struct schema *schema, value instance)
{
    for (size_t i = 0; i < schema->member_count; i++) {
        const struct schema_member *member = &schema->members[i];
        value ignored;
        if (member->is_required && !map_find(instance, member->key, &ignored))
            return member;
    }
    return NULL;
}

struct schema_cursor schema_iterate(const struct schema *schema, value instance)
{
    return (struct schema_cursor){.schema = schema, .entries = map_iterate(instance)};
}

bool schema_next(struct schema_cursor *cursor)
{
    if (!map_next(&cursor->entries, &cursor->key, &cursor->item))
        return false;
    cursor->name = value_text(cursor->key);
    cursor->member = schema_member_find(cursor->schema, cursor->name, &cursor->hint);
    return true;
}

static bool check_members(const struct schema *schema, const struct schema_place *place,
                          value instance, size_t *ret_required, struct error *error)
{
    struct schema_cursor cursor = schema_iterate(schema, instance);
    while (schema_next(&cursor)) {
        const struct schema_member *member = cursor.member;
        *ret_required += member && member->is_required;
        bool is_known = member && member->is_known;
        if (!is_known && schema->is_closed)
            return fail_member(error, place, "has the unknown member", cursor.name);
        struct schema_place inside = {place, ".", cursor.name, "", 0};
        if (!schema_check_place(is_known ? member->schema : schema->additional, &inside,
                                cursor.item, error))
            return false;
    }
    return true;
}

// A missing member is reported before a wrong one.
static bool check_object(const struct schema *schema, const struct schema_place *place,
                         value instance, struct error *error)
{
    size_t required = 0;
    bool ok = check_members(schema, place, instance, &required, error);
    if (ok && required == schema->required_count)
        return true;
    const struct schema_member *missing = schema_missing_member(schema, instance);
    return missing ? fail_member(error, place, "lacks the required member", missing->name) : false;
}

static bool check_items(const struct schema *schema, const struct schema_place *place,
                        value instance, struct error *error)
{
    struct schema_place inside = {.outer = place};
    for (; inside.index < vector_count(instance); inside.index++)
        if (!schema_check_place(schema, &inside, vector_at(instance, inside.index), error))
            return false;
    return true;
}

// --- single values -------------------------------------------------------------------------------

static unsigned types_of(value instance)
{
    switch (instance.tag) {
    case VALUE_NIL: return TYPE_NULL;
    case VALUE_BOOLEAN: return TYPE_BOOLEAN;
    case VALUE_INTEGER:
    case VALUE_BIGNUM: return TYPE_INTEGER | TYPE_NUMBER;
    case VALUE_FLOAT:
        return TYPE_NUMBER | (instance.number == floor(instance.number) ? TYPE_INTEGER : 0U);
    case VALUE_STRING: return TYPE_STRING;
    case VALUE_VECTOR: return TYPE_ARRAY;
    case VALUE_MAP: return TYPE_OBJECT;
    default: return 0;
    }
}

static bool is_option(value options, value instance)
{
    for (size_t i = 0; i < vector_count(options); i++)
        if (value_equal(vector_at(options, i), instance))
            return true;
    return false;
}

static bool is_beyond(value instance, value bound, enum value_order beyond)
{
    return !value_is_nil(bound) && (types_of(instance) & TYPE_NUMBER) &&
           value_compare(instance, bound) == beyond;
}

bool schema_check_place(const struct schema *schema, const struct schema_place *place,
                        value instance, struct error *error)
{
    if (!schema)
        return true;
    if (schema->types && !(schema->types & types_of(instance)))
        return fail_type(error, place, instance, schema->types);
    if (!value_is_nil(schema->options) && !is_option(schema->options, instance))
        return fail_options(error, place, instance, schema->options);
    if (schema->has_constant && !value_equal(schema->constant, instance))
        return fail_value(error, place, instance, "the constant of its schema");
    if (is_beyond(instance, schema->minimum, VALUE_LESS))
        return fail_bound(error, place, instance, "at least ", schema->minimum);
    if (is_beyond(instance, schema->maximum, VALUE_GREATER))
        return fail_bound(error, place, instance, "at most ", schema->maximum);
    if (value_is_map(instance))
        return check_object(schema, place, instance, error);
    if (value_is_vector(instance) && schema->items)
        return check_items(schema->items, place, instance, error);
    return true;
}

bool schema_check(const struct schema *schema, value instance, const char *root,
                  struct error *error)
{
    struct schema_place place = {NULL, "", span_from(root), "", 0};
    return schema_check_place(schema, &place, instance, error);
}
