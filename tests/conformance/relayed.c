#include "relayed.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "config.h"
#include "daemon/rendezvous.h"

enum { RELAY_MS = 20000 };  // until it connects, and has greeted

static int fail(const char *what)
{
    fprintf(stderr, "conformance-server: %s\n", what);
    return -1;
}

// The places of a daemon of its own.
static bool use_own_places(void)
{
    static char place[256];
    const char *parent = getenv("TMPDIR");
    snprintf(place, sizeof(place), "%s/relayed-XXXXXX", parent ? parent : "/tmp");
    return mkdtemp(place) && setenv("XDG_STATE_HOME", place, 1) == 0 &&
           setenv("XDG_RUNTIME_DIR", place, 1) == 0 && unsetenv("CADRE_PRIVATE") == 0;
}

static bool is_readable(int fd)
{
    struct pollfd wait = {.fd = fd, .events = POLLIN};
    return poll(&wait, 1, RELAY_MS) == 1;
}

static bool answer_greeting(int fd)
{
    static const char answer[] = "{\"cadre\":1,\"version\":\"" CADRE_VERSION "\",\"ok\":true}\n";
    char byte = 0;
    while (byte != '\n')
        if (!is_readable(fd) || read(fd, &byte, 1) != 1)
            return false;
    return send(fd, answer, strlen(answer), MSG_NOSIGNAL) == (ssize_t)strlen(answer);
}

// The standard streams are the relay's alone: this process may live longer.
static int accept_relay(int listener)
{
    int fd = is_readable(listener) ? accept4(listener, NULL, NULL, SOCK_CLOEXEC) : -1;
    if (fd < 0 || !answer_greeting(fd))
        return fail("the relay does not greet");
    bool ok = freopen("/dev/null", "r", stdin) && freopen("/dev/null", "w", stdout) &&
              freopen("/dev/null", "w", stderr);
    return ok ? fd : -1;
}

int relayed_start(const char *cadre)
{
    struct error error;
    if (!use_own_places())
        return fail("no directory for the daemon");
    int lock = rendezvous_lock(&error);
    int listener = lock >= 0 ? rendezvous_listen(lock, &error) : -1;
    if (listener < 0)
        return fail(error.message);
    pid_t child = fork();
    if (child == 0)
        return accept_relay(listener);
    if (child > 0)
        execl(cadre, "cadre", "serve", (char *)NULL);
    perror(cadre);
    _exit(EXIT_FAILURE);
}
