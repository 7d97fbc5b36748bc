// Commands run for programs: input, output, deadline, bounds, nothing left behind.
#include <criterion/criterion.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/memory.h"
#include "process/command.h"
#include "process/reaper.h"

struct outcome {
    struct event_base *base;
    bool done;
    bool ok;
    char *output;
    size_t length;
    char reason[1024];
};

static void on_done(void *data, const struct command_result *result)
{
    struct outcome *outcome = data;
    outcome->done = true;
    outcome->ok = result->ok;
    outcome->output = memory_copy_text(result->output.data, result->output.length);
    outcome->length = result->output.length;
    snprintf(outcome->reason, sizeof(outcome->reason), "%s", result->reason);
    event_base_loopbreak(outcome->base);
}

static struct outcome run(const char *script, struct span input, int64_t timeout_ms,
                          size_t max_output)
{
    struct outcome outcome = {.base = event_base_new()};
    const char *const argv[] = {"sh", "-c", script, NULL};
    struct command_request request = {.argv = argv,
                                      .input = input,
                                      .timeout_ms = timeout_ms,
                                      .max_output = max_output,
                                      .done = on_done,
                                      .data = &outcome};
    struct command *command;
    signal(SIGPIPE, SIG_IGN);
    struct reaper *reaper = reaper_new(outcome.base);
    cr_assert_eq(command_start(reaper, &request, &command), 0);
    event_base_dispatch(outcome.base);
    reaper_free(reaper);
    event_base_free(outcome.base);
    cr_assert(outcome.done);
    return outcome;
}

Test(command, passes_input_to_output)
{
    struct outcome outcome = run("cat", SPAN("{\"a\": 1}"), 5000, 1000);
    cr_expect(outcome.ok);
    cr_expect_str_eq(outcome.output, "{\"a\": 1}");
    memory_free(outcome.output);
}

Test(command, passes_more_than_a_pipe_holds)
{
    enum { SIZE = 1 << 20 };
    char *input = memory_alloc(SIZE);
    memset(input, 'x', SIZE);
    struct outcome outcome = run("cat", (struct span){input, SIZE}, 5000, 2 * SIZE);
    cr_expect(outcome.ok);
    cr_expect_eq(outcome.length, SIZE);
    memory_free(input);
    memory_free(outcome.output);
}

Test(command, names_status_signal_and_what_it_said)
{
    struct outcome outcome = run("echo broken >&2; exit 3", SPAN(""), 5000, 1000);
    cr_expect_not(outcome.ok);
    cr_expect_str_eq(outcome.reason, "exit status 3: broken");
    memory_free(outcome.output);
    outcome = run("kill -9 $$", SPAN("ignored"), 5000, 1000);
    cr_expect_str_eq(outcome.reason, "ended by signal 9");
    memory_free(outcome.output);
    outcome = run("exec /no/such/program", SPAN(""), 5000, 1000);
    cr_expect_not(outcome.ok);
    memory_free(outcome.output);
}

Test(command, is_stopped_at_its_deadline_with_its_children)
{
    int64_t start = clock_now_ms();
    struct outcome outcome = run("sleep 30 & sleep 30", SPAN(""), 200, 1000);
    cr_expect_not(outcome.ok);
    cr_expect(strstr(outcome.reason, "time limit"), "%s", outcome.reason);
    cr_expect_lt(clock_now_ms() - start, 5000);
    memory_free(outcome.output);
}

static bool process_runs(const char *mark)
{
    char line[128];
    snprintf(line, sizeof(line), "pgrep -f 'sleep %s' | grep -qv $$", mark);
    return system(line) == 0;
}

static void check_nothing_left(const char *mark)
{
    bool runs = process_runs(mark);
    for (int tries = 0; tries < 100 && runs; tries++) {
        usleep(20000);
        runs = process_runs(mark);
    }
    cr_expect_not(runs, "sleep %s", mark);
}

Test(command, ends_children_that_left_its_session)
{
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    struct outcome outcome =
        run("setsid sleep 7442.1 & setsid -f sleep 7442.2; sleep 7442.3", SPAN(""), 300, 1000);
    cr_expect(strstr(outcome.reason, "time limit of 300 ms (timeout_ms)"), "%s", outcome.reason);
    memory_free(outcome.output);
    outcome = run("setsid -f sleep 7442.4 >/dev/null 2>&1; echo done", SPAN(""), 5000, 1000);
    cr_expect(outcome.ok);
    memory_free(outcome.output);
    // One that holds the pipe open does not delay the answer.
    outcome = run("setsid sleep 7442.5 & sleep 0.2; echo done", SPAN(""), 60000, 1000);
    cr_expect(outcome.ok);
    memory_free(outcome.output);
    cr_expect_eq(waitpid(-1, NULL, WNOHANG), -1, "nothing is left unreaped");
    check_nothing_left("7442");
}

// Only a guardian can do that.
Test(command, ends_children_when_its_starter_is_killed)
{
    pid_t pid = fork();
    if (pid == 0) {
        run("setsid sleep 7443 & sleep 7443", SPAN(""), 60000, 1000);
        _exit(0);
    }
    for (int tries = 0; tries < 200 && !process_runs("7443"); tries++)
        usleep(20000);
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    check_nothing_left("7443");
}

Test(command, is_stopped_when_it_talks_too_much)
{
    struct outcome outcome = run("yes", SPAN(""), 10000, 100000);
    cr_expect_not(outcome.ok);
    cr_expect(strstr(outcome.reason, "longer than 100000 bytes (max_output)"), "%s",
              outcome.reason);
    memory_free(outcome.output);
}

Test(command, does_not_wait_for_children_that_keep_its_output_open)
{
    int64_t start = clock_now_ms();
    struct outcome outcome = run("sleep 30 & echo done", SPAN(""), 20000, 1000);
    cr_expect(outcome.ok);
    cr_expect_str_eq(outcome.output, "done\n");
    cr_expect_lt(clock_now_ms() - start, 5000);
    memory_free(outcome.output);
}

Test(command, can_be_cancelled)
{
    struct event_base *base = event_base_new();
    const char *const argv[] = {"sleep", "30", NULL};
    struct command_request request = {
        .argv = argv, .timeout_ms = 20000, .max_output = 10, .done = on_done};
    struct command *command;
    struct reaper *reaper = reaper_new(base);
    cr_assert_eq(command_start(reaper, &request, &command), 0);
    int64_t start = clock_now_ns();
    command_cancel(command);
    cr_expect_lt(clock_now_ns() - start, 50000000, "it waits");
    siginfo_t info;
    bool has_children = true;  // the loop reaps them
    for (int tries = 0; tries < 500 && has_children; tries++) {
        usleep(10000);
        event_base_loop(base, EVLOOP_NONBLOCK);
        has_children = waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0;
    }
    cr_expect_not(has_children, "nothing is left unreaped");
    reaper_free(reaper);
    event_base_free(base);
}

// The end of the process and its last words arrive in any order.
Test(command, never_loses_last_words)
{
    for (int i = 0; i < 100; i++) {
        struct outcome outcome = run("echo last words >&2; exit 1", SPAN(""), 5000, 1000);
        cr_assert_str_eq(outcome.reason, "exit status 1: last words");
        memory_free(outcome.output);
    }
}
