#include "tools/running.h"

#include <event2/event.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "base/assert.h"
#include "base/clock.h"
#include "base/memory.h"
#include "tools/result/result_structured.h"

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
    const struct running_kind *kind;
    char *session;  // "" = none
    int64_t number;
    void *work;     // NULL: it has finished, and this is its result
    bool reported;  // that it runs, in an answer to another call
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
        if (running->work)
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

void running_append_wait(struct buffer *text, const struct running *running, const char *more)
{
    buffer_append_text(text, "wait {");
    if (*running->session && strcmp(running->session, "main") != 0)
        buffer_append_format(text, "\"session\": \"%s\", ", running->session);
    buffer_append_format(text, "\"%s\": %" PRId64 "%s}", running->kind->noun, running->number,
                         more);
}

static void answer_so_far(struct waiter *waiter)
{
    struct running *running = waiter->running;
    struct mcp_call *call = waiter->call;
    struct tool_result result = {0};
    buffer_init(&result.text, TOOL_TEXT_LIMIT);
    running->kind->render(running->work, running, call, &result);
    running->reported = false;
    waiter_free(waiter);
    tool_reply(call, &result);
}

void running_answer_waiters(struct running *running)
{
    while (!TAILQ_EMPTY(&running->waiters))
        answer_so_far(TAILQ_FIRST(&running->waiters));
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
    running->work = NULL;
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

// --- from a call to running work -----------------------------------------------------------------

struct running *running_begin(struct tools *tools, struct mcp_call *call,
                              const struct running_kind *kind, const char *session, int64_t number,
                              void *work)
{
    struct running *running = memory_alloc_zero(sizeof(*running));
    *running = (struct running){.tools = tools, .kind = kind, .number = number, .work = work};
    running->session = memory_copy_string(session);
    TAILQ_INIT(&running->waiters);
    buffer_init(&running->text, TOOL_TEXT_LIMIT);
    TAILQ_INSERT_TAIL(&tools->running, running, link);
    struct tool_result result = {0};
    buffer_init(&result.text, TOOL_TEXT_LIMIT);
    kind->render(work, running, call, &result);
    mcp_call_reply_early(call, buffer_span(&result.text), result.structured, on_result, running);
    buffer_release(&result.text);
    return running;
}

void running_progress(struct running *running, double seconds, const char *message)
{
    struct waiter *waiter;
    int64_t now = clock_now_ms();
    TAILQ_FOREACH (waiter, &running->waiters, link)
        if (waiter->until_ms - now > PROGRESS_GAP_MS)
            mcp_call_progress(waiter->call, seconds, MCP_NO_TOTAL, message);
}

// A result is named in every answer of its session until somebody asks for it; that something runs
// is told once after each answer about it.
static bool is_to_be_told(const struct running *running, const char *session)
{
    if (!running->work)
        return strcmp(running->session, session) == 0;
    return TAILQ_EMPTY(&running->waiters) && !running->reported;
}

void running_append_notices(struct tools *tools, const char *session, struct buffer *text)
{
    struct running *running;
    TAILQ_FOREACH (running, &tools->running, link) {
        if (!is_to_be_told(running, session))
            continue;
        buffer_append_format(text, "%s[Notice]\n%s %" PRId64 "%s: ", text->length ? "\n\n" : "",
                             running->kind->noun, running->number,
                             running->work ? " goes on" : " has ended");
        running_append_wait(text, running, "");
        running->reported = true;
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

// What a call of `wait` names: work by its number, or the newest of a session.
struct target {
    const char *session;  // "": a program
    const char *noun;
    int64_t number;  // 0: the newest
};

static bool read_target(struct mcp_call *call, struct target *ret_target)
{
    static const char *const nouns[] = {"program", "job", "evaluation"};
    *ret_target = (struct target){.session = tool_session_name(call)};
    for (size_t i = 0; i < COUNT_OF(nouns) && ret_target->number == 0; i++) {
        ret_target->noun = nouns[i];
        if (!tool_integer(call, nouns[i], 0, 1, INT64_MAX, &ret_target->number))
            return false;
    }
    if (strcmp(ret_target->noun, "program") == 0)
        ret_target->session = "";
    return true;
}

// NULL: unknown.
static struct running *find_running(struct tools *tools, const struct target *target)
{
    struct running *running;
    TAILQ_FOREACH_REVERSE(running, &tools->running, running_list, link)
    if (strcmp(running->session, target->session) == 0 &&
        (target->number == 0 ||
         (running->number == target->number && strcmp(running->kind->noun, target->noun) == 0)))
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
    struct waiter *waiter = data;
    const char *noun = waiter->running->kind->noun;
    waiter_free(waiter);
    mcp_call_reply_failure(call, "cancelled", "The call was cancelled; the %s goes on.", noun);
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

static void refuse_unknown(struct mcp_call *call, const struct target *target)
{
    char code[32];
    snprintf(code, sizeof(code), "no-such-%s", target->noun);
    if (!*target->session)
        tool_refuse(call, code, "Program %" PRId64 " does not run, or its result has been given.",
                    target->number);
    else if (target->number)
        tool_refuse(call, code,
                    "%c%s %" PRId64
                    " of session \"%s\" does not run, or its result has been given.",
                    target->noun[0] - 'a' + 'A', target->noun + 1, target->number, target->session);
    else
        tool_refuse(call, code, "No evaluation of session \"%s\" runs.", target->session);
}

static void wait_for(struct running *running, struct mcp_call *call, int64_t seconds)
{
    const struct running_kind *kind = running->kind;
    if (kind->accept_input && !kind->accept_input(running->work, call))
        return;
    add_waiter(running, call, seconds);
    if (tool_flag(call, "interrupt"))
        kind->interrupt(running->work);
    else if (kind->waits_for_input && kind->waits_for_input(running->work))
        answer_so_far(TAILQ_LAST(&running->waiters, waiter_list));
}

// An evaluation whose call has not been answered, of this client or another: the call gets its end.
static void interrupt_elsewhere(struct tools *tools, struct mcp_call *call,
                                const struct target *target)
{
    struct region *region = mcp_call_region(call);
    bool is_evaluation = *target->session && strcmp(target->noun, "evaluation") == 0;
    if (!is_evaluation || !tool_flag(call, "interrupt") ||
        !session_interrupt_evaluation(tools->sessions, target->session, target->number)) {
        refuse_unknown(call, target);
        return;
    }
    struct tool_result result = {.structured = structured_start(region, target->session)};
    buffer_init(&result.text, TOOL_TEXT_LIMIT);
    buffer_append_format(&result.text,
                         "[Interrupted] evaluation %" PRId64 "; the call that made it is told",
                         target->number);
    result.structured =
        map_put_text(region, result.structured, "evaluation", value_integer(target->number));
    tool_reply(call, &result);
}

static void handle_wait(struct mcp_call *call, void *data)
{
    struct tools *tools = data;
    struct target target;
    int64_t seconds, by_default = tools->yield > 0 ? tools->yield : WAIT_DEFAULT_S;
    if (!read_target(call, &target) ||
        !tool_integer(call, "timeout", by_default, 0, WAIT_MAX_S, &seconds))
        return;
    struct running *running = find_running(tools, &target);
    if (!running) {
        interrupt_elsewhere(tools, call, &target);
    } else if (!running->work) {
        answer_result(call, buffer_span(&running->text), running->content, running->structured,
                      running->is_error);
        running_free(running);
    } else {
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
