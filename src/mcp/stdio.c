// The stdio transport: one message per line. Nothing here blocks. While a client does not read, its
// requests are not read either: the output queue holds the answers to those in flight, and no more
// notifications are added to it.
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/memory.h"
#include "mcp/mcp_internal.h"

enum {
    READ_SIZE = 64 << 10,
    OUTPUT_WATERMARK = 8 << 20,  // bytes that wait to be written
    KEEP_CAPACITY = 1 << 20,     // larger buffers are freed when empty
    EOF_GRACE_MS = 1500,
};

// Room for all answers in flight above the watermark, and for those to one batch.
static const size_t OUTPUT_QUEUE_LIMIT =
    OUTPUT_WATERMARK + (size_t)(MCP_IN_FLIGHT_MAX + MCP_BATCH_MAX) * MCP_RESPONSE_LIMIT;

struct mcp_stdio {
    struct transport transport;
    struct peer peer;
    struct mcp_server *server;
    int in, out;
    int in_flags, out_flags;  // to be restored: the descriptors may be shared with others
    struct event *read_event, *write_event, *end_event;
    bool polled;  // by epoll; a regular file cannot be and is read in every turn of the loop
    struct buffer input;
    size_t scanned;  // bytes of the input known to hold no newline
    bool skipping;   // the rest of a line that was too long
    bool paused;     // until the client has read enough
    struct buffer output;
    size_t written;
    bool output_dead;
    bool ending;   // end of input or shutdown
    bool patient;  // calls are not stopped when the client goes away
    bool calls_stopped;
    bool ended;
    int64_t grace_ms;
    int64_t last_ms;  // when input ended, or something was written after that
    mcp_end_fn *on_end;
    void *on_end_data;
};

struct stdio_exchange {
    struct exchange base;
    struct mcp_stdio *stdio;
};

static void check_end(struct mcp_stdio *stdio);
static void resume_reading(struct mcp_stdio *stdio);

// --- output --------------------------------------------------------------------------------------

static size_t waiting_output(const struct mcp_stdio *stdio)
{
    return stdio->output.length - stdio->written;
}

static bool is_congested(const struct mcp_stdio *stdio)
{
    return !stdio->output_dead && waiting_output(stdio) > OUTPUT_WATERMARK;
}

static void flush(struct mcp_stdio *stdio)
{
    while (!stdio->output_dead && stdio->written < stdio->output.length) {
        ssize_t n = write(stdio->out, stdio->output.data + stdio->written,
                          stdio->output.length - stdio->written);
        if (n >= 0) {
            stdio->written += (size_t)n;
        } else if (errno == EAGAIN) {
            event_add(stdio->write_event, NULL);
            return;
        } else if (errno != EINTR) {
            stdio->output_dead = true;
        }
    }
    buffer_clear(&stdio->output);
    if (stdio->output.capacity > KEEP_CAPACITY)
        buffer_release(&stdio->output);
    stdio->written = 0;
}

static void on_writable(evutil_socket_t fd, short what, void *data)
{
    (void)fd;
    (void)what;
    struct mcp_stdio *stdio = data;
    size_t waiting = waiting_output(stdio);
    flush(stdio);
    if (stdio->ending && waiting_output(stdio) < waiting)
        stdio->last_ms = clock_now_ms();  // a slow reader is none that is gone
    if (stdio->paused && waiting_output(stdio) <= OUTPUT_WATERMARK / 2)
        resume_reading(stdio);
    check_end(stdio);
}

static void write_line(struct mcp_stdio *stdio, const struct span *parts, size_t count,
                       bool is_array)
{
    if (stdio->output_dead)
        return;
    if (stdio->written > waiting_output(stdio)) {
        buffer_consume(&stdio->output, stdio->written);
        stdio->written = 0;
    }
    if (is_array)
        buffer_append_byte(&stdio->output, '[');
    for (size_t i = 0; i < count; i++) {
        if (i > 0)
            buffer_append_byte(&stdio->output, ',');
        buffer_append_span(&stdio->output, parts[i]);
    }
    buffer_append_text(&stdio->output, is_array ? "]\n" : "\n");
    if (stdio->output.failed) {
        log_error("no memory is left for output that the client does not read");
        stdio->output_dead = true;
    }
    flush(stdio);
    if (stdio->output_dead)
        check_end(stdio);
}

static void stdio_notify(struct exchange *exchange, struct span message)
{
    struct mcp_stdio *stdio = ((struct stdio_exchange *)exchange)->stdio;
    if (is_congested(stdio))
        log_debug("a notification is dropped: the client does not read");
    else
        write_line(stdio, &message, 1, false);
}

static void peer_send(struct peer *peer, struct span message)
{
    struct mcp_stdio *stdio = (struct mcp_stdio *)((char *)peer - offsetof(struct mcp_stdio, peer));
    write_line(stdio, &message, 1, false);
}

static void stdio_write(struct exchange *exchange, const struct span *messages, size_t count,
                        int status)
{
    (void)status;
    struct mcp_stdio *stdio = ((struct stdio_exchange *)exchange)->stdio;
    if (exchange->is_batch && count > 0 && exchange->responses.length < MCP_OUTPUT_LIMIT) {
        write_line(stdio, messages, count, true);
    } else {
        for (size_t i = 0; i < count; i++)
            write_line(stdio, &messages[i], 1, false);
    }
    exchange_release(exchange);
    memory_free(exchange);
    if (count > 0)
        stdio->last_ms = clock_now_ms();
    check_end(stdio);
}

static const struct exchange_ops stdio_ops = {.notify = stdio_notify, .write = stdio_write};

// --- input ---------------------------------------------------------------------------------------

static struct exchange *exchange_open(struct mcp_stdio *stdio)
{
    struct stdio_exchange *exchange = memory_alloc(sizeof(*exchange));
    exchange_init(&exchange->base, &stdio_ops);
    exchange->stdio = stdio;
    return &exchange->base;
}

static void refuse_long_line(struct mcp_stdio *stdio)
{
    dispatch_refuse(exchange_open(stdio), 413, MESSAGE_ID_NULL, value_nil(), MCP_INVALID_REQUEST,
                    "Invalid Request: a message must not be larger than 8 MiB");
}

static bool is_blank(struct span line)
{
    for (size_t i = 0; i < line.length; i++)
        if (line.data[i] != ' ' && line.data[i] != '\t')
            return false;
    return true;
}

static void read_line(struct mcp_stdio *stdio, struct span line)
{
    if (line.length > 0 && line.data[line.length - 1] == '\r')
        line.length--;
    if (is_blank(line))
        return;
    if (line.length > MCP_MESSAGE_LIMIT) {
        refuse_long_line(stdio);
        return;
    }
    dispatch_text(stdio->server, exchange_open(stdio), &stdio->peer, line);
}

static void read_lines(struct mcp_stdio *stdio)
{
    struct buffer *input = &stdio->input;
    size_t start = 0;
    char *newline;
    while (!stdio->ended && !(stdio->paused = is_congested(stdio)) &&
           (newline = memchr(input->data + stdio->scanned, '\n', input->length - stdio->scanned))) {
        size_t end = (size_t)(newline - input->data);
        if (stdio->skipping)
            stdio->skipping = false;
        else
            read_line(stdio, (struct span){input->data + start, end - start});
        start = stdio->scanned = end + 1;
    }
    buffer_consume(input, start);
    if (stdio->paused) {
        stdio->scanned = 0;
        event_del(stdio->read_event);
        return;
    }
    if (stdio->skipping) {
        buffer_clear(input);
    } else if (input->length > MCP_MESSAGE_LIMIT + 1) {  // + 1: room for a CR
        stdio->skipping = true;
        buffer_clear(input);
        refuse_long_line(stdio);
    }
    stdio->scanned = input->length;
    if (input->length == 0 && input->capacity > KEEP_CAPACITY)
        buffer_release(input);
}

static void start_reading(struct mcp_stdio *stdio)
{
    if (stdio->polled)
        event_add(stdio->read_event, NULL);
    else
        event_active(stdio->read_event, EV_READ, 0);
}

static void resume_reading(struct mcp_stdio *stdio)
{
    stdio->paused = false;
    if (stdio->ending)
        return;
    read_lines(stdio);
    if (!stdio->paused && !stdio->ended)
        start_reading(stdio);
}

static void stop_reading(struct mcp_stdio *stdio, int64_t grace_ms)
{
    event_del(stdio->read_event);
    if (!stdio->ending || grace_ms < stdio->grace_ms)
        stdio->grace_ms = grace_ms;
    if (!stdio->ending)
        stdio->last_ms = clock_now_ms();
    stdio->ending = true;
    struct mcp_call *call, *next;
    for (call = TAILQ_FIRST(&stdio->peer.calls); call; call = next) {
        next = TAILQ_NEXT(call, peer_link);
        if (call->state == CALL_LISTENING)  // the client cannot read it any more
            call_cancel(call);
    }
    check_end(stdio);
}

static void handle_end_of_input(struct mcp_stdio *stdio)
{
    if (stdio->input.length > 0 && !stdio->skipping)  // a last line without its newline
        read_line(stdio, buffer_span(&stdio->input));
    buffer_release(&stdio->input);
    stop_reading(stdio, EOF_GRACE_MS);
}

static void on_readable(evutil_socket_t fd, short what, void *data)
{
    (void)fd;
    (void)what;
    struct mcp_stdio *stdio = data;
    CHECK(buffer_reserve(&stdio->input, READ_SIZE));
    ssize_t n = read(stdio->in, stdio->input.data + stdio->input.length, READ_SIZE);
    if (n > 0) {
        stdio->input.length += (size_t)n;
        read_lines(stdio);
    } else if (n == 0 || (errno != EAGAIN && errno != EINTR)) {
        handle_end_of_input(stdio);
        return;
    }
    if (!stdio->polled && !stdio->ending && !stdio->paused)
        event_active(stdio->read_event, EV_READ, 0);
}

// --- the end -------------------------------------------------------------------------------------

static int64_t time_left(const struct mcp_stdio *stdio)
{
    return stdio->last_ms + stdio->grace_ms - clock_now_ms();
}

static void on_end(evutil_socket_t fd, short what, void *data)
{
    (void)fd;
    (void)what;
    struct mcp_stdio *stdio = data;
    if (stdio->ending && !stdio->ended && !stdio->calls_stopped && time_left(stdio) <= 0) {
        stdio->calls_stopped = true;
        stdio->last_ms = clock_now_ms();
        stdio->grace_ms = MCP_FLUSH_MS;
        server_stop_calls(stdio->server);
    }
    if (!stdio->ended) {
        check_end(stdio);
        if (!stdio->ended)
            return;
    }
    struct mcp_call *call;
    while ((call = TAILQ_FIRST(&stdio->peer.calls))) {
        TAILQ_REMOVE(&stdio->peer.calls, call, peer_link);
        stdio->peer.call_count--;
        call->peer = NULL;
        call_cancel(call);
    }
    stdio->on_end(stdio->on_end_data);
}

// Ends the transport when nothing is left to do, or when the grace period is over.
static void check_end(struct mcp_stdio *stdio)
{
    if (stdio->ended || !(stdio->ending || stdio->output_dead))
        return;
    if (stdio->patient && stdio->peer.call_count > 0)
        return;
    bool idle = stdio->peer.call_count == 0 && stdio->written == stdio->output.length;
    int64_t left = time_left(stdio);
    if (stdio->output_dead || idle || (left <= 0 && stdio->calls_stopped)) {
        stdio->ended = true;
        event_del(stdio->read_event);
        event_active(stdio->end_event, EV_TIMEOUT, 0);  // from the loop, not from within a reply
        return;
    }
    left = left > 0 ? left : 0;
    struct timeval wait = timeval_from_ms(left);
    evtimer_add(stdio->end_event, &wait);
}

static void stdio_shutdown(struct transport *transport, unsigned grace_ms)
{
    struct mcp_stdio *stdio = (struct mcp_stdio *)transport;
    stdio->patient = false;
    stop_reading(stdio, grace_ms);
}

// --- set-up --------------------------------------------------------------------------------------

// Moves a file to another descriptor and puts a replacement in its place.
static int move_descriptor(int fd, int replacement)
{
    int moved = fcntl(fd, F_DUPFD_CLOEXEC, 3);
    if (moved < 0)
        return -errno;
    if (dup2(replacement, fd) < 0) {
        int code = -errno;
        close(moved);
        return code;
    }
    return moved;
}

static int move_descriptors(int *ret_in, int *ret_out)
{
    int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (null < 0)
        return -errno;
    int in = move_descriptor(STDIN_FILENO, null);
    close(null);
    if (in < 0)
        return in;
    int out = move_descriptor(STDOUT_FILENO, STDERR_FILENO);
    if (out < 0) {
        close(in);
        return out;
    }
    *ret_in = in;
    *ret_out = out;
    return 0;
}

// Tries it directly, because libevent would report the failure on standard error.
static bool can_be_polled(int fd)
{
    int poll = epoll_create1(EPOLL_CLOEXEC);
    struct epoll_event wanted = {.events = EPOLLIN};
    bool can = poll >= 0 && epoll_ctl(poll, EPOLL_CTL_ADD, fd, &wanted) == 0;
    if (poll >= 0)
        close(poll);
    return can;
}

static struct mcp_stdio *start(struct mcp_server *server, int in, int out,
                               mcp_end_fn *on_end_function, void *data)
{
    signal(SIGPIPE, SIG_IGN);
    struct mcp_stdio *stdio = memory_alloc_zero(sizeof(*stdio));
    stdio->server = server;
    stdio->in = in;
    stdio->out = out;
    stdio->in_flags = fcntl(in, F_GETFL);
    stdio->out_flags = fcntl(out, F_GETFL);
    fcntl(in, F_SETFL, stdio->in_flags | O_NONBLOCK);
    fcntl(out, F_SETFL, stdio->out_flags | O_NONBLOCK);
    buffer_init(&stdio->input, MCP_MESSAGE_LIMIT + 4 * READ_SIZE);
    buffer_init(&stdio->output, OUTPUT_QUEUE_LIMIT);
    stdio->grace_ms = EOF_GRACE_MS;
    stdio->on_end = on_end_function;
    stdio->on_end_data = data;
    peer_init(&stdio->peer, server, peer_send);
    stdio->transport.shutdown = stdio_shutdown;
    TAILQ_INSERT_TAIL(&server->transports, &stdio->transport, link);
    stdio->read_event = event_new(server->base, in, EV_READ | EV_PERSIST, on_readable, stdio);
    stdio->write_event = event_new(server->base, out, EV_WRITE, on_writable, stdio);
    stdio->end_event = evtimer_new(server->base, on_end, stdio);
    CHECK(stdio->read_event && stdio->write_event && stdio->end_event);
    stdio->polled = can_be_polled(in);
    start_reading(stdio);
    return stdio;
}

int mcp_stdio_start(struct mcp_server *server, mcp_end_fn *on_end_function, void *data,
                    struct mcp_stdio **ret_stdio)
{
    int in = -1, out = -1;
    int code = move_descriptors(&in, &out);
    if (code < 0)
        return code;
    *ret_stdio = start(server, in, out, on_end_function, data);
    return 0;
}

int mcp_stdio_start_socket(struct mcp_server *server, int socket, mcp_end_fn *on_end_function,
                           void *data, struct mcp_stdio **ret_stdio)
{
    int out = fcntl(socket, F_DUPFD_CLOEXEC, 3);
    if (out < 0)
        return -errno;
    *ret_stdio = start(server, socket, out, on_end_function, data);
    (*ret_stdio)->patient = true;
    return 0;
}

bool mcp_stdio_is_deserted(const struct mcp_stdio *stdio)
{
    return stdio->output_dead;
}

void mcp_stdio_free(struct mcp_stdio *stdio)
{
    if (!stdio)
        return;
    struct mcp_call *call;
    TAILQ_FOREACH (call, &stdio->peer.calls, peer_link)
        if (call->exchange) {
            struct exchange *exchange = call->exchange;
            call->exchange = NULL;
            if (--exchange->open == 0) {
                exchange_release(exchange);
                memory_free(exchange);
            }
        }
    peer_release(&stdio->peer);
    server_remove_transport(stdio->server, &stdio->transport);
    event_free(stdio->read_event);
    event_free(stdio->write_event);
    event_free(stdio->end_event);
    buffer_release(&stdio->input);
    buffer_release(&stdio->output);
    fcntl(stdio->in, F_SETFL, stdio->in_flags);
    fcntl(stdio->out, F_SETFL, stdio->out_flags);
    close(stdio->in);
    close(stdio->out);
    memory_free(stdio);
}
