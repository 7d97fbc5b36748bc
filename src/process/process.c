#include "process/process.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/assert.h"

void process_reset_signals(void)
{
    for (int number = 1; number < NSIG; number++)
        signal(number, SIG_DFL);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

int process_open(struct process *process, pid_t pid)
{
    int pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
    if (pidfd < 0)
        return -errno;
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

int process_wake(const struct process *process, int value)
{
    siginfo_t info = queued(PROCESS_WAKE_SIGNAL, value);
    return pidfd_signal(process, PROCESS_WAKE_SIGNAL, &info);
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
    *process = (struct process){0};
}
