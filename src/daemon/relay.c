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
#include "config.h"
#include "daemon/greeting.h"
#include "daemon/relay_state.h"
#include "daemon/rendezvous.h"
#include "value/text/json.h"

enum {
    READ_SIZE = 64 << 10,
    WAITING_MAX = 4 << 20,   // bytes for one side; while there are more the other is not read
    GRACE_MS = 1500,         // for answers after the client has closed its side
    ANSWER_WAIT_MS = 20000,  // for the answer to the greeting
    RECONNECTS_MAX = 20,     // in a row, without a line from the daemon in between
    REPLACE_WAIT_MS = 40000,
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
    const struct buffer *greeting;
    int daemon;
    struct lane up, down;
    struct relay_state state;
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

// --- the greeting --------------------------------------------------------------------------------

static bool send_all(int fd, const char *data, size_t length)
{
    while (length > 0) {
        ssize_t written = send(fd, data, length, MSG_NOSIGNAL);
        if (written < 0 && errno != EINTR)
            return false;
        data += written > 0 ? written : 0;
        length -= written > 0 ? (size_t)written : 0;
    }
    return true;
}

// Byte by byte: what follows the line belongs to others.
static bool read_line(int fd, struct buffer *line)
{
    int64_t until = clock_now_ms() + ANSWER_WAIT_MS;
    for (char c; !line->failed;) {
        struct pollfd wait = {.fd = fd, .events = POLLIN};
        int64_t left = until - clock_now_ms();
        if (left <= 0 || (poll(&wait, 1, (int)left) <= 0 && errno != EINTR))
            return false;
        ssize_t n = read(fd, &c, 1);
        if (n == 0 || (n < 0 && errno != EINTR))
            return false;
        if (n == 1 && c == '\n')
            return true;
        if (n == 1)
            buffer_append_byte(line, c);
    }
    return false;
}

enum greeted { GREETED, GREETED_LOST, GREETED_REFUSED, GREETED_OLDER };

static enum greeted read_answer(struct span line)
{
    struct region *region = region_new(1 << 20);
    struct error error;
    value answer;
    enum greeted result = GREETED_LOST;
    if (json_read(region, line, NULL, &answer, &error) && value_is_map(answer)) {
        struct span version = map_get_string(answer, "version");
        struct span message = map_get_string(answer, "error");
        CLEANUP_FREE char *text = memory_copy_text(version.data, version.length);
        if (version.length > 0 && version_compare(CADRE_VERSION, text) > 0)
            result = GREETED_OLDER;
        else if (map_get_boolean(answer, "ok"))
            result = GREETED;
        else if (!span_equal_text(message, "the daemon is ending"))
            result = GREETED_REFUSED;
        if (result == GREETED_REFUSED)
            fprintf(stderr, "cadre serve: %.*s\n", (int)message.length, message.data);
    }
    region_free(region);
    return result;
}

static enum greeted greet(int fd, const struct buffer *greeting)
{
    CLEANUP_BUFFER struct buffer line;
    buffer_init(&line, 64 << 10);
    if (!send_all(fd, greeting->data, greeting->length) || !read_line(fd, &line))
        return GREETED_LOST;
    return read_answer(buffer_span(&line));
}

// An older daemon saves its sessions and ends; then a new one starts.
static void replace_daemon(void)
{
    struct region *region = region_new(1 << 20);
    CLEANUP_BUFFER struct buffer line, answer;
    buffer_init(&line, 64 << 10);
    buffer_init(&answer, 64 << 10);
    greeting_write_control(
        &line, map_put_text(region, map_new(region), "op", value_string_text(region, "replace")));
    region_free(region);
    int fd = rendezvous_connect();
    if (fd < 0)
        return;
    if (send_all(fd, line.data, line.length))
        read_line(fd, &answer);
    close(fd);
    int64_t until = clock_now_ms() + REPLACE_WAIT_MS;
    while ((fd = rendezvous_connect()) >= 0 && clock_now_ms() < until) {
        close(fd);
        poll(NULL, 0, 20);
    }
    if (fd >= 0)
        close(fd);
}

// A socket on which the daemon has accepted the greeting; negative after a message.
static int connect_daemon(const struct relay *relay)
{
    enum { TRIES_MAX = 200 };
    struct error error;
    for (int i = 0; i < TRIES_MAX && !is_terminated; i++) {
        int fd = rendezvous_connect_or_start(relay->program, &error);
        if (fd < 0) {
            fprintf(stderr, "cadre serve: %s\n", error.message);
            return -1;
        }
        enum greeted greeted = greet(fd, relay->greeting);
        if (greeted == GREETED)
            return fd;
        close(fd);
        if (greeted == GREETED_REFUSED)
            return -1;
        if (greeted == GREETED_OLDER)
            replace_daemon();
        else
            poll(NULL, 0, 50);  // it is ending; the next one starts when it is gone
    }
    fprintf(stderr, "cadre serve: the daemon does not answer\n");
    return -1;
}

// --- lanes ---------------------------------------------------------------------------------------

static void lane_init(struct lane *lane, int from, int to)
{
    *lane = (struct lane){.from = from, .to = to};
    buffer_init(&lane->line, SIZE_MAX / 2);
    buffer_init(&lane->ready, SIZE_MAX / 2);
}

static void lane_clear(struct lane *lane)
{
    buffer_clear(&lane->line);
    buffer_clear(&lane->ready);
    lane->scanned = 0;
    lane->long_line = lane->ended = false;
}

typedef bool pass_fn(struct relay_state *state, struct span line);

static bool pass_up(struct relay_state *state, struct span line)
{
    relay_state_sent(state, line);
    return true;
}

static void carry_lines(struct relay *relay, struct lane *lane, pass_fn *pass)
{
    struct buffer *line = &lane->line;
    char *newline;
    size_t start = 0;
    while ((newline = memchr(line->data + lane->scanned, '\n', line->length - lane->scanned))) {
        size_t end = (size_t)(newline - line->data) + 1;
        struct span text = {line->data + start, end - start};
        bool wanted =
            lane->long_line || pass(&relay->state, (struct span){text.data, text.length - 1});
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

static bool reconnect(struct relay *relay)
{
    close(relay->daemon);
    relay->daemon = -1;
    buffer_clear(&relay->up.ready);  // its requests are in flight, too
    buffer_clear(&relay->down.line);
    relay->down.scanned = 0;
    relay->down.ended = relay->down.long_line = relay->half_closed = false;
    relay_state_fail(&relay->state, &relay->down.ready);
    if (++relay->reconnects > RECONNECTS_MAX || relay->up.ended)
        return false;
    relay->daemon = connect_daemon(relay);
    if (relay->daemon < 0)
        return false;
    fcntl(relay->daemon, F_SETFL, O_NONBLOCK);
    relay->up.to = relay->down.from = relay->daemon;
    relay_state_replay(&relay->state, &relay->up.ready);
    return true;
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
}

static void half_close(struct relay *relay)
{
    if (!relay->up.ended || relay->half_closed || relay->up.ready.length > 0)
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
    bool reads_up = !relay->up.ended && relay->up.ready.length < WAITING_MAX;
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
    if (ppoll(polled, POLL_COUNT, relay->up.ended ? &soon : NULL, &none) < 0)
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
        alive = lane_read(relay, &relay->down, relay_state_received);
        relay->last_ms = clock_now_ms();
        if (alive)
            relay->reconnects = 0;
    }
    if (!alive && relay->up.ended && relay->state.in_flight_count == 0)
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

int relay_run(const char *program, const struct buffer *greeting)
{
    struct relay *relay = memory_alloc_zero(sizeof(*relay));
    relay->program = program;
    relay->greeting = greeting;
    int output_flags = fcntl(STDOUT_FILENO, F_GETFL);  // may be shared with others
    fcntl(STDOUT_FILENO, F_SETFL, output_flags | O_NONBLOCK);
    signal(SIGPIPE, SIG_IGN);
    block_signals();
    sigaction(SIGTERM, &(struct sigaction){.sa_handler = on_terminate}, NULL);
    sigaction(SIGINT, &(struct sigaction){.sa_handler = on_terminate}, NULL);
    int status = EXIT_FAILURE;
    relay->daemon = connect_daemon(relay);
    lane_init(&relay->up, STDIN_FILENO, relay->daemon);
    lane_init(&relay->down, relay->daemon, STDOUT_FILENO);
    if (relay->daemon >= 0) {
        fcntl(relay->daemon, F_SETFL, O_NONBLOCK);
        status = EXIT_SUCCESS;
        while (step(relay, &status)) {}
        close(relay->daemon);
    }
    lane_clear(&relay->up);
    buffer_release(&relay->up.line);
    buffer_release(&relay->up.ready);
    buffer_release(&relay->down.line);
    buffer_release(&relay->down.ready);
    relay_state_release(&relay->state);
    memory_free(relay);
    fcntl(STDOUT_FILENO, F_SETFL, output_flags);
    return status;
}
