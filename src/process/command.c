#include "process/command.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/memory.h"
#include "process/guardian.h"
#include "process/proc.h"
#include "process/process.h"
#include "process/reaper.h"

enum { STANDARD_STREAMS = 3 };

struct command {
    struct reaper *reaper;
    struct event_base *base;
    struct process process;
    pid_t group;
    int fds[STANDARD_STREAMS];  // our ends; -1 = closed
    struct event *events[STANDARD_STREAMS];
    struct event *deadline;
    struct buffer input;
    size_t written;
    struct buffer output;
    struct buffer error;
    int64_t timeout_ms;
    char failure[96];  // why we ended it; empty: it ended by itself
    char *entry;       // "CADRE_COMMAND=…" in the environment of all that it starts
    uint64_t since_tick;
    struct process guardian;  // ends what is left when we cannot
    int guardian_fd;
    bool exited;
    struct process_exit exit;
    command_done_fn *done;
    void *data;
};

static void close_stream(struct command *command, int stream)
{
    if (command->events[stream])
        event_free(command->events[stream]);
    command->events[stream] = NULL;
    if (command->fds[stream] >= 0)
        close(command->fds[stream]);
    command->fds[stream] = -1;
}

static void command_free(struct command *command)
{
    for (int stream = 0; stream < STANDARD_STREAMS; stream++)
        close_stream(command, stream);
    if (command->deadline)
        event_free(command->deadline);
    process_close(&command->process);
    if (command->guardian_fd >= 0)
        close(command->guardian_fd);
    reaper_kill(command->reaper, &command->guardian);
    memory_free(command->entry);
    buffer_release(&command->input);
    buffer_release(&command->output);
    buffer_release(&command->error);
    memory_free(command);
}

// --- its end -------------------------------------------------------------------------------------

// It leads its own kernel session and process group.
static void kill_group(struct command *command)
{
    if (command->group > 0)
        kill(-command->group, SIGKILL);
}

struct leftovers {
    const struct command *command;
    unsigned killed;
};

static enum proc_visit kill_leftover(void *data, pid_t pid)
{
    struct leftovers *leftovers = data;
    const struct command *command = leftovers->command;
    struct process process = {.pidfd = -1};
    struct proc_status status;
    if (pid == command->process.pid || reaper_has(command->reaper, pid) ||
        process_open(&process, pid) < 0)
        return PROC_VISIT_CONTINUE;
    // Read after it was opened: the pid cannot be another process's by now. A dying process has no
    // environment any more, but still its session.
    bool started_later =
        proc_status_read(pid, &status) == 0 && status.start_tick >= command->since_tick;
    if (started_later &&
        (status.session == command->group || proc_environment_has(pid, command->entry, false))) {
        reaper_kill(command->reaper, &process);
        leftovers->killed++;
    }
    process_close(&process);
    return PROC_VISIT_CONTINUE;
}

// Processes that left the group are ours since their parents ended (the server is a subreaper) and
// are recognised by their environment. A process may fork during the search, but not once it is
// killed (the kernel makes no child for a process with a pending SIGKILL): search until none is
// left, but not forever.
static void kill_leftovers(struct command *command)
{
    struct leftovers leftovers = {.command = command, .killed = 1};
    kill_group(command);
    for (int attempt = 0; attempt < 4 && leftovers.killed > 0; attempt++) {
        leftovers.killed = 0;
        proc_descendants(getpid(), kill_leftover, &leftovers);
    }
}

static void describe_failure(const struct command *command, struct command_result *result)
{
    struct span said = buffer_span(&command->error);
    while (said.length &&
           (said.data[said.length - 1] == '\n' || said.data[said.length - 1] == '\r'))
        said.length--;
    int used;
    if (command->failure[0])
        used = snprintf(result->reason, sizeof(result->reason), "%s", command->failure);
    else if (command->exit.signaled)
        used = snprintf(result->reason, sizeof(result->reason), "ended by signal %d",
                        command->exit.code);
    else
        used =
            snprintf(result->reason, sizeof(result->reason), "exit status %d", command->exit.code);
    if (said.length)
        snprintf(result->reason + used, sizeof(result->reason) - (size_t)used, ": %.*s",
                 (int)said.length, said.data);
    for (char *c = result->reason; *c; c++)
        if (*c == '\n')
            *c = ' ';
}

// Done when the process has ended and what it wrote is read to the end.
static void finish_if_done(struct command *command)
{
    bool reading = command->fds[STDOUT_FILENO] >= 0 || command->fds[STDERR_FILENO] >= 0;
    bool gave_up = command->failure[0] != '\0';
    if (!command->exited || (!gave_up && reading))
        return;
    struct command_result result = {
        .ok = !gave_up && command->exit.known && !command->exit.signaled && command->exit.code == 0,
        .output = buffer_span(&command->output),
    };
    if (!result.ok)
        describe_failure(command, &result);
    command->done(command->data, &result);
    command_free(command);
}

static void give_up(struct command *command, const char *problem, int64_t limit, const char *option)
{
    if (!command->failure[0])
        snprintf(command->failure, sizeof(command->failure), "%s %" PRId64 " %s", problem, limit,
                 option);
    kill_group(command);
    process_signal(&command->process, SIGKILL);  // also before it has its group
    finish_if_done(command);
}

static void on_exit_event(evutil_socket_t fd, short what, void *data)
{
    (void)fd;
    (void)what;
    struct command *command = data;
    if (!process_reap(&command->process, &command->exit))
        return;
    command->exited = true;
    kill_leftovers(command);  // one that holds the pipe open must not delay the answer
    finish_if_done(command);
}

static void on_deadline(evutil_socket_t fd, short what, void *data)
{
    (void)fd;
    (void)what;
    struct command *command = data;
    give_up(command, "it took longer than its time limit of", command->timeout_ms,
            "ms (timeout_ms)");
}

static void on_output(evutil_socket_t fd, short what, void *data)
{
    (void)what;
    struct command *command = data;
    int stream = fd == command->fds[STDOUT_FILENO] ? STDOUT_FILENO : STDERR_FILENO;
    struct buffer *kept = stream == STDOUT_FILENO ? &command->output : &command->error;
    char block[65536];
    ssize_t length = read(fd, block, sizeof(block));
    if (length < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (length <= 0) {
        close_stream(command, stream);
        finish_if_done(command);
        return;
    }
    size_t room = kept->limit - kept->length;
    if (stream == STDERR_FILENO && (size_t)length > room)
        length = (ssize_t)room;  // the beginning says most; the rest is read and dropped
    buffer_append(kept, block, (size_t)length);
    if (stream == STDOUT_FILENO && kept->failed)
        give_up(command, "its output is longer than", (int64_t)kept->limit, "bytes (max_output)");
}

static void on_input(evutil_socket_t fd, short what, void *data)
{
    (void)what;
    struct command *command = data;
    ssize_t length =
        write(fd, command->input.data + command->written, command->input.length - command->written);
    if (length < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    // A command that does not read its input is no failure.
    if (length < 0 || (command->written += (size_t)length) == command->input.length)
        close_stream(command, STDIN_FILENO);
}

// --- starting ------------------------------------------------------------------------------------

static _Noreturn void run_child(const char *const *argv, const int ends[STANDARD_STREAMS],
                                char *entry, pid_t parent)
{
    putenv(entry);
    setsid();
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    signal(SIGPIPE, SIG_DFL);
    if (getppid() != parent)
        _exit(126);
    for (int stream = 0; stream < STANDARD_STREAMS; stream++)
        if (dup2(ends[stream], stream) < 0)
            _exit(126);
    execvp(argv[0], (char *const *)argv);
    const char *reason = strerror(errno);
    (void)!write(STDERR_FILENO, "cannot run: ", 12);
    (void)!write(STDERR_FILENO, reason, strlen(reason));
    _exit(127);
}

// Descriptors of a pipe per stream: ours non-blocking, the child's placed above the standard ones.
static int open_pipes(struct command *command, int ends[STANDARD_STREAMS])
{
    for (int stream = 0; stream < STANDARD_STREAMS; stream++) {
        int pair[2];
        if (pipe2(pair, O_CLOEXEC) < 0)
            return -errno;
        bool input = stream == STDIN_FILENO;
        command->fds[stream] = pair[input ? 1 : 0];
        ends[stream] = fcntl(pair[input ? 0 : 1], F_DUPFD_CLOEXEC, 10);
        close(pair[input ? 0 : 1]);
        if (ends[stream] < 0 || fcntl(command->fds[stream], F_SETFL, O_NONBLOCK) < 0)
            return -errno;
    }
    return 0;
}

static int start_process(struct command *command, const char *const *argv)
{
    int ends[STANDARD_STREAMS] = {-1, -1, -1};
    int failed = open_pipes(command, ends);
    pid_t parent = getpid();
    pid_t pid = failed < 0 ? -1 : fork();
    if (pid == 0)
        run_child(argv, ends, command->entry, parent);
    if (failed == 0 && pid < 0)
        failed = -errno;
    for (int stream = 0; stream < STANDARD_STREAMS; stream++)
        if (ends[stream] >= 0)
            close(ends[stream]);
    if (failed < 0)
        return failed;
    command->group = pid;
    failed = process_open(&command->process, pid);
    return failed < 0 ? failed
                      : process_watch(&command->process, command->base, on_exit_event, command);
}

static int watch(struct command *command)
{
    command->events[STDIN_FILENO] = event_new(command->base, command->fds[STDIN_FILENO],
                                              EV_WRITE | EV_PERSIST, on_input, command);
    command->events[STDOUT_FILENO] = event_new(command->base, command->fds[STDOUT_FILENO],
                                               EV_READ | EV_PERSIST, on_output, command);
    command->events[STDERR_FILENO] = event_new(command->base, command->fds[STDERR_FILENO],
                                               EV_READ | EV_PERSIST, on_output, command);
    command->deadline = evtimer_new(command->base, on_deadline, command);
    if (!command->deadline)
        return -ENOMEM;
    for (int stream = 0; stream < STANDARD_STREAMS; stream++)
        if (!command->events[stream] || event_add(command->events[stream], NULL) < 0)
            return -ENOMEM;
    struct timeval limit = timeval_from_ms(command->timeout_ms);
    return evtimer_add(command->deadline, &limit) < 0 ? -ENOMEM : 0;
}

// Without a guardian the command still runs; only a server that is killed would leave its children.
static int mark(struct command *command)
{
    unsigned long long random;
    if (getrandom(&random, sizeof(random), 0) != sizeof(random))
        return -EIO;
    command->entry = memory_format("CADRE_COMMAND=%d-%016llx", (int)getpid(), random);
    command->since_tick = proc_tick_now();
    pid_t pid;
    if (guardian_start(command->entry, &command->guardian_fd, &pid) < 0 ||
        process_open(&command->guardian, pid) < 0)
        log_warning("the guardian of a command could not be started");
    return 0;
}

int command_start(struct reaper *reaper, const struct command_request *request,
                  struct command **ret_command)
{
    struct command *command = memory_alloc_zero(sizeof(*command));
    *command = (struct command){
        .reaper = reaper,
        .base = reaper_base(reaper),
        .process = {.pidfd = -1},
        .guardian = {.pidfd = -1},
        .guardian_fd = -1,
        .fds = {-1, -1, -1},
        .timeout_ms = request->timeout_ms,
        .done = request->done,
        .data = request->data,
    };
    buffer_init(&command->input, BUFFER_DEFAULT_LIMIT);
    buffer_append_span(&command->input, request->input);
    buffer_init(&command->output, request->max_output);
    buffer_init(&command->error, COMMAND_ERROR_TEXT);
    int failed = mark(command);
    if (failed == 0)
        failed = start_process(command, request->argv);
    if (failed == 0)
        failed = watch(command);
    if (failed < 0) {
        command_cancel(command);
        return failed;
    }
    if (command->input.length == 0)
        close_stream(command, STDIN_FILENO);
    *ret_command = command;
    return 0;
}

void command_cancel(struct command *command)
{
    kill_group(command);
    if (!command->exited)
        reaper_kill(command->reaper, &command->process);
    if (command->entry)
        kill_leftovers(command);
    command_free(command);
}
