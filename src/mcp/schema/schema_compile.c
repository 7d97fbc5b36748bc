// Compiles the JSON of a schema into the form that the checks use.
#include "base/assert.h"
#include "mcp/schema/schema_internal.h"

const struct schema_type_name schema_type_names[SCHEMA_TYPES] = {
    {"string", "a string"}, {"integer", "an integer"},
    {"number", "a number"}, {"boolean", "true or false"},
    {"array", "an array"},  {"object", "an object"},
    {"null", "null"},
};

static unsigned type_bit(value name)
{
    CHECK(value_is_string(name));
    for (unsigned i = 0; i < SCHEMA_TYPES; i++)
        if (span_equal_text(value_text(name), schema_type_names[i].name))
            return 1U << i;
    UNREACHABLE();
}

static unsigned compile_types(value type)
{
    if (!value_is_vector(type))
        return type_bit(type);
    unsigned types = 0;
    for (size_t i = 0; i < vector_count(type); i++)
        types |= type_bit(vector_at(type, i));
    return types;
}

static struct schema_member *add_member(struct schema *schema, value key)
{
    size_t at = 0;
    CHECK(value_is_string(key));
    if (!schema_member_find(schema, value_text(key), &at)) {
        at = schema->member_count++;
        schema->members[at].key = key;
        schema->members[at].name = value_text(key);
    }
    return &schema->members[at];
}

static void compile_members(struct region *region, struct schema *schema, value properties,
                            value required)
{
    size_t most = (value_is_map(properties) ? map_count(properties) : 0) +
                  (value_is_vector(required) ? vector_count(required) : 0);
    schema->members = region_alloc_zero(region, most * sizeof(*schema->members));
    if (value_is_map(properties)) {
        struct map_cursor cursor = map_iterate(properties);
        value name, property;
        while (map_next(&cursor, &name, &property)) {
            struct schema_member *member = add_member(schema, name);
            member->schema = schema_compile(region, property);
            member->is_known = true;
        }
    }
    for (size_t i = 0; value_is_vector(required) && i < vector_count(required); i++) {
        struct schema_member *member = add_member(schema, vector_at(required, i));
        CHECK(!member->is_required);
        member->is_required = true;
        schema->required_count++;
    }
}

const struct schema *schema_compile(struct region *region, value parsed)
{
    CHECK(value_is_map(parsed));
    struct schema *schema = region_alloc_zero(region, sizeof(*schema));
    value part;
    if (map_find_text(parsed, "type", &part))
        schema->types = compile_types(part);
    schema->options = map_get(parsed, "enum");
    CHECK(value_is_nil(schema->options) || value_is_vector(schema->options));
    schema->has_constant = map_find_text(parsed, "const", &schema->constant);
    schema->minimum = map_get(parsed, "minimum");
    schema->maximum = map_get(parsed, "maximum");
    if (map_find_text(parsed, "items", &part))
        schema->items = schema_compile(region, part);
    if (map_find_text(parsed, "additionalProperties", &part)) {
        if (value_is_map(part))
            schema->additional = schema_compile(region, part);
        else
            schema->is_closed = !value_is_true(part);
    }
    compile_members(region, schema, map_get(parsed, "properties"), map_get(parsed, "required"));
    return schema;
}
