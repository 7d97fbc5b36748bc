// Calls of tools on behalf of a program: Lisp functions in a session, commands as processes, tools of
// the user's MCP servers.
#include <stdio.h>
#include <string.h>

#include "base/buffer.h"
#include "base/memory.h"
#include "process/command.h"
#include "program/run/tool.h"
#include "tools/program/toolbox.h"
#include "tools/program/toolbox_run.h"
#include "tools/program/toolbox_upstream.h"
#include "value/text/json.h"

// One call under way: a ticket of the sessions, a command, or a server's task.
struct pending {
    const struct toolbox_tool *tool;
    struct program_call *call;
    struct session_manager *sessions;
    uint64_t ticket;
    struct command *command;
    struct toolbox_run *run;  // of a command
    struct upstream_task *upstream;
};

static void fail(struct program_call *call, const char *reason)
{
    program_call_reply(call, false, span_from(reason));
}

// The run ended first: stop the work; the reply is discarded.
static void on_run_end(void *data)
{
    struct pending *pending = data;
    if (pending->command)
        command_cancel(pending->command);
    else if (pending->upstream)
        upstream_cancel(pending->upstream);
    else
        session_cancel(pending->sessions, pending->ticket);
    fail(pending->call, "the run is over");
    memory_free(pending);
}

static struct pending *begin(const struct toolbox_tool *tool, struct program_call *call,
                             struct session_manager *sessions)
{
    struct pending *pending = memory_alloc_zero(sizeof(*pending));
    *pending = (struct pending){.tool = tool, .call = call, .sessions = sessions};
    program_call_set_data(call, pending);
    program_call_on_end(call, on_run_end);
    return pending;
}

// --- Lisp functions ------------------------------------------------------------------------------

// Failures of programs are one line.
static void put_on_one_line(struct buffer *text)
{
    for (size_t i = 0; i < text->length; i++)
        if (text->data[i] == '\n')
            text->data[i] = ' ';
}

// "DIVISION-BY-ZERO: arithmetic error …" and the first frames: what a model needs to go on.
static void describe_condition(struct buffer *text, value error)
{
    enum { FRAMES = 3 };
    struct span type = map_get_string(error, "type");
    buffer_append_span(text, type.length ? type : map_get_string(error, "code"));
    buffer_append_text(text, ": ");
    buffer_append_span(text, map_get_string(error, "message"));
    for (size_t i = 0; i < map_get_count(error, "frames") && i < FRAMES; i++) {
        buffer_append_text(text, i ? ", " : " in ");
        buffer_append_span(text, map_get_string(map_get_item(error, "frames", i), "call"));
    }
    put_on_one_line(text);
}

void toolbox_describe_missing(struct buffer *text, const struct toolbox_tool *tool, value answer)
{
    buffer_append_format(text, "%s: ", tool->function);
    buffer_append_span(text, map_get_string(answer, "message"));
    put_on_one_line(text);
}

static void on_lisp_reply(void *data, const struct session_reply *reply)
{
    struct pending *pending = data;
    struct program_call *call = pending->call;
    const struct toolbox_tool *tool = pending->tool;
    memory_free(pending);
    bool found = reply->ok && map_get_boolean(reply->result, "found");
    CLEANUP_BUFFER struct buffer text;
    buffer_init(&text, PROGRAM_MESSAGE_MAX);
    if (found)
        json_write(&text, map_get(reply->result, "value"), 0, NULL);
    else if (reply->ok)
        toolbox_describe_missing(&text, tool, reply->result);
    else
        describe_condition(&text, reply->error);
    program_call_reply(call, found, buffer_span(&text));
}

static void call_lisp(const struct toolbox_tool *tool, struct session_manager *sessions,
                      struct program_call *call, struct span arguments)
{
    struct region *region = region_new(SIZE_MAX);
    value map;
    struct error error;
    struct json_options options = {.max_depth = TOOL_RESULT_DEPTH};
    if (!json_read(region, arguments, &options, &map, &error)) {
        fail(call, error.message);
        region_free(region);
        return;
    }
    value params = toolbox_function_params(region, tool);
    params = map_put_text(region, params, "arguments", map);
    struct pending *pending = begin(tool, call, sessions);
    struct session_request request = {
        .session = tool->session,
        .kind = SESSION_EVALUATE,
        .create = true,
        .op = "call-function",
        .params = params,
        .label = tool->function,
        .timeout = -1,
        .reply = on_lisp_reply,
        .data = pending,
    };
    pending->ticket = session_submit(sessions, &request);
    region_free(region);
}

static bool may_pause(const struct toolbox_run *run)
{
    return run->may_pause && !call_log_is_full(run->log);
}

// --- commands ------------------------------------------------------------------------------------

// The output must be one JSON value; it is passed on as it was written.
static void reply_output(struct program_call *call, struct span output)
{
    struct region *region = region_new(SIZE_MAX);
    value v;
    struct error error;
    struct json_options options = {.max_depth = TOOL_RESULT_DEPTH, .borrow = true};
    if (json_read(region, output, &options, &v, &error)) {
        program_call_reply(call, true, output);
    } else {
        char reason[ERROR_MESSAGE_SIZE + 64];
        snprintf(reason, sizeof(reason), "its output is not JSON: %s (line %u, column %u)",
                 error.message, error.line, error.column);
        fail(call, reason);
    }
    region_free(region);
}

static void on_command_done(void *data, const struct command_result *result)
{
    struct pending *pending = data;
    struct program_call *call = pending->call;
    struct toolbox_run *run = pending->run;
    memory_free(pending);
    if (result->is_pending && may_pause(run)) {
        call_log_wait(run->log, program_call_key(call));
        program_call_pause(call);
    } else if (result->ok) {
        reply_output(call, result->output);
    } else {
        fail(call, result->reason);
    }
}

static void call_command(const struct toolbox_tool *tool, struct toolbox_run *run,
                         struct reaper *reaper, struct program_call *call, struct span arguments)
{
    struct pending *pending = begin(tool, call, NULL);
    pending->run = run;
    struct command_request request = {
        .argv = tool->argv,
        .pass = tool->pass,
        .input = arguments,
        .timeout_ms = tool->timeout_ms,
        .max_output = tool->max_output,
        .done = on_command_done,
        .data = pending,
    };
    int failed = command_start(reaper, &request, &pending->command);
    if (failed < 0) {
        program_call_on_end(call, NULL);
        memory_free(pending);
        fail(call, strerror(-failed));
    }
}

// --- tools of servers ----------------------------------------------------------------------------

static void on_upstream_done(void *data, const struct upstream_outcome *outcome)
{
    struct pending *pending = data;
    struct program_call *call = pending->call;
    program_call_on_end(call, NULL);
    memory_free(pending);
    if (outcome->ok) {
        program_call_reply(call, true, outcome->text);
        return;
    }
    CLEANUP_BUFFER struct buffer text;
    buffer_init(&text, PROGRAM_MESSAGE_MAX);
    buffer_append_span(&text, outcome->text);
    put_on_one_line(&text);
    program_call_reply(call, false, buffer_span(&text));
}

static void call_upstream(const struct toolbox *toolbox, struct program_call *call,
                          struct span name, struct span arguments)
{
    struct span tool_name;
    struct upstream_server *server =
        toolbox_upstream_find(toolbox_upstreams(toolbox), name, &tool_name);
    const struct upstream_tool *tool =
        server ? upstream_catalog_find(upstream_catalog(server), tool_name) : NULL;
    if (!tool) {
        fail(call, "there is no such tool");
        return;
    }
    struct pending *pending = begin(NULL, call, NULL);
    struct upstream_task *task =
        upstream_call(server, tool->name, arguments, 0, on_upstream_done, pending);
    if (task)
        pending->upstream = task;  // otherwise it is answered, and gone
}

// --- admission -----------------------------------------------------------------------------------

// A call of an earlier run of the same program, up to its pause, is answered as it was then. True: it is
// answered.
static bool answer_from_log(struct toolbox_run *run, struct program_call *call, struct span name,
                            struct span arguments)
{
    const struct logged_call *logged = call_log_find(run->log, program_call_key(call));
    if (!logged)
        return false;
    if (!span_equal(logged->name, name) || !span_equal(logged->arguments, arguments)) {
        fail(call, "the program goes another way than before it paused");
        return true;
    }
    if (logged->is_finished)
        program_call_reply(call, logged->ok, logged->text);
    return logged->is_finished;
}

static void refuse(struct program_call *call, const struct tool_verdict *verdict)
{
    char reason[256];
    if (verdict->permission == PERMISSION_DENY)
        snprintf(reason, sizeof(reason), "the policy %.100s denies it",
                 verdict->rule ? verdict->rule : "");
    else
        snprintf(reason, sizeof(reason),
                 "it needs the approval of a person, and nobody can be asked here; a policy in the "
                 "configuration can allow it");
    fail(call, reason);
}

static void add_dry_write(struct toolbox_run *run, struct span name, struct span arguments)
{
    value args, write = map_put_text(run->region, map_new(run->region), "name",
                                     value_string(run->region, name));
    struct error error;
    struct json_options options = {.max_depth = TOOL_RESULT_DEPTH};
    if (json_read(run->region, arguments, &options, &args, &error))
        write = map_put_text(run->region, write, "args", args);
    run->dry_writes = vector_push(run->region, run->dry_writes, write);
}

// The one place where calls are let through. False: it is answered, or the run pauses.
static bool admit(const struct toolbox *toolbox, struct toolbox_run *run, struct program_call *call,
                  struct span name, struct span arguments)
{
    uint64_t key = program_call_key(call);
    struct tool_facts facts = toolbox_upstream_facts(toolbox_upstreams(toolbox), name);
    char local[UPSTREAM_TOOL_NAME_MAX + 8];
    if (facts.is_local) {
        int length = snprintf(local, sizeof(local), "tool/%.*s", (int)name.length, name.data);
        facts.name = (struct span){local, (size_t)length < sizeof(local) ? (size_t)length
                                                                         : sizeof(local) - 1};
    }
    struct tool_policies *policies = toolbox_policies(toolbox);
    struct tool_verdict verdict = tool_policies_judge(policies, &facts);
    bool is_write = verdict.effect == EFFECT_WRITE;
    const struct logged_call *begun = call_log_find(run->log, key);
    bool unfinished = is_write && begun && !begun->is_pending;
    bool is_approved = unfinished ? toolbox_run_has_approved_call(run, key)
                                  : toolbox_run_has_approved(run, name, key);
    if (verdict.permission == PERMISSION_DENY) {
        refuse(call, &verdict);
        return false;
    }
    if (run->is_dry && is_write) {
        add_dry_write(run, name, arguments);
        program_call_reply(call, true, SPAN("null"));
        return false;
    }
    if ((verdict.permission == PERMISSION_ASK || unfinished) && !is_approved) {
        if (may_pause(run))
            program_call_pause(call);
        else
            refuse(call, &verdict);
        return false;
    }
    if (is_approved) {
        tool_policies_approve(policies, &facts);
        toolbox_run_use_approval(run, key);
    }
    call_log_start(run->log, key, name, arguments, is_write);
    return true;
}

void toolbox_call(const struct toolbox *toolbox, struct toolbox_run *run,
                  struct session_manager *sessions, struct reaper *reaper,
                  struct program_call *call, struct span name, struct span arguments)
{
    if (answer_from_log(run, call, name, arguments) || !admit(toolbox, run, call, name, arguments))
        return;
    const struct toolbox_tool *tool = toolbox_find(toolbox, name);
    if (tool && tool->kind == TOOLBOX_LISP)
        call_lisp(tool, sessions, call, arguments);
    else if (tool && tool->kind == TOOLBOX_COMMAND)
        call_command(tool, run, reaper, call, arguments);
    else
        call_upstream(toolbox, call, name, arguments);
}
