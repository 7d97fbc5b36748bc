// describe-last-error, get-backtrace, list-errors: the failures that the supervisor recorded. Only
// `locals` and `raw` need the frozen process; everything else never waits.
#include <inttypes.h>

#include "base/array.h"
#include "base/assert.h"
#include "tools/result/result_structured.h"
#include "tools/result/result_text.h"
#include "tools/session_call.h"

enum { FRAMES_MAX = 1000 };

// The error the call asks for: nil when there is none. False: answered already.
static bool find_error(struct tools *tools, struct mcp_call *call, const char *session,
                       value *ret_error)
{
    int64_t number;
    if (!session_call_require_session(tools, call, session) ||
        !tool_integer(call, "error", 0, 1, INT64_MAX, &number))
        return false;
    struct region *region = mcp_call_region(call);
    *ret_error = session_error(tools->sessions, session, number, region);
    if (number == 0 || !value_is_nil(*ret_error))
        return true;
    CLEANUP_BUFFER struct buffer known;
    buffer_init(&known, ERROR_MESSAGE_SIZE);
    value all = session_errors(tools->sessions, session, region);
    for (size_t i = vector_count(all); i-- > 0;)
        buffer_append_format(&known, "%s%" PRId64, known.length ? ", " : "",
                             map_get_integer(vector_at(all, i), "id", 0));
    tool_refuse(call, "no-such-error", "There is no error %" PRId64 ". Known errors: %s", number,
                known.length ? buffer_text(&known) : "none");
    return false;
}

static void handle_describe(struct mcp_call *call, void *data)
{
    const char *session = tool_session_name(call);
    value error;
    if (!find_error(data, call, session, &error))
        return;
    struct tool_result result = {.structured = structured_start(mcp_call_region(call), session)};
    buffer_init(&result.text, BUFFER_DEFAULT_LIMIT);
    render_error_description(&result.text, error);
    if (!value_is_nil(error))
        result.structured =
            map_put_text(mcp_call_region(call), result.structured, "error",
                         structured_error(mcp_call_region(call), error, FRAMES_MAX, true));
    tool_reply(call, &result);
}

// --- get-backtrace -------------------------------------------------------------------------------

struct view {
    int64_t offset;
    int64_t count;
    value locals;  // vector of {frame, locals, unavailable}, or nil
};

static void render_locals(struct buffer *text, value locals, int64_t frame)
{
    for (size_t i = 0; value_is_vector(locals) && i < vector_count(locals); i++) {
        value entry = vector_at(locals, i);
        if (map_get_integer(entry, "frame", -1) != frame)
            continue;
        for (size_t k = 0; k < map_get_count(entry, "locals"); k++) {
            value local = map_get_item(entry, "locals", k);
            buffer_append_text(text, "\n    ");
            buffer_append_span(text, map_get_string(local, "name"));
            buffer_append_text(text, " = ");
            buffer_append_span(text, map_get_string(local, "value"));
        }
    }
}

// How many of the frames the view shows.
static int64_t frames_in_view(value frames, const struct view *view)
{
    int64_t shown = 0;
    for (size_t i = 0; i < vector_count(frames) && shown < view->count; i++)
        shown += map_get_integer(vector_at(frames, i), "number", 0) >= view->offset;
    return shown;
}

static void render_view(struct buffer *text, const char *heading, value frames, int64_t depth,
                        const struct view *view)
{
    int64_t shown = frames_in_view(frames, view);
    if (shown == depth)
        buffer_append_format(text, "%s (%" PRId64 " frame%s):", heading, depth,
                             depth == 1 ? "" : "s");
    else
        buffer_append_format(text, "%s (%" PRId64 " of %" PRId64 " frames):", heading, shown,
                             depth);
    int64_t next = view->offset, left = shown;
    for (size_t i = 0; i < vector_count(frames) && left > 0; i++) {
        value frame = vector_at(frames, i);
        int64_t number = map_get_integer(frame, "number", 0);
        if (number < view->offset)
            continue;
        if (number > next)  // the middle of a very deep stack is not kept
            buffer_append_format(text, "\n... %" PRId64 " frames not captured", number - next);
        render_frame_line(text, frame, "");
        render_locals(text, view->locals, number);
        next = number + 1;
        left--;
    }
    if (shown > 0 && next < depth)
        buffer_append_format(text, "\n... %" PRId64 " more frames", depth - next);
}

static value frames_of(struct region *region, value frames, const struct view *view)
{
    value some = vector_new(region, 0);
    for (size_t i = 0; i < vector_count(frames) && (int64_t)vector_count(some) < view->count; i++)
        if (map_get_integer(vector_at(frames, i), "number", 0) >= view->offset)
            some = vector_push(region, some, structured_frame(region, vector_at(frames, i)));
    return some;
}

static bool read_view(struct tools *tools, struct mcp_call *call, const char *session,
                      struct view *ret_view)
{
    struct session_limits limits = session_limits_default();
    session_limits_get(tools->sessions, session, &limits);
    *ret_view = (struct view){.locals = value_nil()};
    return tool_integer(call, "max-frames", limits.max_frames, 1, FRAMES_MAX, &ret_view->count) &&
           tool_integer(call, "offset", 0, 0, INT64_MAX, &ret_view->offset);
}

// The recorded frames, with the locals of the view.
static void fill_backtrace(struct mcp_call *call, const char *session, value error,
                           const struct view *view, struct tool_result *result)
{
    struct region *region = mcp_call_region(call);
    value frames = map_get(error, "frames");
    if (!value_is_vector(frames))
        frames = vector_new(region, 0);
    int64_t depth = map_get_integer(error, "depth", (int64_t)vector_count(frames));
    render_view(&result->text, "Backtrace", frames, depth, view);
    value map = structured_start(region, session);
    map = structured_member(region, map, error, "id");
    map = map_put_text(region, map, "frames", frames_of(region, frames, view));
    map = map_put_text(region, map, "depth", value_integer(depth));
    if (!value_is_nil(view->locals))
        map = map_put_text(region, map, "locals", value_copy(region, view->locals));
    result->structured = map;
}

// The arguments were checked before the request was submitted.
static struct view submitted_view(const struct session_call *run, const struct session_reply *reply)
{
    struct view view;
    CHECK(read_view(run->tools, run->call, reply->session, &view));
    return view;
}

static value requested_error(const struct session_call *run, const struct session_reply *reply)
{
    int64_t number = map_get_integer(mcp_call_arguments(run->call), "error", 0);
    return session_error(run->tools->sessions, reply->session, number, mcp_call_region(run->call));
}

// The frozen process could not be asked: what the supervisor recorded, without locals.
static void render_without_locals(const struct session_call *run, const struct session_reply *reply,
                                  const struct view *view, struct tool_result *result)
{
    value error = requested_error(run, reply);
    if (value_is_nil(error)) {
        render_error_heading(&result->text, reply->error);
        result->structured = structured_reply(mcp_call_region(run->call), reply);
        return;
    }
    fill_backtrace(run->call, reply->session, error, view, result);
    buffer_append_text(&result->text, "\nLocals are not available: ");
    buffer_append_span(&result->text, map_get_string(reply->error, "message"));
    result->is_error = false;
}

// The reply of `frame-locals` from a copy of the frozen process.
static void render_with_locals(const struct session_call *run, const struct session_reply *reply,
                               struct tool_result *result)
{
    struct view view = submitted_view(run, reply);
    if (!reply->ok) {
        render_without_locals(run, reply, &view, result);
        return;
    }
    view.locals = map_get(reply->result, "locals");
    fill_backtrace(run->call, reply->session, requested_error(run, reply), &view, result);
}

// The reply of `raw-backtrace`.
static void render_raw(const struct session_call *run, const struct session_reply *reply,
                       struct tool_result *result)
{
    struct region *region = mcp_call_region(run->call);
    if (!reply->ok) {
        render_error_heading(&result->text, reply->error);
        result->structured = structured_reply(region, reply);
        return;
    }
    struct view view = submitted_view(run, reply);
    value frames = map_get(reply->result, "frames");
    int64_t depth = map_get_integer(reply->result, "depth", 0);
    render_view(&result->text, "Raw backtrace", frames, depth, &view);
    value map = structured_start(region, reply->session);
    map = map_put_text(region, map, "frames", frames_of(region, frames, &view));
    result->structured = map_put_text(region, map, "depth", value_integer(depth));
}

static void submit_to_frozen(struct tools *tools, struct mcp_call *call, const struct view *view)
{
    struct region *region = mcp_call_region(call);
    bool raw = tool_flag(call, "raw");
    value params = map_new(region);
    if (raw) {
        params = map_put_text(region, params, "max", value_integer(view->offset + view->count));
    } else {
        params = map_put_text(region, params, "from", value_integer(view->offset));
        params = map_put_text(region, params, "count", value_integer(view->count));
    }
    struct session_request request = {
        .kind = SESSION_DEBUG,
        .op = raw ? "raw-backtrace" : "frame-locals",
        .params = params,
        .error = map_get_integer(mcp_call_arguments(call), "error", 0),
    };
    session_call_submit(tools, call, &request, raw ? render_raw : render_with_locals);
}

static void handle_backtrace(struct mcp_call *call, void *data)
{
    struct tools *tools = data;
    const char *session = tool_session_name(call);
    value error;
    struct view view;
    if (!find_error(tools, call, session, &error) || !read_view(tools, call, session, &view))
        return;
    if (!value_is_nil(error) && (tool_flag(call, "locals") || tool_flag(call, "raw"))) {
        submit_to_frozen(tools, call, &view);
        return;
    }
    struct tool_result result = {0};
    buffer_init(&result.text, BUFFER_DEFAULT_LIMIT);
    if (value_is_nil(error)) {
        buffer_append_text(&result.text, SESSION_NO_ERROR_TEXT);
        result.structured = structured_start(mcp_call_region(call), session);
    } else {
        fill_backtrace(call, session, error, &view, &result);
    }
    tool_reply(call, &result);
}

// --- list-errors ---------------------------------------------------------------------------------

static value summary_of(struct region *region, value error)
{
    static const char *const members[] = {"id",     "type", "message", "evaluation",
                                          "thread", "time", "frozen"};
    value map = map_new(region);
    for (size_t i = 0; i < COUNT_OF(members); i++)
        map = structured_member(region, map, error, members[i]);
    return map;
}

static void handle_list(struct mcp_call *call, void *data)
{
    struct tools *tools = data;
    struct region *region = mcp_call_region(call);
    const char *session = tool_session_name(call);
    int64_t limit;
    if (!session_call_require_session(tools, call, session) ||
        !tool_integer(call, "limit", SESSION_ERROR_HISTORY, 0, INT64_MAX, &limit))
        return;
    value all = session_errors(tools->sessions, session, region);
    value listed = vector_new(region, 0);
    struct tool_result result = {0};
    buffer_init(&result.text, BUFFER_DEFAULT_LIMIT);
    render_error_list(&result.text, all, limit);
    for (size_t i = 0; i < vector_count(all) && (int64_t)i < limit; i++)
        listed = vector_push(region, listed, summary_of(region, vector_at(all, i)));
    result.structured = map_put_text(region, structured_start(region, session), "errors", listed);
    tool_reply(call, &result);
}

static const struct tool error_tools[] = {
    {"describe-last-error", MCP_TOOL_READ_ONLY | MCP_TOOL_IDEMPOTENT, handle_describe},
    {"get-backtrace", MCP_TOOL_READ_ONLY | MCP_TOOL_IDEMPOTENT, handle_backtrace},
    {"list-errors", MCP_TOOL_READ_ONLY | MCP_TOOL_IDEMPOTENT, handle_list},
};

void tools_register_errors(struct tools *tools)
{
    TOOLS_ADD_ALL(tools, error_tools);
}
