// try-alternatives: several codes, each in a copy of the session of its own, at the same time; then
// the same check in each. The copies are hidden sessions that are closed afterwards, so that nothing
// changes.
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/utf8.h"
#include "tools/fork.h"
#include "tools/result/result_structured.h"
#include "tools/result/result_text.h"
#include "tools/session_call.h"

enum { ALTERNATIVES_MAX = 16, SHOWN_CHARACTERS = 100 };

struct alternatives;

// One of them. What it has answered is in the call's region.
struct alternative {
    struct alternatives *all;
    const char *code;
    char copy[SESSION_NAME_MAX + 1];  // the hidden session; "" before it is there and afterwards
    uint64_t ticket;
    value outcome;  // {ok, values | error, us, bytes}
    value check;    // the same, or nil
};

struct alternatives {
    struct tools *tools;
    struct mcp_call *call;
    struct tool_state_name from;
    const char *check;  // NULL: none
    int64_t timeout;
    size_t count, left;
    struct alternative items[ALTERNATIVES_MAX];
};

// --- answers -------------------------------------------------------------------------------------

static value outcome_of(struct region *region, const struct session_reply *reply)
{
    value map = map_put_text(region, map_new(region), "ok", value_boolean(reply->ok));
    if (reply->ok)
        map = structured_member(region, map, reply->result, "values");
    else
        map = map_put_text(region, map, "error", structured_error(region, reply->error, 0, false));
    value timing = map_get(reply->result, "timing");
    map = map_put_text(region, map, "us", value_integer(reply->elapsed_us));
    return map_put_text(region, map, "bytes", value_integer(map_get_integer(timing, "bytes", 0)));
}

static void append_line(struct buffer *text, struct span line)
{
    size_t length = utf8_offset(line.data, line.length, SHOWN_CHARACTERS);
    for (size_t i = 0; i < length; i++)
        buffer_append_byte(text, line.data[i] == '\n' ? ' ' : line.data[i]);
    if (length < line.length)
        buffer_append_text(text, "…");
}

// `=> 1, 2` or `[ERROR] TYPE: message`
static void append_outcome(struct buffer *text, value outcome)
{
    value values = map_get(outcome, "values"), error = map_get(outcome, "error");
    if (value_is_map(error)) {
        struct span type = map_get_string(error, "type");
        if (type.length == 0)
            type = map_get_string(error, "code");
        buffer_append_format(text, "[ERROR] %.*s: ", (int)type.length, type.data);
        append_line(text, map_get_string(error, "message"));
        return;
    }
    size_t count = value_is_vector(values) ? vector_count(values) : 0;
    buffer_append_text(text, count == 0 ? "=> no values" : "=> ");
    for (size_t i = 0; i < count; i++) {
        buffer_append_text(text, i ? ", " : "");
        append_line(text, value_text(vector_at(values, i)));
    }
}

static void append_alternative(struct buffer *text, const struct alternative *item, size_t number)
{
    double ms = (double)map_get_integer(item->outcome, "us", 0) / 1000;
    double mb = (double)map_get_integer(item->outcome, "bytes", 0) / (1 << 20);
    buffer_append_format(text, "%s%zu. ", number > 1 ? "\n" : "", number);
    append_line(text, span_from(item->code));
    buffer_append_format(text, "\n   %.1f ms, %.1f MB: ", ms, mb);
    append_outcome(text, item->outcome);
    if (value_is_map(item->check)) {
        buffer_append_text(text, "\n   check: ");
        append_outcome(text, item->check);
    }
}

static void reply(struct alternatives *all)
{
    struct region *region = mcp_call_region(all->call);
    struct tool_result result = {.structured = structured_start(region, all->from.session)};
    buffer_init(&result.text, TOOL_TEXT_LIMIT);
    value list = vector_new(region, all->count);
    for (size_t i = 0; i < all->count; i++) {
        const struct alternative *item = &all->items[i];
        append_alternative(&result.text, item, i + 1);
        value map = value_retain(item->outcome);
        if (value_is_map(item->check))
            map = map_put_text(region, map, "check", item->check);
        list = vector_push(region, list, map);
    }
    result.structured = map_put_text(region, result.structured, "alternatives", list);
    mcp_call_on_cancel(all->call, NULL, NULL);
    tool_reply(all->call, &result);
    memory_free(all);
}

// --- one after the other, in each ----------------------------------------------------------------

static void close_copy(struct alternative *item)
{
    if (item->copy[0])
        session_close(item->all->tools->sessions, item->copy);
    item->copy[0] = '\0';
}

static void end(struct alternative *item)
{
    struct alternatives *all = item->all;
    close_copy(item);
    item->ticket = 0;
    all->left--;
    mcp_call_progress(all->call, (double)(all->count - all->left), (double)all->count, NULL);
    if (all->left == 0)
        reply(all);
}

static void submit_code(struct alternative *item, const char *code, session_reply_fn *on_reply)
{
    struct alternatives *all = item->all;
    struct region *region = mcp_call_region(all->call);
    value params = map_put_text(region, map_new(region), "code", value_string_text(region, code));
    struct session_request request = {
        .session = item->copy,
        .kind = SESSION_EVALUATE,
        .op = "evaluate",
        .params = params,
        .label = code,
        .timeout = all->timeout,
        .reply = on_reply,
        .data = item,
    };
    item->ticket = session_submit(all->tools->sessions, &request);
}

static void on_checked(void *data, const struct session_reply *reply)
{
    struct alternative *item = data;
    item->check = outcome_of(mcp_call_region(item->all->call), reply);
    end(item);
}

static void on_evaluated(void *data, const struct session_reply *reply)
{
    struct alternative *item = data;
    item->outcome = outcome_of(mcp_call_region(item->all->call), reply);
    if (reply->ok && item->all->check)
        submit_code(item, item->all->check, on_checked);
    else
        end(item);
}

static void on_forked(void *data, const struct session_reply *reply)
{
    struct alternative *item = data;
    if (reply->ok) {
        snprintf(item->copy, sizeof(item->copy), "%s", reply->session);
        submit_code(item, item->code, on_evaluated);
        return;
    }
    item->outcome = outcome_of(mcp_call_region(item->all->call), reply);
    end(item);
}

static void submit_fork(struct alternative *item)
{
    const struct alternatives *all = item->all;
    struct session_request request = {
        .session = all->from.session,
        .client = all->tools->client,
        .kind = SESSION_FORK,
        .rollback_to = all->from.number,
        .hidden = true,
        .timeout = -1,
        .reply = on_forked,
        .data = item,
    };
    item->ticket = session_submit(all->tools->sessions, &request);
}

// --- the call ------------------------------------------------------------------------------------

static void on_cancel(struct mcp_call *call, void *data)
{
    struct alternatives *all = data;
    for (size_t i = 0; i < all->count; i++) {
        if (all->items[i].ticket)
            session_cancel(all->tools->sessions, all->items[i].ticket);
        close_copy(&all->items[i]);
    }
    memory_free(all);
    mcp_call_reply_failure(call, "cancelled", "The call was cancelled.");
}

static void handle(struct mcp_call *call, void *data)
{
    struct tools *tools = data;
    struct tool_state_name from;
    int64_t timeout;
    value codes = mcp_call_argument(call, "codes");
    size_t count = vector_count(codes);
    if (!tool_state_name(call, "session", &from) ||
        !session_call_require_session(tools, call, from.session) ||
        !tool_integer(call, "timeout", -1, 0, 86400, &timeout))
        return;
    if (count == 0 || count > ALTERNATIVES_MAX) {
        tool_refuse(call, "invalid-argument", "codes has 1 to %d texts", ALTERNATIVES_MAX);
        return;
    }
    struct alternatives *all = memory_alloc_zero(sizeof(*all));
    *all = (struct alternatives){.tools = tools,
                                 .call = call,
                                 .from = from,
                                 .check = tool_text(call, "check"),
                                 .timeout = timeout,
                                 .count = count,
                                 .left = count};
    mcp_call_on_cancel(call, on_cancel, all);
    for (size_t i = 0; i < count; i++)
        all->items[i] = (struct alternative){
            .all = all, .code = tool_copy_text(call, value_text(vector_at(codes, i)))};
    for (size_t i = 0; i < count; i++)
        submit_fork(&all->items[i]);
}

static const struct tool table[] = {
    {"try-alternatives", MCP_TOOL_DESTRUCTIVE | MCP_TOOL_OPEN_WORLD, handle},
};

void tools_register_alternatives(struct tools *tools)
{
    tools_add_all(tools, table, 1);
}
