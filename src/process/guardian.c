#include "process/guardian.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/memory.h"
#include "process/mark.h"
#include "process/proc.h"
#include "process/process.h"
#include "process/reaper.h"

enum { FREE_WAIT_MS = 5000, REPLACE_MS = 100, SEARCH_MS = 20, SEARCHES_MAX = 250 };

struct guardian {
    struct event_base *base;
    struct process process;  // none while it is being replaced
    int fd;                  // keeps it waiting; -1: none
    struct event *replace;
    char *entry_prefix;
    uint64_t mark_family;
};

// --- in the guardian -----------------------------------------------------------------------------

struct search {
    const struct guardian *guardian;
    unsigned found;
};

static enum proc_visit kill_marked(void *data, pid_t pid)
{
    struct search *search = data;
    const struct guardian *guardian = search->guardian;
    struct proc_status status;
    if (pid <= 1 || pid == getpid())
        return PROC_VISIT_CONTINUE;
    if (!mark_is_of_family(mark_read(pid), guardian->mark_family) &&
        !proc_environment_has(pid, guardian->entry_prefix, true))
        return PROC_VISIT_CONTINUE;
    if (proc_status_read(pid, &status) == 0 && status.state != 'Z' && kill(pid, SIGKILL) == 0)
        search->found++;
    return PROC_VISIT_CONTINUE;
}

// A process may fork during the search: repeat until none is left, but not forever.
static void kill_all_marked(const struct guardian *guardian)
{
    for (int i = 0; i < SEARCHES_MAX; i++) {
        struct search search = {guardian, 0};
        proc_all(kill_marked, &search);
        if (search.found == 0)
            return;
        nanosleep(&(struct timespec){.tv_nsec = SEARCH_MS * 1000000L}, NULL);
    }
}

static _Noreturn void guardian_run(const struct guardian *guardian, int fd)
{
    setsid();
    process_reset_signals();
    prctl(PR_SET_PDEATHSIG, SIGCONT);
    proc_rename_self("guardian");
    if (dup2(fd, STDIN_FILENO) < 0)
        _exit(1);
    syscall(SYS_close_range, 1, ~0U, 0);
    char byte;
    while (read(STDIN_FILENO, &byte, 1) < 0 && errno == EINTR)
        continue;
    kill_all_marked(guardian);
    _exit(0);
}

// --- in the server -------------------------------------------------------------------------------

static void on_end(evutil_socket_t fd, short what, void *data);

static int start(struct guardian *guardian)
{
    int fds[2];
    if (pipe2(fds, O_CLOEXEC) < 0)
        return -errno;
    pid_t pid = fork();
    int failed = pid < 0 ? -errno : 0;
    if (pid == 0)
        guardian_run(guardian, fds[0]);
    close(fds[0]);
    if (failed == 0)
        failed = process_open(&guardian->process, pid);
    if (failed == 0)
        failed = process_watch(&guardian->process, guardian->base, on_end, guardian);
    if (failed < 0) {
        close(fds[1]);  // ends it, if it has started
        process_close(&guardian->process);
        return failed;
    }
    guardian->fd = fds[1];
    return 0;
}

static void replace_later(struct guardian *guardian)
{
    struct timeval delay = timeval_from_ms(REPLACE_MS);
    evtimer_add(guardian->replace, &delay);
}

static void on_replace(evutil_socket_t fd, short what, void *data)
{
    (void)fd;
    (void)what;
    struct guardian *guardian = data;
    if (start(guardian) < 0)
        replace_later(guardian);
}

static void on_end(evutil_socket_t fd, short what, void *data)
{
    (void)fd;
    (void)what;
    struct guardian *guardian = data;
    struct process_exit exit;
    if (!process_reap(&guardian->process, &exit)) {
        event_add(guardian->process.exit_event, NULL);
        return;
    }
    log_warning("the guardian process was killed and is replaced");
    process_close(&guardian->process);
    close(guardian->fd);
    guardian->fd = -1;
    replace_later(guardian);
}

struct guardian *guardian_new(struct event_base *base, const char *entry_prefix,
                              uint64_t mark_family)
{
    struct guardian *guardian = memory_alloc_zero(sizeof(*guardian));
    guardian->base = base;
    guardian->fd = -1;
    guardian->entry_prefix = memory_copy_string(entry_prefix);
    guardian->mark_family = mark_family;
    guardian->replace = evtimer_new(base, on_replace, guardian);
    CHECK(guardian->replace);
    if (start(guardian) == 0)
        return guardian;
    guardian_dismiss(guardian, NULL);
    return NULL;
}

static void let_go(struct guardian *guardian)
{
    process_unwatch(&guardian->process);
    if (guardian->fd >= 0)
        close(guardian->fd);
    event_free(guardian->replace);
}

static void destroy(struct guardian *guardian)
{
    process_close(&guardian->process);
    memory_free(guardian->entry_prefix);
    memory_free(guardian);
}

static void wait_for_end(struct process *process, int64_t until_ms)
{
    struct process_exit exit;
    int64_t left;
    while (!process_reap(process, &exit) && (left = until_ms - clock_now_ms()) > 0) {
        struct pollfd poll_one = {.fd = process->pidfd, .events = POLLIN};
        poll(&poll_one, 1, (int)left);
    }
}

void guardian_free(struct guardian *guardian)
{
    if (!guardian)
        return;
    let_go(guardian);
    if (process_exists(&guardian->process)) {
        process_signal(&guardian->process, SIGCONT);
        // One that has not ended by then goes on without us.
        wait_for_end(&guardian->process, clock_now_ms() + FREE_WAIT_MS);
    }
    destroy(guardian);
}

void guardian_dismiss(struct guardian *guardian, struct reaper *reaper)
{
    if (!guardian)
        return;
    let_go(guardian);
    if (process_exists(&guardian->process))
        reaper_kill(reaper, &guardian->process);
    destroy(guardian);
}

pid_t guardian_pid(const struct guardian *guardian)
{
    return guardian ? guardian->process.pid : 0;
}
