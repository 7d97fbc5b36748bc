#include "process/process.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/memory.h"

void process_reset_signals(void)
{
    for (int number = 1; number < NSIG; number++)
        signal(number, SIG_DFL);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

// --- which processes are open --------------------------------------------------------------------

// A pid once for each time it is open. The children of a process are the same for all its parts,
// and so is this.
static struct {
    pid_t *pids;
    size_t count;
    size_t capacity;
} open_pids;

static void open_pids_add(pid_t pid)
{
    if (open_pids.count == open_pids.capacity) {
        open_pids.capacity = open_pids.capacity ? 2 * open_pids.capacity : 64;
        open_pids.pids =
            memory_resize(open_pids.pids, open_pids.capacity * sizeof(*open_pids.pids));
    }
    open_pids.pids[open_pids.count++] = pid;
}

static void open_pids_remove(pid_t pid)
{
    size_t at = 0;
    while (at < open_pids.count && open_pids.pids[at] != pid)
        at++;
    CHECK(at < open_pids.count);
    open_pids.pids[at] = open_pids.pids[--open_pids.count];
    if (open_pids.count > 0)
        return;
    memory_free(open_pids.pids);
    open_pids.pids = NULL;
    open_pids.capacity = 0;
}

bool process_is_open(pid_t pid)
{
    for (size_t i = 0; i < open_pids.count; i++)
        if (open_pids.pids[i] == pid)
            return true;
    return false;
}

// --- one process ---------------------------------------------------------------------------------

int process_open(struct process *process, pid_t pid)
{
    int pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
    if (pidfd < 0)
        return -errno;
    open_pids_add(pid);
    *process = (struct process){.pid = pid, .pidfd = pidfd};
    return 0;
}

int process_watch(struct process *process, struct event_base *base, event_callback_fn callback,
                  void *data)
{
    CHECK(process_exists(process) && !process->exit_event);
    struct event *event = event_new(base, process->pidfd, EV_READ, callback, data);
    if (!event)
        return -ENOMEM;
    if (event_add(event, NULL) < 0) {
        event_free(event);
        return -ENOMEM;
    }
    process->exit_event = event;
    return 0;
}

void process_unwatch(struct process *process)
{
    if (process->exit_event)
        event_free(process->exit_event);
    process->exit_event = NULL;
}

static int pidfd_signal(const struct process *process, int signal, siginfo_t *info)
{
    CHECK(process_exists(process));
    return syscall(SYS_pidfd_send_signal, process->pidfd, signal, info, 0) < 0 ? -errno : 0;
}

int process_signal(const struct process *process, int signal)
{
    return pidfd_signal(process, signal, NULL);
}

static siginfo_t queued(int signal, int value)
{
    siginfo_t info;
    memset(&info, 0, sizeof(info));
    info.si_signo = signal;
    info.si_code = SI_QUEUE;
    info.si_pid = getpid();
    info.si_uid = getuid();
    info.si_value.sival_int = value;
    return info;
}

// Without a value: a signal that carries one is refused when too many of the user's are pending.
int process_wake(const struct process *process)
{
    int result = pidfd_signal(process, PROCESS_WAKE_SIGNAL, NULL);
    return result < 0 ? result : process_signal(process, SIGCONT);
}

int process_interrupt(const struct process *process, int signal)
{
    CHECK(process_exists(process));
    if (syscall(SYS_tgkill, process->pid, process->pid, signal) < 0)
        return -errno;
    return process_signal(process, SIGCONT);
}

int process_stop_request(const struct process *process, uint32_t number)
{
    CHECK(process_exists(process));
    siginfo_t info = queued(SIGINT, (int)number);
    if (syscall(SYS_rt_tgsigqueueinfo, process->pid, process->pid, SIGINT, &info) < 0)
        return -errno;
    return process_signal(process, SIGCONT);
}

bool process_reap(struct process *process, struct process_exit *ret_exit)
{
    CHECK(process_exists(process));
    siginfo_t info;
    info.si_pid = 0;
    if (waitid(P_PIDFD, (id_t)process->pidfd, &info, WEXITED | WNOHANG) < 0) {
        // Not our child (a clone made by plain fork): the pidfd still tells when it is gone.
        struct pollfd poll_one = {.fd = process->pidfd, .events = POLLIN};
        if (poll(&poll_one, 1, 0) != 1)
            return false;
        *ret_exit = (struct process_exit){0};
        return true;
    }
    if (info.si_pid == 0)
        return false;
    *ret_exit = (struct process_exit){
        .known = true, .signaled = info.si_code != CLD_EXITED, .code = info.si_status};
    return true;
}

void process_close(struct process *process)
{
    if (!process_exists(process))
        return;
    process_unwatch(process);
    close(process->pidfd);
    open_pids_remove(process->pid);
    *process = (struct process){0};
}
