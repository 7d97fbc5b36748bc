// The lock of the program workers: what it forbids and what it leaves.
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/array.h"
#include "process/sandbox/sandbox.h"

// Runs `attempt` in a locked child; its result is the child's exit status.
static int in_sandbox(int (*attempt)(void))
{
    pid_t child = fork();
    if (child == 0) {
        struct sandbox_report report;
        if (sandbox_lock(1UL << 32, &report) < 0)
            _exit(100);
        _exit(attempt());
    }
    int status;
    cr_assert_eq(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 200 + WTERMSIG(status);
}

static int refused(long result)
{
    return result < 0 && (errno == EPERM || errno == ENOSYS) ? 0 : 1;
}

static int try_open(void)
{
    return refused(open("/etc/passwd", O_RDONLY));
}
static int try_create(void)
{
    return refused(open("/tmp/cadre-sandbox-test", O_RDWR | O_CREAT, 0600));
}
static int try_socket(void)
{
    return refused(socket(AF_INET, SOCK_STREAM, 0));
}
static int try_unix_socket(void)
{
    return refused(socket(AF_UNIX, SOCK_STREAM, 0));
}
static int try_fork(void)
{
    return refused(syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0));
}
static int try_vfork(void)
{
    return refused(syscall(SYS_vfork));
}
static int try_clone3(void)
{
    return refused(syscall(SYS_clone3, NULL, 0));
}
static int try_ptrace(void)
{
    return refused(ptrace(PTRACE_TRACEME, 0, 0, 0));
}
static int try_kill(void)
{
    return refused(kill(getppid(), 0));
}
static int try_unlink(void)
{
    return refused(unlink("/tmp/no-such-file"));
}
static int try_uname(void)
{
    return refused(syscall(SYS_uname, NULL));
}
static int try_io_uring(void)
{
    return refused(syscall(SYS_io_uring_setup, 1, NULL));
}

static int try_sendmsg(void)
{
    return refused(sendmsg(0, &(struct msghdr){0}, 0));
}

static int try_map_file(void)
{
    return refused((long)mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, 0, 0));
}

static int try_share_code(void)
{
    return refused((long)mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
                              MAP_SHARED | MAP_ANONYMOUS, -1, 0));
}

static int try_make_executable(void)
{
    void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return page == MAP_FAILED ? 1 : refused(mprotect(page, 4096, PROT_READ | PROT_EXEC));
}

static int try_exec(void)
{
    const char *const arguments[] = {"true", NULL};
    return refused(execve("/bin/true", (char *const *)arguments, NULL));
}

static int use_memory(void)
{
    char *pages = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages == MAP_FAILED)
        return 1;
    pages[4096] = 1;
    return munmap(pages, 1 << 20);
}

static void *add_one(void *number)
{
    ++*(int *)number;
    return NULL;
}

static int use_thread(void)
{
    pthread_t thread;
    int number = 41;
    if (pthread_create(&thread, NULL, add_one, &number) != 0 || pthread_join(thread, NULL) != 0)
        return 1;
    return number == 42 ? 0 : 1;
}

Test(sandbox, refuses_every_way_out)
{
    static const struct {
        const char *name;
        int (*attempt)(void);
    } attempts[] = {
        {"open", try_open},
        {"create", try_create},
        {"socket", try_socket},
        {"unix socket", try_unix_socket},
        {"fork", try_fork},
        {"vfork", try_vfork},
        {"clone3", try_clone3},
        {"ptrace", try_ptrace},
        {"kill", try_kill},
        {"unlink", try_unlink},
        {"uname", try_uname},
        {"io_uring", try_io_uring},
        {"exec", try_exec},
        {"sendmsg", try_sendmsg},
        {"map", try_map_file},
        {"share code", try_share_code},
        {"protect", try_make_executable},
    };
    for (size_t i = 0; i < COUNT_OF(attempts); i++)
        cr_expect_eq(in_sandbox(attempts[i].attempt), 0, "%s was not refused", attempts[i].name);
}

Test(sandbox, leaves_memory_and_threads)
{
    cr_expect_eq(in_sandbox(use_memory), 0);
    cr_expect_eq(in_sandbox(use_thread), 0);
}
