// The arguments of a tool against its schema, with messages for whoever wrote the call.
#include <math.h>

#include "base/buffer.h"
#include "base/utf8.h"
#include "mcp/schema/schema_internal.h"
#include "value/number/bignum.h"

enum { NAME_MAX_LENGTH = 64 };

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
    size_t hint = 0;
    struct map_cursor cursor = map_iterate(arguments);
    value name, item;
    while (schema->is_closed && map_next(&cursor, &name, &item))
        if (!schema_member_find(schema, value_text(name), &hint))
            return fail_unknown_name(schema, value_text(name), error);
    return true;
}

static bool check_values(const struct schema *schema, value arguments, struct error *error)
{
    size_t hint = 0;
    struct map_cursor cursor = map_iterate(arguments);
    value name, item;
    while (map_next(&cursor, &name, &item)) {
        struct span text = value_text(name);
        const struct schema_member *member = schema_member_find(schema, text, &hint);
        struct schema_place place = {NULL, "Invalid params: '", text, "'", 0};
        if (member && !schema_check_place(member->schema, &place, item, error))
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

static bool wants_integer(const struct schema_member *member)
{
    return member && member->schema &&
           (member->schema->types & (TYPE_INTEGER | TYPE_NUMBER)) == TYPE_INTEGER;
}

value schema_integers(const struct schema *schema, struct region *region, value arguments)
{
    size_t hint = 0;
    value result = value_retain(arguments);
    struct map_cursor cursor = map_iterate(arguments);
    value name, item;
    while (map_next(&cursor, &name, &item)) {
        if (item.tag == VALUE_FLOAT && isfinite(item.number) && item.number == floor(item.number) &&
            wants_integer(schema_member_find(schema, value_text(name), &hint)))
            result = map_put(region, result, value_retain(name),
                             integer_from_double(region, item.number));
    }
    return result;
}
