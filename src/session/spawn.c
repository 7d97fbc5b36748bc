#include "session/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/memory.h"
#include "process/process.h"

// Descriptor numbers of the protocol.
enum {
    FD_MAIN = 240,
    FD_AUX = 241,
    FD_INPUT_COPY = 242,
    FD_OUTPUT_COPY = 243,
    FD_ERROR_COPY = 244,
    FD_SAFE = 245,  // above all of them, and as low as can be: doctor asks for 256 descriptors
};

// Address space beyond the heap: runtime, core, libraries (400 MB), and room for 32 threads with
// control stacks of 64 MB. This is what caps foreign allocation.
enum { FOREIGN_MB = 400 + 32 * 66, EXIT_NO_START = 97 };

// --- in the child, between fork and exec: only async-signal-safe calls ---------------------------

static void child_fail(const char *what)
{
    const char *reason = strerror(errno);
    (void)!write(STDERR_FILENO, what, strlen(what));
    (void)!write(STDERR_FILENO, ": ", 2);
    (void)!write(STDERR_FILENO, reason, strlen(reason));
    (void)!write(STDERR_FILENO, "\n", 1);
    _exit(EXIT_NO_START);
}

static int child_move(int fd)
{
    int moved = fcntl(fd, F_DUPFD, FD_SAFE);
    if (moved < 0)
        child_fail("cannot duplicate a descriptor (at least 256 are needed: ulimit -n)");
    return moved;
}

static void child_place(int fd, int place)
{
    if (dup2(fd, place) < 0)
        child_fail("cannot place a descriptor");
}

static void child_die_with(pid_t parent)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(EXIT_NO_START);
}

static void child_prefer_as_victim(void)
{
    int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
    if (fd < 0)
        return;
    (void)!write(fd, "500", 3);
    close(fd);
}

static void child_limit_memory(unsigned heap_mb)
{
    struct rlimit limit;
    rlim_t wanted = ((rlim_t)heap_mb + FOREIGN_MB) << 20;
    if (getrlimit(RLIMIT_AS, &limit) < 0)
        return;
    if (limit.rlim_max == RLIM_INFINITY || limit.rlim_max > wanted) {
        limit = (struct rlimit){wanted, wanted};
        if (setrlimit(RLIMIT_AS, &limit) < 0)
            child_fail("cannot limit the address space");
    }
    setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
}

static void child_descriptors(const struct spawn_worker *worker)
{
    child_place(worker->error_fd, STDERR_FILENO);  // the client sees errors from here on
    int null = open("/dev/null", O_RDWR);
    if (null < 0)
        child_fail("/dev/null");
    null = child_move(null);
    int main_fd = child_move(worker->main_fd);
    int aux_fd = child_move(worker->aux_fd);
    int output = child_move(worker->output_fd);
    int error = child_move(worker->error_fd);
    child_place(null, STDIN_FILENO);
    child_place(output, STDOUT_FILENO);
    child_place(main_fd, FD_MAIN);
    child_place(aux_fd, FD_AUX);
    child_place(null, FD_INPUT_COPY);
    child_place(output, FD_OUTPUT_COPY);
    child_place(error, FD_ERROR_COPY);
    if (syscall(SYS_close_range, 3, FD_MAIN - 1, 0) < 0 ||
        syscall(SYS_close_range, FD_ERROR_COPY + 1, ~0U, 0) < 0)
        child_fail("cannot close descriptors");
}

// --- in the server -------------------------------------------------------------------------------

// The environment with `entry` in place of one of the same name; the strings are shared.
static char **environment_with(const char *entry)
{
    size_t count = 0;
    while (environ && environ[count])
        count++;
    char **result = memory_alloc((count + 2) * sizeof(*result));
    size_t name_length = (size_t)(strchr(entry, '=') - entry) + 1;
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        if (strncmp(environ[i], entry, name_length) != 0)
            result[kept++] = environ[i];
    }
    result[kept++] = (char *)(uintptr_t)entry;
    result[kept] = NULL;
    return result;
}

// A child with default signals and a session of its own: 0 in it, in the server its pid or negative
// errno.
static pid_t fork_child(void)
{
    pid_t pid = fork();
    if (pid < 0)
        return -errno;
    if (pid == 0) {
        process_reset_signals();
        setsid();
    }
    return pid;
}

int spawn_worker(const struct spawn_worker *worker, pid_t *ret_pid)
{
    char heap[32];
    snprintf(heap, sizeof(heap), "%uMB", worker->heap_mb);
    const char *argv[] = {
        worker->sbcl,           "--core",       worker->core,           "--noinform",
        "--dynamic-space-size", heap,           "--control-stack-size", "64MB",
        "--disable-ldb",        "--no-sysinit", "--no-userinit",        NULL};
    CLEANUP_FREE char **environment = environment_with(worker->session_entry);
    pid_t parent = getpid();
    pid_t pid = fork_child();
    if (pid < 0)
        return (int)pid;
    if (pid == 0) {
        child_descriptors(worker);
        child_die_with(parent);
        child_prefer_as_victim();
        child_limit_memory(worker->heap_mb);
        execve(worker->sbcl, (char *const *)(uintptr_t)argv, environment);
        child_fail(worker->sbcl);
    }
    *ret_pid = pid;
    return 0;
}

int spawn_program(const char *const argv[], const char *session_entry, int error_fd, pid_t *ret_pid)
{
    CLEANUP_FREE char **environment = environment_with(session_entry);
    pid_t parent = getpid();
    pid_t pid = fork_child();
    if (pid < 0)
        return (int)pid;
    if (pid == 0) {
        int error = child_move(error_fd);
        int null = open("/dev/null", O_RDWR);
        if (null < 0)
            child_fail("/dev/null");
        child_place(null, STDIN_FILENO);
        child_place(error, STDOUT_FILENO);
        child_place(error, STDERR_FILENO);
        syscall(SYS_close_range, 3, ~0U, 0);
        child_die_with(parent);
        execve(argv[0], (char *const *)(uintptr_t)argv, environment);
        child_fail(argv[0]);
    }
    *ret_pid = pid;
    return 0;
}
