#include "program_host/program_worker.h"

#include <endian.h>
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/clock.h"
#include "base/descriptor.h"
#include "base/memory.h"
#include "process/sandbox/sandbox.h"
#include "program/batch.h"
#include "program/run/saved_memory.h"
#include "program_host/program_pool.h"
#include "value/text/json.h"

enum {
    HEADER_SIZE = 8,
    RECORD_DEPTH = 10000,
    SPIN_NS = 50000,  // a quick tool answers sooner than a sleeping thread wakes (docs/latency.md)
    ADDRESS_SPACE_MB = 4096,  // beside the limits of each run: a bound for the whole process
};

// A call that waits for its result.
struct waiting_call {
    struct waiting_call *next;
    int64_t number;
    bool answered;
    struct buffer answer;  // payload of PROGRAM_RESULT
};

struct worker {
    int descriptor;
    struct buffer input;  // bytes read and not yet handled
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool reading;  // one thread reads for all
    bool closed;
    int64_t last_number;
    struct waiting_call *waiting;
};

// --- messages ------------------------------------------------------------------------------------

// Header and payload in one piece as a rule: a server that wakes for the header alone wakes twice.
static bool send_message(struct worker *worker, uint32_t type, struct span payload)
{
    uint32_t header[2] = {htole32(type), htole32((uint32_t)payload.length)};
    struct iovec parts[2] = {{header, sizeof(header)}, {(void *)payload.data, payload.length}};
    ssize_t written;
    do {
        written = writev(worker->descriptor, parts, 2);
    } while (written < 0 && errno == EINTR);
    if (written < (ssize_t)sizeof(header))  // never a part of the header: the socket is blocking
        return false;
    size_t sent = (size_t)written - sizeof(header);
    return descriptor_write(worker->descriptor, payload.data + sent, payload.length - sent);
}

enum read_status { READ_MORE, READ_TIMEOUT, READ_CLOSED };

// Waits until the descriptor is readable; READ_TIMEOUT at the deadline (monotonic).
static enum read_status wait_for_input(struct worker *worker, int64_t deadline_ns)
{
    struct pollfd poll_descriptor = {.fd = worker->descriptor, .events = POLLIN};
    int timeout = -1;
    if (deadline_ns != INT64_MAX) {
        int64_t left = (deadline_ns - clock_now_ns()) / 1000000 + 1;
        timeout = left < 0 ? 0 : left > 1000000 ? 1000000 : (int)left;
    }
    int ready = poll(&poll_descriptor, 1, timeout);
    if (ready < 0)
        return errno == EINTR ? READ_MORE : READ_CLOSED;
    return ready == 0 ? READ_TIMEOUT : READ_MORE;
}

// Reads what is there or comes before end_ns; -1 with EAGAIN when nothing does.
static ssize_t receive_until(int descriptor, char *block, size_t size, int64_t end_ns)
{
    for (;;) {
        ssize_t length = recv(descriptor, block, size, MSG_DONTWAIT);
        if (length >= 0 || errno != EAGAIN || clock_now_ns() >= end_ns)
            return length;
        sched_yield();  // to other processes that need the processor
    }
}

// Waits for bytes until the deadline (INT64_MAX = none) and appends them to the input. Before it
// sleeps it polls for spin_ns.
static enum read_status read_input(struct worker *worker, int64_t deadline_ns, int64_t spin_ns)
{
    char block[65536];
    ssize_t length = receive_until(worker->descriptor, block, sizeof(block),
                                   spin_ns > 0 ? clock_now_ns() + spin_ns : 0);
    if (length < 0 && errno == EAGAIN)
        return wait_for_input(worker, deadline_ns);
    if (length <= 0)
        return length < 0 && errno == EINTR ? READ_MORE : READ_CLOSED;
    buffer_append(&worker->input, block, (size_t)length);
    return worker->input.failed ? READ_CLOSED : READ_MORE;
}

// The first complete message of the input. It stays there until drop_message().
static bool peek_message(const struct worker *worker, uint32_t *ret_type, struct span *ret_payload)
{
    uint32_t header[2];
    if (worker->input.length < HEADER_SIZE)
        return false;
    memcpy(header, worker->input.data, sizeof(header));
    size_t length = le32toh(header[1]);
    if (worker->input.length - HEADER_SIZE < length)
        return false;
    *ret_type = le32toh(header[0]);
    *ret_payload = (struct span){worker->input.data + HEADER_SIZE, length};
    return true;
}

static void drop_message(struct worker *worker, struct span payload)
{
    buffer_consume(&worker->input, HEADER_SIZE + payload.length);
}

// --- calls of remote tools -----------------------------------------------------------------------

// {"call":7,… : the number stands first, because the server writes it so.
static int64_t answered_number(struct span payload)
{
    static const char prefix[] = "{\"call\":";
    if (!span_starts_with(payload, SPAN(prefix)))
        return -1;
    return strtoll(payload.data + sizeof(prefix) - 1, NULL, 10);
}

// Gives a result to the call that waits for it; one that comes too late is dropped.
static void deliver(struct worker *worker, struct span payload)
{
    int64_t number = answered_number(payload);
    for (struct waiting_call *call = worker->waiting; call; call = call->next)
        if (call->number == number && !call->answered) {
            buffer_append_span(&call->answer, payload);
            call->answered = true;
        }
    pthread_cond_broadcast(&worker->changed);
}

// Called with the lock held; returns with it. One thread reads, the others wait for what it brings.
static void wait_for_answer(struct worker *worker, struct waiting_call *call, int64_t deadline_ns)
{
    while (!call->answered && !worker->closed) {
        if (worker->reading) {
            struct timespec until = {deadline_ns / 1000000000, deadline_ns % 1000000000};
            if (pthread_cond_clockwait(&worker->changed, &worker->lock, CLOCK_MONOTONIC, &until) ==
                ETIMEDOUT)
                return;
            continue;
        }
        worker->reading = true;
        pthread_mutex_unlock(&worker->lock);
        enum read_status status = read_input(worker, deadline_ns, SPIN_NS);
        pthread_mutex_lock(&worker->lock);
        worker->reading = false;
        worker->closed = worker->closed || status == READ_CLOSED;
        uint32_t type;
        struct span payload;
        while (peek_message(worker, &type, &payload)) {
            if (type == PROGRAM_RESULT)
                deliver(worker, payload);
            drop_message(worker, payload);
        }
        pthread_cond_broadcast(&worker->changed);
        if (status == READ_TIMEOUT)
            return;
    }
}

static void forget_call(struct worker *worker, struct waiting_call *call)
{
    for (struct waiting_call **link = &worker->waiting; *link; link = &(*link)->next)
        if (*link == call) {
            *link = call->next;
            return;
        }
}

// Sends the call and waits; false: no answer came in time.
static bool exchange(struct worker *worker, struct span name, const struct tool_call *tool_call,
                     struct waiting_call *call)
{
    CLEANUP_BUFFER struct buffer payload;
    buffer_init(&payload, PROGRAM_MESSAGE_MAX);
    buffer_append_text(&payload, "\"name\":");
    json_write_string(&payload, name);
    buffer_append_text(&payload, ",\"arguments\":");
    json_write(&payload, tool_call->arguments, 0, NULL);
    pthread_mutex_lock(&worker->lock);
    call->number = ++worker->last_number;
    call->next = worker->waiting;
    worker->waiting = call;
    CLEANUP_BUFFER struct buffer message;
    buffer_init(&message, PROGRAM_MESSAGE_MAX);
    buffer_append_format(&message, "{\"call\":%" PRId64 ",\"key\":\"%016" PRIx64 "\",",
                         call->number, tool_call->key);
    buffer_append_span(&message, buffer_span(&payload));
    buffer_append_byte(&message, '}');
    if (message.failed || payload.failed ||
        !send_message(worker, PROGRAM_CALL, buffer_span(&message)))
        worker->closed = worker->closed || !(message.failed || payload.failed);
    else
        wait_for_answer(worker, call, tool_call->deadline_ns);
    forget_call(worker, call);
    bool answered = call->answered;
    pthread_mutex_unlock(&worker->lock);
    return answered;
}

static bool read_result(struct tool_call *call, struct span payload)
{
    value message, v;
    struct error error;
    struct json_options options = {.max_depth = RECORD_DEPTH};
    if (!json_read(call->region, payload, &options, &message, &error))
        return tool_call_fail(call, SPAN("unreadable result"));
    if (map_find_text(message, "value", &v)) {
        call->result = value_retain(v);
        return true;
    }
    if (map_get_boolean(message, "pending"))
        return tool_call_pause(call);
    v = map_get(message, "error");
    return tool_call_fail(call, value_is_string(v) ? value_text(v) : SPAN("no result"));
}

static bool call_remote(void *data, struct span name, struct tool_call *call)
{
    struct worker *worker = data;
    struct waiting_call waiting = {0};
    buffer_init(&waiting.answer, PROGRAM_MESSAGE_MAX);
    bool answered = exchange(worker, name, call, &waiting);
    bool ok = answered && read_result(call, buffer_span(&waiting.answer));
    if (!answered)
        tool_call_fail(call, SPAN(TOOL_LATE));
    buffer_release(&waiting.answer);
    return ok;
}

// --- runs ----------------------------------------------------------------------------------------

static void answer(struct worker *worker, const struct step *step, size_t max_step_bytes, bool keep)
{
    CLEANUP_BUFFER struct buffer payload;
    buffer_init(&payload, max_step_bytes);
    buffer_append_text(&payload, "{\"step\":");
    step_write_json(step, &payload, NULL);
    payload.limit = PROGRAM_MESSAGE_MAX;
    if (keep) {
        buffer_append_text(&payload, ",\"memory\":");
        saved_memory_write(step, (struct span){0}, &payload);
    }
    buffer_append_byte(&payload, '}');
    if (payload.failed) {
        buffer_clear(&payload);
        buffer_append_text(&payload, "{\"step\":null}");
    }
    if (!send_message(worker, PROGRAM_STEP, buffer_span(&payload)))
        worker->closed = true;
}

// What earlier runs have left in a memory may be larger and deeper than literals that are given to
// a run.
static value put_memory(struct region *region, value record)
{
    value data = map_get(record, "memory_data"), memory;
    struct error error;
    if (!value_is_string(data))
        return record;
    if (saved_memory_read_data(region, value_text(data), &memory, &error))
        return map_put_text(region, record, "memory", memory);
    return map_put_text(region, record, "memory_edn", value_retain(data));  // which says why not
}

// Functions kept from earlier runs are defined first.
static value put_definitions_first(struct region *region, value record,
                                   struct definitions_prefix *ret_prefix)
{
    value definitions = map_get(record, "definitions"), program = map_get(record, "program");
    if (!value_is_string(definitions) || !value_is_string(program))
        return record;
    CLEANUP_BUFFER struct buffer source;
    buffer_init(&source, PROGRAM_MESSAGE_MAX);
    *ret_prefix = saved_memory_prepend(&source, value_text(definitions), value_text(program));
    record = map_put_text(region, record, "definition_bytes",
                          value_integer((int64_t)ret_prefix->length));
    return map_put_text(region, record, "program", value_string(region, buffer_span(&source)));
}

static void run_record(struct worker *worker, struct span payload)
{
    struct region *region = region_new(SIZE_MAX);
    struct remote_host host = {.call = call_remote, .data = worker};
    struct json_options options = {.max_depth = RECORD_DEPTH};
    struct error error;
    value record;
    bool readable = json_read(region, payload, &options, &record, &error) && value_is_map(record);
    drop_message(worker, payload);
    struct definitions_prefix prefix = {0};
    bool keep = readable && value_is_true(map_get(record, "keep"));
    value bound = readable ? map_get(record, "max_step_bytes") : value_nil();
    size_t max_step_bytes =
        bound.tag == VALUE_INTEGER && bound.integer > 0 && bound.integer < PROGRAM_MESSAGE_MAX
            ? (size_t)bound.integer
            : PROGRAM_MESSAGE_MAX;
    record =
        readable ? put_definitions_first(region, put_memory(region, record), &prefix) : value_nil();
    struct batch_run run;
    batch_run(region, record, &host, &run);
    saved_memory_hide_prefix(&run.step, prefix);
    answer(worker, &run.step, max_step_bytes, keep);
    batch_run_release(&run);
}

static void serve(struct worker *worker)
{
    while (!worker->closed) {
        uint32_t type;
        struct span payload;
        if (!peek_message(worker, &type, &payload))
            worker->closed = read_input(worker, INT64_MAX, 0) == READ_CLOSED;
        else if (type == PROGRAM_RUN)
            run_record(worker, payload);
        else
            drop_message(worker, payload);  // the result of a call whose run is over
    }
}

int program_worker_main(int descriptor)
{
    struct worker worker = {.descriptor = descriptor};
    struct sandbox_report report = {0};
    char ready[64];
    pthread_mutex_init(&worker.lock, NULL);
    pthread_cond_init(&worker.changed, NULL);
    buffer_init(&worker.input, PROGRAM_MESSAGE_MAX + HEADER_SIZE);
    int failed = sandbox_lock((size_t)ADDRESS_SPACE_MB << 20, &report);
    if (failed < 0) {
        fprintf(stderr, "cadre: a program worker cannot lock itself: %s\n", strerror(-failed));
        return EXIT_FAILURE;
    }
    int length =
        snprintf(ready, sizeof(ready), "{\"landlock\":%s}", report.landlock ? "true" : "false");
    if (send_message(&worker, PROGRAM_READY, (struct span){ready, (size_t)length}))
        serve(&worker);
    buffer_release(&worker.input);
    return EXIT_SUCCESS;
}
