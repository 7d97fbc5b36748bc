#include "tools/context_queue.h"

#include <event2/event.h>
#include <sys/queue.h>

#include "base/assert.h"
#include "base/clock.h"
#include "base/memory.h"
#include "process/background.h"

enum { RETRY_FIRST_MS = 1, RETRY_MAX_MS = 10 };

struct operation {
    TAILQ_ENTRY(operation) link;
    context_attempt_fn *function;
    struct mcp_call *call;
    void *data;
    int64_t deadline;
};

struct context_queue {
    struct context_store *store;
    struct event *retry;  // pending while operations wait
    int64_t delay_ms;
    TAILQ_HEAD(, operation) waiting;
    struct background *background;
    bool moves_log;  // in the background, now
};

// --- the log of the store ------------------------------------------------------------------------

struct log_move {
    struct context_queue *queue;
    char *path;
};

static void move_log(void *data)
{
    const struct log_move *move = data;
    context_log_move(move->path);  // when it fails the next change tries again
}

static void on_log_moved(void *data)
{
    struct log_move *move = data;
    move->queue->moves_log = false;
    memory_free(move->path);
    memory_free(move);
}

static void on_long_log(void *data)
{
    struct context_queue *queue = data;
    if (queue->moves_log)
        return;
    struct log_move *move = memory_alloc_zero(sizeof(*move));
    move->queue = queue;
    move->path = memory_copy_string(context_store_path(queue->store));
    queue->moves_log = background_submit(queue->background, move_log, on_log_moved, move) == 0;
    if (queue->moves_log)
        return;
    memory_free(move->path);
    memory_free(move);
}

void context_queue_leave_background(struct context_queue *queue)
{
    context_store_on_long_log(queue->store, NULL, NULL);
}

// --- operations ----------------------------------------------------------------------------------

bool context_attempt_again(const struct context_attempt *attempt, const struct context_error *error)
{
    return error->code == CONTEXT_STORE_BUSY && !attempt->is_last;
}

static void schedule_retry(struct context_queue *queue)
{
    struct timeval delay = timeval_from_ms(queue->delay_ms);
    int failed = event_add(queue->retry, &delay);
    CHECK(failed == 0);
}

static bool attempt_first(struct context_queue *queue, bool is_last)
{
    struct operation *operation = TAILQ_FIRST(&queue->waiting);
    struct context_attempt attempt = {queue->store, operation->call, operation->data, is_last};
    if (!operation->function(&attempt))
        return false;
    TAILQ_REMOVE(&queue->waiting, operation, link);
    memory_free(operation);
    return true;
}

static void on_retry(evutil_socket_t descriptor, short events, void *data)
{
    (void)descriptor;
    (void)events;
    struct context_queue *queue = data;
    while (!TAILQ_EMPTY(&queue->waiting)) {
        if (!attempt_first(queue, clock_now_ms() >= TAILQ_FIRST(&queue->waiting)->deadline)) {
            queue->delay_ms =
                queue->delay_ms * 2 < RETRY_MAX_MS ? queue->delay_ms * 2 : RETRY_MAX_MS;
            schedule_retry(queue);
            return;
        }
        queue->delay_ms = RETRY_FIRST_MS;
    }
}

struct context_queue *context_queue_new(struct event_base *base, struct background *background,
                                        struct context_store *store)
{
    struct context_queue *queue = memory_alloc_zero(sizeof(*queue));
    queue->store = store;
    queue->retry = evtimer_new(base, on_retry, queue);
    CHECK(queue->retry);
    TAILQ_INIT(&queue->waiting);
    queue->background = background;
    context_store_set_wait(store, 0);
    context_store_on_long_log(store, on_long_log, queue);
    return queue;
}

void context_queue_free(struct context_queue *queue)
{
    while (!TAILQ_EMPTY(&queue->waiting))
        CHECK(attempt_first(queue, true));
    event_free(queue->retry);
    memory_free(queue);
}

void context_queue_run(struct context_queue *queue, context_attempt_fn *function,
                       struct mcp_call *call, void *data)
{
    struct context_attempt attempt = {queue->store, call, data, false};
    bool must_wait = !TAILQ_EMPTY(&queue->waiting);
    if (!must_wait && function(&attempt))
        return;
    struct operation *operation = memory_alloc_zero(sizeof(*operation));
    *operation = (struct operation){
        .function = function,
        .call = call,
        .data = data,
        .deadline = clock_now_ms() + CONTEXT_BUSY_MS,
    };
    TAILQ_INSERT_TAIL(&queue->waiting, operation, link);
    if (must_wait)
        return;
    queue->delay_ms = RETRY_FIRST_MS;
    schedule_retry(queue);
}
