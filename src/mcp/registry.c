// Copies of everything that is registered, found by name, URI or template.
#include "base/array.h"
#include "base/ascii.h"
#include "base/assert.h"
#include "base/memory.h"
#include "base/utf8.h"
#include <string.h>

#include "mcp/mcp_internal.h"
#include "mcp/schema/schema.h"
#include "value/text/json.h"

enum { TEMPLATE_VARIABLE_MAX = 4096 };

void *registry_alloc(struct mcp_server *server, size_t size)
{
    void *memory = arena_alloc_zero(&server->arena, size);
    CHECK(memory);
    return memory;
}

const char *registry_text(struct mcp_server *server, const char *text)
{
    if (!text)
        return NULL;
    const char *copy = arena_copy_text(&server->arena, span_from(text));
    CHECK(copy);
    return copy;
}

// --- tools ---------------------------------------------------------------------------------------

static bool is_tool_name(const char *name)
{
    size_t length = strlen(name);
    return length >= 1 && length <= 64 &&
           strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-") ==
               length;
}

static value parse_schema(struct mcp_server *server, const char *text)
{
    value schema;
    struct error error;
    bool ok = jsonrpc_read(server->schemas, span_from(text), &schema, &error);
    CHECK(ok && value_is_map(schema));
    CHECK(span_equal_text(value_text(map_get(schema, "type")), "object"));
    return schema;
}

// The schema without what only the server needs: it refuses unknown arguments itself.
static const char *shorten_schema(struct mcp_server *server, value schema)
{
    struct region *region = server->schemas;
    value shortened = value_retain(schema);
    static const char *const members[] = {"additionalProperties", "required"};
    for (size_t i = 0; i < COUNT_OF(members); i++) {
        value member = map_get(schema, members[i]);
        bool is_empty = value_is_vector(member) && vector_count(member) == 0;
        if (is_empty || (member.tag == VALUE_BOOLEAN && !member.boolean))
            shortened = map_remove(region, shortened, value_string(region, span_from(members[i])));
    }
    CLEANUP_BUFFER struct buffer text;
    buffer_init(&text, MCP_OUTPUT_LIMIT);
    json_write(&text, shortened, 0, NULL);
    value_release(region, shortened);
    CHECK(!text.failed);
    return registry_text(server, buffer_text(&text));
}

// Collects every property with "x-mcp-header" that is reachable by `properties` alone.
static void collect_headers(struct mcp_server *server, struct tool_entry *entry, value schema,
                            const char *path[TOOL_HEADER_DEPTH], size_t depth)
{
    value properties = map_get(schema, "properties");
    if (!value_is_map(properties) || depth == TOOL_HEADER_DEPTH)
        return;
    struct map_cursor cursor = map_iterate(properties);
    value name, property;
    while (map_next(&cursor, &name, &property)) {
        if (!value_is_map(property))
            continue;
        path[depth] = arena_copy_text(&server->arena, value_text(name));
        value header = map_get(property, "x-mcp-header");
        if (value_is_string(header)) {
            struct tool_header *item = registry_alloc(server, sizeof(*item));
            CLEANUP_FREE char *full = memory_format(
                "Mcp-Param-%.*s", (int)value_text(header).length, value_text(header).data);
            item->name = registry_text(server, full);
            memcpy(item->path, path, sizeof(item->path));
            item->depth = depth + 1;
            SLIST_INSERT_HEAD(&entry->headers, item, link);
        }
        collect_headers(server, entry, property, path, depth + 1);
    }
}

// The library replies to bad arguments with this shape, so a tool's outputSchema must allow it.
static void check_failure_shape(struct mcp_server *server, const struct schema *schema)
{
    value failure;
    struct error error;
    bool ok = jsonrpc_read(server->schemas,
                           SPAN("{\"ok\":false,\"error\":{\"code\":\"c\",\"message\":\"m\"}}"),
                           &failure, &error);
    CHECK(ok && schema_check(schema, failure, "structuredContent", &error));
}

void mcp_server_add_tool(struct mcp_server *server, const struct mcp_tool *tool)
{
    CHECK(is_tool_name(tool->name) && tool->description && tool->handler);
    CHECK(!registry_find_tool(server, span_from(tool->name)));
    struct tool_entry *entry = registry_alloc(server, sizeof(*entry));
    entry->tool = *tool;
    entry->tool.name = registry_text(server, tool->name);
    entry->tool.title = registry_text(server, tool->title);
    entry->tool.description = registry_text(server, tool->description);
    entry->tool.input_schema = registry_text(server, tool->input_schema);
    entry->tool.output_schema = registry_text(server, tool->output_schema);
    value input_schema = parse_schema(server, tool->input_schema);
    entry->short_schema = shorten_schema(server, input_schema);
    entry->tool.meta = registry_text(server, tool->meta);
    entry->tool.accepted_schema = NULL;  // the compiled one serves
    entry->input_schema = schema_compile(
        server->schemas,
        tool->accepted_schema ? parse_schema(server, tool->accepted_schema) : input_schema);
    if (tool->output_schema) {
        value output_schema = parse_schema(server, tool->output_schema);
        entry->output_schema = schema_compile(server->schemas, output_schema);
        check_failure_shape(server, entry->output_schema);
    }
    SLIST_INIT(&entry->headers);
    const char *path[TOOL_HEADER_DEPTH] = {0};
    collect_headers(server, entry, input_schema, path, 0);
    STAILQ_INSERT_TAIL(&server->tools, entry, link);
}

const struct tool_entry *registry_find_tool(const struct mcp_server *server, struct span name)
{
    const struct tool_entry *entry;
    STAILQ_FOREACH (entry, &server->tools, link)
        if (span_equal_text(name, entry->tool.name))
            return entry;
    return NULL;
}

void mcp_server_extend_description(struct mcp_server *server, const char *name,
                                   mcp_describe_fn *describe, void *data)
{
    struct tool_entry *entry;
    STAILQ_FOREACH (entry, &server->tools, link)
        if (strcmp(name, entry->tool.name) == 0) {
            entry->describe = describe;
            entry->describe_data = data;
        }
}

void mcp_server_add_tool_hint(struct mcp_server *server, const char *name, const char *hint)
{
    struct tool_hint *entry = registry_alloc(server, sizeof(*entry));
    entry->name = registry_text(server, name);
    entry->text = registry_text(server, hint);
    SLIST_INSERT_HEAD(&server->tool_hints, entry, link);
}

const char *registry_find_hint(const struct mcp_server *server, struct span name)
{
    const struct tool_hint *hint;
    SLIST_FOREACH (hint, &server->tool_hints, link)
        if (span_equal_text(name, hint->name))
            return hint->text;
    return NULL;
}

bool mcp_server_has_tool(const struct mcp_server *server, const char *name)
{
    return registry_find_tool(server, span_from(name)) != NULL;
}

// --- resources -----------------------------------------------------------------------------------

static void add_resource(struct mcp_server *server, struct resource_entries *list,
                         const struct mcp_resource *resource)
{
    CHECK(resource->uri && resource->name && resource->handler);
    struct resource_entry *entry = registry_alloc(server, sizeof(*entry));
    entry->resource = *resource;
    entry->resource.uri = registry_text(server, resource->uri);
    entry->resource.name = registry_text(server, resource->name);
    entry->resource.title = registry_text(server, resource->title);
    entry->resource.description = registry_text(server, resource->description);
    entry->resource.mime_type = registry_text(server, resource->mime_type);
    STAILQ_INSERT_TAIL(list, entry, link);
}

void mcp_server_add_resource(struct mcp_server *server, const struct mcp_resource *resource)
{
    add_resource(server, &server->resources, resource);
}

void mcp_server_add_template(struct mcp_server *server,
                             const struct mcp_resource *resource_template)
{
    add_resource(server, &server->templates, resource_template);
}

static const struct resource_entry *find_resource(const struct resource_entries *list,
                                                  struct span uri)
{
    const struct resource_entry *entry;
    STAILQ_FOREACH (entry, list, link)
        if (span_equal_text(uri, entry->resource.uri))
            return entry;
    return NULL;
}

const struct resource_entry *registry_find_resource(const struct mcp_server *server,
                                                    struct span uri)
{
    return find_resource(&server->resources, uri);
}

const struct resource_entry *registry_find_template(const struct mcp_server *server,
                                                    struct span uri_template)
{
    return find_resource(&server->templates, uri_template);
}

// The value of a template variable, percent-decoded. Characters that RFC 6570 level 1 would have
// encoded are refused.
static bool decode_variable(struct region *region, struct span text, value *ret_value)
{
    char decoded[TEMPLATE_VARIABLE_MAX];
    size_t length = 0;
    if (text.length == 0 || text.length > sizeof(decoded))
        return false;
    for (size_t i = 0; i < text.length; i++) {
        char c = text.data[i];
        if (c == '/' || c == '?' || c == '#')
            return false;
        if (c == '%') {
            if (i + 2 >= text.length || ascii_hex_digit(text.data[i + 1]) < 0 ||
                ascii_hex_digit(text.data[i + 2]) < 0)
                return false;
            c = (char)(ascii_hex_digit(text.data[i + 1]) * 16 + ascii_hex_digit(text.data[i + 2]));
            i += 2;
        }
        decoded[length++] = c;
    }
    if (!utf8_is_valid(decoded, length))
        return false;
    *ret_value = value_string(region, (struct span){decoded, length});
    return true;
}

static bool match_template(struct region *region, const char *pattern, struct span uri,
                           value *ret_variables)
{
    value variables = map_new(region);
    const char *rest = uri.data, *end = uri.data + uri.length;
    while (*pattern) {
        if (*pattern != '{') {
            if (rest == end || *rest != *pattern)
                return false;
            rest++, pattern++;
            continue;
        }
        const char *close = strchr(pattern, '}');
        CHECK(close);
        size_t literal = strcspn(close + 1, "{");  // the text that ends the variable
        const char *stop = end;
        if (literal > 0)
            stop = memmem(rest, (size_t)(end - rest), close + 1, literal);
        value item;
        if (!stop || !decode_variable(region, (struct span){rest, (size_t)(stop - rest)}, &item))
            return false;
        struct span name = {pattern + 1, (size_t)(close - pattern - 1)};
        variables = map_put(region, variables, value_string(region, name), item);
        rest = stop;
        pattern = close + 1;
    }
    if (rest != end)
        return false;
    *ret_variables = variables;
    return true;
}

const struct resource_entry *registry_match_template(const struct mcp_server *server,
                                                     struct region *region, struct span uri,
                                                     value *ret_variables)
{
    const struct resource_entry *entry;
    STAILQ_FOREACH (entry, &server->templates, link)
        if (match_template(region, entry->resource.uri, uri, ret_variables))
            return entry;
    return NULL;
}

bool registry_knows_uri(const struct mcp_server *server, struct region *region, struct span uri)
{
    value ignored;
    return registry_find_resource(server, uri) ||
           registry_match_template(server, region, uri, &ignored);
}

// --- prompts and completers ----------------------------------------------------------------------

void mcp_server_add_prompt(struct mcp_server *server, const struct mcp_prompt *prompt)
{
    CHECK(prompt->name && prompt->description && prompt->handler);
    struct prompt_entry *entry = registry_alloc(server, sizeof(*entry));
    entry->prompt = *prompt;
    entry->prompt.name = registry_text(server, prompt->name);
    entry->prompt.title = registry_text(server, prompt->title);
    entry->prompt.description = registry_text(server, prompt->description);
    for (size_t i = 0; i < MCP_PROMPT_ARGUMENTS_MAX; i++) {
        struct mcp_prompt_argument *argument = &entry->prompt.arguments[i];
        argument->name = registry_text(server, argument->name);
        argument->description = registry_text(server, argument->description);
    }
    STAILQ_INSERT_TAIL(&server->prompts, entry, link);
}

const struct prompt_entry *registry_find_prompt(const struct mcp_server *server, struct span name)
{
    const struct prompt_entry *entry;
    STAILQ_FOREACH (entry, &server->prompts, link)
        if (span_equal_text(name, entry->prompt.name))
            return entry;
    return NULL;
}

void mcp_server_add_completer(struct mcp_server *server, const struct mcp_completer *completer)
{
    CHECK(completer->reference && completer->argument && completer->handler);
    struct completer_entry *entry = registry_alloc(server, sizeof(*entry));
    entry->completer = *completer;
    entry->completer.reference = registry_text(server, completer->reference);
    entry->completer.argument = registry_text(server, completer->argument);
    STAILQ_INSERT_TAIL(&server->completers, entry, link);
}

const struct completer_entry *registry_find_completer(const struct mcp_server *server,
                                                      struct span reference, struct span argument)
{
    const struct completer_entry *entry;
    STAILQ_FOREACH (entry, &server->completers, link)
        if (span_equal_text(reference, entry->completer.reference) &&
            span_equal_text(argument, entry->completer.argument))
            return entry;
    return NULL;
}
