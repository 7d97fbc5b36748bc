// evaluate-lisp, time-execution, compile-form, configure-limits.
#include "base/array.h"
#include "tools/result/result_structured.h"
#include "tools/result/result_text.h"
#include "tools/session_call.h"

static void render_evaluate(const struct session_call *run, const struct session_reply *reply,
                            struct tool_result *result)
{
    struct region *region = mcp_call_region(run->call);
    struct render_evaluation style = {.timing = tool_flag(run->call, "capture-time")};
    render_evaluation(&result->text, reply, &style);
    const char *code = tool_text(run->call, "code");
    if (code && span_equal_text(map_get_string(reply->error, "phase"), "read"))
        render_repair(&result->text, span_from(code));
    result->structured = structured_evaluation(region, reply);
    if (style.timing)
        result->structured = structured_member(region, result->structured, reply->result, "timing");
}

static void render_timed(const struct session_call *run, const struct session_reply *reply,
                         struct tool_result *result)
{
    struct region *region = mcp_call_region(run->call);
    render_time_execution(&result->text, reply);
    result->structured = structured_evaluation(region, reply);
    result->structured = structured_member(region, result->structured, reply->result, "timing");
}

static void submit_code(struct tools *tools, struct mcp_call *call, tool_render_fn *render)
{
    static const char *const names[] = {"code", "package", NULL};
    struct session_request request = {
        .kind = SESSION_EVALUATE,
        .create = true,
        .op = "evaluate",
        .params = session_call_parameters(call, names),
        .label = tool_text(call, "code"),
    };
    session_call_submit_recorded(tools, call, &request, render);
}

static void handle_evaluate(struct mcp_call *call, void *data)
{
    submit_code(data, call, render_evaluate);
}

static void handle_time(struct mcp_call *call, void *data)
{
    submit_code(data, call, render_timed);
}

static void render_compiled(const struct session_call *run, const struct session_reply *reply,
                            struct tool_result *result)
{
    struct region *region = mcp_call_region(run->call);
    render_compilation(&result->text, reply);
    value map = structured_reply(region, reply);
    static const char *const members[] = {"forms", "warnings", "notes", "errors"};
    for (size_t i = 0; i < COUNT_OF(members); i++)
        map = structured_member(region, map, reply->result, members[i]);
    result->structured = map;
}

static void handle_compile(struct mcp_call *call, void *data)
{
    static const char *const names[] = {"code", "package", NULL};
    struct session_request request = {
        .kind = SESSION_COPY,
        .create = true,
        .op = "compile",
        .params = session_call_parameters(call, names),
    };
    session_call_submit(data, call, &request, render_compiled);
}

// Reads an argument into *limit when it is given; refuses numbers that are no int64.
static bool read_limit(struct mcp_call *call, const char *name, int64_t *limit)
{
    value v = mcp_call_argument(call, name);
    if (v.tag == VALUE_BIGNUM) {
        tool_refuse(call, "invalid-argument", "Value is out of range: %s", name);
        return false;
    }
    if (v.tag == VALUE_INTEGER)
        *limit = v.integer;
    return true;
}

static void handle_limits(struct mcp_call *call, void *data)
{
    struct tools *tools = data;
    const char *name = tool_session_name(call);
    struct session_limits limits;
    if (!session_call_require_session(tools, call, name) ||
        session_limits_get(tools->sessions, name, &limits) < 0)
        return;
    if (!read_limit(call, "timeout", &limits.timeout) ||
        !read_limit(call, "max-output", &limits.max_output) ||
        !read_limit(call, "max-memory", &limits.max_memory) ||
        !read_limit(call, "max-frames", &limits.max_frames) ||
        !read_limit(call, "snapshots", &limits.snapshots))
        return;
    struct error error;
    if (!session_limits_check(&limits, session_heap_mb(tools->sessions), &error)) {
        tool_refuse(call, "invalid-argument", "%s", error.message);
        return;
    }
    session_limits_set(tools->sessions, name, &limits);
    struct region *region = mcp_call_region(call);
    struct tool_result result = {0};
    buffer_init(&result.text, BUFFER_DEFAULT_LIMIT);
    render_limits(&result.text, &limits);
    result.structured = map_put_text(region, structured_start(region, name), "limits",
                                     structured_limits(region, &limits));
    tool_reply(call, &result);
}

static const struct tool evaluate_tools[] = {
    {"evaluate-lisp", MCP_TOOL_DESTRUCTIVE | MCP_TOOL_OPEN_WORLD, handle_evaluate},
    {"time-execution", MCP_TOOL_DESTRUCTIVE | MCP_TOOL_OPEN_WORLD, handle_time},
    {"compile-form", MCP_TOOL_READ_ONLY | MCP_TOOL_IDEMPOTENT, handle_compile},
    {"configure-limits", MCP_TOOL_IDEMPOTENT, handle_limits},
};

void tools_register_evaluate(struct tools *tools)
{
    TOOLS_ADD_ALL(tools, evaluate_tools);
}
