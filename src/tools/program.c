// run-program: sandboxed programs over the server's tools.
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/queue.h>

#include "base/array.h"
#include "base/assert.h"
#include "base/clock.h"
#include "base/memory.h"
#include "tools/program/named_memory.h"
#include "tools/program/program_answer.h"
#include "tools/program/program_step.h"
#include "tools/program/saved_programs.h"
#include "tools/program/toolbox_upstream.h"
#include "tools/program_task.h"
#include "tools/result/result_structured.h"
#include "tools/result/result_text.h"
#include "tools/running.h"
#include "value/text/json.h"

enum {
    TIMEOUT_DEFAULT_MS = 1000,
    TIMEOUT_MAX_MS = 600000,
    MEMORY_MAX = 1 << 30,
    ANSWER_DEPTH = 10000,
    YIELD_MAX_S = 86400,
    PROGRESS_MS = 1000,
    STEP_MAX = MCP_OUTPUT_LIMIT,  // more could not be sent on
};

static void task_begin(struct program_task *task);

// Runs that name the same memory take turns, in the order they came.
static struct program_task *next_user(const struct tools *tools, const char *memory_name)
{
    struct program_task *task;
    TAILQ_FOREACH (task, &tools->memory_users, link)
        if (strcmp(task->memory_name, memory_name) == 0)
            return task;
    return NULL;
}

static void stop_timers(struct program_task *task)
{
    struct event **const timers[] = {&task->deadline, &task->yield_timer, &task->progress_timer};
    for (size_t i = 0; i < COUNT_OF(timers); i++) {
        if (*timers[i])
            event_free(*timers[i]);
        *timers[i] = NULL;
    }
}

void program_task_free(struct program_task *task)
{
    if (task->resolution)
        toolbox_resolve_cancel(task->resolution);
    stop_timers(task);
    program_news_ended(task, value_nil());
    struct program_task *next = NULL;
    named_memory_close(task->memory);
    if (task->memory_name) {
        bool had_its_turn = next_user(task->tools, task->memory_name) == task;
        TAILQ_REMOVE(&task->tools->memory_users, task, link);
        next = had_its_turn ? next_user(task->tools, task->memory_name) : NULL;
    }
    toolbox_run_release(&task->run);
    saved_programs_free(task->saved);
    memory_free(task->memory_name);
    memory_free(task);
    if (next)
        task_begin(next);
}

// --- the end of a run ----------------------------------------------------------------------------

// Functions without a source of their own end with the run.
static value warn_of_losses(struct region *region, value step, value memory)
{
    value warnings = value_retain(map_get(step, "warnings"));
    for (size_t i = 0; value_is_vector(warnings) && i < map_get_count(memory, "lost"); i++) {
        struct span name = value_text(map_get_item(memory, "lost", i));
        warnings = vector_push(
            region, warnings,
            value_string_format(region, "memory: %.*s holds a function that cannot be kept",
                                (int)name.length, name.data));
    }
    return map_put_text(region, step, "warnings", warnings);
}

void program_task_reply(struct program_task *task, value step)
{
    struct region *region = mcp_call_region(task->call);
    struct tool_result result = {0};
    buffer_init(&result.text, BUFFER_DEFAULT_LIMIT);
    program_answer_render(task->tools, task->number, step, &result.text);
    step = map_put_text(region, step, "program", value_integer(task->number));
    value fail = map_get(step, "fail");
    result.is_error = value_is_map(fail);
    if (result.is_error)
        step = map_put_text(region, step, "error", program_step_error(region, fail));
    result.structured = map_put_text(region, step, "ok", value_boolean(!result.is_error));
    program_news_ended(task, result.structured);
    if (!task->running)
        running_append_notices(task->tools, "", &result.text);
    tool_reply(task->call, &result);
}

void program_task_time_out(struct program_task *task, bool started, const char *what)
{
    struct region *region = mcp_call_region(task->call);
    value memory = map_get(task->record, "memory");
    struct timed_out_step timed_out = {
        .what = what,
        .timeout_ms = task->timeout_ms,
        .duration_ms = started ? task->timeout_ms + PROGRAM_GRACE_MS : -1,
        .memory = value_is_map(memory) ? value_retain(memory) : map_new(region),
    };
    program_task_reply(task, toolbox_run_add_writes(&task->run, region,
                                                    program_step_timed_out(region, &timed_out)));
}

static void refuse_memory(struct program_task *task, const struct error *failure)
{
    mcp_call_on_cancel(task->call, NULL, NULL);
    tool_refuse(task->call, failure->code == ERROR_BUSY ? "memory-busy" : "memory-unavailable",
                "%s", failure->message);
    program_task_free(task);
}

static void on_saved(void *data, const struct error *failure)
{
    struct program_task *task = data;
    if (failure) {
        refuse_memory(task, failure);
        return;
    }
    named_memory_tell(task->memory, task->tools->ledger);
    program_task_reply(task, task->step);
    program_task_free(task);
}

// A named memory is saved after success, and before the reply. A run cannot be cancelled any more.
static void finish(struct program_task *task, value step, value memory)
{
    if (value_is_map(map_get(step, "paused"))) {
        program_pause(task, step);
        return;
    }
    step = toolbox_run_add_writes(&task->run, mcp_call_region(task->call), value_retain(step));
    if (value_is_nil(map_get(step, "fail")) && !task->run.is_dry)
        save_program_note(task->tools, map_get_string(task->record, "program"));
    if (!task->memory || !value_is_nil(map_get(step, "fail"))) {
        program_task_reply(task, step);
        program_task_free(task);
        return;
    }
    struct error error;
    task->step = warn_of_losses(mcp_call_region(task->call), value_retain(step), memory);
    task->is_saving = true;
    if (!named_memory_save(task->memory, memory, on_saved, task, &error))
        refuse_memory(task, &error);
}

static void on_answer(void *data, struct span answer, const char *failure)
{
    struct program_task *task = data;
    value message;
    struct error error;
    struct json_options options = {.max_depth = ANSWER_DEPTH};
    mcp_call_on_cancel(task->call, NULL, NULL);
    mcp_metric_add(task->tools->metrics.programs, 1);
    if (failure && strcmp(failure, "timeout") == 0) {
        program_task_time_out(task, true, "evaluation exceeded");
    } else if (failure) {
        tool_refuse(task->call, "worker-failed", "%s", failure);
    } else if (!json_read(mcp_call_region(task->call), answer, &options, &message, &error)) {
        tool_refuse(task->call, "result-too-large",
                    "the result cannot be read: %s (at most %d levels)", error.message,
                    ANSWER_DEPTH);
    } else if (!value_is_map(map_get(message, "step"))) {
        tool_refuse(task->call, "result-too-large",
                    "the result is larger than %d MiB, all that one answer holds", STEP_MAX >> 20);
    } else {
        finish(task, map_get(message, "step"), map_get(message, "memory"));
        return;
    }
    program_task_free(task);
}

// Ends the run without an answer of its own; its call is for the caller to reply to.
static void task_stop(struct program_task *task)
{
    if (task->ticket)
        program_cancel(task->tools->programs, task->ticket);
    if (task->is_waiting) {
        stop_timers(task);
        task->call = NULL;
    } else {
        program_task_free(task);
    }
}

static void on_cancel(struct mcp_call *call, void *data)
{
    task_stop(data);
    mcp_call_reply_failure(call, "cancelled", "The call was cancelled.");
}

// --- a run that takes long -----------------------------------------------------------------------

static void render_so_far(void *work, const struct running *running, struct mcp_call *call,
                          struct tool_result *result)
{
    const struct program_task *task = work;
    struct region *region = mcp_call_region(call);
    buffer_append_format(&result->text, "[Running] program %" PRId64 " goes on", task->number);
    if (task->tool_calls > 0) {
        buffer_append_text(&result->text, " (");
        render_counted(&result->text, (int64_t)task->tool_calls, "tool call");
        buffer_append_format(&result->text, ", last %s)", task->tool);
    }
    buffer_append_text(&result->text, ": ");
    running_append_wait(&result->text, running, "");
    value map = map_put_text(region, map_new(region), "ok", value_boolean(true));
    map = map_put_text(region, map, "program", value_integer(task->number));
    result->structured = map_put_text(region, map, "state", value_string_text(region, "running"));
}

static void interrupt(void *work)
{
    struct program_task *task = work;
    struct mcp_call *call = task->call;
    int64_t number = task->number;
    if (task->is_saving)
        return;  // the answer comes at once
    task_stop(task);
    tool_refuse(call, "interrupted", "Program %" PRId64 " was interrupted.", number);
}

static const struct running_kind programs = {
    .noun = "program", .render = render_so_far, .interrupt = interrupt};

static void on_yield(evutil_socket_t fd, short what, void *data)
{
    (void)fd;
    (void)what;
    struct program_task *task = data;
    if (!task->is_saving && !mcp_call_is_task(task->call))
        task->running = running_begin(task->tools, task->call, &programs, "", task->number, task);
}

static void on_progress(evutil_socket_t fd, short what, void *data)
{
    (void)fd;
    (void)what;
    struct program_task *task = data;
    char message[128];
    double seconds = (double)(clock_now_ms() - task->started_ms) / 1000;
    snprintf(message, sizeof(message), "%zu tool call%s, last %s", task->tool_calls,
             task->tool_calls == 1 ? "" : "s", task->tool);
    if (task->running)
        running_progress(task->running, seconds, message);
    else
        mcp_call_progress(task->call, seconds, MCP_NO_TOTAL, message);
}

static void note_tool(struct program_task *task, struct span name)
{
    task->tool_calls++;
    snprintf(task->tool, sizeof(task->tool), "%.*s", (int)(name.length < 60 ? name.length : 60),
             name.data);
    if (task->progress_timer)
        return;
    task->progress_timer = event_new(task->tools->base, -1, EV_PERSIST, on_progress, task);
    CHECK(task->progress_timer);
    struct timeval every = timeval_from_ms(PROGRESS_MS);
    event_add(task->progress_timer, &every);
}

static void on_tool(void *data, struct program_call *call, struct span name, struct span arguments)
{
    struct program_task *task = data;
    struct tools *tools = task->tools;
    note_tool(task, name);
    program_news_call(task, program_call_key(call), name, arguments);
    toolbox_call(tools->toolbox, &task->run, tools->sessions, program_pool_reaper(tools->programs),
                 call, name, arguments);
}

static void on_replied(void *data, uint64_t key, bool ok, struct span text)
{
    struct program_task *task = data;
    call_log_finish(task->run.log, key, ok, text);
    program_news_answered(task, key, ok, text);
}

bool program_task_read_yield(struct program_task *task)
{
    int64_t yield;
    if (!tool_integer(task->call, "yield", task->tools->yield, 0, YIELD_MAX_S, &yield))
        return false;
    if (yield == 0)
        return true;
    task->yield_timer = evtimer_new(task->tools->base, on_yield, task);
    CHECK(task->yield_timer);
    struct timeval wait = timeval_from_ms(yield * 1000);
    event_add(task->yield_timer, &wait);
    return true;
}

// --- starting ------------------------------------------------------------------------------------

void program_task_submit(struct program_task *task)
{
    CLEANUP_BUFFER struct buffer text;
    buffer_init(&text, PROGRAM_MESSAGE_MAX);
    json_write(&text, task->record, 0, NULL);
    struct program_request request = {
        .record = buffer_span(&text),
        .timeout_ms = task->timeout_ms,
        .client = task->tools,
        .flow = mcp_call_flow(task->call),
        .done = on_answer,
        .tool = on_tool,
        .replied = on_replied,
        .data = task,
    };
    task->ticket = text.failed ? 0 : program_submit(task->tools->programs, &request);
    if (task->ticket)
        return;
    mcp_call_on_cancel(task->call, NULL, NULL);
    if (text.failed)
        tool_refuse(task->call, "request-too-large", "the inputs are larger than 64 MiB");
    else
        tool_refuse(task->call, "busy", "%d programs are waiting already", PROGRAM_QUEUE_MAX);
    program_task_free(task);
}

// `memory` is the memory itself; `memory_name`, or a string for `memory`, names one that the server
// keeps.
static bool read_memory(struct program_task *task)
{
    value memory = mcp_call_argument(task->call, "memory");
    value name = mcp_call_argument(task->call, "memory_name");
    if (!value_is_nil(memory) && !value_is_nil(name)) {
        tool_refuse(task->call, "invalid-argument", "give memory or memory_name, not both");
        return false;
    }
    memory = value_is_nil(name) ? memory : name;
    if (value_is_map(memory))
        task->record =
            map_put_text(mcp_call_region(task->call), task->record, "memory", value_retain(memory));
    return !value_is_string(memory) || program_task_use_memory(task, value_text(memory));
}

bool program_task_use_memory(struct program_task *task, struct span name)
{
    struct tools *tools = task->tools;
    if (!session_name_valid(name)) {
        tool_refuse(task->call, "invalid-argument",
                    "A memory is named like a session: a-z, 0-9, '.', '_', '-'");
        return false;
    }
    size_t users = 0;
    const struct program_task *user;
    TAILQ_FOREACH (user, &tools->memory_users, link)
        users++;
    if (users >= PROGRAM_QUEUE_MAX) {
        tool_refuse(task->call, "memory-busy", "%d runs wait for their memories already",
                    PROGRAM_QUEUE_MAX);
        return false;
    }
    task->memory_name = memory_copy_text(name.data, name.length);
    TAILQ_INSERT_TAIL(&tools->memory_users, task, link);
    return true;
}

bool program_task_is_wanted(struct program_task *task)
{
    bool wanted = task->call != NULL;
    task->is_waiting = false;
    if (!wanted)
        program_task_free(task);
    return wanted;
}

static bool same_text(value a, value b)
{
    struct span left = value_is_string(a) ? value_text(a) : SPAN("{}");
    struct span right = value_is_string(b) ? value_text(b) : SPAN("{}");
    return span_equal(left, right) || left.length + right.length <= 2;
}

static bool check_same_memory(struct program_task *task, value content)
{
    bool same = same_text(map_get(task->record, "memory_data"), map_get(content, "data")) &&
                same_text(map_get(task->record, "definitions"), map_get(content, "definitions"));
    if (same)
        return true;
    mcp_call_on_cancel(task->call, NULL, NULL);
    tool_refuse(task->call, "memory-conflict",
                "the memory \"%s\" was changed while the run was paused; run the program again",
                task->memory_name);
    program_task_free(task);
    return false;
}

static void on_opened(void *data, const struct error *failure)
{
    struct program_task *task = data;
    if (!program_task_is_wanted(task))
        return;
    struct region *region = mcp_call_region(task->call);
    value content;
    struct error error;
    if (!failure && !named_memory_content(task->memory, region, &content, &error))
        failure = &error;
    if (failure) {
        refuse_memory(task, failure);
        return;
    }
    if (task->is_resumed && !check_same_memory(task, content))
        return;
    task->record = map_put_text(region, task->record, "keep", value_boolean(true));
    if (value_is_map(content)) {
        task->record = map_put_text(region, task->record, "memory_data",
                                    value_retain(map_get(content, "data")));
        task->record = map_put_text(region, task->record, "definitions",
                                    value_retain(map_get(content, "definitions")));
    }
    program_task_resolve(task);
}

static void task_begin(struct program_task *task)
{
    if (!task->memory_name) {
        program_task_resolve(task);
        return;
    }
    struct error error;
    task->memory = named_memory_open(task->tools->background, task->tools->memories,
                                     task->memory_name, on_opened, task, &error);
    task->is_waiting = task->memory != NULL;
    if (!task->memory)
        refuse_memory(task, &error);
}

// Servers may have to start.
static value add_default_timeout(struct program_task *task, value options)
{
    struct region *region = mcp_call_region(task->call);
    struct upstreams *upstreams = toolbox_upstreams(task->tools->toolbox);
    struct span program = map_get_string(task->record, "program");
    if (!value_is_nil(map_get(options, "timeout")) ||
        !(toolbox_upstream_is_used(upstreams, program) || saved_programs_are_named(program)))
        return options;
    return toolbox_put_server_limits(region, options);
}

// The worker checks the limits of a run; here only those that would hurt the server.
static bool read_options(struct program_task *task)
{
    value options = mcp_call_argument(task->call, "limits");
    options = add_default_timeout(
        task, value_is_map(options) ? value_retain(options) : map_new(mcp_call_region(task->call)));
    task->timeout_ms = map_get_integer(options, "timeout", TIMEOUT_DEFAULT_MS);
    if (task->timeout_ms < 0 || task->timeout_ms > TIMEOUT_MAX_MS) {
        tool_refuse(task->call, "invalid-argument",
                    "Value must be between 0 and %d: limits.timeout = %" PRId64, TIMEOUT_MAX_MS,
                    task->timeout_ms);
        return false;
    }
    int64_t memory = map_get_integer(options, "max_memory", 0);
    if (memory < 0 || memory > MEMORY_MAX) {
        tool_refuse(task->call, "invalid-argument",
                    "Value must be between 0 and %d: limits.max_memory = %" PRId64, MEMORY_MAX,
                    memory);
        return false;
    }
    task->record =
        map_put_text(mcp_call_region(task->call), task->record, "options", value_retain(options));
    return true;
}

static bool check_allowed(struct program_task *task, value allowed)
{
    for (size_t i = 0; value_is_vector(allowed) && i < vector_count(allowed); i++) {
        struct span name = value_text(vector_at(allowed, i));
        struct span rest;
        if (saved_programs_has_name(name) || toolbox_find(task->tools->toolbox, name) ||
            toolbox_upstream_find(toolbox_upstreams(task->tools->toolbox), name, &rest))
            continue;
        tool_refuse(task->call, "unknown-tool",
                    "There is no tool \"%.*s\" for programs; list-program-tools lists them",
                    (int)(name.length > 80 ? 80 : name.length), name.data);
        return false;
    }
    return true;
}

struct program_task *program_task_new(struct tools *tools, struct mcp_call *call)
{
    struct program_task *task = memory_alloc_zero(sizeof(*task));
    *task = (struct program_task){.tools = tools, .call = call, .record = value_nil()};
    task->number = ++tools->program_count;
    task->started_ms = clock_now_ms();
    toolbox_run_init(&task->run, mcp_call_region(call));
    bool refuses = tool_policies_refuse(toolbox_policies(tools->toolbox));
    task->run.may_pause = tools->memories && (!refuses || mcp_call_client_can(call, "elicitation"));
    return task;
}

void program_task_watch(struct program_task *task)
{
    mcp_call_on_cancel(task->call, on_cancel, task);
}

void program_task_start(struct program_task *task)
{
    program_news_started(task);
    if (!task->memory_name || next_user(task->tools, task->memory_name) == task)
        task_begin(task);
}

static void handle_run(struct mcp_call *call, void *data)
{
    static const char *const passed[] = {"context", "signature", "validation", NULL};
    struct tools *tools = data;
    struct region *region = mcp_call_region(call);
    if (program_pause_continue(tools, call))
        return;
    struct program_task *task = program_task_new(tools, call);
    task->run.is_dry = tool_flag(call, "dry_run");
    task->record = session_call_parameters(call, passed);
    task->record = map_put_text(region, task->record, "program",
                                value_retain(mcp_call_argument(call, "source")));
    value allowed = mcp_call_argument(call, "tools");
    task->record = map_put_text(region, task->record, "max_step_bytes", value_integer(STEP_MAX));
    if (read_options(task) && check_allowed(task, allowed) && read_memory(task) &&
        program_task_read_yield(task)) {
        program_task_watch(task);
        program_task_start(task);
    } else {
        program_task_free(task);
    }
}

static const struct tool program_tools[] = {
    {"run-program", MCP_TOOL_DESTRUCTIVE | MCP_TOOL_OPEN_WORLD, handle_run},
};

void tools_register_program(struct tools *tools)
{
    TAILQ_INIT(&tools->memory_users);
    TOOLS_ADD_ALL(tools, program_tools);
}
