// HTTP on a Unix socket: only processes of the same user, and root, are let in. No token is needed
// for that, though one may tell several clients apart.
#include <errno.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/private.h"
#include "mcp/http/http.h"

bool http_socket_check_peer(evutil_socket_t fd)
{
    struct ucred peer;
    socklen_t size = sizeof(peer);
    return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 &&
           (peer.uid == geteuid() || peer.uid == 0);
}

// A socket that a server left behind: it is ours and nobody listens.
static bool is_abandoned(const struct sockaddr_un *address)
{
    struct stat status;
    if (lstat(address->sun_path, &status) < 0 || !S_ISSOCK(status.st_mode) ||
        status.st_uid != geteuid())
        return false;
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    bool refused = fd >= 0 && connect(fd, (const struct sockaddr *)address, sizeof(*address)) < 0 &&
                   errno == ECONNREFUSED;
    if (fd >= 0)
        close(fd);
    return refused;
}

static int bind_private(int fd, const struct sockaddr_un *address)
{
    mode_t mask = umask(0177);
    int failed = bind(fd, (const struct sockaddr *)address, sizeof(*address)) < 0 ? -errno : 0;
    umask(mask);
    return failed;
}

static int open_socket(const struct sockaddr_un *address)
{
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -errno;
    int failed = bind_private(fd, address);
    if (failed == -EADDRINUSE && is_abandoned(address)) {
        unlink(address->sun_path);
        failed = bind_private(fd, address);
    }
    if (failed == 0)
        return fd;
    close(fd);
    return failed;
}

bool http_socket_bind(struct mcp_http *http, const char *path, struct error *error)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (*path != '/' || strlen(path) >= sizeof(address.sun_path))
        return error_set(error, ERROR_INVALID,
                         "a Unix socket is an absolute path of at most %zu bytes; got '%s'",
                         sizeof(address.sun_path) - 1, path);
    if (!private_make_parent(path, error))
        return false;
    memcpy(address.sun_path, path, strlen(path));
    int fd = open_socket(&address);
    if (fd < 0)
        return error_set(error, ERROR_SYSTEM, "cannot listen on %s: %s", path, strerror(-fd));
    http->socket_path = memory_copy_string(path);
    http->url = memory_format("unix:%s", path);
    http->listener =
        evconnlistener_new(http->server->base, http_connection_accept, http,
                           LEV_OPT_CLOSE_ON_FREE | LEV_OPT_CLOSE_ON_EXEC, HTTP_BACKLOG, fd);
    if (!http->listener) {
        close(fd);
        return error_set(error, ERROR_SYSTEM, "cannot listen on %s: %s", path, strerror(errno));
    }
    evconnlistener_set_error_cb(http->listener, http_connection_accept_failed);
    return true;
}
