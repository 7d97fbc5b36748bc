#include "daemon/relay.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/memory.h"
#include "daemon/daemon_client.h"
#include "daemon/greeting.h"
#include "daemon/relay_roots.h"
#include "daemon/relay_state.h"

enum {
    READ_SIZE = 64 << 10,
    WAITING_MAX = 4 << 20,  // bytes for one side; while there are more the other is not read
    GRACE_MS = 1500,        // for answers after the client has closed its side
    RECONNECTS_MAX = 20,    // in a row, without a line from the daemon in between
};

// Bytes from one side on their way to the other.
struct lane {
    int from, to;
    struct buffer line;   // read, up to the end of its line
    struct buffer ready;  // whole lines to be written
    size_t scanned;       // bytes of `line` known to hold no newline
    bool long_line;       // its beginning has been carried already
    bool ended;           // nothing more can be read
};

struct relay {
    const char *program;
    const struct settings *settings;
    struct buffer greeting;
    int daemon;
    struct lane up, down;
    struct relay_state state;
    struct relay_roots roots;
    unsigned reconnects;
    bool half_closed;
    int64_t last_ms;  // when something came from the daemon, or the client closed its side
};

static volatile sig_atomic_t is_terminated;

static void on_terminate(int number)
{
    (void)number;
    is_terminated = 1;
}

static void block_signals(void)
{
    sigset_t both;
    sigemptyset(&both);
    sigaddset(&both, SIGTERM);
    sigaddset(&both, SIGINT);
    sigprocmask(SIG_BLOCK, &both, NULL);
}

static bool write_greeting(const struct relay *relay, const char *root, struct buffer *line,
                           struct error *error)
{
    const struct greeting_parts parts = {
        .kind = GREETING_MCP, .client = "serve", .settings = relay->settings, .root = root};
    return greeting_write(line, &parts, error);
}

static int connect_daemon(const struct relay *relay)
{
    const struct daemon_client client = {
        .program = relay->program, .greeting = &relay->greeting, .is_ended = &is_terminated};
    struct error error;
    int fd = daemon_client_connect(&client, NULL, &error);
    if (fd < 0)
        fprintf(stderr, "cadre serve: %s\n", error.message);
    return fd;
}

// --- lanes ---------------------------------------------------------------------------------------

static void lane_init(struct lane *lane, int from, int to)
{
    *lane = (struct lane){.from = from, .to = to};
    buffer_init(&lane->line, SIZE_MAX / 2);
    buffer_init(&lane->ready, SIZE_MAX / 2);
}

// False: the line is not carried.
typedef bool pass_fn(struct relay *relay, struct span line);

static bool pass_up(struct relay *relay, struct span line)
{
    if (!relay_roots_pass(&relay->roots, line, &relay->down.ready))
        return false;
    relay_state_sent(&relay->state, line);
    return true;
}

static bool pass_down(struct relay *relay, struct span line)
{
    return relay_state_received(&relay->state, line);
}

static void carry_lines(struct relay *relay, struct lane *lane, pass_fn *pass)
{
    struct buffer *line = &lane->line;
    char *newline;
    size_t start = 0;
    while ((newline = memchr(line->data + lane->scanned, '\n', line->length - lane->scanned))) {
        size_t end = (size_t)(newline - line->data) + 1;
        struct span text = {line->data + start, end - start};
        bool wanted = lane->long_line || pass(relay, (struct span){text.data, text.length - 1});
        lane->long_line = false;
        if (wanted)
            buffer_append_span(&lane->ready, text);
        start = lane->scanned = end;
    }
    buffer_consume(line, start);
    lane->scanned = line->length;
    if (line->length > RELAY_LINE_MAX) {
        lane->long_line = true;
        buffer_append_span(&lane->ready, buffer_span(line));
        buffer_clear(line);
        lane->scanned = 0;
    }
}

// False: the other end is gone, or there is no more.
static bool lane_read(struct relay *relay, struct lane *lane, pass_fn *pass)
{
    if (!buffer_reserve(&lane->line, READ_SIZE))
        return false;
    ssize_t n = read(lane->from, lane->line.data + lane->line.length, READ_SIZE);
    if (n < 0 && (errno == EINTR || errno == EAGAIN))
        return true;
    if (n <= 0)
        return false;
    lane->line.length += (size_t)n;
    carry_lines(relay, lane, pass);
    return true;
}

static bool lane_write(struct lane *lane)
{
    size_t done = 0;
    while (done < lane->ready.length) {
        ssize_t n = write(lane->to, lane->ready.data + done, lane->ready.length - done);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            break;
        done += (size_t)n;
    }
    bool ok = done == lane->ready.length || errno == EAGAIN;
    buffer_consume(&lane->ready, done);
    return ok;
}

// --- the daemon is gone --------------------------------------------------------------------------

// The rest of a long line will not come: what follows begins a new one.
static void answer_all(struct relay *relay)
{
    if (relay->down.long_line)
        buffer_append_byte(&relay->down.ready, '\n');
    relay->down.long_line = false;
    relay_state_fail(&relay->state, RELAY_DAEMON_ENDED, &relay->down.ready);
}

static bool connect_again(struct relay *relay)
{
    close(relay->daemon);
    buffer_clear(&relay->up.ready);  // its requests are in flight, too
    buffer_clear(&relay->down.line);
    relay->down.scanned = 0;
    relay->down.ended = relay->half_closed = false;
    answer_all(relay);
    relay->daemon = connect_daemon(relay);
    if (relay->daemon < 0)
        return false;
    fcntl(relay->daemon, F_SETFL, O_NONBLOCK);
    relay->up.to = relay->down.from = relay->daemon;
    relay_state_replay(&relay->state, &relay->up.ready);
    return true;
}

static bool reconnect(struct relay *relay)
{
    if (++relay->reconnects <= RECONNECTS_MAX && !relay->up.ended)
        return connect_again(relay);
    answer_all(relay);
    return false;
}

// --- the client's root ---------------------------------------------------------------------------

// What was kept is carried now; of what a daemon that is gone was sent, nothing comes before it.
static void carry_kept(struct relay *relay)
{
    struct buffer *kept = &relay->roots.kept;
    size_t start = 0;
    const char *newline;
    relay->roots.state = RELAY_ROOTS_DONE;
    while (start < kept->length &&
           (newline = memchr(kept->data + start, '\n', kept->length - start))) {
        size_t end = (size_t)(newline - kept->data) + 1;
        relay_state_sent(&relay->state, (struct span){kept->data + start, end - start - 1});
        buffer_append(&relay->up.ready, kept->data + start, end - start);
        start = end;
    }
    buffer_release(kept);
}

// Another workspace than the one that was found is another connection. False: it could not be made.
static bool use_roots(struct relay *relay)
{
    CLEANUP_BUFFER struct buffer greeting;
    buffer_init(&greeting, GREETING_MAX);
    struct error error;
    const char *root = relay->roots.root;
    bool ok = true;
    if (root && !write_greeting(relay, root, &greeting, &error)) {
        fprintf(stderr, "cadre serve: %s\n", error.message);
    } else if (root && !span_equal(buffer_span(&greeting), buffer_span(&relay->greeting))) {
        buffer_clear(&relay->greeting);
        buffer_append_span(&relay->greeting, buffer_span(&greeting));
        ok = connect_again(relay);
    }
    carry_kept(relay);
    return ok;
}

// --- the loop ------------------------------------------------------------------------------------

// The last line may lack its newline.
static void client_ended(struct relay *relay)
{
    relay->up.ended = true;
    relay->last_ms = clock_now_ms();
    if (relay->up.line.length > 0) {
        buffer_append_byte(&relay->up.line, '\n');
        carry_lines(relay, &relay->up, pass_up);
    }
    relay_roots_give_up(&relay->roots);
}

static void half_close(struct relay *relay)
{
    if (!relay->up.ended || relay->half_closed || relay->up.ready.length > 0 ||
        relay_roots_keeps(&relay->roots))
        return;
    relay->half_closed = true;
    shutdown(relay->daemon, SHUT_WR);
}

static bool is_over(const struct relay *relay)
{
    if (is_terminated)
        return true;
    if (!relay->up.ended)
        return false;
    bool answered = relay->state.in_flight_count == 0 && relay->half_closed;
    return relay->down.ready.length == 0 &&
           ((relay->down.ended && answered) || clock_now_ms() - relay->last_ms >= GRACE_MS);
}

enum { POLL_CLIENT_IN, POLL_CLIENT_OUT, POLL_DAEMON, POLL_COUNT };

static void wait_for_work(const struct relay *relay, struct pollfd *polled)
{
    bool reads_up = !relay->up.ended && relay->up.ready.length < WAITING_MAX &&
                    relay->roots.kept.length < WAITING_MAX;
    bool is_timed = relay->up.ended || relay_roots_keeps(&relay->roots);
    bool reads_down = !relay->down.ended && relay->down.ready.length < WAITING_MAX;
    polled[POLL_CLIENT_IN] = (struct pollfd){reads_up ? relay->up.from : -1, POLLIN, 0};
    polled[POLL_CLIENT_OUT] =
        (struct pollfd){relay->down.ready.length > 0 ? relay->down.to : -1, POLLOUT, 0};
    short wanted = (short)((reads_down ? POLLIN : 0) | (relay->up.ready.length ? POLLOUT : 0));
    polled[POLL_DAEMON] = (struct pollfd){wanted ? relay->daemon : -1, wanted, 0};
    // Signals arrive here and nowhere else, so that none is missed.
    sigset_t none;
    sigemptyset(&none);
    struct timespec soon = {.tv_nsec = 50 * 1000000L};
    if (ppoll(polled, POLL_COUNT, is_timed ? &soon : NULL, &none) < 0)
        for (size_t i = 0; i < POLL_COUNT; i++)
            polled[i].revents = 0;
}

// False: the relay ends, with *ret_status.
static bool step(struct relay *relay, int *ret_status)
{
    struct pollfd polled[POLL_COUNT];
    wait_for_work(relay, polled);
    bool alive = true;
    if (polled[POLL_CLIENT_IN].revents && !lane_read(relay, &relay->up, pass_up))
        client_ended(relay);
    if (polled[POLL_DAEMON].revents & (POLLIN | POLLHUP | POLLERR)) {
        alive = lane_read(relay, &relay->down, pass_down);
        relay->last_ms = clock_now_ms();
        if (alive)
            relay->reconnects = 0;
    }
    if (alive && relay_roots_is_ready(&relay->roots, relay->state.in_flight_count))
        alive = use_roots(relay);
    if (!alive && relay->up.ended && relay->state.in_flight_count == 0 &&
        !relay_roots_keeps(&relay->roots))
        relay->down.ended = true;
    else if (!alive && !reconnect(relay)) {
        lane_write(&relay->down);
        *ret_status = relay->up.ended ? EXIT_SUCCESS : EXIT_FAILURE;
        return false;
    }
    lane_write(&relay->up);  // a failure shows when it is read from
    half_close(relay);
    return lane_write(&relay->down) && !is_over(relay);
}

// Nothing is left without an answer; but in the middle of a long line there is no place for one.
static void answer_last(struct relay *relay)
{
    if (!is_terminated || relay->down.long_line)
        return;
    relay_state_fail(&relay->state, RELAY_TERMINATED, &relay->down.ready);
    lane_write(&relay->down);
}

static int serve_client(struct relay *relay)
{
    int status = EXIT_FAILURE;
    relay->daemon = connect_daemon(relay);
    lane_init(&relay->up, STDIN_FILENO, relay->daemon);
    lane_init(&relay->down, relay->daemon, STDOUT_FILENO);
    if (relay->daemon >= 0) {
        fcntl(relay->daemon, F_SETFL, O_NONBLOCK);
        status = EXIT_SUCCESS;
        while (step(relay, &status)) {}
        answer_last(relay);
        close(relay->daemon);
    }
    return status;
}

static void release(struct relay *relay)
{
    buffer_release(&relay->up.line);
    buffer_release(&relay->up.ready);
    buffer_release(&relay->down.line);
    buffer_release(&relay->down.ready);
    buffer_release(&relay->greeting);
    relay_state_release(&relay->state);
    relay_roots_release(&relay->roots);
    memory_free(relay);
}

int relay_run(const char *program, const struct settings *settings)
{
    struct relay *relay = memory_alloc_zero(sizeof(*relay));
    struct error error;
    relay->program = program;
    relay->settings = settings;
    relay_roots_init(&relay->roots, settings->sessions.sandbox.workspace != NULL);
    buffer_init(&relay->greeting, GREETING_MAX);
    if (!write_greeting(relay, NULL, &relay->greeting, &error)) {
        fprintf(stderr, "cadre serve: %s\n", error.message);
        release(relay);
        return EXIT_FAILURE;
    }
    int output_flags = fcntl(STDOUT_FILENO, F_GETFL);  // may be shared with others
    fcntl(STDOUT_FILENO, F_SETFL, output_flags | O_NONBLOCK);
    signal(SIGPIPE, SIG_IGN);
    block_signals();
    sigaction(SIGTERM, &(struct sigaction){.sa_handler = on_terminate}, NULL);
    sigaction(SIGINT, &(struct sigaction){.sa_handler = on_terminate}, NULL);
    int status = serve_client(relay);
    release(relay);
    fcntl(STDOUT_FILENO, F_SETFL, output_flags);
    return status;
}
