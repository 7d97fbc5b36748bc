// Numbers for /metrics: what sessions do is counted as it happens, what they hold is measured when
// asked.
#include "base/array.h"
#include "base/memory.h"
#include "tools/tools.h"

static int64_t private_bytes(value process)
{
    return value_is_map(process) ? map_get_integer(process, "private_kb", 0) * 1024 : 0;
}

// Processes and private memory of one session.
static void measure_session(struct tools *tools, struct region *region, struct span name,
                            double *processes, double *bytes)
{
    CLEANUP_FREE char *text = memory_copy_text(name.data, name.length);
    value info = session_info(tools->sessions, text, true, region);
    if (!value_is_map(info) || map_get_integer(info, "pid", 0) == 0)
        return;
    *processes += 1;
    *bytes += (double)private_bytes(map_get(info, "head"));
    static const char *const parked[] = {"snapshots", "frozen_memory"};
    for (size_t kind = 0; kind < COUNT_OF(parked); kind++)
        for (size_t i = 0; i < map_get_count(info, parked[kind]); i++) {
            *processes += 1;
            *bytes += (double)private_bytes(map_get_item(info, parked[kind], i));
        }
}

static void collect(void *data)
{
    struct tools *tools = data;
    struct region *region = region_new(SIZE_MAX);
    value names = session_names(tools->sessions, region);
    double processes = 0, bytes = 0;
    for (size_t i = 0; i < vector_count(names); i++)
        measure_session(tools, region, value_text(vector_at(names, i)), &processes, &bytes);
    mcp_metric_set(tools->metrics.sessions, (double)vector_count(names));
    mcp_metric_set(tools->metrics.processes, processes);
    mcp_metric_set(tools->metrics.bytes, bytes);
    region_free(region);
}

void tools_register_metrics(struct tools *tools)
{
    struct mcp_server *server = tools->server;
    tools->metrics = (struct tool_metrics){
        .evaluations = mcp_server_add_metric(server, MCP_COUNTER, "cadre_evaluations_total", NULL,
                                             "Requests that ran in a session"),
        .errors = mcp_server_add_metric(server, MCP_COUNTER, "cadre_evaluation_errors_total", NULL,
                                        "Requests that ran in a session and failed"),
        .rollbacks = mcp_server_add_metric(server, MCP_COUNTER, "cadre_rollbacks_total", NULL,
                                           "Sessions set back because their process ended"),
        .seconds = mcp_server_add_metric(server, MCP_HISTOGRAM, "cadre_evaluation_seconds", NULL,
                                         "Time from the start of a request to its reply"),
        .programs = mcp_server_add_metric(server, MCP_COUNTER, "cadre_programs_total", NULL,
                                          "Programs run"),
        .sessions =
            mcp_server_add_metric(server, MCP_GAUGE, "cadre_sessions", NULL, "Sessions that exist"),
        .processes = mcp_server_add_metric(server, MCP_GAUGE, "cadre_session_processes", NULL,
                                           "Heads, snapshots and frozen errors of all sessions"),
        .bytes = mcp_server_add_metric(server, MCP_GAUGE, "cadre_session_private_bytes", NULL,
                                       "Private memory of these processes"),
    };
    mcp_server_add_collector(server, collect, tools);
}
