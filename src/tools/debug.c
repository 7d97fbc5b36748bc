// inspect, eval-in-frame, invoke-restart: each works in a fresh copy of a frozen error.
#include <inttypes.h>

#include "base/array.h"
#include "tools/result/result_structured.h"
#include "tools/result/result_text.h"
#include "tools/session_call.h"

#define UNAFFECTED "The frozen error and the session are unaffected."

static bool read_target(struct mcp_call *call, int64_t *ret_error)
{
    return tool_integer(call, "error", 0, 1, INT64_MAX, ret_error);
}

// --- inspect -------------------------------------------------------------------------------------

static void render_object(struct buffer *text, value object)
{
    buffer_append_span(text, map_get_string(object, "path"));
    buffer_append_text(text, " = ");
    buffer_append_span(text, map_get_string(object, "value"));
    buffer_append_text(text, "\nType: ");
    buffer_append_span(text, map_get_string(object, "type"));
    if (map_get_integer(object, "count", 0) > 0) {
        buffer_append_text(text, "\nSize: ");
        render_grouped(text, map_get_integer(object, "count", 0));
    }
    if (map_get_count(object, "parts") == 0)
        return;
    buffer_append_text(text, "\nParts:");
    render_bindings(text, object, "parts");
    int64_t more = map_get_integer(object, "more", 0);
    int64_t next = map_get_integer(object, "from", 0) + (int64_t)map_get_count(object, "parts");
    if (more > 0)
        buffer_append_format(text, "\n... %" PRId64 " more parts: \"from\": %" PRId64, more, next);
}

// The agent knows frames, the supervisor knows the error's number: the message needs both.
static value name_missing_frame(const struct session_call *run, const struct session_reply *reply,
                                value map)
{
    struct region *region = mcp_call_region(run->call);
    value error = map_get(map, "error"), arguments = mcp_call_arguments(run->call);
    value record = session_error(run->tools->sessions, reply->session,
                                 map_get_integer(arguments, "error", 0), region);
    if (!span_equal_text(map_get_string(error, "code"), "no-such-frame") || !value_is_map(record))
        return map;
    int64_t number = map_get_integer(record, "id", 0), count = map_get_integer(record, "depth", 0);
    int64_t frame = map_get_integer(arguments, "frame", 0);
    // The middle of a very deep stack is not kept.
    value message =
        frame < count
            ? value_string_format(region,
                                  "Frame %" PRId64 " was not captured; of the %" PRId64
                                  " frames of error %" PRId64 " the first and the last are.",
                                  frame, count, number)
            : value_string_format(region,
                                  "Frame %" PRId64 " does not exist; error %" PRId64 " has %" PRId64
                                  " frame%s (0 to %" PRId64 ").",
                                  frame, number, count, count == 1 ? "" : "s", count - 1);
    return map_put_text(region, map, "error",
                        map_put_text(region, value_retain(error), "message", message));
}

static void render_inspection(const struct session_call *run, const struct session_reply *reply,
                              struct tool_result *result)
{
    struct region *region = mcp_call_region(run->call);
    value map = structured_reply(region, reply);
    if (!reply->ok) {
        map = name_missing_frame(run, reply, map);
        render_error_heading(&result->text, map_get(map, "error"));
        if (reply->ran)
            buffer_append_text(&result->text, "\n" UNAFFECTED);
        result->structured = map;
        return;
    }
    value object = map_get(reply->result, "object");
    if (value_is_map(object))
        render_object(&result->text, object);
    else
        render_frame(&result->text, reply->result);
    static const char *const members[] = {"frame",  "call",        "source", "restartable",
                                          "locals", "unavailable", "object"};
    for (size_t i = 0; i < COUNT_OF(members); i++)
        map = structured_member(region, map, reply->result, members[i]);
    result->structured = map;
}

static bool lacks_frame(const struct session_reply *reply)
{
    return !reply->ok && span_equal_text(map_get_string(reply->error, "code"), "no-such-frame");
}

// --- eval-in-frame -------------------------------------------------------------------------------

static void render_frame_evaluation(const struct session_call *run,
                                    const struct session_reply *reply, struct tool_result *result)
{
    struct region *region = mcp_call_region(run->call);
    value map = structured_evaluation(region, reply);
    if (lacks_frame(reply)) {
        map = name_missing_frame(run, reply, map);
        render_error_heading(&result->text, map_get(map, "error"));
    } else {
        bool failed = reply->ran && !reply->ok;
        render_evaluation(&result->text, reply,
                          &(struct render_evaluation){.last_lines = failed ? UNAFFECTED : NULL});
    }
    result->structured = map;
}

static void submit_in_frame(struct tools *tools, struct mcp_call *call, const char *op,
                            const char *const *names, tool_render_fn *render)
{
    struct region *region = mcp_call_region(call);
    int64_t frame;
    struct session_request request = {.kind = SESSION_DEBUG, .op = op};
    if (!read_target(call, &request.error) || !tool_integer(call, "frame", 0, 0, INT64_MAX, &frame))
        return;
    request.params =
        map_put_text(region, session_call_parameters(call, names), "frame", value_integer(frame));
    session_call_submit(tools, call, &request, render);
}

static void render_value(const struct session_call *run, const struct session_reply *reply,
                         struct tool_result *result)
{
    struct region *region = mcp_call_region(run->call);
    value map = structured_evaluation(region, reply);
    if (reply->ok)
        render_object(&result->text, map_get(reply->result, "object"));
    else if (map_get_count(reply->error, "frames"))
        render_evaluation(&result->text, reply, &(struct render_evaluation){0});
    else
        render_error_heading(&result->text, map_get(map, "error"));
    result->structured = structured_member(region, map, reply->result, "object");
}

static void handle_inspect(struct mcp_call *call, void *data)
{
    static const char *const in_frame[] = {"path", "from", NULL};
    static const char *const of_value[] = {"value", "path", "from", "package", NULL};
    if (!tool_text(call, "value")) {
        submit_in_frame(data, call, "inspect-frame", in_frame, render_inspection);
        return;
    }
    if (!value_is_nil(mcp_call_argument(call, "frame")) ||
        !value_is_nil(mcp_call_argument(call, "error"))) {
        tool_refuse(call, "invalid-argument", "Give value, or frame and error, not both.");
        return;
    }
    struct session_request request = {
        .kind = SESSION_COPY,
        .op = "inspect-value",
        .params = session_call_parameters(call, of_value),
        .beside = *tool_text(call, "value") == '$',  // a form may use files of the evaluation
    };
    session_call_submit(data, call, &request, render_value);
}

static void handle_eval(struct mcp_call *call, void *data)
{
    static const char *const names[] = {"code", NULL};
    submit_in_frame(data, call, "eval-in-frame", names, render_frame_evaluation);
}

// --- invoke-restart ------------------------------------------------------------------------------

static const char *discarded_text(const struct session_reply *reply, bool adopt)
{
    if (!adopt)
        return "\"adopt\": true keeps the result.";
    return value_is_map(reply->result) ? "this result cannot be adopted."
                                       : "the process of this try has ended.";
}

static void render_adoption(struct buffer *text, const struct session_reply *reply, bool adopt)
{
    if (!reply->adopted) {
        buffer_append_format(text, "[Discarded]\nThe session is unchanged; %s",
                             discarded_text(reply, adopt));
        return;
    }
    buffer_append_format(text,
                         "[Adopted]\nThe session continues from here as evaluation %" PRId64 ".",
                         reply->evaluation);
    size_t count = value_is_vector(reply->undone) ? vector_count(reply->undone) : 0;
    for (size_t i = 0; i < count; i++)
        buffer_append_format(text, "%s %" PRId64 "%s",
                             i > 0        ? ","
                             : count == 1 ? " Not part of it: evaluation"
                                          : " Not part of it: evaluations",
                             vector_at(reply->undone, i).integer, i + 1 == count ? "." : "");
    render_lost_threads(text, reply->lost_threads);
}

static void render_restart(const struct session_call *run, const struct session_reply *reply,
                           struct tool_result *result)
{
    struct region *region = mcp_call_region(run->call);
    if (lacks_frame(reply)) {
        render_frame_evaluation(run, reply, result);
        return;
    }
    value invoked = map_get(reply->result, "invoked");
    bool refused = !reply->ran || (invoked.tag == VALUE_BOOLEAN && !invoked.boolean);
    CLEANUP_BUFFER struct buffer last;
    buffer_init(&last, BUFFER_DEFAULT_LIMIT);
    if (!refused)
        render_adoption(&last, reply, tool_flag(run->call, "adopt"));
    render_evaluation(
        &result->text, reply,
        &(struct render_evaluation){.last_lines = last.length ? buffer_text(&last) : NULL});
    value map = structured_evaluation(region, reply);
    map = map_put_text(region, map, "adopted", value_boolean(reply->adopted));
    if (reply->adopted)
        map = map_put_text(region, map, "lost_threads", value_copy(region, reply->lost_threads));
    map = structured_member(region, map, reply->result, "restart");
    result->structured = map;
}

static void handle_restart(struct mcp_call *call, void *data)
{
    static const char *const names[] = {"restart", "frame", "values", "code", NULL};
    struct region *region = mcp_call_region(call);
    int64_t frame;
    if (!tool_integer(call, "frame", 0, 0, INT64_MAX, &frame))
        return;
    struct session_request request = {
        .kind = SESSION_RESTART,
        .op = "invoke-restart",
        .params = session_call_parameters(call, names),
        .label = "(invoke-restart ...)",
        .adopt = tool_flag(call, "adopt"),
    };
    value restart = mcp_call_argument(call, "restart");
    if (value_is_nil(restart) && value_is_nil(mcp_call_argument(call, "frame"))) {
        tool_refuse(call, "invalid-argument", "Give restart, or frame, or both.");
        return;
    }
    if (restart.tag == VALUE_INTEGER)
        request.params = map_put_text(region, request.params, "restart",
                                      value_string_format(region, "%" PRId64, restart.integer));
    if (read_target(call, &request.error))
        session_call_submit(data, call, &request, render_restart);
}

static const struct tool debug_tools[] = {
    {"inspect", MCP_TOOL_READ_ONLY, handle_inspect},
    {"eval-in-frame", MCP_TOOL_READ_ONLY, handle_eval},
    {"invoke-restart", MCP_TOOL_DESTRUCTIVE | MCP_TOOL_OPEN_WORLD, handle_restart},
};

void tools_register_debug(struct tools *tools)
{
    TOOLS_ADD_ALL(tools, debug_tools);
}
