#include "cli/ui/probe.h"

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { ANSWER_MS = 5000 };

union address {
    struct sockaddr_in6 v6;
    struct sockaddr_in v4;
    struct sockaddr any;
};

static socklen_t make_address(const struct probe *probe, union address *address)
{
    *address = (union address){.v6 = {0}};
    if (inet_pton(AF_INET, probe->host, &address->v4.sin_addr) == 1) {
        address->v4.sin_family = AF_INET;
        address->v4.sin_port = htons(probe->port);
        return sizeof(address->v4);
    }
    if (inet_pton(AF_INET6, probe->host, &address->v6.sin6_addr) != 1)
        return 0;
    address->v6.sin6_family = AF_INET6;
    address->v6.sin6_port = htons(probe->port);
    return sizeof(address->v6);
}

void probe_append_authority(const struct probe *probe, struct buffer *text)
{
    bool is_v6 = strchr(probe->host, ':');
    buffer_append_format(text, is_v6 ? "[%s]:%u" : "%s:%u", probe->host, (unsigned)probe->port);
}

static int ask(const struct probe *probe, int fd)
{
    CLEANUP_BUFFER struct buffer request;
    buffer_init(&request, BUFFER_DEFAULT_LIMIT);
    buffer_append_text(&request, "GET /healthz HTTP/1.1\r\nHost: ");
    probe_append_authority(probe, &request);
    if (probe->token)
        buffer_append_format(&request, "\r\nAuthorization: Bearer %s", probe->token);
    buffer_append_text(&request, "\r\nConnection: close\r\n\r\n");
    char answer[16] = "";
    struct pollfd waiting = {.fd = fd, .events = POLLIN};
    int status = 0;
    errno = ETIMEDOUT;
    if (send(fd, request.data, request.length, MSG_NOSIGNAL) != (ssize_t)request.length ||
        poll(&waiting, 1, ANSWER_MS) != 1)
        return 0;
    errno = EPROTO;
    if (recv(fd, answer, sizeof(answer) - 1, 0) < 12 ||
        sscanf(answer, "HTTP/1.1 %3d", &status) != 1)
        return 0;
    return status;
}

// Whether nobody but this user and root listens there: any user can, and would be told the token. Each line
// of the table has, in hexadecimal, a socket's address, port and state, then its user.
static bool is_ours(const struct probe *probe, const char *table, const char *address)
{
    enum { LISTENING = 0x0A };
    FILE *lines = fopen(table, "re");
    char line[512], local[33];
    unsigned port, state, user;
    bool ours = true;
    while (ours && lines && fgets(line, sizeof(line), lines))
        if (sscanf(line, " %*u: %32[0-9A-F]:%4X %*s %2X %*s %*s %*s %u", local, &port, &state,
                   &user) == 4 &&
            state == LISTENING && port == probe->port &&
            (strcmp(local, address) == 0 || strspn(local, "0") == strlen(local)))
            ours = user == 0 || user == geteuid();
    if (lines)
        fclose(lines);
    return ours;
}

// An address of another machine is in no table.
static bool check_listener(const struct probe *probe, const union address *address)
{
    char text[33] = "";
    uint32_t words[4];
    bool is_v6 = address->any.sa_family == AF_INET6;
    size_t size = is_v6 ? sizeof(address->v6.sin6_addr) : sizeof(address->v4.sin_addr);
    memcpy(words, is_v6 ? (const void *)&address->v6.sin6_addr : &address->v4.sin_addr, size);
    for (size_t i = 0; i < size / sizeof(*words); i++)
        snprintf(text + 8 * i, sizeof(text) - 8 * i, "%08X", (unsigned)words[i]);
    return is_ours(probe, is_v6 ? "/proc/net/tcp6" : "/proc/net/tcp", text) &&
           (is_v6 || is_ours(probe, "/proc/net/tcp6", ""));
}

int probe_status(const struct probe *probe)
{
    union address address;
    socklen_t size = make_address(probe, &address);
    if (size > 0 && !check_listener(probe, &address))
        return PROBE_FOREIGN;
    int fd = socket(address.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int status = 0;
    if (size == 0)
        errno = EADDRNOTAVAIL;
    else if (fd >= 0 && connect(fd, &address.any, size) == 0)
        status = ask(probe, fd);
    int cause = errno;
    if (fd >= 0)
        close(fd);
    errno = cause;
    return status;
}
