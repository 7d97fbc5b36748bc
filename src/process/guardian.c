#include "process/guardian.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "process/proc.h"
#include "process/process.h"

static unsigned kill_marked(const char *entry_prefix)
{
    unsigned killed = 0;
    DIR *proc = opendir("/proc");
    for (struct dirent *entry; proc && (entry = readdir(proc));) {
        pid_t pid = (pid_t)atoi(entry->d_name);
        if (pid > 1 && pid != getpid() && proc_environment_has(pid, entry_prefix, true) &&
            kill(pid, SIGKILL) == 0)
            killed++;
    }
    if (proc)
        closedir(proc);
    return killed;
}

static void guardian_run(int fd, const char *entry_prefix)
{
    char byte;
    while (read(fd, &byte, 1) < 0 && errno == EINTR)
        continue;
    // A process may fork during the search: repeat until none is left, but not forever.
    for (int attempt = 0; attempt < 50 && kill_marked(entry_prefix) > 0; attempt++)
        nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
    _exit(0);
}

int guardian_start(const char *entry_prefix, int *ret_fd, pid_t *ret_pid)
{
    int fds[2];
    if (pipe2(fds, O_CLOEXEC) < 0)
        return -errno;
    pid_t pid = fork();
    if (pid < 0) {
        int error = errno;
        close(fds[0]);
        close(fds[1]);
        return -error;
    }
    if (pid == 0) {
        setsid();
        process_reset_signals();
        if (dup2(fds[0], STDIN_FILENO) < 0)
            _exit(EXIT_FAILURE);
        syscall(SYS_close_range, 1, ~0U, 0);
        guardian_run(STDIN_FILENO, entry_prefix);
    }
    close(fds[0]);
    *ret_fd = fds[1];
    *ret_pid = pid;
    return 0;
}
