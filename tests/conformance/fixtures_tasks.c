// Tools of the tasks extension.
#include "fixtures.h"

// False: the call was finished with an error that names the missing capability.
static bool require_task(struct mcp_call *call)
{
    if (mcp_call_become_task(call))
        return true;
    mcp_call_reply_missing_capability(call, "tasks");
    return false;
}

static void slow_compute_end(struct mcp_call *call, void *data)
{
    (void)data;
    struct span label = argument_text(call, "label");
    reply_text(call, "Computed: %.*s", (int)label.length, label.data);
}

static void slow_compute(struct mcp_call *call, void *data)
{
    (void)data;
    value seconds = mcp_call_argument(call, "seconds");
    double s = seconds.tag == VALUE_FLOAT     ? seconds.number
               : seconds.tag == VALUE_INTEGER ? (double)seconds.integer
                                              : 1;
    mcp_call_become_task(call);  // works either way
    delay(call, (unsigned)(s * 1000), slow_compute_end);
}

static void failing_end(struct mcp_call *call, void *data)
{
    (void)data;
    mcp_call_reply_failure(call, "intended", "This job fails");
}

static void failing_job(struct mcp_call *call, void *data)
{
    (void)data;
    if (require_task(call))
        delay(call, 1000, failing_end);
}

static void protocol_error_end(struct mcp_call *call, void *data)
{
    (void)data;
    mcp_call_reply_error(call, MCP_INTERNAL_ERROR, "This job ends with a protocol error");
}

static void protocol_error_job(struct mcp_call *call, void *data)
{
    (void)data;
    if (require_task(call))
        delay(call, 500, protocol_error_end);
}

static void confirm_delete(struct mcp_call *call, void *data)
{
    (void)data;
    value answer;
    if (!mcp_call_is_task(call) && !require_task(call))
        return;
    if (!mcp_call_need_form(call, "confirm", "Delete the file?", FORM("confirm", "boolean"),
                            &answer)) {
        mcp_call_ask(call);
        return;
    }
    struct span name = argument_text(call, "filename");
    reply_text(call, "Answered: %s for %.*s", json_text(call, answer), (int)name.length, name.data);
}

static void multi_input(struct mcp_call *call, void *data)
{
    (void)data;
    value first, second;
    if (!mcp_call_is_task(call) && !require_task(call))
        return;
    bool all = mcp_call_need_form(call, "first", "First?", FORM("name", "string"), &first);
    all &= mcp_call_need_form(call, "second", "Second?", FORM("color", "string"), &second);
    if (!all)
        mcp_call_ask(call);
    else
        reply_text(call, "%s %s", json_text(call, first), json_text(call, second));
}

static void input_then_task_end(struct mcp_call *call, void *data)
{
    (void)data;
    value answer;
    if (!mcp_call_need_form(call, "user_name", "What is your name?", FORM("name", "string"),
                            &answer)) {
        mcp_call_ask(call);
        return;
    }
    reply_text(call, "Hello, %s", json_text(call, map_get(answer, "content")));
}

static void input_then_task(struct mcp_call *call, void *data)
{
    (void)data;
    value answer;
    if (!mcp_call_need_form(call, "user_name", "What is your name?", FORM("name", "string"),
                            &answer))
        mcp_call_ask(call);
    else if (require_task(call))
        delay(call, 200, input_then_task_end);
}

void fixtures_add_tasks(struct mcp_server *server)
{
    const unsigned flags = MCP_TOOL_READ_ONLY;
    fixtures_add_tool(server, "slow_compute", "Takes its time",
                      "{\"type\":\"object\",\"properties\":{\"seconds\":{\"type\":\"number\","
                      "\"minimum\":0,\"maximum\":3600},\"label\":{\"type\":\"string\"}},"
                      "\"additionalProperties\":false}",
                      flags, slow_compute);
    fixtures_add_tool(server, "failing_job", "Fails after a second", NO_ARGUMENTS, flags,
                      failing_job);
    fixtures_add_tool(server, "protocol_error_job", "Ends with a protocol error", NO_ARGUMENTS,
                      flags, protocol_error_job);
    fixtures_add_tool(server, "confirm_delete", "Asks before it goes on",
                      "{\"type\":\"object\",\"properties\":{\"filename\":{\"type\":\"string\"}},"
                      "\"additionalProperties\":false}",
                      flags, confirm_delete);
    fixtures_add_tool(server, "multi_input", "Asks two questions at once", NO_ARGUMENTS, flags,
                      multi_input);
    fixtures_add_tool(server, "test_tool_with_task", "Asks, then works as a task", NO_ARGUMENTS,
                      flags, input_then_task);
}
