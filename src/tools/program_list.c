// list-program-tools: what programs may call; all of it, that of one server, or what fits a query; or the
// guide to their language.
#include <inttypes.h>
#include <string.h>

#include "base/memory.h"
#include "program/api/guide.h"
#include "program/run/tool_search.h"
#include "session/project/project.h"
#include "tools/program/catalogue.h"
#include "tools/program/saved_programs.h"
#include "tools/result/result_structured.h"
#include "tools/tool_call.h"
#include "tools/tools.h"

enum { LIMIT_DEFAULT = 50, LIMIT_MAX = 5000 };

static void append_line(struct buffer *text, const char *before, struct span line)
{
    if (line.length)
        buffer_append_format(text, "%s%.*s", before, (int)line.length, line.data);
}

static void render_tool(struct buffer *text, struct span name, value record)
{
    buffer_append_text(text, text->length ? "\n" : "");
    append_line(text, memchr(name.data, '/', name.length) ? "" : "tool/", name);
    append_line(text, " ", map_get_string(record, "signature"));
    append_line(text, "\n    ", map_get_string(record, "description"));
    append_line(text, "\n    [problem] ", map_get_string(record, "problem"));
}

static value describe_tool(struct region *region, value name, value record)
{
    value entry = map_put_text(region, map_new(region), "name", value_retain(name));
    entry = structured_member(region, entry, record, "signature");
    entry = structured_member(region, entry, record, "description");
    return structured_member(region, entry, record, "problem");
}

static value search(struct region *region, value tools, struct span query, size_t limit)
{
    size_t count = map_count(tools), size = count * sizeof(struct tool_text), i = 0;
    struct tool_text *texts = region_alloc(region, size + 1);
    value *names = region_alloc(region, count * sizeof(*names) + 1), name, record;
    size_t *found = region_alloc(region, count * sizeof(*found) + 1);
    for (struct map_cursor cursor = map_iterate(tools); map_next(&cursor, &name, &record); i++) {
        names[i] = name;
        texts[i] = (struct tool_text){value_text(name), map_get_string(record, "signature"),
                                      map_get_string(record, "description")};
    }
    count = tool_search(region, texts, count, query, limit, found);
    value chosen = vector_new(region, count);
    for (i = 0; i < count; i++)
        chosen = vector_push(region, chosen, value_retain(names[found[i]]));
    return chosen;
}

// The names to show: of one server, and by the query or as they are.
static value choose(struct mcp_call *call, value tools, size_t *ret_more)
{
    struct region *region = mcp_call_region(call);
    value server = mcp_call_argument(call, "server"), query = mcp_call_argument(call, "query");
    struct span prefix = value_is_string(server) ? value_text(server) : (struct span){0};
    value of_server = map_new(region), name, record;
    struct map_cursor cursor = map_iterate(tools);
    while (map_next(&cursor, &name, &record)) {
        struct span text = value_text(name);
        bool fits =
            prefix.length == 0 || (text.length > prefix.length && span_starts_with(text, prefix) &&
                                   text.data[prefix.length] == '/');
        if (fits)
            of_server = map_put(region, of_server, value_retain(name), value_retain(record));
    }
    value wanted = mcp_call_argument(call, "limit");
    size_t limit = wanted.tag == VALUE_INTEGER ? (size_t)wanted.integer : LIMIT_DEFAULT;
    if (value_is_string(query))
        return search(region, of_server, value_text(query), limit);
    value names = vector_new(region, 0);
    cursor = map_iterate(of_server);
    while (map_next(&cursor, &name, &record) && vector_count(names) < limit)
        names = vector_push(region, names, value_retain(name));
    *ret_more = map_count(of_server) - vector_count(names);
    return names;
}

static void render_nothing(struct buffer *text, value tools)
{
    buffer_append_text(text,
                       map_count(tools)
                           ? "No tool fits."
                           : "No tools. `cadre serve --mcp-config FILE` gives programs those of "
                             "MCP servers, `--program-tools FILE` others.");
}

struct listing {
    struct tools *tools;
    struct mcp_call *call;
    struct saved_programs *saved;
};

static void on_listed(void *data, value tools)
{
    struct listing *listing = data;
    struct mcp_call *call = listing->call;
    struct region *region = mcp_call_region(call);
    if (listing->saved)
        tools = saved_programs_add(listing->saved, region, tools, (struct span){0}, value_nil());
    saved_programs_free(listing->saved);
    memory_free(listing);
    struct tool_result result = {0};
    buffer_init(&result.text, BUFFER_DEFAULT_LIMIT);
    size_t more = 0;
    value names = choose(call, tools, &more), listed = vector_new(region, 0), record;
    for (size_t i = 0; i < vector_count(names); i++) {
        value name = vector_at(names, i);
        if (!map_find(tools, name, &record))
            continue;
        render_tool(&result.text, value_text(name), record);
        listed = vector_push(region, listed, describe_tool(region, name, record));
    }
    if (result.text.length == 0)
        render_nothing(&result.text, tools);
    if (more > 0)
        buffer_append_format(&result.text, "\n... %zu more; `query` finds them, `limit` shows them",
                             more);
    result.structured = map_put_text(region, map_new(region), "ok", value_boolean(true));
    result.structured = map_put_text(region, result.structured, "tools", listed);
    tool_reply(call, &result);
}

static void reply_guide(struct mcp_call *call)
{
    struct region *region = mcp_call_region(call);
    struct tool_result result = {0};
    buffer_init(&result.text, BUFFER_DEFAULT_LIMIT);
    buffer_append_text(&result.text, program_guide);
    result.structured = map_put_text(region, map_new(region), "ok", value_boolean(true));
    tool_reply(call, &result);
}

static void list_all(struct listing *listing)
{
    struct toolbox_query query = {.with_problems = true};
    toolbox_resolve_start(listing->tools->toolbox, listing->tools->sessions,
                          mcp_call_region(listing->call), &query, on_listed, listing);
}

static void on_saved_read(void *data, struct saved_programs *programs)
{
    struct listing *listing = data;
    listing->saved = programs;
    list_all(listing);
}

static void handle_list(struct mcp_call *call, void *data)
{
    struct tools *tools = data;
    if (map_get_boolean(mcp_call_arguments(call), "guide")) {
        reply_guide(call);
        return;
    }
    value limit = mcp_call_argument(call, "limit");
    if (limit.tag == VALUE_INTEGER && (limit.integer < 1 || limit.integer > LIMIT_MAX)) {
        tool_refuse(call, "invalid-argument", "Value must be between 1 and %d: limit = %" PRId64,
                    LIMIT_MAX, limit.integer);
        return;
    }
    struct listing *listing = memory_alloc_zero(sizeof(*listing));
    *listing = (struct listing){.tools = tools, .call = call};
    const char *workspace = session_workspace(tools->sessions);
    if (!workspace || !saved_programs_load(tools->background, workspace, on_saved_read, listing))
        list_all(listing);
}

// What programs may call comes with the description, so servers start when it is first listed.
static void describe_tools(struct buffer *out, void *data)
{
    struct tools *tools = data;
    toolbox_start_servers(tools->toolbox);
    catalogue_append(out, tools->toolbox);
}

static void on_tools_changed(void *data)
{
    struct tools *tools = data;
    mcp_notify_list_changed(tools->server, MCP_LIST_TOOLS);
}

static const struct tool list_tools[] = {
    {"list-program-tools", MCP_TOOL_READ_ONLY | MCP_TOOL_IDEMPOTENT, handle_list},
};

void tools_register_program_list(struct tools *tools)
{
    TOOLS_ADD_ALL(tools, list_tools);
    mcp_server_extend_description(tools->server, "run-program", describe_tools, tools);
    toolbox_listen(tools->toolbox, &tools->toolbox_listener, on_tools_changed, tools);
}
