#include "cli/config/configuration_schema.h"

#include "cli/config/configuration.h"
#include "value/text/json.h"

static value put_text(struct region *region, value map, const char *name, const char *text)
{
    return map_put_text(region, map, name, value_string_text(region, text));
}

static value choices_value(struct region *region, const char *choices)
{
    value list = vector_new(region, 4);
    for (struct span each = option_list_next(&choices); each.length;
         each = option_list_next(&choices))
        list = vector_push(region, list, value_string(region, each));
    return list;
}

// The type of one value.
static value value_schema(struct region *region, value schema, const struct option_row *row)
{
    if (!row->argument)
        return put_text(region, schema, "type", "boolean");
    if (row->type == OPTION_NUMBER) {
        schema = put_text(region, schema, "type", "integer");
        schema = map_put_text(region, schema, "minimum", value_integer(row->low));
        return map_put_text(region, schema, "maximum", value_integer(row->high));
    }
    schema = put_text(region, schema, "type", "string");
    if (row->choices)
        schema = map_put_text(region, schema, "enum", choices_value(region, row->choices));
    return schema;
}

static value row_schema(struct region *region, const struct option_row *row)
{
    value schema = put_text(region, map_new(region), "description", row->summary);
    if (!row->repeatable)
        return value_schema(region, schema, row);
    value list = put_text(region, map_new(region), "type", "array");
    list = map_put_text(region, list, "items", value_schema(region, map_new(region), row));
    value either =
        vector_push(region, vector_new(region, 2), value_schema(region, map_new(region), row));
    return map_put_text(region, schema, "anyOf", vector_push(region, either, list));
}

void configuration_write_schema(struct buffer *text)
{
    struct region *region = region_new(SIZE_MAX);
    value properties = map_put_text(region, map_new(region), "$schema",
                                    put_text(region, map_new(region), "type", "string"));
    for (const struct option_row *row = configuration_next_row(NULL); row;
         row = configuration_next_row(row))
        properties = map_put_text(region, properties, row->name, row_schema(region, row));
    value schema =
        put_text(region, map_new(region), "$schema", "http://json-schema.org/draft-07/schema#");
    schema = put_text(region, schema, "title", "Configuration of Cadre");
    schema = put_text(region, schema, "type", "object");
    schema = map_put_text(region, schema, "properties", properties);
    schema = map_put_text(region, schema, "additionalProperties", value_boolean(false));
    json_write(text, schema, JSON_PRETTY, NULL);
    buffer_append_byte(text, '\n');
    region_free(region);
}
