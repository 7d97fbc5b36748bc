// list-definitions, reset-session, rollback-session, session-info, close-session.
#include <inttypes.h>

#include "base/array.h"
#include "tools/result/result_structured.h"
#include "tools/result/result_text.h"
#include "tools/session_call.h"

enum { ASK_BEFORE_RESET_FROM = 10 };  // evaluations that a reset would set aside

// --- list-definitions ----------------------------------------------------------------------------

static void render_definition(struct buffer *text, value item)
{
    buffer_append_text(text, "\n- ");
    if (value_is_string(item)) {
        buffer_append_span(text, value_text(item));
        return;
    }
    buffer_append_span(text, map_get_string(item, "name"));
    struct span lambda_list = map_get_string(item, "lambda_list");
    value shown = map_get(item, "value");
    if (lambda_list.length) {
        buffer_append_byte(text, ' ');
        buffer_append_span(text, lambda_list);
    } else if (value_is_string(shown)) {
        buffer_append_text(text, " = ");
        buffer_append_span(text, value_text(shown));
    }
}

static const struct {
    const char *member, *heading;
} definition_sections[] = {
    {"functions", "[Functions]"}, {"variables", "[Variables]"}, {"macros", "[Macros]"},
    {"classes", "[Classes]"},     {"packages", "[Packages]"},   {"systems", "[Loaded Systems]"},
};
enum { DEFINITION_SECTIONS = COUNT_OF(definition_sections) };

static void render_page(struct buffer *text, value result)
{
    int64_t page = map_get_integer(result, "page", 1), pages = map_get_integer(result, "pages", 1);
    if (pages <= 1)
        return;
    render_gap(text);
    buffer_append_format(text, "Page %" PRId64 " of %" PRId64 ", %" PRId64 " definitions in all",
                         page, pages, map_get_integer(result, "total", 0));
    if (page < pages)
        buffer_append_format(text, "; list-definitions {\"page\": %" PRId64 "} goes on", page + 1);
    buffer_append_byte(text, '.');
}

static void render_definitions(const struct session_call *run, const struct session_reply *reply,
                               struct tool_result *result)
{
    struct region *region = mcp_call_region(run->call);
    if (session_call_render_failure(run->call, reply, result))
        return;
    value map = result->structured;
    for (size_t i = 0; i < DEFINITION_SECTIONS; i++) {
        const char *member = definition_sections[i].member;
        size_t count = map_get_count(reply->result, member);
        map = structured_member(region, map, reply->result, member);
        if (count == 0)
            continue;
        render_gap(&result->text);
        buffer_append_text(&result->text, definition_sections[i].heading);
        for (size_t k = 0; k < count; k++)
            render_definition(&result->text, map_get_item(reply->result, member, k));
    }
    map = structured_member(region, map, reply->result, "total");
    map = structured_member(region, map, reply->result, "pages");
    render_page(&result->text, reply->result);
    struct span message = map_get_string(reply->result, "message");  // there is no such package
    if (result->text.length == 0)
        buffer_append_span(&result->text,
                           message.length ? message : span_from("No user definitions."));
    result->structured = structured_member(region, map, reply->result, "message");
}

static void handle_definitions(struct mcp_call *call, void *data)
{
    static const char *const names[] = {"type", "package", "page", NULL};
    struct session_request request = {.kind = SESSION_QUERY,
                                      .op = "list-definitions",
                                      .beside = true,
                                      .params = session_call_parameters(call, names)};
    session_call_submit(data, call, &request, render_definitions);
}

// --- reset-session -------------------------------------------------------------------------------

static void render_reset(const struct session_call *run, const struct session_reply *reply,
                         struct tool_result *result)
{
    struct region *region = mcp_call_region(run->call);
    if (session_call_render_failure(run->call, reply, result))
        return;
    struct buffer *text = &result->text;
    buffer_append_text(text, "Session reset. All definitions cleared.\nCurrent package: ");
    buffer_append_span(text, reply->package_label);
    render_lost_threads(text, reply->lost_threads);
    if (reply->snapshot >= 0) {
        buffer_append_format(text, "\nUndo: rollback-session {\"to\": %" PRId64 "}",
                             reply->snapshot);
        result->structured =
            map_put_text(region, result->structured, "undo", value_integer(reply->snapshot));
    }
    for (size_t i = 0; value_is_vector(reply->notices) && i < vector_count(reply->notices); i++) {
        buffer_append_byte(text, '\n');
        buffer_append_span(text, value_text(vector_at(reply->notices, i)));
    }
}

// A reset that sets much work aside is confirmed by the user where the client can ask.
static bool reset_confirmed(struct tools *tools, struct mcp_call *call, bool *ret_asked)
{
    struct region *region = mcp_call_region(call);
    *ret_asked = false;
    value info = session_info(tools->sessions, tool_session_name(call), false, region);
    int64_t evaluations = value_is_map(info) ? map_get_integer(info, "evaluation", 0) : 0;
    if (tool_flag(call, "confirm") || evaluations < ASK_BEFORE_RESET_FROM ||
        !mcp_call_client_can(call, "elicitation"))
        return true;
    value question = value_string_format(
        region, "Reset the session? It holds the work of %" PRId64 " evaluations.", evaluations);
    struct span text = value_text(question);
    CLEANUP_BUFFER struct buffer message;
    buffer_init(&message, ERROR_MESSAGE_SIZE);
    buffer_append_span(&message, text);
    value answer;
    if (!mcp_call_need_form(call, "confirm", buffer_text(&message),
                            "{\"type\":\"object\",\"properties\":{\"reset\":{\"type\":\"boolean\","
                            "\"title\":\"Reset the session\"}},\"required\":[\"reset\"]}",
                            &answer)) {
        *ret_asked = true;
        mcp_call_ask(call);
        return false;
    }
    value content = map_get(answer, "content");
    return span_equal_text(map_get_string(answer, "action"), "accept") && value_is_map(content) &&
           map_get_boolean(content, "reset");
}

static void handle_reset(struct mcp_call *call, void *data)
{
    bool asked;
    if (!reset_confirmed(data, call, &asked)) {
        if (!asked)
            tool_refuse(call, "declined", "The user declined the reset.");
        return;
    }
    struct session_request request = {.kind = SESSION_RESET};
    session_call_submit(data, call, &request, render_reset);
}

// --- rollback-session ----------------------------------------------------------------------------

static void render_rolled_back(const struct session_call *run, const struct session_reply *reply,
                               struct tool_result *result)
{
    struct region *region = mcp_call_region(run->call);
    if (session_call_render_failure(run->call, reply, result))
        return;
    value map = result->structured;
    struct buffer *text = &result->text;
    buffer_append_format(text, "Rolled back to snapshot %" PRId64 ".", reply->snapshot);
    size_t count = vector_count(reply->undone);
    for (size_t i = 0; i < count; i++)
        buffer_append_format(text, "%s%" PRId64 "%s",
                             i > 0        ? ", "
                             : count == 1 ? "\nUndone: evaluation "
                                          : "\nUndone: evaluations ",
                             vector_at(reply->undone, i).integer, i + 1 == count ? "." : "");
    buffer_append_text(text, "\nCurrent package: ");
    buffer_append_span(text, reply->package_label);
    render_lost_threads(text, reply->lost_threads);
    map = map_put_text(region, map, "snapshot", value_integer(reply->snapshot));
    map = map_put_text(region, map, "undone", value_copy(region, reply->undone));
    result->structured =
        map_put_text(region, map, "lost_threads", value_copy(region, reply->lost_threads));
}

static void handle_rollback(struct mcp_call *call, void *data)
{
    struct session_request request = {.kind = SESSION_ROLLBACK};
    if (tool_integer(call, "to", -1, 0, INT64_MAX, &request.rollback_to) &&
        tool_integer(call, "steps", 1, 1, INT64_MAX, &request.rollback_steps))
        session_call_submit(data, call, &request, render_rolled_back);
}

// --- session-info --------------------------------------------------------------------------------

static void render_other_sessions(struct tools *tools, struct mcp_call *call, const char *shown,
                                  value names, struct buffer *text)
{
    for (size_t i = 0; i < vector_count(names); i++) {
        struct span name = value_text(vector_at(names, i));
        if (span_equal_text(name, shown))
            continue;
        CLEANUP_BUFFER struct buffer other;
        buffer_init(&other, ERROR_MESSAGE_SIZE);
        buffer_append_span(&other, name);
        value info =
            session_info(tools->sessions, buffer_text(&other), false, mcp_call_region(call));
        if (!value_is_map(info))
            continue;
        struct span state = map_get_string(info, "state");
        buffer_append_format(text, "\nSession %s: %.*s, ", buffer_text(&other), (int)state.length,
                             state.data);
        render_counted(text, map_get_integer(info, "evaluations", 0), "evaluation");
    }
}

static void handle_info(struct mcp_call *call, void *data)
{
    struct tools *tools = data;
    struct region *region = mcp_call_region(call);
    const char *name = tool_session_name(call);
    if (!session_call_require_session(tools, call, name))
        return;
    value info = session_info(tools->sessions, name, false, region);
    value names = session_names(tools->sessions, region);
    struct tool_result result = {0};
    buffer_init(&result.text, BUFFER_DEFAULT_LIMIT);
    render_session(&result.text, info);
    if (value_is_nil(mcp_call_argument(call, "session")))
        render_other_sessions(tools, call, name, names, &result.text);
    render_list(&result.text, "Sessions: ", names);
    value map = map_put_text(region, info, "ok", value_boolean(true));
    map = map_put_text(region, map, "session", value_string_text(region, name));
    result.structured = map_put_text(region, map, "sessions", names);
    tool_reply(call, &result);
}

// --- close-session -------------------------------------------------------------------------------

static void handle_close(struct mcp_call *call, void *data)
{
    struct tools *tools = data;
    struct region *region = mcp_call_region(call);
    const char *name = tool_session_name(call);
    if (!session_call_require_session(tools, call, name))
        return;
    session_close(tools->sessions, name);
    struct tool_result result = {0};
    buffer_init(&result.text, BUFFER_DEFAULT_LIMIT);
    buffer_append_format(&result.text, "Session \"%s\" closed.", name);
    result.structured = map_put_text(region, structured_start(region, name), "sessions",
                                     session_names(tools->sessions, region));
    tool_reply(call, &result);
}

static const struct tool session_tools[] = {
    {"list-definitions", MCP_TOOL_READ_ONLY | MCP_TOOL_IDEMPOTENT, handle_definitions},
    {"reset-session", MCP_TOOL_DESTRUCTIVE | MCP_TOOL_IDEMPOTENT, handle_reset},
    {"rollback-session", MCP_TOOL_DESTRUCTIVE | MCP_TOOL_IDEMPOTENT, handle_rollback},
    {"session-info", MCP_TOOL_READ_ONLY | MCP_TOOL_IDEMPOTENT, handle_info},
    {"close-session", MCP_TOOL_DESTRUCTIVE | MCP_TOOL_IDEMPOTENT, handle_close},
};

void tools_register_session(struct tools *tools)
{
    TOOLS_ADD_ALL(tools, session_tools);
}
