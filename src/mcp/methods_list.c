// The four lists. A page holds 200 entries; a cursor contains the list, the position and the
// generation of the list, so that a cursor from before a change is refused and no entry is skipped.
#include <sodium.h>

#include "mcp/mcp_internal.h"

enum { CURSOR_SIZE = 64 };

enum list_kind { LIST_TOOLS, LIST_RESOURCES, LIST_PROMPTS, LIST_TEMPLATES };

struct page {
    struct buffer members;
    enum list_kind kind;
    size_t start;
    size_t seen;  // entries so far, of all pages
};

static void cursor_write(const struct mcp_server *server, enum list_kind kind, size_t position,
                         char text[CURSOR_SIZE])
{
    char plain[CURSOR_SIZE / 2];
    int length =
        snprintf(plain, sizeof(plain), "%d:%zu:%u", (int)kind, position, server->generation[kind]);
    sodium_bin2base64(text, CURSOR_SIZE, (const unsigned char *)plain, (size_t)length,
                      sodium_base64_VARIANT_URLSAFE_NO_PADDING);
}

// A cursor is valid if it equals the one we would write for its position.
static bool cursor_read(const struct mcp_server *server, enum list_kind kind, value cursor,
                        size_t *ret_position)
{
    char plain[CURSOR_SIZE], again[CURSOR_SIZE];
    size_t length, position;
    if (!value_is_string(cursor) || value_text(cursor).length >= CURSOR_SIZE)
        return false;
    struct span text = value_text(cursor);
    if (sodium_base642bin((unsigned char *)plain, sizeof(plain) - 1, text.data, text.length, NULL,
                          &length, NULL, sodium_base64_VARIANT_URLSAFE_NO_PADDING) != 0)
        return false;
    plain[length] = '\0';
    if (sscanf(plain, "%*d:%zu:", &position) != 1 || position == 0 || position % MCP_PAGE_SIZE != 0)
        return false;
    cursor_write(server, kind, position, again);
    if (!span_equal_text(text, again))
        return false;
    *ret_position = position;
    return true;
}

static bool page_begin(struct mcp_call *call, struct page *page, enum list_kind kind,
                       const char *name)
{
    *page = (struct page){.kind = kind};
    value cursor;
    if (map_find_text(call->params, "cursor", &cursor) &&
        !cursor_read(call->server, kind, cursor, &page->start)) {
        call_finish_params_error(call, "Invalid cursor");
        return false;
    }
    buffer_init(&page->members, MCP_OUTPUT_LIMIT);
    json_name(&page->members, name);
    buffer_append_byte(&page->members, '[');
    return true;
}

// True if the next entry belongs to this page; its members are written next.
static bool page_entry(struct page *page)
{
    size_t position = page->seen++;
    if (position < page->start || position >= page->start + MCP_PAGE_SIZE)
        return false;
    json_comma(&page->members);
    buffer_append_byte(&page->members, '{');
    return true;
}

static void page_end(struct mcp_call *call, struct page *page)
{
    char cursor[CURSOR_SIZE];
    buffer_append_byte(&page->members, ']');
    if (page->seen > page->start + MCP_PAGE_SIZE) {
        cursor_write(call->server, page->kind, page->start + MCP_PAGE_SIZE, cursor);
        json_put_text(&page->members, "nextCursor", cursor);
    }
    call_finish_result(call, &page->members);
    buffer_release(&page->members);
}

static void write_all_annotations(struct buffer *out, unsigned flags)
{
    json_put_boolean(out, "readOnlyHint", flags & MCP_TOOL_READ_ONLY);
    json_put_boolean(out, "destructiveHint", flags & MCP_TOOL_DESTRUCTIVE);
    json_put_boolean(out, "idempotentHint", flags & MCP_TOOL_IDEMPOTENT);
    json_put_boolean(out, "openWorldHint", flags & MCP_TOOL_OPEN_WORLD);
}

// What differs from the protocol's defaults; of a tool that only reads, the others mean nothing.
static void write_short_annotations(struct buffer *out, unsigned flags)
{
    if (flags & MCP_TOOL_READ_ONLY)
        json_put_boolean(out, "readOnlyHint", true);
    else if (!(flags & MCP_TOOL_DESTRUCTIVE))
        json_put_boolean(out, "destructiveHint", false);
    else if (flags & MCP_TOOL_IDEMPOTENT)
        json_put_boolean(out, "idempotentHint", true);
    if (!(flags & MCP_TOOL_OPEN_WORLD))
        json_put_boolean(out, "openWorldHint", false);
}

static void write_annotations(struct buffer *out, unsigned flags, bool all)
{
    CLEANUP_BUFFER struct buffer members;
    buffer_init(&members, MCP_OUTPUT_LIMIT);
    if (all)
        write_all_annotations(&members, flags);
    else
        write_short_annotations(&members, flags);
    if (members.length == 0)
        return;
    json_name(out, "annotations");
    buffer_append_byte(out, '{');
    json_append_part(out, &members);
    buffer_append_byte(out, '}');
}

static void write_description(struct buffer *out, const struct tool_entry *entry)
{
    CLEANUP_BUFFER struct buffer text;
    buffer_init(&text, BUFFER_DEFAULT_LIMIT);
    buffer_append_text(&text, entry->tool.description);
    if (entry->describe)
        entry->describe(&text, entry->describe_data);
    json_put_text(out, "description", buffer_text(&text));
}

// A model pays for every byte of the list, so that of text results is short.
static void write_tool(struct buffer *out, const struct tool_entry *entry, bool structured)
{
    const struct mcp_tool *tool = &entry->tool;
    json_put_text(out, "name", tool->name);
    if (structured)
        json_put_text(out, "title", tool->title);
    write_description(out, entry);
    json_put_raw(out, "inputSchema",
                 span_from(structured ? tool->input_schema : entry->short_schema));
    if (structured && tool->output_schema)
        json_put_raw(out, "outputSchema", span_from(tool->output_schema));
    write_annotations(out, tool->flags, structured);
    if (tool->meta)
        json_put_raw(out, "_meta", span_from(tool->meta));
    buffer_append_byte(out, '}');
}

void method_tools_list(struct mcp_call *call)
{
    struct page page;
    if (!page_begin(call, &page, LIST_TOOLS, "tools"))
        return;
    const struct tool_entry *entry;
    STAILQ_FOREACH (entry, &call->server->tools, link)
        if ((call->all_tools || !(entry->tool.flags & MCP_TOOL_UNLISTED)) && page_entry(&page))
            write_tool(&page.members, entry, call->structured);
    page_end(call, &page);
}

static void write_resource(struct page *page, const struct mcp_resource *resource,
                           const char *uri_name)
{
    if (!page_entry(page))
        return;
    struct buffer *out = &page->members;
    json_put_text(out, uri_name, resource->uri);
    json_put_text(out, "name", resource->name);
    json_put_text(out, "title", resource->title);
    json_put_text(out, "description", resource->description);
    json_put_text(out, "mimeType", resource->mime_type);
    if (resource->size >= 0)
        json_put_integer(out, "size", resource->size);
    buffer_append_byte(out, '}');
}

void method_resources_list(struct mcp_call *call)
{
    struct page page;
    if (!page_begin(call, &page, LIST_RESOURCES, "resources"))
        return;
    const struct resource_entry *entry;
    STAILQ_FOREACH (entry, &call->server->resources, link)
        write_resource(&page, &entry->resource, "uri");
    page_end(call, &page);
}

void method_templates_list(struct mcp_call *call)
{
    struct page page;
    if (!page_begin(call, &page, LIST_TEMPLATES, "resourceTemplates"))
        return;
    const struct resource_entry *entry;
    STAILQ_FOREACH (entry, &call->server->templates, link)
        write_resource(&page, &entry->resource, "uriTemplate");
    page_end(call, &page);
}

void method_prompts_list(struct mcp_call *call)
{
    struct page page;
    if (!page_begin(call, &page, LIST_PROMPTS, "prompts"))
        return;
    struct buffer *out = &page.members;
    const struct prompt_entry *entry;
    STAILQ_FOREACH (entry, &call->server->prompts, link) {
        const struct mcp_prompt *prompt = &entry->prompt;
        if (!page_entry(&page))
            continue;
        json_put_text(out, "name", prompt->name);
        json_put_text(out, "title", prompt->title);
        json_put_text(out, "description", prompt->description);
        json_name(out, "arguments");
        buffer_append_byte(out, '[');
        for (size_t i = 0; i < MCP_PROMPT_ARGUMENTS_MAX && prompt->arguments[i].name; i++) {
            json_comma(out);
            buffer_append_byte(out, '{');
            json_put_text(out, "name", prompt->arguments[i].name);
            json_put_text(out, "description", prompt->arguments[i].description);
            json_put_boolean(out, "required", prompt->arguments[i].required);
            buffer_append_byte(out, '}');
        }
        buffer_append_text(out, "]}");
    }
    page_end(call, &page);
}
