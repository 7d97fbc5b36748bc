// Who waits for a server: until it is ready, until there is room for another call, until it has
// answered. Every wait has a deadline.
#include <stdio.h>
#include <string.h>

#include "base/assert.h"
#include "base/clock.h"
#include "base/memory.h"
#include "process/reaper.h"
#include "upstream/upstream_internal.h"

static void task_free(struct upstream_task *task)
{
    struct upstream_server *server = task->server;
    TAILQ_REMOVE(&server->tasks, task, link);
    server->task_count--;
    if (task->state == TASK_SENT)
        server->sent_count--;
    event_free(task->deadline);
    event_free(task->pause);
    buffer_release(&task->arguments);
    memory_free(task->tool);
    memory_free(task);
}

// --- making a call again -------------------------------------------------------------------------

static void arm(struct upstream_task *task)
{
    struct timeval limit = timeval_from_ms(task->timeout_ms);
    evtimer_add(task->deadline, &limit);
}

static void on_pause_end(evutil_socket_t fd, short what, void *data)
{
    (void)fd;
    (void)what;
    struct upstream_task *task = data;
    struct upstream_server *server = task->server;
    task->state = TASK_WAITING;
    arm(task);
    upstream_start(server);
    upstream_task_send_waiting(server);
}

// Goes to the end of the list, so that those who walk through it meet it once.
static bool pause_for_retry(struct upstream_task *task, enum upstream_end end)
{
    struct upstream_server *server = task->server;
    const struct upstream_retry *retry = &server->entry->retry;
    if (!task->tool || !(retry->on & end) || task->retries >= retry->times)
        return false;
    if (task->state == TASK_SENT)
        server->sent_count--;
    task->state = TASK_PAUSED;
    TAILQ_REMOVE(&server->tasks, task, link);
    TAILQ_INSERT_TAIL(&server->tasks, task, link);
    evtimer_del(task->deadline);
    int64_t delay = retry->backoff_ms << task->retries++;
    struct timeval pause =
        timeval_from_ms(delay < UPSTREAM_BACKOFF_MAX_MS ? delay : UPSTREAM_BACKOFF_MAX_MS);
    evtimer_add(task->pause, &pause);
    return true;
}

// --- the end of a task ---------------------------------------------------------------------------

// The task is gone before its owner hears of it, who may begin another one then.
void upstream_task_finish(struct upstream_task *task, enum upstream_end end, struct span text)
{
    if (end != UPSTREAM_OK && pause_for_retry(task, end))
        return;
    upstream_done_fn *done = task->done;
    void *data = task->data;
    task_free(task);
    struct upstream_outcome outcome = {end == UPSTREAM_OK, text};
    done(data, &outcome);
}

void upstream_task_fail(struct upstream_task *task, enum upstream_end end, const char *why)
{
    CLEANUP_BUFFER struct buffer text;
    buffer_init(&text, BUFFER_DEFAULT_LIMIT);
    buffer_append_format(&text, "the server %s failed: %s", task->server->entry->name, why);
    upstream_entry_redact(task->server->entry, &text);
    upstream_task_finish(task, end, buffer_span(&text));
}

bool upstream_task_repeat(struct upstream_task *task)
{
    if (task->was_lost)
        return false;
    task->was_lost = true;
    task->state = TASK_WAITING;
    task->server->sent_count--;
    return true;
}

// Only those that are there now: whoever hears of the failure may begin another task.
void upstream_task_fail_all(struct upstream_server *server, const char *why)
{
    CLEANUP_FREE char *text = memory_copy_string(why);
    for (unsigned left = server->task_count; left > 0 && !TAILQ_EMPTY(&server->tasks); left--)
        upstream_task_finish(TAILQ_FIRST(&server->tasks), UPSTREAM_CONNECTION, span_from(text));
}

struct upstream_task *upstream_task_find(struct upstream_server *server, int64_t id)
{
    struct upstream_task *task;
    TAILQ_FOREACH (task, &server->tasks, link)
        if (task->state == TASK_SENT && task->id == id)
            return task;
    return NULL;
}

// The next task that may go on; in the order they came.
static struct upstream_task *next_waiting(struct upstream_server *server)
{
    struct upstream_task *task;
    bool has_room = server->sent_count < server->entry->max_parallel;
    TAILQ_FOREACH (task, &server->tasks, link)
        if (task->state == TASK_WAITING && (!task->tool || has_room))
            return task;
    return NULL;
}

void upstream_task_send_waiting(struct upstream_server *server)
{
    struct upstream_task *task;
    while (server->state == UPSTREAM_READY && (task = next_waiting(server))) {
        if (!task->tool) {
            upstream_task_finish(task, UPSTREAM_OK, SPAN(""));
            continue;
        }
        task->state = TASK_SENT;
        server->sent_count++;
        upstream_send_call(server, task);
    }
}

static void on_deadline(evutil_socket_t fd, short what, void *data)
{
    (void)fd;
    (void)what;
    struct upstream_task *task = data;
    struct upstream_server *server = task->server;
    CLEANUP_FREE char *why =
        memory_format("no answer from the server %s within %lld ms (timeout_ms)",
                      server->entry->name, (long long)task->timeout_ms);
    if (task->state == TASK_SENT)
        upstream_send_cancel(server, task->id);
    upstream_task_finish(task, UPSTREAM_TIMEOUT, span_from(why));
    upstream_task_send_waiting(server);
}

static struct upstream_task *task_new(struct upstream_server *server, int64_t timeout_ms,
                                      upstream_done_fn *done, void *data)
{
    struct upstream_task *task = memory_alloc_zero(sizeof(*task));
    *task = (struct upstream_task){
        .server = server, .timeout_ms = timeout_ms, .done = done, .data = data};
    buffer_init(&task->arguments, UPSTREAM_MESSAGE_MAX);
    task->deadline = evtimer_new(reaper_base(server->all->reaper), on_deadline, task);
    task->pause = evtimer_new(reaper_base(server->all->reaper), on_pause_end, task);
    CHECK(task->deadline && task->pause);
    arm(task);
    TAILQ_INSERT_TAIL(&server->tasks, task, link);
    server->task_count++;
    return task;
}

// A task may end before it is returned; its owner learns that from NULL.
static struct upstream_task *begin(struct upstream_task *task)
{
    struct upstream_server *server = task->server;
    upstream_start(server);
    upstream_task_send_waiting(server);
    struct upstream_task *found;
    TAILQ_FOREACH (found, &server->tasks, link)
        if (found == task)
            return task;
    return NULL;
}

void upstream_begin(struct upstream_server *server)
{
    upstream_start(server);
}

struct upstream_task *upstream_prepare(struct upstream_server *server, int64_t limit_ms,
                                       upstream_done_fn *done, void *data)
{
    return begin(task_new(server, limit_ms > 0 ? limit_ms : UPSTREAM_START_MS + 1000, done, data));
}

struct upstream_task *upstream_call(struct upstream_server *server, struct span tool,
                                    struct span arguments, int64_t timeout_ms,
                                    upstream_done_fn *done, void *data)
{
    if (server->task_count >= UPSTREAM_WAITING_MAX) {
        struct upstream_outcome outcome = {false, SPAN("too many calls wait for the server")};
        done(data, &outcome);
        return NULL;
    }
    struct upstream_task *task =
        task_new(server, timeout_ms > 0 ? timeout_ms : server->entry->timeout_ms, done, data);
    task->tool = memory_copy_text(tool.data, tool.length);
    buffer_append_span(&task->arguments, arguments);
    return begin(task);
}

void upstream_cancel(struct upstream_task *task)
{
    struct upstream_server *server = task->server;
    int64_t id = task->state == TASK_SENT ? task->id : 0;
    task_free(task);
    if (id)
        upstream_send_cancel(server, id);
    upstream_task_send_waiting(server);
}
