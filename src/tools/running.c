#include "tools/running.h"

#include <event2/event.h>
#include <inttypes.h>
#include <string.h>

#include "base/array.h"
#include "base/assert.h"
#include "base/clock.h"
#include "base/memory.h"
#include "base/utf8.h"
#include "tools/result/result_structured.h"
#include "tools/result/result_text.h"

enum {
    FINISHED_MAX = 16,    // results kept for a `wait`; then the oldest is dropped
    WAIT_DEFAULT_S = 20,  // where no call yields
    WAIT_MAX_S = 3600,
};

// A call of `wait` that has no answer yet.
struct waiter {
    TAILQ_ENTRY(waiter) link;
    struct running *running;
    struct mcp_call *call;
    struct event *timer;
    int64_t until_ms;
};

struct running {
    TAILQ_ENTRY(running) link;
    struct tools *tools;
    char *session;
    int64_t evaluation;
    struct session_call *run;  // NULL: it has finished, and this is its result
    TAILQ_HEAD(waiter_list, waiter) waiters;
    struct buffer text;
    struct region *region;  // of the values
    value content;          // blocks after the text
    value structured;
    bool is_error;
};

static void running_free(struct running *running)
{
    TAILQ_REMOVE(&running->tools->running, running, link);
    buffer_release(&running->text);
    if (running->region)
        region_free(running->region);
    memory_free(running->session);
    memory_free(running);
}

static void drop_oldest(struct tools *tools)
{
    size_t finished = 0;
    struct running *running, *oldest = NULL;
    TAILQ_FOREACH_REVERSE(running, &tools->running, running_list, link)
    {
        if (running->run)
            continue;
        finished++;
        oldest = running;
    }
    if (finished > FINISHED_MAX)
        running_free(oldest);
}

static void waiter_free(struct waiter *waiter)
{
    TAILQ_REMOVE(&waiter->running->waiters, waiter, link);
    event_free(waiter->timer);
    mcp_call_on_cancel(waiter->call, NULL, NULL);
    memory_free(waiter);
}

// --- answers before the end ----------------------------------------------------------------------

static void append_wait(struct buffer *text, const char *session, int64_t evaluation,
                        const char *more)
{
    buffer_append_text(text, "wait {");
    if (strcmp(session, "main") != 0)
        buffer_append_format(text, "\"session\": \"%s\", ", session);
    buffer_append_format(text, "\"evaluation\": %" PRId64 "%s}", evaluation, more);
}

static const char *state_of(const struct session_call *run)
{
    struct session_progress progress = {.queued = true};
    if (run->waits_for_input)
        return "input";
    session_progress(run->tools->sessions, run->ticket, &progress);
    return progress.queued ? "queued" : "running";
}

static void append_state(struct buffer *text, const struct session_call *run, const char *session,
                         int64_t evaluation)
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
    append_wait(text, session, evaluation, waits ? ", \"input\": \"…\\n\"" : "");
}

// What has happened so far, as the result of `call`.
static void render_so_far(struct mcp_call *call, struct session_call *run, const char *session,
                          int64_t evaluation, struct tool_result *result)
{
    static const char *const headings[SESSION_STREAM_COUNT] = {"stdout", "stderr"};
    struct region *region = mcp_call_region(call);
    struct buffer texts[SESSION_STREAM_COUNT];
    for (size_t i = 0; i < COUNT_OF(texts); i++)
        buffer_init(&texts[i], BUFFER_DEFAULT_LIMIT);
    session_move_output(run->tools->sessions, run->ticket, texts);
    buffer_init(&result->text, TOOL_TEXT_LIMIT);
    value map = structured_start(region, session);
    map = map_put_text(region, map, "evaluation", value_integer(evaluation));
    map = map_put_text(region, map, "state", value_string_text(region, state_of(run)));
    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        render_section(&result->text, headings[i], buffer_span(&texts[i]));
        if (texts[i].length)
            map = map_put_text(region, map, headings[i],
                               value_string(region, buffer_span(&texts[i])));
        buffer_release(&texts[i]);
    }
    append_state(&result->text, run, session, evaluation);
    result->structured = map;
}

static void answer_so_far(struct waiter *waiter)
{
    struct running *running = waiter->running;
    struct mcp_call *call = waiter->call;
    struct tool_result result = {0};
    render_so_far(call, running->run, running->session, running->evaluation, &result);
    waiter_free(waiter);
    session_call_truncate(call, &result);
    tool_reply(call, &result);
}

// --- the end -------------------------------------------------------------------------------------

static void answer_result(struct mcp_call *call, struct span text, value content, value structured,
                          bool is_error)
{
    mcp_call_add_content(call, content);
    mcp_call_reply(call, text, value_copy(mcp_call_region(call), structured), is_error);
}

static void keep_result(struct running *running, struct span text, value content, value structured,
                        bool is_error)
{
    buffer_append_span(&running->text, text);
    running->region = region_new(SIZE_MAX);
    running->content = value_copy(running->region, content);
    running->structured = value_copy(running->region, structured);
    running->is_error = is_error;
    drop_oldest(running->tools);
}

static void on_result(void *data, struct span text, value content, value structured, bool is_error)
{
    struct running *running = data;
    running->run = NULL;
    if (TAILQ_EMPTY(&running->waiters)) {
        keep_result(running, text, content, structured, is_error);
        return;
    }
    struct waiter *waiter;
    while ((waiter = TAILQ_FIRST(&running->waiters))) {
        struct mcp_call *call = waiter->call;
        waiter_free(waiter);
        answer_result(call, text, content, structured, is_error);
    }
    running_free(running);
}

// --- from a call to a running evaluation ---------------------------------------------------------

void running_yield(struct session_call *run)
{
    struct mcp_call *call = run->call;
    int64_t evaluation = session_evaluation_number(run->tools->sessions, run->ticket);
    if (run->running || mcp_call_is_task(call) || evaluation == 0)
        return;
    struct running *running = memory_alloc_zero(sizeof(*running));
    *running = (struct running){.tools = run->tools, .evaluation = evaluation, .run = run};
    running->session = memory_copy_string(tool_session_name(call));
    TAILQ_INIT(&running->waiters);
    buffer_init(&running->text, TOOL_TEXT_LIMIT);
    TAILQ_INSERT_TAIL(&run->tools->running, running, link);
    run->running = running;
    struct tool_result result = {0};
    render_so_far(call, run, running->session, evaluation, &result);
    session_call_truncate(call, &result);
    mcp_call_reply_early(call, buffer_span(&result.text), result.structured, on_result, running);
    buffer_release(&result.text);
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
    struct running *running = run->running;
    while (running && !TAILQ_EMPTY(&running->waiters))
        answer_so_far(TAILQ_FIRST(&running->waiters));
}

void running_progress(struct session_call *run, double seconds, const char *message)
{
    struct waiter *waiter;
    int64_t now = clock_now_ms();
    if (run->running)
        TAILQ_FOREACH (waiter, &run->running->waiters, link)
            if (waiter->until_ms - now > PROGRESS_GAP_MS)
                mcp_call_progress(waiter->call, seconds, MCP_NO_TOTAL, message);
}

void running_append_notices(struct tools *tools, const char *session, struct buffer *text)
{
    struct running *running;
    TAILQ_FOREACH (running, &tools->running, link) {
        if (running->run || strcmp(running->session, session) != 0)
            continue;
        buffer_append_format(text, "%s[Notice]\nevaluation %" PRId64 " has ended: ",
                             text->length ? "\n\n" : "", running->evaluation);
        append_wait(text, session, running->evaluation, "");
    }
}

void running_free_all(struct tools *tools)
{
    struct running *running;
    while ((running = TAILQ_FIRST(&tools->running))) {
        while (!TAILQ_EMPTY(&running->waiters))
            waiter_free(TAILQ_FIRST(&running->waiters));
        running_free(running);
    }
}

// --- wait ----------------------------------------------------------------------------------------

// The evaluation of this number, or of number 0 the newest; NULL: unknown.
static struct running *find_running(struct tools *tools, const char *session, int64_t evaluation)
{
    struct running *running;
    TAILQ_FOREACH_REVERSE(running, &tools->running, running_list, link)
    if (strcmp(running->session, session) == 0 &&
        (evaluation == 0 || running->evaluation == evaluation))
        return running;
    return NULL;
}

static void on_waited(evutil_socket_t fd, short what, void *data)
{
    (void)fd;
    (void)what;
    answer_so_far(data);
}

static void on_cancel(struct mcp_call *call, void *data)
{
    waiter_free(data);
    mcp_call_reply_failure(call, "cancelled", "The call was cancelled; the evaluation goes on.");
}

static void add_waiter(struct running *running, struct mcp_call *call, int64_t seconds)
{
    struct waiter *waiter = memory_alloc_zero(sizeof(*waiter));
    *waiter = (struct waiter){.running = running, .call = call};
    waiter->timer = evtimer_new(running->tools->base, on_waited, waiter);
    CHECK(waiter->timer);
    waiter->until_ms = clock_now_ms() + seconds * 1000;
    struct timeval wait = timeval_from_ms(seconds * 1000);
    event_add(waiter->timer, &wait);
    TAILQ_INSERT_TAIL(&running->waiters, waiter, link);
    mcp_call_on_cancel(call, on_cancel, waiter);
}

static void refuse_unknown(struct mcp_call *call, const char *session, int64_t evaluation)
{
    if (evaluation)
        tool_refuse(call, "no-such-evaluation",
                    "Evaluation %" PRId64 " of session \"%s\" does not run, or its result has been "
                    "given.",
                    evaluation, session);
    else
        tool_refuse(call, "no-such-evaluation", "No evaluation of session \"%s\" runs.", session);
}

static bool accept_input(struct running *running, struct mcp_call *call)
{
    value input = mcp_call_argument(call, "input");
    struct session_call *run = running->run;
    if (!value_is_string(input) || !run)
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

static void wait_for(struct running *running, struct mcp_call *call, int64_t seconds)
{
    add_waiter(running, call, seconds);
    if (tool_flag(call, "interrupt"))
        session_interrupt(running->tools->sessions, running->run->ticket);
    else if (running->run->waits_for_input)
        answer_so_far(TAILQ_LAST(&running->waiters, waiter_list));
}

static void handle_wait(struct mcp_call *call, void *data)
{
    struct tools *tools = data;
    const char *session = tool_session_name(call);
    int64_t evaluation, seconds;
    int64_t by_default = tools->yield > 0 ? tools->yield : WAIT_DEFAULT_S;
    if (!tool_integer(call, "evaluation", 0, 1, INT64_MAX, &evaluation) ||
        !tool_integer(call, "timeout", by_default, 0, WAIT_MAX_S, &seconds))
        return;
    struct running *running = find_running(tools, session, evaluation);
    if (!running) {
        refuse_unknown(call, session, evaluation);
    } else if (!running->run) {
        answer_result(call, buffer_span(&running->text), running->content, running->structured,
                      running->is_error);
        running_free(running);
    } else if (accept_input(running, call)) {
        wait_for(running, call, seconds);
    }
}

static const struct tool running_tools[] = {
    {"wait", MCP_TOOL_OPEN_WORLD, handle_wait},
};

void tools_register_running(struct tools *tools)
{
    TAILQ_INIT(&tools->running);
    TOOLS_ADD_ALL(tools, running_tools);
}
