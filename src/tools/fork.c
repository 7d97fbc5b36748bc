// fork-session, adopt-session: the state of one session for another.
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "tools/fork.h"
#include "tools/result/result_structured.h"
#include "tools/result/result_text.h"
#include "tools/session_call.h"

bool tool_state_name(struct mcp_call *call, const char *name, struct tool_state_name *ret_state)
{
    const char *text = tool_text(call, name);
    const char *at = text ? strchr(text, '@') : NULL;
    char *end;
    *ret_state = (struct tool_state_name){.session = text ? text : "main", .number = -1};
    if (!at)
        return true;
    ret_state->session = tool_copy_text(call, (struct span){text, (size_t)(at - text)});
    ret_state->number = strtoll(at + 1, &end, 10);
    if (at[1] >= '0' && at[1] <= '9' && *end == '\0' && ret_state->number >= 0)
        return true;
    tool_refuse(call, "invalid-argument",
                "%s is the name of a session, or with the number of an evaluation: main@12", name);
    return false;
}

// --- texts ---------------------------------------------------------------------------------------

static void render_missing(struct buffer *text, const struct session_reply *reply)
{
    int64_t connections = map_get_integer(reply->result, "connections", 0);
    render_lost_threads(text, reply->lost_threads);
    if (connections == 0)
        return;
    buffer_append_text(text, "\nNot in it: ");
    render_counted(text, connections, "connection");
    buffer_append_text(text, connections == 1 ? ", which is closed there." : ", closed there.");
}

static void complete(const struct session_call *run, const struct session_reply *reply,
                     struct tool_result *result)
{
    struct region *region = mcp_call_region(run->call);
    render_missing(&result->text, reply);
    render_notices(&result->text, reply->notices);
    value map =
        map_put_text(region, result->structured, "evaluation", value_integer(reply->evaluation));
    result->structured =
        map_put_text(region, map, "lost_threads", value_copy(region, reply->lost_threads));
}

static const char *from_of(const struct session_call *run)
{
    struct tool_state_name from;
    return tool_state_name(run->call, "from", &from) ? from.session : "main";
}

static void render_forked(const struct session_call *run, const struct session_reply *reply,
                          struct tool_result *result)
{
    if (session_call_render_failure(run->call, reply, result))
        return;
    buffer_append_format(&result->text,
                         "Session \"%s\" has the state of \"%s\" after evaluation %" PRId64 ".",
                         reply->session, from_of(run), reply->evaluation);
    complete(run, reply, result);
}

static void render_adopted(const struct session_call *run, const struct session_reply *reply,
                           struct tool_result *result)
{
    if (session_call_render_failure(run->call, reply, result))
        return;
    buffer_append_format(&result->text,
                         "Session \"%s\" has the state of \"%s\", as evaluation %" PRId64
                         "; rollback-session with steps 1 goes back to its own.",
                         reply->session, from_of(run), reply->evaluation);
    complete(run, reply, result);
}

// --- calls ---------------------------------------------------------------------------------------

static void handle(struct mcp_call *call, void *data, enum session_request_kind kind,
                   tool_render_fn *render)
{
    struct tool_state_name from;
    if (!tool_state_name(call, "from", &from))
        return;
    const char *as = tool_text(call, "as");
    struct session_request request = {
        .session = from.session, .kind = kind, .rollback_to = from.number, .as = as ? as : "main"};
    session_call_submit(data, call, &request, render);
}

static void handle_fork(struct mcp_call *call, void *data)
{
    handle(call, data, SESSION_FORK, render_forked);
}

static void handle_adopt(struct mcp_call *call, void *data)
{
    handle(call, data, SESSION_ADOPT, render_adopted);
}

static const struct tool fork_tools[] = {
    {"fork-session", 0, handle_fork},
    {"adopt-session", MCP_TOOL_DESTRUCTIVE, handle_adopt},
};

void tools_register_fork(struct tools *tools)
{
    TOOLS_ADD_ALL(tools, fork_tools);
}
