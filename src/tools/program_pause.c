// resume-program, and runs that pause: a run that needs an answer is kept as a file (its program and
// inputs, the calls so far with their results), and goes on by being run anew with these results.
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/array.h"
#include "base/memory.h"
#include "tools/program/named_memory.h"
#include "tools/program/paused_file.h"
#include "tools/program/paused_run.h"
#include "tools/program_task.h"
#include "tools/tool_call.h"
#include "value/text/json.h"

enum { SHOWN_ARGUMENTS = 4000 };

struct resumption {
    struct program_task *task;
    struct paused_answer answer;
};

static char *directory_of(const struct tools *tools)
{
    return tools->memories ? memory_format("%s/paused", tools->memories) : NULL;
}

// --- pausing -------------------------------------------------------------------------------------

static value until_text(struct region *region)
{
    char text[32];
    struct tm parts;
    time_t until = time(NULL) + (time_t)PAUSED_DAYS * 86400;
    gmtime_r(&until, &parts);
    strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &parts);
    return value_string_text(region, text);
}

// What a client is told: {call, token, until}.
static value public_paused(struct program_task *task, value paused, const char *token)
{
    struct region *region = mcp_call_region(task->call);
    struct paused_file file = paused_file_of(region, paused, task->record);
    value call = value_retain(file.call);
    if (paused_file_is_unknown(&file, &task->run))
        call = map_put_text(region, call, "state", value_string_text(region, "unknown"));
    value map = map_put_text(region, map_new(region), "call", call);
    map = map_put_text(region, map, "token", value_string_text(region, token));
    return map_put_text(region, map, "until", until_text(region));
}

// The exact call, so that the person knows what is allowed.
static void describe_question(struct buffer *text, value paused)
{
    value call = map_get(paused, "call");
    struct span name = map_get_string(call, "name");
    bool unknown = map_get_string(call, "state").length > 0;
    CLEANUP_BUFFER struct buffer arguments;
    buffer_init(&arguments, BUFFER_DEFAULT_LIMIT);
    json_write(&arguments, map_get(call, "args"), 0, NULL);
    buffer_append_format(
        text,
        unknown ? "It is not known whether this call of a program was made. Make it (again)?\n%.*s "
                : "A program wants to make this call. Allow it?\n%.*s ",
        (int)name.length, name.data);
    size_t shown = arguments.length < SHOWN_ARGUMENTS ? arguments.length : SHOWN_ARGUMENTS;
    buffer_append(text, arguments.data, shown);
    if (shown < arguments.length)
        buffer_append_format(text, "… (%zu bytes)", arguments.length);
}

static const char question_schema[] =
    "{\"type\":\"object\",\"properties\":{\"answer\":{\"type\":\"string\",\"title\":\"Allow it?\","
    "\"enum\":[\"once\",\"all\",\"refuse\"],\"enumNames\":[\"This call\",\"All calls of this tool "
    "in this run\",\"No\"]}},\"required\":[\"answer\"]}";

static void question_key(struct span token, char key[16])
{
    snprintf(key, 16, "run-%.8s", token.data);
}

// Asks the person, and lets the handler run again with the answer.
static void ask(struct program_task *task, value paused)
{
    struct mcp_call *call = task->call;
    CLEANUP_BUFFER struct buffer text;
    buffer_init(&text, BUFFER_DEFAULT_LIMIT);
    describe_question(&text, paused);
    char key[16];
    value answer;
    question_key(map_get_string(paused, "token"), key);
    mcp_call_set_state(call, value_retain(paused));
    mcp_call_need_form(call, key, buffer_text(&text), question_schema, &answer);
    program_task_free(task);
    mcp_call_ask(call);
}

static void on_stored(void *data, const char *token, struct span text, const struct error *failure)
{
    (void)text;
    struct program_task *task = data;
    if (!program_task_is_wanted(task))
        return;
    if (failure) {
        tool_refuse(task->call, "pause-failed", "the run cannot be kept: %s", failure->message);
        program_task_free(task);
        return;
    }
    struct region *region = mcp_call_region(task->call);
    value paused = public_paused(task, map_get(task->step, "paused"), token);
    if (!task->running && mcp_call_client_can(task->call, "elicitation")) {
        ask(task, paused);
        return;
    }
    program_task_reply(task, map_put_text(region, task->step, "paused", paused));
    program_task_free(task);
}

void program_pause(struct program_task *task, value step)
{
    struct error error;
    struct buffer text;
    buffer_init(&text, PAUSED_FILE_MAX);
    struct region *region = mcp_call_region(task->call);
    struct paused_file file = paused_file_of(region, map_get(step, "paused"), task->record);
    file.timeout_ms = task->timeout_ms;
    if (task->memory_name)
        file.memory_name = span_from(task->memory_name);
    paused_file_write(&file, &task->run, region, &text);
    task->step = value_retain(step);
    task->is_waiting = true;
    CLEANUP_FREE char *directory = directory_of(task->tools);
    bool ok = !text.failed && directory &&
              paused_run_store(task->tools->background, directory, &text, on_stored, task, &error);
    if (ok)
        return;
    buffer_release(&text);
    tool_refuse(task->call, "pause-failed", "the run cannot be kept: %s",
                directory ? "it is too large" : "there is no directory for it");
    program_task_free(task);
}

// --- resuming ------------------------------------------------------------------------------------

static bool read_file(struct resumption *resumption, struct span text)
{
    struct program_task *task = resumption->task;
    struct paused_file file;
    task->is_resumed = true;
    if (!paused_file_read(&file, &task->run, mcp_call_region(task->call), text))
        return false;
    task->record = value_retain(file.record);
    task->timeout_ms = file.timeout_ms;
    paused_file_answer(&file, &task->run, &resumption->answer);
    if (file.memory_name.length)
        task->memory_name = memory_copy_text(file.memory_name.data, file.memory_name.length);
    return true;
}

static void on_claimed(void *data, const char *token, struct span text, const struct error *failure)
{
    (void)token;
    struct resumption resumption = *(struct resumption *)data;
    struct program_task *task = resumption.task;
    memory_free(data);
    if (!program_task_is_wanted(task))
        return;
    mcp_call_on_cancel(task->call, NULL, NULL);
    if (failure || !read_file(&resumption, text)) {
        tool_refuse(task->call, "unknown-run", "%s",
                    failure ? failure->message : "the paused run is of another version of Cadre");
        program_task_free(task);
        return;
    }
    char *name = task->memory_name;
    task->memory_name = NULL;
    bool ok = !name || program_task_use_memory(task, span_from(name));
    memory_free(name);
    if (!ok) {
        program_task_free(task);
        return;
    }
    program_task_watch(task);
    program_task_start(task);
}

static void resume(struct tools *tools, struct mcp_call *call, struct span token,
                   struct paused_answer answer)
{
    struct program_task *task = program_task_new(tools, call);
    if (!program_task_read_yield(task)) {
        program_task_free(task);
        return;
    }
    struct resumption *resumption = memory_alloc_zero(sizeof(*resumption));
    *resumption = (struct resumption){.task = task, .answer = answer};
    struct error error = {.message = "there is no directory for paused runs"};
    CLEANUP_FREE char *directory = directory_of(tools);
    task->is_waiting = true;
    bool begun = directory && paused_run_claim(tools->background, directory, token, on_claimed,
                                               resumption, &error);
    if (begun) {
        program_task_watch(task);
        return;
    }
    memory_free(resumption);
    tool_refuse(call, "unknown-run", "%s", error.message);
    task->is_waiting = false;
    program_task_free(task);
}

static void handle_resume(struct mcp_call *call, void *data)
{
    struct tools *tools = data;
    if (program_pause_continue(tools, call))
        return;
    struct paused_answer answer;
    if (paused_answer_read(mcp_call_argument(call, "approve"), mcp_call_argument(call, "results"),
                           &answer))
        resume(tools, call, value_text(mcp_call_argument(call, "run")), answer);
    else
        tool_refuse(call, "invalid-argument",
                    "give `approve` (yes, no, all) or `results` ([{\"value\": …}] or "
                    "[{\"error\": \"…\"}])");
}

static enum paused_answer_kind read_form(value answer)
{
    struct span chosen = map_get_string(map_get(answer, "content"), "answer");
    if (!span_equal_text(map_get_string(answer, "action"), "accept"))
        return ANSWER_REFUSE;
    return span_equal_text(chosen, "all")    ? ANSWER_ALL
           : span_equal_text(chosen, "once") ? ANSWER_ONCE
                                             : ANSWER_REFUSE;
}

bool program_pause_continue(struct tools *tools, struct mcp_call *call)
{
    value paused = mcp_call_state(call), answer;
    struct span token = value_is_map(paused) ? map_get_string(paused, "token") : (struct span){0};
    if (!token.length)
        return false;
    char key[16];
    question_key(token, key);
    CLEANUP_BUFFER struct buffer text;
    buffer_init(&text, BUFFER_DEFAULT_LIMIT);
    describe_question(&text, paused);
    if (mcp_call_need_form(call, key, buffer_text(&text), question_schema, &answer))
        resume(tools, call, token,
               (struct paused_answer){.kind = read_form(answer), .given = value_nil()});
    else
        mcp_call_ask(call);
    return true;
}

static const struct tool resume_tool = {"resume-program",
                                        MCP_TOOL_DESTRUCTIVE | MCP_TOOL_OPEN_WORLD, handle_resume};

// The text of a paused run names it, so every set needs it where runs may pause.
void tools_register_program_pause(struct tools *tools)
{
    if (tools->toolbox && toolbox_may_pause(tools->toolbox))
        tools_add_to_all_sets(tools, &resume_tool, tools);
    else
        tools_add(tools, &resume_tool, tools);
}
