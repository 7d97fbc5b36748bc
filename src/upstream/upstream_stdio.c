// A server as a child process: messages are lines on its standard input and output. Of what it
// writes on standard error the last part is kept, for the message that it has ended.
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/clock.h"
#include "base/memory.h"
#include "process/piped.h"
#include "process/reaper.h"
#include "upstream/upstream_transport.h"

enum {
    STOP_GRACE_MS = 1000,
    ERROR_KEPT = 512,
    BLOCK = 65536,
    ALLOWANCE_MAX = UPSTREAM_MESSAGE_MAX,
    ALLOWANCE_PER_MESSAGE = 16 << 20,  // that we send
    UNASKED_RATE = 2 << 20,            // bytes a second
    FLOOD_PAUSE_MS = 100,
};

struct upstream_stdio {
    LIST_ENTRY(upstream_stdio) link;
    struct reaper *reaper;
    const struct upstream_entry *entry;
    struct upstream_listener listener;  // `message` is NULL once stopped or closed
    struct piped piped;
    struct event *events[PIPED_STREAMS];
    struct event *end;    // kills and frees it
    struct event *again;  // reads on, after a flood
    int64_t allowance;    // bytes that are read without a pause
    int64_t allowed_ms;   // up to when they are counted
    struct buffer input;
    struct buffer output;  // not yet written
    struct buffer error;   // the last bytes of standard error
    size_t scanned;        // bytes of `input` without a line end
    bool exited;
};

static void close_stream(struct upstream_stdio *stdio, int stream)
{
    if (stdio->events[stream])
        event_free(stdio->events[stream]);
    stdio->events[stream] = NULL;
    piped_close(&stdio->piped, stream);
}

void upstream_stdio_free(struct upstream_stdio *stdio)
{
    LIST_REMOVE(stdio, link);
    piped_kill_group(&stdio->piped);
    if (!stdio->exited)
        reaper_kill(stdio->reaper, &stdio->piped.process);
    piped_end(&stdio->piped);
    for (int stream = 0; stream < PIPED_STREAMS; stream++)
        close_stream(stdio, stream);
    if (stdio->end)
        event_free(stdio->end);
    if (stdio->again)
        event_free(stdio->again);
    piped_release(&stdio->piped);
    buffer_release(&stdio->input);
    buffer_release(&stdio->output);
    buffer_release(&stdio->error);
    memory_free(stdio);
}

static void on_end(evutil_socket_t fd, short what, void *data)
{
    (void)fd;
    (void)what;
    upstream_stdio_free(data);
}

void upstream_stdio_stop(struct upstream_stdio *stdio)
{
    stdio->listener.message = NULL;
    close_stream(stdio, STDIN_FILENO);
    struct timeval grace = timeval_from_ms(stdio->exited ? 0 : STOP_GRACE_MS);
    evtimer_add(stdio->end, &grace);
}

// The listener hears of the end once, and the transport goes by itself.
static void finish(struct upstream_stdio *stdio, const char *what)
{
    if (!stdio->listener.message)
        return;
    upstream_entry_redact(stdio->entry, &stdio->error);
    struct span said = buffer_span(&stdio->error);
    while (said.length && strchr("\r\n ", said.data[said.length - 1]))
        said.length--;
    CLEANUP_BUFFER struct buffer why;
    buffer_init(&why, BUFFER_DEFAULT_LIMIT);
    buffer_append_text(&why, what);
    if (said.length) {
        buffer_append_text(&why, "; it wrote: ");
        buffer_append_span(&why, said);
    }
    upstream_stdio_stop(stdio);
    stdio->listener.closed(stdio->listener.data, buffer_text(&why));
}

// --- reading -------------------------------------------------------------------------------------

static void deliver_lines(struct upstream_stdio *stdio)
{
    size_t start = 0;
    const char *newline;
    while (stdio->listener.message && (newline = memchr(stdio->input.data + stdio->scanned, '\n',
                                                        stdio->input.length - stdio->scanned))) {
        size_t end = (size_t)(newline - stdio->input.data);
        struct span line = {stdio->input.data + start, end - start};
        start = stdio->scanned = end + 1;
        if (line.length && line.data[line.length - 1] == '\r')
            line.length--;
        if (line.length)
            stdio->listener.message(stdio->listener.data, line);
    }
    buffer_consume(&stdio->input, start);
    stdio->scanned = stdio->input.length;
}

static void keep_error(struct upstream_stdio *stdio, const char *block, size_t length)
{
    buffer_append(&stdio->error, block, length);
    if (stdio->error.length > ERROR_KEPT)
        buffer_consume(&stdio->error, stdio->error.length - ERROR_KEPT);
}

static void on_again(evutil_socket_t fd, short what, void *data)
{
    (void)fd;
    (void)what;
    struct upstream_stdio *stdio = data;
    if (stdio->events[STDOUT_FILENO])
        event_add(stdio->events[STDOUT_FILENO], NULL);
}

static void allow(struct upstream_stdio *stdio, int64_t bytes)
{
    stdio->allowance += bytes;
    if (stdio->allowance > ALLOWANCE_MAX)
        stdio->allowance = ALLOWANCE_MAX;
}

// A flood must not fill our time: what was not asked for is read slowly.
static void slow_down(struct upstream_stdio *stdio, size_t length)
{
    int64_t now = clock_now_ms();
    allow(stdio, (now - stdio->allowed_ms) * (UNASKED_RATE / 1000));
    stdio->allowed_ms = now;
    stdio->allowance -= (int64_t)length;
    if (stdio->allowance > 0 || !stdio->events[STDOUT_FILENO])
        return;
    event_del(stdio->events[STDOUT_FILENO]);
    struct timeval pause = timeval_from_ms(FLOOD_PAUSE_MS);
    evtimer_add(stdio->again, &pause);
}

static void on_output(evutil_socket_t fd, short what, void *data)
{
    (void)what;
    struct upstream_stdio *stdio = data;
    int stream = fd == stdio->piped.fds[STDOUT_FILENO] ? STDOUT_FILENO : STDERR_FILENO;
    char block[BLOCK];
    ssize_t length = read(fd, block, sizeof(block));
    if (length < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (length <= 0) {
        close_stream(stdio, stream);
        return;  // its exit says why
    }
    if (stream == STDERR_FILENO) {
        keep_error(stdio, block, (size_t)length);
        return;
    }
    slow_down(stdio, (size_t)length);
    buffer_append(&stdio->input, block, (size_t)length);
    if (stdio->input.failed)
        finish(stdio, "it sent a message of more than 64 MiB");
    else
        deliver_lines(stdio);
}

static void on_exit_event(evutil_socket_t fd, short what, void *data)
{
    (void)fd;
    (void)what;
    struct upstream_stdio *stdio = data;
    struct process_exit exit;
    if (!process_reap(&stdio->piped.process, &exit))
        return;
    stdio->exited = true;
    // What it wrote last is still in its pipes.
    for (int stream = STDOUT_FILENO; stream <= STDERR_FILENO; stream++)
        if (stdio->piped.fds[stream] >= 0)
            on_output(stdio->piped.fds[stream], EV_READ, stdio);
    char why[64];
    if (exit.known && !exit.signaled)
        snprintf(why, sizeof(why), "it ended with exit status %d", exit.code);
    else
        snprintf(why, sizeof(why), "it was ended by signal %d", exit.code);
    if (stdio->listener.message)
        finish(stdio, why);
    else
        upstream_stdio_stop(stdio);
}

// --- writing -------------------------------------------------------------------------------------

static void on_input(evutil_socket_t fd, short what, void *data)
{
    (void)what;
    struct upstream_stdio *stdio = data;
    ssize_t length = write(fd, stdio->output.data, stdio->output.length);
    if (length < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (length < 0) {
        close_stream(stdio, STDIN_FILENO);
        return;
    }
    buffer_consume(&stdio->output, (size_t)length);
    if (stdio->output.length == 0)
        event_del(stdio->events[STDIN_FILENO]);
}

bool upstream_stdio_send(struct upstream_stdio *stdio, struct span message)
{
    if (!stdio->events[STDIN_FILENO])
        return true;  // it is about to end
    if (stdio->output.length + message.length + 1 > UPSTREAM_MESSAGE_MAX)
        return false;
    allow(stdio, ALLOWANCE_PER_MESSAGE);
    buffer_append_span(&stdio->output, message);
    buffer_append_byte(&stdio->output, '\n');
    on_input(stdio->piped.fds[STDIN_FILENO], EV_WRITE, stdio);
    if (stdio->events[STDIN_FILENO] && stdio->output.length)
        event_add(stdio->events[STDIN_FILENO], NULL);
    return true;
}

// --- starting ------------------------------------------------------------------------------------

static int watch(struct upstream_stdio *stdio)
{
    struct event_base *base = reaper_base(stdio->reaper);
    static const short kinds[] = {EV_WRITE | EV_PERSIST, EV_READ | EV_PERSIST,
                                  EV_READ | EV_PERSIST};
    for (int stream = 0; stream < PIPED_STREAMS; stream++) {
        stdio->events[stream] = event_new(base, stdio->piped.fds[stream], kinds[stream],
                                          stream == STDIN_FILENO ? on_input : on_output, stdio);
        if (!stdio->events[stream])
            return -ENOMEM;
        if (stream != STDIN_FILENO && event_add(stdio->events[stream], NULL) < 0)
            return -ENOMEM;
    }
    return 0;
}

int upstream_stdio_start(struct reaper *reaper, struct upstream_stdio_list *list,
                         const struct upstream_entry *entry, const struct upstream_place *place,
                         const struct upstream_listener *listener, struct upstream_stdio **ret)
{
    struct upstream_stdio *stdio = memory_alloc_zero(sizeof(*stdio));
    *stdio = (struct upstream_stdio){.reaper = reaper, .entry = entry, .listener = *listener};
    buffer_init(&stdio->input, UPSTREAM_MESSAGE_MAX);
    buffer_init(&stdio->output, UPSTREAM_MESSAGE_MAX);
    buffer_init(&stdio->error, BUFFER_DEFAULT_LIMIT);
    piped_init(&stdio->piped, reaper);
    LIST_INSERT_HEAD(list, stdio, link);
    stdio->end = evtimer_new(reaper_base(reaper), on_end, stdio);
    stdio->again = evtimer_new(reaper_base(reaper), on_again, stdio);
    CHECK(stdio->end && stdio->again);
    struct piped_request request = {.argv = entry->argv,
                                    .set = entry->environment,
                                    .environment = place->environment,
                                    .directory =
                                        entry->directory ? entry->directory : place->directory,
                                    .on_exit = on_exit_event,
                                    .data = stdio};
    int failed = piped_start(&stdio->piped, &request);
    if (failed == 0)
        failed = watch(stdio);
    if (failed < 0) {
        upstream_stdio_free(stdio);
        return failed;
    }
    *ret = stdio;
    return 0;
}
