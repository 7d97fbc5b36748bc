// resume-program, and runs that pause: a run that needs an answer is kept as a file (its program and
// inputs, the calls so far with their results), and goes on by being run anew with these results.
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/array.h"
#include "base/memory.h"
#include "tools/program/named_memory.h"
#include "tools/program/paused_run.h"
#include "tools/program_task.h"
#include "tools/tool_call.h"
#include "value/text/json.h"

enum { FILE_VERSION = 1, FILE_DEPTH = 10000, SHOWN_ARGUMENTS = 4000, KEY_DIGITS = 16 };

// What the call that a run waits for is answered with.
enum answer_kind { ANSWER_ONCE, ANSWER_ALL, ANSWER_REFUSE, ANSWER_VALUE, ANSWER_ERROR };

struct resumption {
    struct program_task *task;
    enum answer_kind kind;
    value answer;  // VALUE: any; ERROR: string
};

static char *directory_of(const struct tools *tools)
{
    return tools->memories ? memory_format("%s/paused", tools->memories) : NULL;
}

static uint64_t read_key(struct span digits)
{
    char text[KEY_DIGITS + 1] = {0};
    if (digits.length == KEY_DIGITS)
        memcpy(text, digits.data, KEY_DIGITS);
    return strtoull(text, NULL, 16);
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

// The record that leads to the same place: random numbers and the clock are as they were.
static value record_again(const struct program_task *task, value paused)
{
    struct region *region = mcp_call_region(task->call);
    value options = map_get(task->record, "options");
    options = value_is_map(options) ? value_retain(options) : map_new(region);
    options = map_put_text(region, options, "seed", value_retain(map_get(paused, "seed")));
    value record = map_put_text(region, value_retain(task->record), "options", options);
    return map_put_text(region, record, "clock", value_retain(map_get(paused, "clock")));
}

static bool is_unfinished(const struct program_task *task, value paused)
{
    return call_log_find(task->run.log, read_key(map_get_string(paused, "key"))) != NULL;
}

static void write_file(const struct program_task *task, value paused, struct buffer *text)
{
    struct region *region = mcp_call_region(task->call);
    value head = map_put_text(region, map_new(region), "version", value_integer(FILE_VERSION));
    head = map_put_text(region, head, "record", record_again(task, paused));
    head = map_put_text(region, head, "call", value_retain(map_get(paused, "call")));
    head = map_put_text(region, head, "key", value_retain(map_get(paused, "key")));
    head = map_put_text(region, head, "timeout_ms", value_integer(task->timeout_ms));
    head = map_put_text(region, head, "number", value_integer(task->number));
    head = map_put_text(region, head, "dry_run", value_boolean(task->run.is_dry));
    head = map_put_text(region, head, "approved", value_retain(task->run.approved));
    head = map_put_text(region, head, "approved_all", value_retain(task->run.approved_all));
    if (task->memory_name)
        head =
            map_put_text(region, head, "memory_name", value_string_text(region, task->memory_name));
    buffer_append_text(text, "{\"head\":");
    json_write(text, head, 0, NULL);
    buffer_append_text(text, ",\"calls\":");
    call_log_write(task->run.log, text);
    buffer_append_text(text, "}\n");
}

// What a client is told: {call, token, until}.
static value public_paused(struct program_task *task, value paused, const char *token)
{
    struct region *region = mcp_call_region(task->call);
    value call = value_retain(map_get(paused, "call"));
    if (is_unfinished(task, paused))
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
    write_file(task, map_get(step, "paused"), &text);
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

static void answer_call(struct resumption *resumption, value head)
{
    struct toolbox_run *run = &resumption->task->run;
    uint64_t key = read_key(map_get_string(head, "key"));
    value call = map_get(head, "call");
    struct span name = map_get_string(call, "name");
    if (resumption->kind == ANSWER_ONCE || resumption->kind == ANSWER_ALL) {
        toolbox_run_approve(run, key);
        if (resumption->kind == ANSWER_ALL)
            run->approved_all =
                vector_push(run->region, run->approved_all, value_string(run->region, name));
        return;
    }
    CLEANUP_BUFFER struct buffer arguments, text;
    buffer_init(&arguments, BUFFER_DEFAULT_LIMIT);
    buffer_init(&text, BUFFER_DEFAULT_LIMIT);
    json_write(&arguments, map_get(call, "args"), 0, NULL);
    if (resumption->kind == ANSWER_VALUE)
        json_write(&text, resumption->answer, 0, NULL);
    else if (resumption->kind == ANSWER_ERROR)
        buffer_append_span(&text, value_text(resumption->answer));
    else
        buffer_append_text(&text, "a person refused this call");
    call_log_start(run->log, key, name, buffer_span(&arguments), false);
    call_log_finish(run->log, key, resumption->kind == ANSWER_VALUE, buffer_span(&text));
}

static bool read_file(struct resumption *resumption, struct span text)
{
    struct program_task *task = resumption->task;
    struct region *region = mcp_call_region(task->call);
    struct json_options options = {.max_depth = FILE_DEPTH};
    struct error error;
    value file;
    if (!json_read(region, text, &options, &file, &error) || !value_is_map(file))
        return false;
    value head = map_get(file, "head"), approved = map_get(head, "approved");
    value approved_all = map_get(head, "approved_all");
    task->record = value_retain(map_get(head, "record"));
    task->timeout_ms = map_get_integer(head, "timeout_ms", 0);
    task->run.is_dry = map_get_boolean(head, "dry_run");
    task->is_resumed = true;
    if (value_is_vector(approved))
        task->run.approved = value_retain(approved);
    if (value_is_vector(approved_all))
        task->run.approved_all = value_retain(approved_all);
    if (map_get_integer(head, "version", 0) != FILE_VERSION || !value_is_map(task->record) ||
        !call_log_read(task->run.log, map_get(file, "calls")))
        return false;
    answer_call(resumption, head);
    struct span memory = map_get_string(head, "memory_name");
    task->memory_name = memory.length ? memory_copy_text(memory.data, memory.length) : NULL;
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
                   enum answer_kind kind, value answer)
{
    struct program_task *task = program_task_new(tools, call);
    if (!program_task_read_yield(task)) {
        program_task_free(task);
        return;
    }
    struct resumption *resumption = memory_alloc_zero(sizeof(*resumption));
    *resumption = (struct resumption){.task = task, .kind = kind, .answer = answer};
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

// {"approve": "yes" | "no" | "all"}, or a boolean
static bool read_approval(value approve, enum answer_kind *ret_kind)
{
    struct span word = value_is_string(approve) ? value_text(approve) : (struct span){0};
    bool is_all = span_equal_text(word, "all"), is_no = span_equal_text(word, "no");
    bool is_yes = span_equal_text(word, "yes") || value_is_true(approve);
    *ret_kind = is_all ? ANSWER_ALL : is_yes ? ANSWER_ONCE : ANSWER_REFUSE;
    return is_all || is_no || span_equal_text(word, "yes") || approve.tag == VALUE_BOOLEAN;
}

// {"results": [{"value": …}]} or {"results": [{"error": "…"}]}
static bool read_result(value results, enum answer_kind *ret_kind, value *ret_answer)
{
    value result = value_is_vector(results) && vector_count(results) == 1 ? vector_at(results, 0)
                                                                          : value_nil();
    if (!value_is_map(result))
        return false;
    *ret_kind = ANSWER_VALUE;
    if (map_find_text(result, "value", ret_answer))
        return true;
    *ret_kind = ANSWER_ERROR;
    return map_find_text(result, "error", ret_answer) && value_is_string(*ret_answer);
}

static void handle_resume(struct mcp_call *call, void *data)
{
    struct tools *tools = data;
    if (program_pause_continue(tools, call))
        return;
    value approve = mcp_call_argument(call, "approve"),
          results = mcp_call_argument(call, "results");
    value token = mcp_call_argument(call, "run"), answer = value_nil();
    enum answer_kind kind;
    bool ok = value_is_nil(results) ? read_approval(approve, &kind)
                                    : value_is_nil(approve) && read_result(results, &kind, &answer);
    if (ok)
        resume(tools, call, value_text(token), kind, answer);
    else
        tool_refuse(call, "invalid-argument",
                    "give `approve` (yes, no, all) or `results` ([{\"value\": …}] or "
                    "[{\"error\": \"…\"}])");
}

static enum answer_kind read_form(value answer)
{
    struct span chosen = map_get_string(map_get(answer, "content"), "answer");
    if (!span_equal_text(map_get_string(answer, "action"), "accept") ||
        span_equal_text(chosen, "refuse"))
        return ANSWER_REFUSE;
    return span_equal_text(chosen, "all") ? ANSWER_ALL : ANSWER_ONCE;
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
        resume(tools, call, token, read_form(answer), value_nil());
    else
        mcp_call_ask(call);
    return true;
}

static const struct tool resume_tool = {"resume-program",
                                        MCP_TOOL_DESTRUCTIVE | MCP_TOOL_OPEN_WORLD, handle_resume};

// The text of a paused run names it. Tools of servers are asked about by default, so where there are
// some every set needs it.
void tools_register_program_pause(struct tools *tools)
{
    if (tools->toolbox && toolbox_upstreams(tools->toolbox))
        tools_add_to_all_sets(tools, &resume_tool, tools);
    else
        tools_add(tools, &resume_tool, tools);
}
