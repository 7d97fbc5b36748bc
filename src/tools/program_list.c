// list-program-tools: what programs may call.
#include <string.h>

#include "tools/result/result_structured.h"
#include "tools/tool_call.h"
#include "tools/tools.h"

static void on_listed(void *data, value tools)
{
    struct mcp_call *call = data;
    struct region *region = mcp_call_region(call);
    struct tool_result result = {0};
    buffer_init(&result.text, BUFFER_DEFAULT_LIMIT);
    value listed = vector_new(region, 0), name, record;
    struct map_cursor cursor = map_iterate(tools);
    while (map_next(&cursor, &name, &record)) {
        struct span signature = map_get_string(record, "signature"),
                    description = map_get_string(record, "description");
        value entry = map_put_text(region, map_new(region), "name", value_retain(name));
        entry = structured_member(region, entry, record, "signature");
        entry = structured_member(region, entry, record, "description");
        entry = structured_member(region, entry, record, "problem");
        listed = vector_push(region, listed, entry);
        buffer_append_text(&result.text, result.text.length ? "\n" : "");
        bool is_qualified = memchr(value_text(name).data, '/', value_text(name).length);
        buffer_append_format(&result.text, "%s%.*s", is_qualified ? "" : "tool/",
                             (int)value_text(name).length, value_text(name).data);
        if (signature.length)
            buffer_append_format(&result.text, " %.*s", (int)signature.length, signature.data);
        if (description.length)
            buffer_append_format(&result.text, "\n    %.*s", (int)description.length,
                                 description.data);
        struct span problem = map_get_string(record, "problem");
        if (problem.length)
            buffer_append_format(&result.text, "\n    [problem] %.*s", (int)problem.length,
                                 problem.data);
    }
    if (result.text.length == 0)
        buffer_append_text(&result.text,
                           "No tools. `cadre serve --mcp-config FILE` gives programs those of MCP "
                           "servers, `--program-tools FILE` others.");
    result.structured = map_put_text(region, map_new(region), "ok", value_boolean(true));
    result.structured = map_put_text(region, result.structured, "tools", listed);
    tool_reply(call, &result);
}

static void handle_list(struct mcp_call *call, void *data)
{
    struct tools *tools = data;
    struct toolbox_query query = {.with_problems = true};
    toolbox_resolve_start(tools->toolbox, tools->sessions, mcp_call_region(call), &query, on_listed,
                          call);
}

static const struct tool list_tools[] = {
    {"list-program-tools", MCP_TOOL_READ_ONLY | MCP_TOOL_IDEMPOTENT, handle_list},
};

void tools_register_program_list(struct tools *tools)
{
    TOOLS_ADD_ALL(tools, list_tools);
}
