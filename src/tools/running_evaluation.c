// Evaluations whose call was answered early: what they do, and the input that they read.
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

static void append_state(struct buffer *text, const struct session_call *run,
                         const struct running *running, int64_t evaluation)
{
    const char *state = state_of(run);
    bool waits = strcmp(state, "input") == 0;
    buffer_append_text(text, text->length ? "\n\n" : "");
    if (waits)
        buffer_append_format(text,
                             "[Waiting for input] evaluation %" PRId64 " reads: ", evaluation);
    else if (strcmp(state, "queued") == 0)
        buffer_append_format(text,
                             "[Queued] evaluation %" PRId64 " waits for its turn: ", evaluation);
    else
        buffer_append_format(text, "[Running] evaluation %" PRId64 " goes on: ", evaluation);
    running_append_wait(text, running, waits ? ", \"input\": \"…\\n\"" : "");
}

static void render_so_far(void *work, const struct running *running, struct mcp_call *call,
                          struct tool_result *result)
{
    static const char *const headings[SESSION_STREAM_COUNT] = {"stdout", "stderr"};
    struct session_call *run = work;
    struct region *region = mcp_call_region(call);
    int64_t evaluation = session_evaluation_number(run->tools->sessions, run->ticket);
    struct buffer texts[SESSION_STREAM_COUNT];
    for (size_t i = 0; i < COUNT_OF(texts); i++)
        buffer_init(&texts[i], BUFFER_DEFAULT_LIMIT);
    session_move_output(run->tools->sessions, run->ticket, texts);
    value map = structured_start(region, tool_session_name(run->call));
    map = map_put_text(region, map, "evaluation", value_integer(evaluation));
    map = map_put_text(region, map, "state", value_string_text(region, state_of(run)));
    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        render_section(&result->text, headings[i], buffer_span(&texts[i]));
        if (texts[i].length)
            map = map_put_text(region, map, headings[i],
                               value_string(region, buffer_span(&texts[i])));
        buffer_release(&texts[i]);
    }
    append_state(&result->text, run, running, evaluation);
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

void running_yield(struct session_call *run)
{
    int64_t evaluation = session_evaluation_number(run->tools->sessions, run->ticket);
    if (run->running || mcp_call_is_task(run->call) || evaluation == 0)
        return;
    run->running = running_begin(run->tools, run->call, &evaluations, tool_session_name(run->call),
                                 evaluation, run);
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
