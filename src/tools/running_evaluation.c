// Calls of sessions that were answered early: what they do, and the input that their code reads. An
// evaluation has a number of its own; other calls get one when they are answered early.
#include <inttypes.h>
#include <string.h>

#include "base/array.h"
#include "base/utf8.h"
#include "tools/result/result_structured.h"
#include "tools/result/result_text.h"
#include "tools/running.h"

static const char *state_of(const struct session_call *run)
{
    struct session_progress progress = {.queued = true};
    if (run->waits_for_input)
        return "input";
    session_progress(run->tools->sessions, run->ticket, &progress);
    return progress.queued ? "queued" : "running";
}

static const char *noun_of(const struct session_call *run)
{
    return run->is_evaluation ? "evaluation" : "job";
}

// 0: it has been answered.
static int64_t number_of(const struct session_call *run)
{
    return run->is_evaluation ? session_evaluation_number(run->tools->sessions, run->ticket)
                              : run->number;
}

static void append_state(struct buffer *text, const struct session_call *run,
                         const struct running *running)
{
    static const struct {
        const char *state, *heading, *does;
    } states[] = {{"input", "Waiting for input", "reads"},
                  {"queued", "Queued", "waits for its turn"},
                  {"running", "Running", "goes on"}};
    const char *state = state_of(run);
    bool waits = strcmp(state, "input") == 0;
    size_t i = 0;
    while (strcmp(states[i].state, state) != 0)
        i++;
    buffer_append_format(text, "%s[%s] %s %" PRId64 " %s: ", text->length ? "\n\n" : "",
                         states[i].heading, noun_of(run), number_of(run), states[i].does);
    running_append_wait(text, running, waits ? ", \"input\": \"…\\n\"" : "");
}

// How far a run of tests is.
static void append_tests(struct buffer *text, const struct session_call *run)
{
    struct session_progress progress = {.queued = true};
    session_progress(run->tools->sessions, run->ticket, &progress);
    if (progress.queued || progress.tests.total == 0)
        return;
    render_gap(text);
    buffer_append_format(text, "%" PRId64 " of %" PRId64 " tests run, %" PRId64 " failed",
                         progress.tests.done, progress.tests.total, progress.tests.failed);
}

static void render_so_far(void *work, const struct running *running, struct mcp_call *call,
                          struct tool_result *result)
{
    static const char *const headings[SESSION_STREAM_COUNT] = {"stdout", "stderr"};
    struct session_call *run = work;
    struct region *region = mcp_call_region(call);
    struct buffer texts[SESSION_STREAM_COUNT];
    for (size_t i = 0; i < COUNT_OF(texts); i++)
        buffer_init(&texts[i], BUFFER_DEFAULT_LIMIT);
    session_move_output(run->tools->sessions, run->ticket, texts);
    value map = structured_start(region, tool_session_name(run->call));
    map = map_put_text(region, map, noun_of(run), value_integer(number_of(run)));
    map = map_put_text(region, map, "state", value_string_text(region, state_of(run)));
    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        render_section(&result->text, headings[i], buffer_span(&texts[i]));
        if (texts[i].length)
            map = map_put_text(region, map, headings[i],
                               value_string(region, buffer_span(&texts[i])));
        buffer_release(&texts[i]);
    }
    append_tests(&result->text, run);
    append_state(&result->text, run, running);
    result->structured = map;
    session_call_truncate(call, result);
}

static void interrupt(void *work)
{
    const struct session_call *run = work;
    session_interrupt(run->tools->sessions, run->ticket);
}

static bool accept_input(void *work, struct mcp_call *call)
{
    struct session_call *run = work;
    value input = mcp_call_argument(call, "input");
    if (!value_is_string(input))
        return true;
    if (run->input.length + value_text(input).length > SESSION_INPUT_MAX) {
        tool_refuse(call, "invalid-argument", "More than 1 MiB of input waits to be read.");
        return false;
    }
    buffer_append_span(&run->input, value_text(input));
    if (run->waits_for_input)
        running_give_input(run);
    return true;
}

static bool waits_for_input(const void *work)
{
    return ((const struct session_call *)work)->waits_for_input;
}

static const struct running_kind evaluations = {
    .noun = "evaluation",
    .render = render_so_far,
    .interrupt = interrupt,
    .accept_input = accept_input,
    .waits_for_input = waits_for_input,
};

static const struct running_kind other_jobs = {
    .noun = "job",
    .render = render_so_far,
    .interrupt = interrupt,
};

void running_yield(struct session_call *run)
{
    struct tools *tools = run->tools;
    if (run->running || mcp_call_is_task(run->call))
        return;
    if (!run->is_evaluation)
        run->number = ++tools->call_count;
    if (number_of(run) == 0)
        return;
    run->running = running_begin(tools, run->call, run->is_evaluation ? &evaluations : &other_jobs,
                                 tool_session_name(run->call), number_of(run), run);
}

void running_give_input(struct session_call *run)
{
    struct session_manager *sessions = run->tools->sessions;
    if (run->input.length > 0) {
        size_t length =
            run->input.length < SESSION_INPUT_MAX ? run->input.length : SESSION_INPUT_MAX;
        length = utf8_cut(run->input.data, length);
        session_give_input(sessions, run->ticket, (struct span){run->input.data, length});
        buffer_consume(&run->input, length);
        run->waits_for_input = false;
    } else if (!run->interactive) {
        session_end_input(sessions, run->ticket);
        run->waits_for_input = false;
    }
}

void running_on_input(struct session_call *run)
{
    run->waits_for_input = true;
    running_give_input(run);
    if (!run->waits_for_input)
        return;
    running_yield(run);
    if (run->running)
        running_answer_waiters(run->running);
}
