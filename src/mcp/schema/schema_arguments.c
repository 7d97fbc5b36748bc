// Checks the arguments of a tool against its schema, with messages for the author of the call.
#include <math.h>

#include "base/buffer.h"
#include "base/utf8.h"
#include "mcp/schema/schema_internal.h"
#include "value/number/bignum.h"

enum { NAME_MAX_LENGTH = 64 };

// Levenshtein distance of short names.
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

static bool fail_unknown_name(const struct schema *schema, struct span name, struct error *error)
{
    struct span best = {NULL, 0};
    size_t best_distance = name.length / 3 + 2;
    for (size_t i = 0; i < schema->member_count; i++) {
        size_t distance = edit_distance(name, schema->members[i].name);
        if (distance < best_distance) {
            best_distance = distance;
            best = schema->members[i].name;
        }
    }
    int shown =
        (int)(name.length > NAME_MAX_LENGTH ? utf8_cut(name.data, NAME_MAX_LENGTH) : name.length);
    if (best.data)
        return error_set(error, ERROR_INVALID,
                         "Invalid params: unknown parameter '%.*s' (did you mean '%.*s'?)", shown,
                         name.data, (int)best.length, best.data);
    CLEANUP_BUFFER struct buffer known;
    buffer_init(&known, ERROR_MESSAGE_SIZE);
    for (size_t i = 0; i < schema->member_count; i++)
        buffer_append_format(&known, "%s%.*s", i ? ", " : "", (int)schema->members[i].name.length,
                             schema->members[i].name.data);
    return error_set(error, ERROR_INVALID, "Invalid params: unknown parameter '%.*s' (known: %s)",
                     shown, name.data, known.length ? buffer_text(&known) : "none");
}

static bool check_names(const struct schema *schema, value arguments, struct error *error)
{
    struct schema_cursor cursor = schema_iterate(schema, arguments);
    while (schema->is_closed && schema_next(&cursor))
        if (!cursor.member)
            return fail_unknown_name(schema, cursor.name, error);
    return true;
}

static bool check_values(const struct schema *schema, value arguments, struct error *error)
{
    struct schema_cursor cursor = schema_iterate(schema, arguments);
    while (schema_next(&cursor)) {
        struct schema_place place = {NULL, "Invalid params: '", cursor.name, "'", 0};
        if (cursor.member && !schema_check_place(cursor.member->schema, &place, cursor.item, error))
            return false;
    }
    return true;
}

bool schema_check_arguments(const struct schema *schema, value arguments, bool names_only,
                            struct error *error)
{
    if (!check_names(schema, arguments, error))
        return false;
    if (names_only)
        return true;
    const struct schema_member *missing = schema_missing_member(schema, arguments);
    if (missing)
        return error_set(error, ERROR_INVALID, "Invalid params: missing required parameter '%.*s'",
                         (int)missing->name.length, missing->name.data);
    return check_values(schema, arguments, error);
}

value schema_drop_nulls(const struct schema *schema, struct region *region, value arguments)
{
    value result = value_retain(arguments);
    struct schema_cursor cursor = schema_iterate(schema, arguments);
    while (schema_next(&cursor)) {
        bool is_optional = cursor.member && !cursor.member->is_required;
        if (is_optional && value_is_nil(cursor.item))
            result = map_remove(region, result, value_retain(cursor.key));
    }
    return result;
}

static bool wants_integer(const struct schema_member *member)
{
    return member && member->schema &&
           (member->schema->types & (TYPE_INTEGER | TYPE_NUMBER)) == TYPE_INTEGER;
}

value schema_integers(const struct schema *schema, struct region *region, value arguments)
{
    value result = value_retain(arguments);
    struct schema_cursor cursor = schema_iterate(schema, arguments);
    while (schema_next(&cursor)) {
        value item = cursor.item;
        if (item.tag == VALUE_FLOAT && isfinite(item.number) && item.number == floor(item.number) &&
            wants_integer(cursor.member))
            result = map_put(region, result, value_retain(cursor.key),
                             integer_from_double(region, item.number));
    }
    return result;
}
