// run-tests: the tests of a system, a package or a name, in forks of a copy of the session.
#include "base/array.h"
#include "tools/result/result_structured.h"
#include "tools/result/result_tests.h"
#include "tools/result/result_text.h"
#include "tools/session_call.h"

enum { TEST_SECONDS = 30, TEST_SECONDS_MAX = 86400, JOBS_MAX = 64 };

static void render_run(const struct session_call *run, const struct session_reply *reply,
                       struct tool_result *result)
{
    struct region *region = mcp_call_region(run->call);
    value map = structured_evaluation(region, reply);
    result->structured = map;
    if (!reply->ok && map_get_count(reply->error, "frames") == 0) {
        render_error_heading(&result->text, reply->error);
        return;
    }
    if (!reply->ok) {
        render_evaluation(&result->text, reply, &(struct render_evaluation){0});
        return;
    }
    value tests = map_get(reply->result, "run");
    render_tests(&result->text, tests);
    render_section(&result->text, RENDER_EARLIER_OUTPUT, reply->earlier_output);
    render_section(&result->text, "stdout", reply->standard_output.text);
    render_section(&result->text, "stderr", reply->standard_error.text);
    render_warnings(&result->text, reply->result);
    render_notices(&result->text, reply->notices);
    result->structured = map_put_text(region, map, "run", value_copy(region, tests));
}

static void handle_run_tests(struct mcp_call *call, void *data)
{
    static const char *const names[] = {"system", "package", "test", "framework", "isolate", NULL};
    struct region *region = mcp_call_region(call);
    int64_t seconds, jobs;
    value last;
    if (!tool_integer(call, "timeout", TEST_SECONDS, 1, TEST_SECONDS_MAX, &seconds) ||
        !tool_integer(call, "jobs", 1, 1, JOBS_MAX, &jobs))
        return;
    value params = session_call_parameters(call, names);
    params = map_put_text(region, params, "test_timeout", value_integer(seconds));
    params = map_put_text(region, params, "jobs", value_integer(jobs));
    if (tool_text(call, "since")) {
        struct session_manager *sessions = ((struct tools *)data)->sessions;
        params = map_put_text(region, params, "since", value_boolean(true));
        if (session_last_tests(sessions, tool_session_name(call), region, &last))
            params = map_put_text(region, params, "last", last);
    }
    struct session_request request = {.kind = SESSION_TESTS,
                                      .create = true,
                                      .op = "run-tests",
                                      .params = params,
                                      .label = "(run-tests)"};
    session_call_submit(data, call, &request, render_run);
}

static const struct tool test_tools[] = {
    {"run-tests", MCP_TOOL_OPEN_WORLD, handle_run_tests},
};

void tools_register_tests(struct tools *tools)
{
    TOOLS_ADD_ALL(tools, test_tools);
}
