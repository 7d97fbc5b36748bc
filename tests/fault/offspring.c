// What user code starts and abandons: daemons, floods of children, children that hide. None may
// outlive its session or the server, and none stays a zombie. And the guardian, which sees to it
// when the server is killed.
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/assert.h"
#include "cases.h"
#include "process/proc.h"

// --- finding processes ---------------------------------------------------------------------------

static void read_of(pid_t pid, const char *name, char *text, size_t size)
{
    char path[64];
    snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t length = fd < 0 ? 0 : read(fd, text, size - 1);
    if (fd >= 0)
        close(fd);
    text[length > 0 ? length : 0] = '\0';
    for (ssize_t i = 0; i + 1 < length; i++)
        if (text[i] == '\0')
            text[i] = ' ';
}

struct search {
    const char *text;  // in the command line
    char state;        // 0 = any but a zombie
    int count;
};

static enum proc_visit count_one(void *data, pid_t pid)
{
    struct search *search = data;
    struct proc_status status;
    char line[512];
    read_of(pid, "cmdline", line, sizeof(line));
    if (proc_status_read(pid, &status) < 0)
        return PROC_VISIT_CONTINUE;
    if (search->state ? status.state == search->state
                      : status.state != 'Z' && strstr(line, search->text))
        search->count++;
    return PROC_VISIT_CONTINUE;
}

// Of this process, which is a subreaper: whatever is abandoned becomes its child.
static int count_running(const char *text)
{
    struct search search = {.text = text};
    proc_descendants(getpid(), count_one, &search);
    return search.count;
}

static int count_zombies(void)
{
    struct search search = {.state = 'Z'};
    proc_children(getpid(), count_one, &search);
    return search.count;
}

// Lets the loop run until there is none; how many there are after 20 seconds.
static int wait_for_none(struct driver *driver, const char *text)
{
    int count = count_running(text);
    for (int i = 0; i < 400 && count > 0; i++) {
        if (driver)
            driver_run_for(driver, 50);
        else
            usleep(50000);
        count = count_running(text);
    }
    return count;
}

// A program that was just started may not have its name yet.
static bool are_running(const char *text, int count)
{
    for (int i = 0; i < 400 && count_running(text) != count; i++)
        usleep(50000);
    return count_running(text) == count;
}

static void shell(struct driver *driver, const char *session, const char *script)
{
    char code[1024];
    struct answer answer;
    snprintf(code, sizeof(code),
             "(sb-ext:run-program \"/bin/sh\" '(\"-c\" \"%s\") :output nil :error nil)", script);
    driver_start(driver, session, code, 120, &answer);
    driver_wait(driver, &answer);
    check(answer.ok, "%s: %s %s", script, answer.type, answer.message);
}

// --- zombies -------------------------------------------------------------------------------------

static void daemons_are_reaped(struct driver *driver)
{
    shell(driver, NULL, "for i in $(seq 50); do setsid -f true; done");
    int zombies = count_zombies();
    for (int i = 0; i < 200 && zombies > 0; i++) {
        driver_run_for(driver, 50);
        zombies = count_zombies();
    }
    check(zombies == 0, "%d daemons that ended are zombies", zombies);
}

// --- floods --------------------------------------------------------------------------------------

static void flood_ends_with_reset(struct driver *driver)
{
    struct answer answer;
    shell(driver, NULL, "i=0; while [ $i -lt 4500 ]; do sleep 86411 & i=$((i+1)); done");
    check(count_running("sleep 86411") >= 4500, "%d children run", count_running("sleep 86411"));
    struct session_request request = {.kind = SESSION_RESET, .timeout = -1};
    driver_call(driver, &request, &answer);
    int left = wait_for_none(driver, "sleep 86411");
    check(answer.ok && left == 0, "%d of 4500 children outlive reset-session; %s", left,
          answer.message);
    driver_run_for(driver, 300);
    check(count_zombies() == 0, "%d are zombies", count_zombies());
    driver_eval(driver, "(+ 1 2)", 20, &answer);
    check(strcmp(answer.values, "3") == 0, "after reset: %s %s", answer.values, answer.message);
}

// A child that leaves its kernel session, its parent and its environment.
static void hidden_daemons_end(struct driver *driver)
{
    shell(driver, "other", "env -i setsid -f sleep 86412");
    shell(driver, "kept", "env -i setsid -f sleep 86413");
    check(are_running("sleep 86412", 1) && are_running("sleep 86413", 1), "the daemons do not run");
    session_close(driver->manager, "other");
    int left = wait_for_none(driver, "sleep 86412");
    check(left == 0, "a daemon without environment outlives close-session");
    check(count_running("sleep 86413") == 1, "a daemon of another session was killed");

    struct answer answer;
    driver_eval(driver,
                "(sb-ext:run-program \"/bin/sh\" '(\"-c\" \"env -i setsid -f sleep 86414\"))"
                " (sb-ext:exit :abort t)",
                20, &answer);
    left = wait_for_none(driver, "sleep 86414");
    check(answer.rollback[0] && left == 0, "a daemon of an evaluation that was rolled back lives");
}

static void nothing_outlives_the_manager(void)
{
    struct driver driver;
    driver_open(&driver, &(struct session_config){0});
    shell(&driver, NULL, "env -i setsid -f sleep 86415; env -i sleep 86415 &");
    check(are_running("sleep 86415", 2), "%d daemons run", count_running("sleep 86415"));
    driver_close(&driver);
    int left = wait_for_none(NULL, "sleep 86415");
    check(left == 0, "%d daemons outlive the server", left);
}

// --- the guardian --------------------------------------------------------------------------------

static enum proc_visit find_guardian(void *data, pid_t pid)
{
    char name[64];
    read_of(pid, "comm", name, sizeof(name));
    if (strcmp(name, "guardian\n") != 0)
        return PROC_VISIT_CONTINUE;
    *(pid_t *)data = pid;
    return PROC_VISIT_STOP;
}

static pid_t guardian_of(pid_t server)
{
    pid_t pid = 0;
    for (int i = 0; i < 200 && pid == 0; i++) {
        proc_children(server, find_guardian, &pid);
        if (pid == 0)
            usleep(20000);
    }
    return pid;
}

static void serve_until_killed(int ready)
{
    struct driver driver;
    struct answer answer;
    driver_open(&driver, &(struct session_config){0});
    shell(&driver, NULL, "env -i setsid -f sleep 86416; setsid -f sleep 86416");
    if (write(ready, "r", 1) != 1)
        _exit(1);
    driver_eval(&driver, "(loop)", 0, &answer);
    _exit(1);
}

static pid_t start_server(void)
{
    int fds[2];
    CHECK(pipe(fds) == 0);
    fflush(stdout);
    pid_t server = fork();
    CHECK(server >= 0);
    if (server == 0)
        serve_until_killed(fds[1]);
    char byte;
    CHECK(read(fds[0], &byte, 1) == 1);
    close(fds[0]);
    close(fds[1]);
    return server;
}

// Its children are ours then: this process is a subreaper.
static void kill_server(pid_t server)
{
    kill(server, SIGKILL);
    waitpid(server, NULL, 0);
}

static bool ends(pid_t pid)
{
    bool alive = true;
    for (int i = 0; i < 400 && alive; i++) {
        usleep(20000);
        struct proc_status status;
        while (waitpid(-1, NULL, WNOHANG) > 0)
            continue;
        alive = proc_status_read(pid, &status) == 0 && status.state != 'Z';
    }
    return !alive;
}

static void stopped_guardian_does_its_work(void)
{
    pid_t server = start_server();
    pid_t guardian = guardian_of(server);
    char line[256];
    read_of(guardian, "cmdline", line, sizeof(line));
    check(guardian > 0 && !strstr(line, "session_driver"), "the guardian is called %s", line);
    kill(guardian, SIGSTOP);
    kill_server(server);
    check(wait_for_none(NULL, "sleep 86416") == 0, "daemons outlive a server with its guardian "
                                                   "stopped");
    check(guardian > 0 && ends(guardian), "a guardian that was stopped is left behind");
    if (guardian > 0)
        kill(guardian, SIGKILL);
}

static void dead_guardian_is_replaced(void)
{
    pid_t server = start_server();
    pid_t first = guardian_of(server);
    if (first > 0)
        kill(first, SIGKILL);
    pid_t second = first;
    for (int i = 0; i < 400 && (second == first || second == 0); i++) {
        usleep(20000);
        second = 0;
        proc_children(server, find_guardian, &second);
    }
    check(second > 0 && second != first, "a guardian that was killed is not replaced");
    kill_server(server);
    check(wait_for_none(NULL, "sleep 86416") == 0, "daemons outlive the server");
    check(ends(second), "the guardian outlives the server");
}

void run_offspring(void)
{
    struct driver driver;
    driver_open(&driver, &(struct session_config){0});
    daemons_are_reaped(&driver);
    hidden_daemons_end(&driver);
    flood_ends_with_reset(&driver);
    driver_close(&driver);
    nothing_outlives_the_manager();
    stopped_guardian_does_its_work();
    dead_guardian_is_replaced();
    check_no_children();
}
