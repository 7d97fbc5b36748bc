#include "daemon/http/listener_client.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/memory.h"
#include "daemon/daemon_client.h"
#include "daemon/greeting.h"
#include "value/text/json.h"

enum {
    END_WAIT_MS = 3000,  // for what the listener is answering
    AGAIN_MS = 100,      // until the port of a daemon that has ended is free
    AGAIN_MAX = 50,
    STATUS_USAGE = 2,
};

static volatile sig_atomic_t is_terminated;

static void on_terminate(int number)
{
    (void)number;
    is_terminated = 1;
}

// Signals arrive where it waits, and nowhere else, so that none is missed.
static void take_signals(void)
{
    sigset_t both;
    sigemptyset(&both);
    sigaddset(&both, SIGTERM);
    sigaddset(&both, SIGINT);
    sigprocmask(SIG_BLOCK, &both, NULL);
    sigaction(SIGTERM, &(struct sigaction){.sa_handler = on_terminate}, NULL);
    sigaction(SIGINT, &(struct sigaction){.sa_handler = on_terminate}, NULL);
}

static char *read_url(struct span answer)
{
    struct region *region = region_new(SIZE_MAX);
    struct error error;
    value map;
    char *url = NULL;
    if (json_read(region, answer, NULL, &map, &error)) {
        struct span text = map_get_string(map, "url");
        url = text.length ? memory_copy_text(text.data, text.length) : NULL;
    }
    region_free(region);
    return url;
}

static int open_listener(const char *program, const struct greeting_parts *parts, char **ret_url,
                         struct error *error)
{
    CLEANUP_BUFFER struct buffer greeting, answer;
    buffer_init(&greeting, GREETING_MAX);
    buffer_init(&answer, BUFFER_DEFAULT_LIMIT);
    const struct daemon_client client = {
        .program = program, .greeting = &greeting, .is_ended = &is_terminated};
    int fd = greeting_write(&greeting, parts, error)
                 ? daemon_client_connect(&client, &answer, error)
                 : -1;
    if (fd < 0)
        return -1;
    *ret_url = read_url(buffer_span(&answer));
    if (*ret_url)
        return fd;
    close(fd);
    error_set(error, ERROR_SYSTEM, "the daemon does not say where it listens");
    return -1;
}

// Until the daemon has ended, or a signal has come.
static void wait_for_end(int fd)
{
    sigset_t none;
    sigemptyset(&none);
    while (!is_terminated) {
        struct pollfd polled = {.fd = fd, .events = POLLIN};
        char text[64];
        if (ppoll(&polled, 1, NULL, &none) < 0)
            continue;
        ssize_t n = read(fd, text, sizeof(text));
        if (n == 0 || (n < 0 && errno != EINTR))
            return;
    }
}

static void close_listener(int fd)
{
    struct pollfd polled = {.fd = fd, .events = POLLIN};
    shutdown(fd, SHUT_WR);
    poll(&polled, 1, END_WAIT_MS);
}

// The port that the kernel chose is the one that clients know.
static void keep_port(struct listening *listening, const char *url)
{
    const char *colon = strrchr(url, ':');
    if (!listening->socket_path && listening->port == 0 && colon)
        listening->port = (uint16_t)strtoul(colon + 1, NULL, 10);
}

int listener_client_run(const char *program, const struct settings *settings,
                        struct listening *listening, listener_open_fn *on_open)
{
    struct error error;
    bool is_open = false;
    const struct greeting_parts parts = {
        .kind = GREETING_HTTP, .client = "http", .settings = settings, .listening = listening};
    take_signals();
    for (int failures = 0; !is_terminated;) {
        char *url = NULL;
        int fd = open_listener(program, &parts, &url, &error);
        if (fd < 0 && (!is_open || ++failures > AGAIN_MAX)) {
            fprintf(stderr, "cadre serve: %s\n", error.message);
            return is_open ? EXIT_FAILURE : STATUS_USAGE;
        }
        if (fd < 0) {
            poll(NULL, 0, AGAIN_MS);
            continue;
        }
        failures = 0;
        keep_port(listening, url);
        if (!is_open)
            on_open(listening, url);
        is_open = true;
        memory_free(url);
        wait_for_end(fd);
        if (is_terminated)
            close_listener(fd);
        close(fd);
    }
    return EXIT_SUCCESS;
}

char *listener_client_page(const char *program, const struct settings *settings,
                           const struct listening *listening, struct error *error)
{
    const struct greeting_parts parts = {
        .kind = GREETING_PAGE, .client = "ui", .settings = settings, .listening = listening};
    char *url = NULL;
    int fd = open_listener(program, &parts, &url, error);
    if (fd >= 0)
        close(fd);
    return url;
}
