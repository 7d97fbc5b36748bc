// trace-calls, break-at, explain: code that is watched while it runs, and what the compiler makes of it.
#include <inttypes.h>

#include "base/array.h"
#include "tools/result/result_structured.h"
#include "tools/result/result_text.h"
#include "tools/session_call.h"

enum { MAX_DEPTH = 200 };

// --- trace-calls ---------------------------------------------------------------------------------

static void append_duration(struct buffer *text, int64_t us)
{
    if (us < 1000)
        buffer_append_format(text, "%" PRId64 " µs", us);
    else
        buffer_append_format(text, us < 1000000 ? "%.1f ms" : "%.0f ms", (double)us / 1000);
}

// `(FACT 3) => 6  12 µs`, indented by its depth.
static void append_call(struct buffer *text, value call)
{
    size_t count = map_get_count(call, "values");
    int64_t depth = map_get_integer(call, "depth", 0);
    buffer_append_byte(text, '\n');
    for (int64_t i = 0; i < depth; i++)
        buffer_append_text(text, "  ");
    buffer_append_span(text, map_get_string(call, "call"));
    if (!map_get_boolean(call, "returned"))
        buffer_append_text(text, " did not return");
    else if (count == 0)
        buffer_append_text(text, " => (no values)");
    for (size_t i = 0; i < count; i++) {
        buffer_append_text(text, i ? ", " : " => ");
        buffer_append_span(text, value_text(map_get_item(call, "values", i)));
    }
    buffer_append_text(text, "  ");
    append_duration(text, map_get_integer(call, "real_us", 0));
}

// How often each function was called; then the calls that there is room for.
static void append_tree(struct buffer *text, value trace, size_t room)
{
    int64_t total = 0;
    buffer_append_text(text, "Calls:");
    for (size_t i = 0; i < map_get_count(trace, "functions"); i++) {
        value function = map_get_item(trace, "functions", i);
        int64_t count = map_get_integer(function, "count", 0);
        total += count;
        buffer_append_text(text, i ? ", " : " ");
        buffer_append_span(text, map_get_string(function, "name"));
        buffer_append_format(text, " %" PRId64, count);
    }
    size_t shown = 0;
    while (shown < map_get_count(trace, "calls") && text->length < room)
        append_call(text, map_get_item(trace, "calls", shown++));
    if ((int64_t)shown < total)
        buffer_append_format(text, "\n[%" PRId64 " more calls not shown]", total - (int64_t)shown);
}

static void render_trace(const struct session_call *run, const struct session_reply *reply,
                         struct tool_result *result)
{
    struct region *region = mcp_call_region(run->call);
    result->structured = structured_evaluation(region, reply);
    if (map_get_count(reply->result, "functions") > 0) {
        append_tree(&result->text, reply->result, (size_t)reply->limits.max_output / 2);
        result->structured =
            structured_member(region, result->structured, reply->result, "functions");
        result->structured = structured_member(region, result->structured, reply->result, "calls");
    }
    render_evaluation(&result->text, reply, &(struct render_evaluation){0});
}

static void handle_trace(struct mcp_call *call, void *data)
{
    static const char *const names[] = {"functions", "code", "package", NULL};
    struct region *region = mcp_call_region(call);
    int64_t depth;
    if (!tool_integer(call, "depth", 20, 1, MAX_DEPTH, &depth))
        return;
    value params = session_call_parameters(call, names);
    params = map_put_text(region, params, "depth", value_integer(depth));
    struct session_request request = {.kind = SESSION_EVALUATE,
                                      .create = true,
                                      .op = "trace",
                                      .params = params,
                                      .label = tool_text(call, "code")};
    session_call_submit(data, call, &request, render_trace);
}

// --- break-at ------------------------------------------------------------------------------------

static void render_broken(const struct session_call *run, const struct session_reply *reply,
                          struct tool_result *result)
{
    result->structured = structured_evaluation(mcp_call_region(run->call), reply);
    render_evaluation(&result->text, reply, &(struct render_evaluation){0});
    if (reply->ok)
        buffer_append_text(&result->text, "\n\nIt did not come to the place.");
}

static void handle_break(struct mcp_call *call, void *data)
{
    static const char *const names[] = {"function", "form", "code", "package", NULL};
    struct session_request request = {.kind = SESSION_EVALUATE,
                                      .create = true,
                                      .op = "break-at",
                                      .params = session_call_parameters(call, names),
                                      .label = tool_text(call, "code")};
    session_call_submit(data, call, &request, render_broken);
}

// --- explain -------------------------------------------------------------------------------------

static void render_explanation(const struct session_call *run, const struct session_reply *reply,
                               struct tool_result *result)
{
    static const char *const members[] = {"form",  "expansion", "type",  "bytes",
                                          "notes", "warnings",  "errors"};
    struct region *region = mcp_call_region(run->call);
    struct buffer *text = &result->text;
    value explained = reply->result;
    if (map_get_count(explained, "errors") > 0) {
        result->structured = structured_reply(region, reply);
        render_compilation(text, reply);
    } else if (session_call_render_failure(run->call, reply, result)) {
        return;
    }
    for (size_t i = 0; i < COUNT_OF(members); i++)
        result->structured = structured_member(region, result->structured, explained, members[i]);
    if (!reply->ok)
        return;
    buffer_append_span(text, map_get_string(explained, "form"));
    buffer_append_text(text, "\nType: ");
    buffer_append_span(text, map_get_string(explained, "type"));
    int64_t size = map_get_integer(explained, "bytes", -1);
    if (size >= 0)
        buffer_append_format(text, "\nMachine code: %" PRId64 " bytes", size);
    render_section(text, "Expansion", map_get_string(explained, "expansion"));
    render_compile_warnings(text, explained);
    render_compile_notes(text, explained);
}

static void handle_explain(struct mcp_call *call, void *data)
{
    static const char *const names[] = {"form", "package", NULL};
    struct session_request request = {.kind = SESSION_COPY,
                                      .create = true,
                                      .op = "explain",
                                      .params = session_call_parameters(call, names)};
    session_call_submit(data, call, &request, render_explanation);
}

static const struct tool watch_tools[] = {
    {"trace-calls", MCP_TOOL_DESTRUCTIVE | MCP_TOOL_OPEN_WORLD, handle_trace},
    {"break-at", MCP_TOOL_DESTRUCTIVE | MCP_TOOL_OPEN_WORLD, handle_break},
    {"explain", MCP_TOOL_READ_ONLY | MCP_TOOL_IDEMPOTENT, handle_explain},
};

void tools_register_watch(struct tools *tools)
{
    TOOLS_ADD_ALL(tools, watch_tools);
}
