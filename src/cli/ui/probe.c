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

int probe_status(const struct probe *probe)
{
    union address address;
    socklen_t size = make_address(probe, &address);
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
