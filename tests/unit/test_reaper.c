// Killed processes are reaped from the loop.
#include <criterion/criterion.h>
#include <errno.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "process/reaper.h"

static void run_loop(struct event_base *base, int milliseconds)
{
    struct timeval time = {.tv_usec = milliseconds * 1000};
    event_base_loopexit(base, &time);
    event_base_dispatch(base);
}

static void run_until_reaped(struct event_base *base, const struct reaper *reaper, pid_t pid)
{
    for (int tries = 0; tries < 200 && reaper_has(reaper, pid); tries++)
        run_loop(base, 10);
    cr_expect_not(reaper_has(reaper, pid));
}

static void expect_no_child(void)
{
    cr_expect(waitpid(-1, NULL, WNOHANG) == -1 && errno == ECHILD, "a child is left");
}

static pid_t start_sleeper(void)
{
    pid_t pid = fork();
    while (pid == 0)
        pause();
    return pid;
}

Test(reaper, reaps_from_the_loop)
{
    struct event_base *base = event_base_new();
    struct reaper *reaper = reaper_new(base);
    pid_t pid = start_sleeper();
    struct process process;
    cr_assert_eq(process_open(&process, pid), 0);
    reaper_kill(reaper, &process);
    cr_expect_not(process_exists(&process));
    cr_expect(reaper_has(reaper, pid));
    run_until_reaped(base, reaper, pid);
    expect_no_child();
    reaper_free(reaper);
    event_base_free(base);
}

// A parent that does not reap its child, and ends later than it.
static pid_t start_parent(int end_fd, pid_t *ret_child)
{
    int report[2];
    cr_assert_eq(pipe(report), 0);
    pid_t parent = fork();
    if (parent == 0) {
        pid_t child = start_sleeper();
        char byte;
        (void)!write(report[1], &child, sizeof(child));
        (void)!read(end_fd, &byte, 1);
        _exit(0);
    }
    cr_assert_eq(read(report[0], ret_child, sizeof(*ret_child)), sizeof(*ret_child));
    close(report[0]);
    close(report[1]);
    return parent;
}

Test(reaper, reaps_the_child_of_another_process_when_that_has_ended)
{
    cr_assert_eq(prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
    struct event_base *base = event_base_new();
    struct reaper *reaper = reaper_new(base);
    int end[2];
    cr_assert_eq(pipe(end), 0);
    pid_t child, parent = start_parent(end[0], &child);
    struct process process;
    cr_assert_eq(process_open(&process, child), 0);
    reaper_kill(reaper, &process);
    run_loop(base, 60);
    cr_expect(reaper_has(reaper, child), "it cannot be reaped yet");
    cr_assert_eq(write(end[1], "", 1), 1);
    cr_assert_eq(waitpid(parent, NULL, 0), parent);
    run_until_reaped(base, reaper, child);
    expect_no_child();
    reaper_free(reaper);
    event_base_free(base);
}

Test(reaper, reaps_what_is_left_when_it_is_freed)
{
    struct event_base *base = event_base_new();
    struct reaper *reaper = reaper_new(base);
    struct process process;
    cr_assert_eq(process_open(&process, start_sleeper()), 0);
    reaper_kill(reaper, &process);
    reaper_free(reaper);
    expect_no_child();
    event_base_free(base);
}
