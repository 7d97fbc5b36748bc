#include "cli/run_worker.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base/buffer.h"
#include "base/memory.h"
#include "cli/session_loop.h"
#include "process/reaper.h"
#include "session/project/project.h"
#include "tools/program/paused_run.h"
#include "tools/program/program_step.h"
#include "tools/program/saved_programs.h"
#include "tools/program/toolbox_run.h"
#include "tools/program/toolbox_upstream.h"
#include "value/text/json.h"

enum { ANSWER_DEPTH = 10000 };

struct run_worker {
    struct session_loop loop;
    struct reaper *reaper;
    struct program_pool *pool;
    struct toolbox *toolbox;
    // The present run:
    struct region *region;
    value record;
    value memory;  // before it
    int64_t timeout_ms;
    value step;
    struct toolbox_run run;
    struct saved_programs *saved;  // that it calls, or NULL
    bool is_resumed;               // it sees the tools as they were
    bool done;
};

static void finish(struct run_worker *run, const char *problem)
{
    if (problem)
        fprintf(stderr, "cadre run: %s\n", problem);
    run->done = true;
    event_base_loopbreak(run->loop.base);
}

static void on_answer(void *data, struct span answer, const char *failure)
{
    struct run_worker *run = data;
    value message;
    struct error error;
    struct json_options options = {.max_depth = ANSWER_DEPTH};
    if (failure && strcmp(failure, "timeout") == 0) {
        struct timed_out_step timed_out = {
            .what = "evaluation exceeded",
            .timeout_ms = run->timeout_ms,
            .duration_ms = run->timeout_ms + PROGRAM_GRACE_MS,
            .memory = value_is_nil(run->memory) ? map_new(run->region) : value_retain(run->memory)};
        run->step = program_step_timed_out(run->region, &timed_out);
        finish(run, NULL);
    } else if (failure) {
        finish(run, failure);
    } else if (json_read(run->region, answer, &options, &message, &error) &&
               value_is_map(map_get(message, "step"))) {
        run->step = map_get(message, "step");
        finish(run, NULL);
    } else {
        finish(run, "the worker's answer cannot be read");
    }
}

static void on_tool(void *data, struct program_call *call, struct span name, struct span arguments)
{
    struct run_worker *run = data;
    toolbox_call(run->toolbox, &run->run, run->loop.sessions, run->reaper, call, name, arguments);
}

static void on_replied(void *data, uint64_t key, bool ok, struct span text)
{
    struct run_worker *run = data;
    call_log_finish(run->run.log, key, ok, text);
}

// The tools of the toolbox, and those of the record in their place.
static value merge_tools(struct run_worker *run, value tools)
{
    value own = map_get(run->record, "tools"), name, tool;
    if (!value_is_map(own))
        return tools;
    for (struct map_cursor cursor = map_iterate(own); map_next(&cursor, &name, &tool);)
        tools = map_put(run->region, tools, value_retain(name), value_retain(tool));
    return tools;
}

static void on_resolved(void *data, value tools)
{
    struct run_worker *run = data;
    CLEANUP_BUFFER struct buffer text;
    buffer_init(&text, PROGRAM_MESSAGE_MAX);
    if (run->saved)
        tools = saved_programs_add(run->saved, run->region, tools,
                                   map_get_string(run->record, "program"), value_nil());
    if (!run->is_resumed)
        run->record = map_put_text(run->region, run->record, "tools", merge_tools(run, tools));
    json_write(&text, run->record, 0, NULL);
    struct program_request request = {
        .record = buffer_span(&text),
        .timeout_ms = run->timeout_ms,
        .done = on_answer,
        .tool = on_tool,
        .replied = on_replied,
        .data = run,
    };
    if (text.failed || !program_submit(run->pool, &request))
        finish(run, "the inputs are larger than 64 MiB");
}

// Unless the time was given: servers may have to start first.
static void extend_time(struct run_worker *run)
{
    value options = map_get(run->record, "options");
    if (!value_is_nil(map_get(options, "timeout")))
        return;
    run->timeout_ms = TOOLBOX_SERVERS_TIMEOUT_MS;
    options = value_is_map(options) ? value_retain(options) : map_new(run->region);
    options = toolbox_put_server_limits(run->region, options);
    run->record = map_put_text(run->region, run->record, "options", options);
}

// A run that waits: kept as a file, whose name is its token.
static bool keep(struct run_worker *worker, const struct run_pause *pause)
{
    struct region *region = worker->region;
    value paused = map_get(worker->step, "paused");
    struct paused_file file = paused_file_of(region, paused, worker->record);
    file.timeout_ms = worker->timeout_ms;
    CLEANUP_BUFFER struct buffer text;
    buffer_init(&text, PAUSED_FILE_MAX);
    paused_file_write(&file, &worker->run, region, &text);
    value call = value_retain(file.call);
    if (paused_file_is_unknown(&file, &worker->run))
        call = map_put_text(region, call, "state", value_string_text(region, "unknown"));
    value shown = map_put_text(region, map_new(region), "call", call);
    shown = map_put_text(region, shown, "token", value_string_text(region, run_pause_path(pause)));
    worker->step = map_put_text(region, worker->step, "paused", shown);
    return run_pause_keep(pause, &text);
}

// The programs of the workspace that the program calls; their sources into the text.
static void read_saved(struct run_worker *worker, struct span program, struct buffer *text)
{
    if (!saved_programs_are_named(program))
        return;
    worker->saved = saved_programs_read(session_workspace(worker->loop.sessions));
    saved_programs_append_sources(worker->saved, program, false, text);
}

// The record is read, and what is known of its calls.
static bool execute(struct run_worker *worker, const struct run_pause *pause, value *ret_step)
{
    worker->step = value_nil();
    worker->done = false;
    worker->run.may_pause = pause != NULL;
    struct toolbox_query query = {.wait_for_busy = true};
    struct span program = map_get_string(worker->record, "program");
    CLEANUP_BUFFER struct buffer saved;
    buffer_init(&saved, BUFFER_DEFAULT_LIMIT);
    read_saved(worker, program, &saved);
    if (!span_equal_text(map_get_string(worker->record, "validation"), "strict")) {
        query.texts[query.text_count++] = program;
        query.texts[query.text_count++] = buffer_span(&saved);
    }
    struct upstreams *upstreams = toolbox_upstreams(worker->toolbox);
    if (toolbox_upstream_is_used(upstreams, program) ||
        toolbox_upstream_is_used(upstreams, buffer_span(&saved)))
        extend_time(worker);
    toolbox_resolve_start(worker->toolbox, worker->loop.sessions, worker->region, &query,
                          on_resolved, worker);
    while (!worker->done && event_base_dispatch(worker->loop.base) == 0)
        continue;
    bool has_step = value_is_map(worker->step);
    if (has_step && value_is_map(map_get(worker->step, "paused")))
        has_step = keep(worker, pause);
    else if (has_step)
        worker->step = toolbox_run_add_writes(&worker->run, worker->region, worker->step);
    toolbox_run_release(&worker->run);
    saved_programs_free(worker->saved);
    worker->saved = NULL;
    *ret_step = worker->step;
    return has_step;
}

bool run_worker_execute(struct run_worker *worker, struct region *region, value record,
                        value memory, int64_t timeout_ms, const struct run_pause *pause,
                        value *ret_step)
{
    worker->region = region;
    worker->record = record;
    worker->memory = memory;
    worker->timeout_ms = timeout_ms;
    worker->is_resumed = false;
    toolbox_run_init(&worker->run, region);
    return execute(worker, pause, ret_step);
}

bool run_worker_resume(struct run_worker *worker, struct region *region,
                       const struct run_pause *pause, value *ret_step)
{
    struct paused_file file;
    worker->region = region;
    worker->is_resumed = true;
    toolbox_run_init(&worker->run, region);
    const char *problem = NULL;
    if (!paused_file_read(&file, &worker->run, region, buffer_span(&pause->text)))
        problem = "is no paused run, or of another version of Cadre";
    else if (file.memory_name.length)
        problem = "writes a memory of the server: resume-program goes on with it";
    if (problem) {
        toolbox_run_release(&worker->run);
        fprintf(stderr, "cadre run: %s %s\n", pause->from, problem);
        return false;
    }
    worker->record = value_retain(file.record);
    worker->memory = map_get(file.record, "memory");
    worker->timeout_ms = file.timeout_ms;
    paused_file_answer(&file, &worker->run, &pause->answer);
    return execute(worker, pause, ret_step);
}

struct run_worker *run_worker_new(struct toolbox *toolbox, const struct session_sandbox *sandbox)
{
    struct run_worker *worker = memory_alloc_zero(sizeof(*worker));
    worker->toolbox = toolbox;
    signal(SIGPIPE, SIG_IGN);
    int failed = session_loop_init(&worker->loop, &(struct session_config){.sandbox = *sandbox});
    if (failed == 0) {
        toolbox_allow_files(toolbox, worker->loop.sessions);
        worker->reaper = reaper_new(worker->loop.base);
        worker->pool = program_pool_new(worker->reaper, "/proc/self/exe");
        toolbox_open_servers(toolbox, worker->reaper, sandbox->workspace);
        return worker;
    }
    fprintf(stderr, "cadre run: cannot start: %s\n", strerror(-failed));
    session_loop_release(&worker->loop);
    memory_free(worker);
    return NULL;
}

void run_worker_free(struct run_worker *worker)
{
    if (!worker)
        return;
    toolbox_close_servers(worker->toolbox);
    program_pool_free(worker->pool);
    reaper_free(worker->reaper);
    session_loop_release(&worker->loop);
    memory_free(worker);
}
