// What a run of run-program is told about its tools: the saved programs of the workspace are read, then
// tools of sessions and servers are asked for.
#include "base/assert.h"
#include "base/clock.h"
#include "session/project/project.h"
#include "tools/program_task.h"

static void on_resolved(void *data, value tools)
{
    struct program_task *task = data;
    struct region *region = mcp_call_region(task->call);
    task->resolution = NULL;
    if (task->deadline)
        evtimer_del(task->deadline);
    if (task->saved)
        tools =
            saved_programs_add(task->saved, region, tools, map_get_string(task->record, "program"),
                               mcp_call_argument(task->call, "tools"));
    if (task->run.is_dry)
        tools = toolbox_run_loosen(region, tools);
    if (!task->is_resumed)  // it sees the tools as they were
        task->record = map_put_text(region, task->record, "tools", tools);
    program_task_submit(task);
}

static void on_deadline(evutil_socket_t fd, short what, void *data)
{
    (void)fd;
    (void)what;
    struct program_task *task = data;
    mcp_call_on_cancel(task->call, NULL, NULL);
    program_task_time_out(task, false, "a session did not describe its tools within");
    program_task_free(task);
}

// Strict validation wants a description of every tool, a search may find any.
static bool wants_all(const struct program_task *task)
{
    return span_equal_text(map_get_string(task->record, "validation"), "strict") ||
           toolbox_is_searched(map_get_string(task->record, "program"));
}

// Only tools that the program, a saved one that it calls, or a function kept in its memory can name need
// a description.
static void ask_tools(struct program_task *task)
{
    struct tools *tools = task->tools;
    struct region *region = mcp_call_region(task->call);
    struct span source = map_get_string(task->record, "program");
    struct toolbox_query query = {.allowed = mcp_call_argument(task->call, "tools"),
                                  .wait_for_busy = true};
    CLEANUP_BUFFER struct buffer saved;
    buffer_init(&saved, BUFFER_DEFAULT_LIMIT);
    if (task->saved)
        saved_programs_append_sources(task->saved, source, wants_all(task), &saved);
    if (!wants_all(task)) {
        query.texts[0] = source;
        query.texts[1] = map_get_string(task->record, "definitions");
        query.texts[2] = value_text(value_string(region, buffer_span(&saved)));
        query.text_count = 3;
    }
    struct toolbox_resolution *resolution =
        toolbox_resolve_start(tools->toolbox, tools->sessions, region, &query, on_resolved, task);
    if (!resolution)
        return;
    task->resolution = resolution;
    task->deadline = evtimer_new(tools->base, on_deadline, task);
    CHECK(task->deadline);
    struct timeval limit = timeval_from_ms(task->timeout_ms);
    evtimer_add(task->deadline, &limit);
}

static void on_saved_read(void *data, struct saved_programs *programs)
{
    struct program_task *task = data;
    task->saved = programs;
    if (program_task_is_wanted(task))
        ask_tools(task);
}

void program_task_resolve(struct program_task *task)
{
    struct tools *tools = task->tools;
    const char *workspace = session_workspace(tools->sessions);
    bool needs_saved = saved_programs_are_named(map_get_string(task->record, "program")) ||
                       saved_programs_are_named(map_get_string(task->record, "definitions"));
    if (!workspace || (!needs_saved && !wants_all(task))) {
        ask_tools(task);
        return;
    }
    task->is_waiting = true;
    if (saved_programs_load(tools->background, workspace, on_saved_read, task))
        return;
    task->is_waiting = false;
    mcp_call_on_cancel(task->call, NULL, NULL);
    tool_refuse(task->call, "busy", "too much work waits for the disk");
    program_task_free(task);
}
