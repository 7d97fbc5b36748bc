#include "daemon/rendezvous.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/clock.h"
#include "base/memory.h"
#include "base/path.h"
#include "base/private.h"
#include "config.h"
#include "process/process.h"
#include "value/text/json.h"

enum {
    LOCK_FILE_MAX = 16 << 10,
    START_WAIT_MS = 15000,
    START_STEP_MS = 3,
    BACKLOG = 64,
};

static const char SOCKET_NAME[] = "daemon.sock";

// --- the lock file -------------------------------------------------------------------------------

static char *lock_path(void)
{
    return path_in_state("daemon.lock");
}

bool rendezvous_read(struct rendezvous *ret_rendezvous)
{
    CLEANUP_FREE char *path = lock_path();
    int fd = path ? open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW) : -1;
    if (fd < 0)
        return false;
    CLEANUP_BUFFER struct buffer text;
    buffer_init(&text, LOCK_FILE_MAX);
    int failed = buffer_append_descriptor(&text, fd);
    close(fd);
    struct region *region = region_new(1 << 20);
    struct error error;
    value map;
    bool ok = failed == 0 && !text.failed &&
              json_read(region, buffer_span(&text), NULL, &map, &error) && value_is_map(map);
    if (ok) {
        struct span socket_path = map_get_string(map, "socket");
        struct span version = map_get_string(map, "version");
        *ret_rendezvous =
            (struct rendezvous){.pid = (pid_t)map_get_integer(map, "pid", 0),
                                .socket = memory_copy_text(socket_path.data, socket_path.length),
                                .version = memory_copy_text(version.data, version.length)};
    }
    region_free(region);
    return ok;
}

void rendezvous_release(struct rendezvous *rendezvous)
{
    memory_free(rendezvous->socket);
    memory_free(rendezvous->version);
    *rendezvous = (struct rendezvous){0};
}

static bool write_lock_file(int lock, const char *socket_path)
{
    CLEANUP_BUFFER struct buffer text;
    buffer_init(&text, LOCK_FILE_MAX);
    buffer_append_format(&text, "{\"pid\":%d,\"version\":\"%s\",\"socket\":", (int)getpid(),
                         CADRE_VERSION);
    json_write_string(&text, span_from(socket_path));
    buffer_append_text(&text, "}\n");
    return !text.failed && ftruncate(lock, 0) == 0 &&
           pwrite(lock, text.data, text.length, 0) == (ssize_t)text.length;
}

// --- clients -------------------------------------------------------------------------------------

static bool fill_address(const char *path, struct sockaddr_un *address)
{
    *address = (struct sockaddr_un){.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof(address->sun_path))
        return false;
    memcpy(address->sun_path, path, strlen(path) + 1);
    return true;
}

static bool is_own_user(int fd)
{
    struct ucred peer;
    socklen_t length = sizeof(peer);
    return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &length) == 0 && peer.uid == getuid();
}

static int connect_to(const char *path)
{
    struct sockaddr_un address;
    if (!fill_address(path, &address))
        return -ENOENT;
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -errno;
    int failed = connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0 ? -errno : 0;
    if (failed == 0 && !is_own_user(fd))
        failed = -EPERM;
    if (failed == 0)
        return fd;
    close(fd);
    return failed;
}

int rendezvous_connect(void)
{
    struct rendezvous found;
    if (!rendezvous_read(&found))
        return -ENOENT;
    int fd = found.socket ? connect_to(found.socket) : -ENOENT;
    rendezvous_release(&found);
    return fd;
}

static int open_log(struct error *error)
{
    CLEANUP_FREE char *path = path_in_state("daemon.log");
    if (!path) {
        error_set(error, ERROR_SYSTEM, "no state directory: set HOME or XDG_STATE_HOME");
        return -1;
    }
    if (!private_make_parent(path, error))
        return -1;
    int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        error_set(error, ERROR_SYSTEM, "cannot open %s: %s", path, strerror(errno));
    return fd;
}

// The child of a child: its parent is gone, so nobody has to wait for it.
static void become_daemon(const char *program, int log)
{
    process_reset_signals();
    setsid();
    pid_t pid = fork();
    if (pid != 0)
        _exit(pid < 0);
    int null = open("/dev/null", O_RDWR);
    if (null < 0 || dup2(null, STDIN_FILENO) < 0 || dup2(null, STDOUT_FILENO) < 0 ||
        dup2(log, STDERR_FILENO) < 0 || chdir("/") < 0)
        _exit(1);
    close_range(3, ~0U, 0);
    execl(program, "cadre", "daemon", (char *)NULL);
    _exit(1);
}

bool rendezvous_start_daemon(const char *program, struct error *error)
{
    int log = open_log(error);
    if (log < 0)
        return false;
    pid_t pid = fork();
    if (pid == 0)
        become_daemon(program, log);
    close(log);
    int status = 1;
    while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR) {}
    if (pid < 0 || status != 0)
        return error_set(error, ERROR_SYSTEM, "the daemon could not be started");
    return true;
}

int rendezvous_connect_or_start(const char *program, struct error *error)
{
    int64_t until = clock_now_ms() + START_WAIT_MS;
    int64_t start_again = 0;
    for (;;) {
        int fd = rendezvous_connect();
        if (fd >= 0)
            return fd;
        if (fd == -EPERM) {
            error_set(error, ERROR_SYSTEM, "the daemon's socket belongs to another user");
            return -1;
        }
        int64_t now = clock_now_ms();
        if (now >= until)
            break;
        if (now >= start_again) {  // one that was ending may have kept the first from starting
            if (!rendezvous_start_daemon(program, error))
                return -1;
            start_again = now + 2000;
        }
        poll(NULL, 0, START_STEP_MS);
    }
    CLEANUP_FREE char *log = path_in_state("daemon.log");
    error_set(error, ERROR_SYSTEM, "the daemon did not start; see %s", log ? log : "its log");
    return -1;
}

// --- the daemon ----------------------------------------------------------------------------------

int rendezvous_lock(struct error *error)
{
    CLEANUP_FREE char *path = lock_path();
    if (!path) {
        error_set(error, ERROR_SYSTEM, "no state directory: set HOME or XDG_STATE_HOME");
        return -1;
    }
    if (!private_make_parent(path, error))
        return -1;
    int lock = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (lock < 0) {
        error_set(error, ERROR_SYSTEM, "cannot open %s: %s", path, strerror(errno));
        return -1;
    }
    if (flock(lock, LOCK_EX | LOCK_NB) == 0)
        return lock;
    close(lock);
    struct rendezvous other = {0};
    rendezvous_read(&other);
    error_set(error, ERROR_BUSY, "process %d is the daemon already (%s)", (int)other.pid, path);
    rendezvous_release(&other);
    return -1;
}

// The longest path of a socket has 107 bytes.
static char *socket_path(struct error *error)
{
    struct sockaddr_un address;
    char *const places[] = {path_in_runtime(SOCKET_NAME), path_in_state(SOCKET_NAME)};
    char *found = NULL;
    for (size_t i = 0; i < 2; i++) {
        bool fits = !found && places[i] && fill_address(places[i], &address) &&
                    private_make_parent(places[i], error);
        if (fits)
            found = places[i];
        else
            memory_free(places[i]);
    }
    if (found)
        return found;
    char directory[] = "/tmp/cadre-XXXXXX";
    if (mkdtemp(directory))
        return memory_format("%s/%s", directory, SOCKET_NAME);
    error_set(error, ERROR_SYSTEM, "no directory for the daemon's socket: %s", strerror(errno));
    return NULL;
}

static int bind_socket(const char *path, struct error *error)
{
    struct sockaddr_un address;
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    unlink(path);  // of a daemon that was killed: the lock is ours
    mode_t before = umask(0177);
    bool ok = fd >= 0 && fill_address(path, &address) &&
              bind(fd, (struct sockaddr *)&address, sizeof(address)) == 0 &&
              listen(fd, BACKLOG) == 0;
    int cause = errno;
    umask(before);
    if (ok)
        return fd;
    if (fd >= 0)
        close(fd);
    error_set(error, ERROR_SYSTEM, "cannot listen on %s: %s", path, strerror(cause));
    return -1;
}

int rendezvous_listen(int lock, struct error *error)
{
    CLEANUP_FREE char *path = socket_path(error);
    int fd = path ? bind_socket(path, error) : -1;
    if (fd >= 0 && !write_lock_file(lock, path)) {
        error_set(error, ERROR_SYSTEM, "cannot write the lock file: %s", strerror(errno));
        close(fd);
        return -1;
    }
    return fd;
}

bool rendezvous_is_there(void)
{
    struct rendezvous found;
    struct stat status;
    if (!rendezvous_read(&found))
        return false;
    bool there = found.socket && lstat(found.socket, &status) == 0 && S_ISSOCK(status.st_mode);
    rendezvous_release(&found);
    return there;
}

void rendezvous_remove(int lock)
{
    struct rendezvous own;
    if (rendezvous_read(&own)) {
        if (own.socket)
            unlink(own.socket);
        if (own.socket && strncmp(own.socket, "/tmp/cadre-", 11) == 0) {
            *strrchr(own.socket, '/') = '\0';
            rmdir(own.socket);
        }
        rendezvous_release(&own);
    }
    if (ftruncate(lock, 0) < 0)
        return;  // what it names is gone all the same
}
