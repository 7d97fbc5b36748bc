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
#include "process/cgroup.h"
#include "process/descriptor_limit.h"
#include "process/mark.h"
#include "process/process.h"
#include "process/sandbox/environment.h"
#include "session/image/image_file.h"
#include "session/workspace/reach.h"

// Descriptor numbers of the protocol.
enum {
    FD_CHANNEL = SPAWN_FIRST_CHANNEL,
    FD_RESERVE,  // given up to receive others when no descriptor is free
    FD_INPUT_COPY,
    FD_OUTPUT_COPY,
    FD_ERROR_COPY = SPAWN_LAST_PIPE,
    FD_SAFE,  // above all of them, and as low as can be: doctor asks for 256 descriptors
};

enum { EXIT_NO_START = 97 };

// Evaluated code keeps a frame for each tail call, so that backtraces are whole: ten million deep.
// Only what is touched takes memory.
#define CONTROL_STACK "512MB"

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
    // /proc/self belongs to root while this process is not dumpable, as the server is not.
    prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
    int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
    if (fd < 0)
        return;
    (void)!write(fd, "500", 3);
    close(fd);
}

// The hard limit stays, so that a program which the session starts may have its core dump.
static void child_limit_core(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_CORE, &limit) < 0)
        return;
    limit.rlim_cur = 0;
    setrlimit(RLIMIT_CORE, &limit);
}

// Of an ordinary user in a namespace of the session the kernel counts those of the session alone; of
// root it counts none.
static void child_limit_tasks(rlim_t tasks)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NPROC, &limit) < 0 || limit.rlim_max <= tasks)
        return;
    limit.rlim_cur = limit.rlim_max = tasks;
    setrlimit(RLIMIT_NPROC, &limit);
}

enum { KEPT_MAX = 2 };

// Keeps those that there are, right above the descriptors of the protocol, until the program starts.
static void child_close_others(int kept[KEPT_MAX])
{
    int first = FD_ERROR_COPY + 1;
    for (int i = 0; i < KEPT_MAX; i++) {
        if (kept[i] < 0)
            continue;
        if (kept[i] != first && dup3(kept[i], first, O_CLOEXEC) < 0)
            child_fail("cannot place a descriptor");
        kept[i] = first++;
    }
    if (syscall(SYS_close_range, 3, FD_CHANNEL - 1, 0) < 0 ||
        syscall(SYS_close_range, first, ~0U, 0) < 0)
        child_fail("cannot close descriptors");
}

// *ret_ruleset and *ret_guard: their new numbers.
static void child_descriptors(const struct spawn_worker *worker, int *ret_ruleset, int *ret_guard)
{
    child_place(worker->error_fd, STDERR_FILENO);  // the client sees errors from here on
    int null = open("/dev/null", O_RDWR);
    if (null < 0)
        child_fail("/dev/null");
    null = child_move(null);
    int channel = child_move(worker->channel_fd);
    int output = child_move(worker->output_fd);
    int error = child_move(worker->error_fd);
    int kept[KEPT_MAX] = {
        worker->plan->ruleset < 0 ? -1 : child_move(worker->plan->ruleset),
        worker->guard_fd < 0 ? -1 : child_move(worker->guard_fd),
    };
    child_place(null, STDIN_FILENO);
    child_place(output, STDOUT_FILENO);
    child_place(channel, FD_CHANNEL);
    child_place(null, FD_RESERVE);
    child_place(null, FD_INPUT_COPY);
    child_place(output, FD_OUTPUT_COPY);
    child_place(error, FD_ERROR_COPY);
    child_close_others(kept);
    *ret_ruleset = kept[0];
    *ret_guard = kept[1];
}

static void child_confine(const struct spawn_worker *worker, int ruleset, int guard)
{
    int failed = confinement_enter(&worker->reach->confinement, ruleset,
                                   &(struct confinement_paths){
                                       .write = worker->plan->write.paths,
                                       .protect = worker->plan->protect.paths,
                                       .directory = worker->reach->directory,
                                       .sender = guard,
                                   });
    if (failed == -EAGAIN)
        _exit(SPAWN_EXIT_AGAIN);
    if (failed < 0) {
        errno = -failed;
        child_fail("the sandbox");
    }
}

// --- in the server -------------------------------------------------------------------------------

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
        "--dynamic-space-size", heap,           "--control-stack-size", CONTROL_STACK,
        "--disable-ldb",        "--no-sysinit", "--no-userinit",        NULL};
    pid_t parent = getpid();
    pid_t pid = fork_child();
    if (pid < 0)
        return (int)pid;
    if (pid == 0) {
        int ruleset, guard;
        cgroup_enter(worker->cgroup);
        child_descriptors(worker, &ruleset, &guard);
        child_die_with(parent);
        child_prefer_as_victim();
        child_limit_core();
        descriptor_limit_confine();
        mark_set(worker->mark);
        child_confine(worker, ruleset, guard);
        child_limit_tasks(worker->tasks);
        execve(worker->sbcl, (char *const *)(uintptr_t)argv, worker->plan->environment);
        child_fail(worker->sbcl);
    }
    *ret_pid = pid;
    return 0;
}

int spawn_program(const char *const argv[], const char *session_entry, uint64_t mark, int error_fd,
                  pid_t *ret_pid)
{
    const char *const set[] = {session_entry, NULL};
    CLEANUP_FREE char **environment = environment_new(NULL, set);
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
        descriptor_limit_restore();
        mark_set(mark);
        execve(argv[0], (char *const *)(uintptr_t)argv, environment);
        child_fail(argv[0]);
    }
    *ret_pid = pid;
    return 0;
}

int spawn_image_worker(const char *const argv[], int core_fd, int error_fd, pid_t *ret_pid)
{
    pid_t parent = getpid();
    pid_t pid = fork_child();
    if (pid < 0)
        return (int)pid;
    if (pid == 0) {
        int error = child_move(error_fd);
        int core = core_fd < 0 ? -1 : child_move(core_fd);
        int null = open("/dev/null", O_RDWR);
        if (null < 0)
            child_fail("/dev/null");
        child_place(null, STDIN_FILENO);
        child_place(error, STDOUT_FILENO);
        child_place(error, STDERR_FILENO);
        if (core >= 0)
            child_place(core, IMAGE_CORE_FD);
        syscall(SYS_close_range, core >= 0 ? IMAGE_CORE_FD + 1 : IMAGE_CORE_FD, ~0U, 0);
        child_die_with(parent);
        descriptor_limit_restore();
        execv(argv[0], (char *const *)(uintptr_t)argv);
        child_fail(argv[0]);
    }
    *ret_pid = pid;
    return 0;
}
