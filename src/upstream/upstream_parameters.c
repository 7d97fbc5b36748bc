// Mcp-Param-NAME: arguments that servers of 2026-07-28 want in the headers of a call, too, because their
// schema has "x-mcp-header": "NAME" at the property.
#include <sodium.h>
#include <string.h>

#include "base/ascii.h"
#include "base/memory.h"
#include "upstream/upstream_catalog.h"
#include "value/text/json.h"

enum { HEADER_NAME_MAX = 64 };

// --- from schemas --------------------------------------------------------------------------------

static const char *keep(struct upstream_catalog *catalog, struct span text)
{
    char *copy = region_alloc(catalog->region, text.length + 1);
    memcpy(copy, text.data, text.length);
    copy[text.length] = '\0';
    return copy;
}

static bool is_header_name(struct span name)
{
    for (size_t i = 0; i < name.length; i++)
        if (!ascii_is_letter(name.data[i]) && !ascii_is_digit(name.data[i]) &&
            name.data[i] != '-' && name.data[i] != '_')
            return false;
    return name.length > 0 && name.length <= HEADER_NAME_MAX;
}

// What is not reachable by `properties` alone does not count, nor what is over the limits.
static void collect(struct upstream_catalog *catalog, struct upstream_tool *tool, value schema,
                    struct upstream_parameter *parameter)
{
    value properties = value_is_map(schema) ? map_get(schema, "properties") : value_nil();
    value name, property;
    if (!value_is_map(properties) || parameter->depth == UPSTREAM_PARAMETER_DEPTH)
        return;
    struct map_cursor cursor = map_iterate(properties);
    parameter->depth++;
    while (map_next(&cursor, &name, &property)) {
        if (!value_is_map(property))
            continue;
        parameter->path[parameter->depth - 1] = keep(catalog, value_text(name));
        struct span header = map_get_string(property, "x-mcp-header");
        if (is_header_name(header) && tool->parameter_count < UPSTREAM_PARAMETERS_MAX) {
            parameter->header = keep(catalog, header);
            tool->parameters[tool->parameter_count++] = *parameter;
        }
        collect(catalog, tool, property, parameter);
    }
    parameter->depth--;
}

void upstream_parameters_read(struct upstream_catalog *catalog, struct upstream_tool *tool,
                              value schema)
{
    struct upstream_parameter found[UPSTREAM_PARAMETERS_MAX] = {0}, parameter = {0};
    tool->parameters = found;
    collect(catalog, tool, schema, &parameter);
    size_t size = tool->parameter_count * sizeof(*found);
    tool->parameters = size ? region_alloc(catalog->region, size) : NULL;
    if (size)
        memcpy(tool->parameters, found, size);
}

// --- to headers ----------------------------------------------------------------------------------

static bool is_plain(struct span text)
{
    for (size_t i = 0; i < text.length; i++)
        if (text.data[i] < ' ' || text.data[i] > '~')
            return false;
    bool padded = text.length && (text.data[0] == ' ' || text.data[text.length - 1] == ' ');
    return text.length && !padded && !span_starts_with(text, SPAN("=?base64?"));
}

static void put_text(struct buffer *lines, struct span text)
{
    if (is_plain(text)) {
        buffer_append_span(lines, text);
        return;
    }
    size_t size = sodium_base64_encoded_len(text.length, sodium_base64_VARIANT_ORIGINAL);
    CLEANUP_FREE char *encoded = memory_alloc(size);
    sodium_bin2base64(encoded, size, (const unsigned char *)text.data, text.length,
                      sodium_base64_VARIANT_ORIGINAL);
    buffer_append_format(lines, "=?base64?%s?=", encoded);
}

static void put_parameter(struct buffer *lines, const struct upstream_parameter *parameter, value v)
{
    for (size_t i = 0; i < parameter->depth; i++)
        v = value_is_map(v) ? map_get(v, parameter->path[i]) : value_nil();
    if (value_is_nil(v) || value_is_map(v) || value_is_vector(v))
        return;
    buffer_append_format(lines, "Mcp-Param-%s: ", parameter->header);
    if (value_is_string(v))
        put_text(lines, value_text(v));
    else
        json_write(lines, v, 0, NULL);
    buffer_append_byte(lines, '\n');
}

void upstream_parameters_write(struct buffer *lines, const struct upstream_tool *tool,
                               struct span arguments)
{
    if (tool->parameter_count == 0)
        return;
    struct region *region = region_new(SIZE_MAX);
    struct error error;
    value v;
    if (json_read(region, arguments, NULL, &v, &error))
        for (size_t i = 0; i < tool->parameter_count; i++)
            put_parameter(lines, &tool->parameters[i], v);
    region_free(region);
}
