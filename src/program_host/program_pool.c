#include "program_host/program_pool.h"

#include <endian.h>
#include <errno.h>
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/queue.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/memory.h"
#include "process/process.h"
#include "process/reaper.h"
#include "value/text/json.h"

enum { HEADER_SIZE = 8, START_MS = 5000 };

struct program_call {
    TAILQ_ENTRY(program_call) link;
    struct program_run *run;  // NULL: the run is over
    int64_t number;
    uint64_t key;
    void *data;
    void (*ended)(void *data);
};

struct program_run {
    TAILQ_ENTRY(program_run) link;
    uint64_t ticket;
    struct buffer record;
    int64_t timeout_ms;
    const void *client;
    uint64_t flow;
    bool is_chosen;  // queued, and next to get a worker
    program_done_fn *done;
    program_tool_fn *tool;
    program_replied_fn *replied;
    void *data;
    struct program_worker *worker;  // NULL: queued
    TAILQ_HEAD(, program_call) calls;
};

struct program_worker {
    LIST_ENTRY(program_worker) link;
    struct program_pool *pool;
    struct process process;
    struct bufferevent *channel;
    struct event *watchdog;
    bool ready;
    bool was_spared;  // by the watchdog, in this run
    bool handling;    // inside on_readable(), which frees it if it has ended by then
    bool ended;
    struct program_run *run;  // NULL: idle
};

struct program_pool {
    struct event_base *base;
    struct reaper *reaper;
    char *program;
    uint64_t last_ticket;
    size_t queued;
    size_t worker_count;
    TAILQ_HEAD(, program_run) queue;
    LIST_HEAD(, program_worker) workers;
};

// --- messages ------------------------------------------------------------------------------------

// Written at once as far as the worker takes it; the channel's buffer would wait for the loop.
static void send_message(struct program_worker *worker, uint32_t type, struct span payload)
{
    uint32_t header[2] = {htole32(type), htole32((uint32_t)payload.length)};
    struct iovec parts[2] = {{header, sizeof(header)}, {(void *)payload.data, payload.length}};
    ssize_t written = 0;
    if (evbuffer_get_length(bufferevent_get_output(worker->channel)) == 0)
        written = writev(bufferevent_getfd(worker->channel), parts, 2);
    size_t sent = written < 0 ? 0 : (size_t)written;  // a broken channel reports itself
    for (size_t i = 0; i < 2; i++) {
        size_t skipped = sent < parts[i].iov_len ? sent : parts[i].iov_len;
        if (skipped < parts[i].iov_len)
            bufferevent_write(worker->channel, (char *)parts[i].iov_base + skipped,
                              parts[i].iov_len - skipped);
        sent -= skipped;
    }
}

static void set_watchdog(struct program_worker *worker, int64_t milliseconds)
{
    struct timeval limit = timeval_from_ms(milliseconds);
    evtimer_add(worker->watchdog, &limit);
}

// --- runs ----------------------------------------------------------------------------------------

// The calls still open belong to their tools from now on; their replies will be dropped.
static void run_free(struct program_run *run)
{
    struct program_call *call;
    while ((call = TAILQ_FIRST(&run->calls))) {
        TAILQ_REMOVE(&run->calls, call, link);
        call->run = NULL;
        if (call->ended)
            call->ended(call->data);
    }
    buffer_release(&run->record);
    memory_free(run);
}

static void run_finish(struct program_run *run, struct span answer, const char *failure)
{
    program_done_fn *done = run->done;
    void *data = run->data;
    if (run->worker)
        run->worker->run = NULL;
    if (done)
        done(data, answer, failure);
    run_free(run);
}

static void worker_start(struct program_pool *pool);

static void worker_begin(struct program_worker *worker, struct program_run *run)
{
    TAILQ_REMOVE(&worker->pool->queue, run, link);
    worker->pool->queued--;
    worker->run = run;
    worker->was_spared = false;
    run->worker = worker;
    send_message(worker, PROGRAM_RUN, buffer_span(&run->record));
    set_watchdog(worker, run->timeout_ms + PROGRAM_GRACE_MS);
}

// --- turns ---------------------------------------------------------------------------------------

struct share {
    size_t all, client, flow;  // running, or chosen to run
};

static void count_share(struct share *share, const struct program_run *other,
                        const struct program_run *run)
{
    share->all++;
    share->client += other->client == run->client;
    share->flow += other->client == run->client && other->flow == run->flow;
}

static struct share find_share(const struct program_pool *pool, const struct program_run *run)
{
    struct share share = {0};
    const struct program_worker *worker;
    LIST_FOREACH (worker, &pool->workers, link)
        if (worker->run)
            count_share(&share, worker->run, run);
    const struct program_run *other;
    TAILQ_FOREACH (other, &pool->queue, link)
        if (other->is_chosen)
            count_share(&share, other, run);
    return share;
}

// The waiting run whose turn it is; NULL: none may start now.
static struct program_run *next_run(const struct program_pool *pool)
{
    struct program_run *run, *best = NULL;
    struct share least = {0};
    TAILQ_FOREACH (run, &pool->queue, link) {
        if (run->is_chosen)
            continue;
        struct share share = find_share(pool, run);
        bool may_start = share.flow < PROGRAM_FLOW_MAX && share.client < PROGRAM_CLIENT_MAX &&
                         (share.all < PROGRAM_WORKERS_MAX || share.client == 0);
        bool is_less = share.client < least.client ||
                       (share.client == least.client && share.flow < least.flow);
        if (!may_start || (best && !is_less))
            continue;
        best = run;
        least = share;
    }
    return best;
}

// How many more workers the waiting runs could use now.
static size_t count_startable(const struct program_pool *pool)
{
    size_t count = 0;
    struct program_run *run;
    for (; (run = next_run(pool)); count++)
        run->is_chosen = true;
    TAILQ_FOREACH (run, &pool->queue, link)
        run->is_chosen = false;
    return count;
}

// Gives waiting runs to idle workers; starts workers for those that are left and may run.
static void dispatch(struct program_pool *pool)
{
    size_t starting = 0;
    struct program_worker *worker;
    LIST_FOREACH (worker, &pool->workers, link) {
        starting += !worker->ready;
        struct program_run *run = worker->ready && !worker->run ? next_run(pool) : NULL;
        if (run)
            worker_begin(worker, run);
    }
    size_t wanted = count_startable(pool);
    while (wanted > starting) {
        size_t before = pool->worker_count;
        worker_start(pool);
        if (pool->worker_count == before)
            return;
        starting++;
    }
}

// --- the life of a worker ------------------------------------------------------------------------

static void worker_free(struct program_worker *worker)
{
    if (worker->channel)
        bufferevent_free(worker->channel);
    memory_free(worker);
}

// Kills the worker. Nothing it has sent counts any more, even if it was read already.
static void worker_end(struct program_worker *worker)
{
    LIST_REMOVE(worker, link);
    worker->pool->worker_count--;
    if (worker->watchdog)
        event_free(worker->watchdog);
    reaper_kill(worker->pool->reaper, &worker->process);
    worker->ended = true;
    if (!worker->handling)
        worker_free(worker);
}

// Ends the worker; its run, if any, fails with the reason. The queue goes on with other workers.
static void worker_fail(struct program_worker *worker, const char *reason)
{
    struct program_pool *pool = worker->pool;
    struct program_run *run = worker->run;
    if (!worker->ready)
        run = TAILQ_FIRST(&pool->queue);  // no worker can run it: fail it instead of trying again
    if (run && !run->worker) {
        TAILQ_REMOVE(&pool->queue, run, link);
        pool->queued--;
    }
    worker_end(worker);
    if (run) {
        run->worker = NULL;
        run_finish(run, (struct span){0}, reason);
    }
    dispatch(pool);
}

static void on_watchdog(evutil_socket_t fd, short what, void *data)
{
    (void)fd;
    (void)what;
    struct program_worker *worker = data;
    // It sleeps until its tool answers, and knows when its time is over; only it can tell which calls
    // it has made. On a busy machine it may be late to say so.
    if (worker->run && !worker->was_spared && !TAILQ_EMPTY(&worker->run->calls)) {
        worker->was_spared = true;
        set_watchdog(worker, PROGRAM_CALLER_MS);
        return;
    }
    worker_fail(worker, worker->ready ? "timeout" : "the worker did not start");
}

static uint64_t read_key(struct span digits)
{
    char text[17] = {0};
    memcpy(text, digits.data ? digits.data : "",
           digits.length < sizeof(text) ? digits.length : sizeof(text) - 1);
    return strtoull(text, NULL, 16);
}

static void handle_call(struct program_worker *worker, struct span payload)
{
    struct region *region = region_new(SIZE_MAX);
    value message;
    struct error error;
    struct json_options options = {.borrow = true, .max_depth = 10000};
    if (!worker->run || !json_read(region, payload, &options, &message, &error) ||
        !value_is_map(message)) {
        region_free(region);
        worker_fail(worker, "the worker broke its protocol");
        return;
    }
    struct program_call *call = memory_alloc_zero(sizeof(*call));
    value number = map_get(message, "call"), name = map_get(message, "name");
    call->run = worker->run;
    call->number = number.tag == VALUE_INTEGER ? number.integer : 0;
    call->key = read_key(map_get_string(message, "key"));
    TAILQ_INSERT_TAIL(&worker->run->calls, call, link);
    CLEANUP_BUFFER struct buffer arguments;
    buffer_init(&arguments, PROGRAM_MESSAGE_MAX);
    json_write(&arguments, map_get(message, "arguments"), 0, NULL);
    struct span tool = value_is_string(name) ? value_text(name) : (struct span){"", 0};
    worker->run->tool(worker->run->data, call, tool, buffer_span(&arguments));
    region_free(region);
}

// A worker that has nothing to do, and is one of many, ends.
static void worker_rest(struct program_worker *worker)
{
    if (!worker->run && worker->pool->queued == 0 &&
        worker->pool->worker_count > PROGRAM_WORKERS_KEPT)
        worker_end(worker);
}

static void handle_message(struct program_worker *worker, uint32_t type, struct span payload)
{
    struct program_pool *pool = worker->pool;
    if (type == PROGRAM_READY && !worker->ready) {
        worker->ready = true;
        evtimer_del(worker->watchdog);
        dispatch(pool);
        worker_rest(worker);
    } else if (type == PROGRAM_STEP && worker->run) {
        evtimer_del(worker->watchdog);
        run_finish(worker->run, payload, NULL);
        dispatch(pool);
        worker_rest(worker);
    } else if (type == PROGRAM_CALL && worker->run) {
        handle_call(worker, payload);
    } else {
        worker_fail(worker, "the worker broke its protocol");
    }
}

// Handles the first message of the input; false when there is no whole one.
static bool handle_next_message(struct program_worker *worker, struct evbuffer *input)
{
    uint32_t header[2];
    if (evbuffer_copyout(input, header, sizeof(header)) < (ssize_t)sizeof(header))
        return false;
    size_t length = le32toh(header[1]);
    if (length > PROGRAM_MESSAGE_MAX) {
        worker_fail(worker, "the answer is larger than 64 MiB");
        return false;
    }
    if (evbuffer_get_length(input) < HEADER_SIZE + length)
        return false;
    const char *bytes = (const char *)evbuffer_pullup(input, (ssize_t)(HEADER_SIZE + length));
    handle_message(worker, le32toh(header[0]), (struct span){bytes + HEADER_SIZE, length});
    evbuffer_drain(input, HEADER_SIZE + length);
    return true;
}

static void on_readable(struct bufferevent *channel, void *data)
{
    struct program_worker *worker = data;
    worker->handling = true;
    while (!worker->ended && handle_next_message(worker, bufferevent_get_input(channel)))
        continue;
    worker->handling = false;
    if (worker->ended)
        worker_free(worker);
}

static void on_channel_event(struct bufferevent *channel, short what, void *data)
{
    (void)channel;
    (void)what;
    worker_fail(data, "the worker process ended");
}

static _Noreturn void run_worker(const char *program, int channel, pid_t parent)
{
    setsid();
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    if (getppid() != parent)
        _exit(126);
    int null = open("/dev/null", O_RDWR);
    if (null < 0 || dup2(null, STDIN_FILENO) < 0 || dup2(null, STDOUT_FILENO) < 0 ||
        dup2(channel, PROGRAM_WORKER_FD) < 0)
        _exit(126);
    syscall(SYS_close_range, PROGRAM_WORKER_FD + 1, ~0U, 0);
    const char *const argv[] = {"cadre", "program-worker", NULL};
    char *const environment[] = {NULL};
    execve(program, (char *const *)argv, environment);
    _exit(127);
}

static void worker_start(struct program_pool *pool)
{
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0) {
        log_error("cannot start a program worker: %s", strerror(errno));
        return;
    }
    // Above the numbers that the child gives a meaning.
    int end = fcntl(pair[1], F_DUPFD_CLOEXEC, 10);
    close(pair[1]);
    pid_t parent = getpid();
    pid_t pid = end < 0 ? -1 : fork();
    if (pid == 0)
        run_worker(pool->program, end, parent);
    if (end >= 0)
        close(end);
    struct program_worker *worker = memory_alloc_zero(sizeof(*worker));
    *worker = (struct program_worker){.pool = pool, .process = {.pidfd = -1}};
    LIST_INSERT_HEAD(&pool->workers, worker, link);
    pool->worker_count++;
    evutil_make_socket_nonblocking(pair[0]);
    worker->channel = bufferevent_socket_new(pool->base, pair[0], BEV_OPT_CLOSE_ON_FREE);
    worker->watchdog = evtimer_new(pool->base, on_watchdog, worker);
    if (pid < 0 || process_open(&worker->process, pid) < 0 || !worker->channel ||
        !worker->watchdog) {
        log_error("cannot start a program worker: %s", strerror(errno));
        worker_end(worker);
        return;
    }
    bufferevent_setcb(worker->channel, on_readable, NULL, on_channel_event, worker);
    bufferevent_enable(worker->channel, EV_READ | EV_WRITE);
    set_watchdog(worker, START_MS);
}

// --- interface -----------------------------------------------------------------------------------

struct program_pool *program_pool_new(struct reaper *reaper, const char *program)
{
    struct program_pool *pool = memory_alloc_zero(sizeof(*pool));
    pool->base = reaper_base(reaper);
    pool->reaper = reaper;
    pool->program = memory_copy_string(program);
    TAILQ_INIT(&pool->queue);
    LIST_INIT(&pool->workers);
    return pool;
}

void program_pool_free(struct program_pool *pool)
{
    if (!pool)
        return;
    struct program_worker *worker;
    while ((worker = LIST_FIRST(&pool->workers))) {
        if (worker->run)
            run_free(worker->run);
        worker_end(worker);
    }
    struct program_run *run;
    while ((run = TAILQ_FIRST(&pool->queue))) {
        TAILQ_REMOVE(&pool->queue, run, link);
        run_free(run);
    }
    memory_free(pool->program);
    memory_free(pool);
}

struct reaper *program_pool_reaper(struct program_pool *pool)
{
    return pool->reaper;
}

uint64_t program_submit(struct program_pool *pool, const struct program_request *request)
{
    size_t waiting = 0;
    const struct program_run *other;
    TAILQ_FOREACH (other, &pool->queue, link)
        waiting += other->client == request->client;
    if (waiting >= PROGRAM_QUEUE_MAX)
        return 0;
    struct program_run *run = memory_alloc_zero(sizeof(*run));
    *run = (struct program_run){
        .ticket = ++pool->last_ticket,
        .timeout_ms = request->timeout_ms,
        .client = request->client,
        .flow = request->flow,
        .done = request->done,
        .tool = request->tool,
        .replied = request->replied,
        .data = request->data,
    };
    TAILQ_INIT(&run->calls);
    buffer_init(&run->record, PROGRAM_MESSAGE_MAX);
    buffer_append_span(&run->record, request->record);
    TAILQ_INSERT_TAIL(&pool->queue, run, link);
    pool->queued++;
    uint64_t ticket = run->ticket;
    dispatch(pool);
    return ticket;
}

void program_cancel(struct program_pool *pool, uint64_t ticket)
{
    struct program_run *run;
    TAILQ_FOREACH (run, &pool->queue, link)
        if (run->ticket == ticket) {
            TAILQ_REMOVE(&pool->queue, run, link);
            pool->queued--;
            run_free(run);
            return;
        }
    struct program_worker *worker;
    LIST_FOREACH (worker, &pool->workers, link)
        if (worker->run && worker->run->ticket == ticket) {
            worker->run->done = NULL;
            worker_fail(worker, "cancelled");
            return;
        }
}

void program_call_reply(struct program_call *call, bool ok, struct span text)
{
    if (call->run) {
        struct program_worker *worker = call->run->worker;
        if (call->run->replied)
            call->run->replied(call->run->data, call->key, ok, text);
        CLEANUP_BUFFER struct buffer payload;
        buffer_init(&payload, PROGRAM_MESSAGE_MAX);
        buffer_append_format(&payload, "{\"call\":%" PRId64 ",\"%s\":", call->number,
                             ok ? "value" : "error");
        if (ok)
            buffer_append_span(&payload, text);
        else
            json_write_string(&payload, text);
        buffer_append_byte(&payload, '}');
        TAILQ_REMOVE(&call->run->calls, call, link);
        if (payload.failed) {
            buffer_clear(&payload);
            buffer_append_format(
                &payload, "{\"call\":%" PRId64 ",\"error\":\"the result is larger than 64 MiB\"}",
                call->number);
        }
        send_message(worker, PROGRAM_RESULT, buffer_span(&payload));
    }
    memory_free(call);
}

void program_call_pause(struct program_call *call)
{
    if (call->run) {
        char payload[64];
        int length = snprintf(payload, sizeof(payload), "{\"call\":%" PRId64 ",\"pending\":true}",
                              call->number);
        TAILQ_REMOVE(&call->run->calls, call, link);
        send_message(call->run->worker, PROGRAM_RESULT, (struct span){payload, (size_t)length});
    }
    memory_free(call);
}

uint64_t program_call_key(const struct program_call *call)
{
    return call->key;
}

void program_call_set_data(struct program_call *call, void *data)
{
    call->data = data;
}

void *program_call_data(const struct program_call *call)
{
    return call->data;
}

void program_call_on_end(struct program_call *call, void (*ended)(void *data))
{
    call->ended = ended;
}
