#include "session/command.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/memory.h"
#include "session/process.h"

enum { STANDARD_STREAMS = 3 };

struct command {
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
    const char *failure;  // why we ended it; NULL: it ended by itself
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
    buffer_release(&command->input);
    buffer_release(&command->output);
    buffer_release(&command->error);
    memory_free(command);
}

// The command and everything it started: it leads its own kernel session and process group.
static void kill_group(struct command *command)
{
    if (command->group > 0)
        kill(-command->group, SIGKILL);
}

static void describe_failure(const struct command *command, struct command_result *result)
{
    struct span said = buffer_span(&command->error);
    while (said.length &&
           (said.data[said.length - 1] == '\n' || said.data[said.length - 1] == '\r'))
        said.length--;
    int used;
    if (command->failure)
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
    if (!command->exited || (!command->failure && reading))
        return;
    kill_group(command);
    struct command_result result = {
        .ok = !command->failure && command->exit.known && !command->exit.signaled &&
              command->exit.code == 0,
        .output = buffer_span(&command->output),
    };
    if (!result.ok)
        describe_failure(command, &result);
    command->done(command->data, &result);
    command_free(command);
}

static void give_up(struct command *command, const char *reason)
{
    if (!command->failure)
        command->failure = reason;
    kill_group(command);
    process_signal(&command->process, SIGKILL);  // also before it has its group
    finish_if_done(command);
}

static void on_exit_event(evutil_socket_t fd, short what, void *data)
{
    (void)fd, (void)what;
    struct command *command = data;
    if (!process_reap(&command->process, &command->exit))
        return;
    command->exited = true;
    // Children that hold the pipe open must not delay the answer.
    kill_group(command);
    finish_if_done(command);
}

static void on_deadline(evutil_socket_t fd, short what, void *data)
{
    (void)fd, (void)what;
    give_up(data, "it took longer than its time limit");
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
        give_up(command, "its output is longer than max_output");
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

// --- starting -----------------------------------------------------------------------------------

static _Noreturn void run_child(const char *const *argv, const int ends[STANDARD_STREAMS],
                                pid_t parent)
{
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
        run_child(argv, ends, parent);
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
    struct timeval limit = {command->timeout_ms / 1000, command->timeout_ms % 1000 * 1000};
    return evtimer_add(command->deadline, &limit) < 0 ? -ENOMEM : 0;
}

int command_start(struct event_base *base, const struct command_request *request,
                  struct command **ret_command)
{
    struct command *command = memory_alloc_zero(sizeof(*command));
    *command = (struct command){
        .base = base,
        .process = {.pidfd = -1},
        .fds = {-1, -1, -1},
        .timeout_ms = request->timeout_ms,
        .done = request->done,
        .data = request->data,
    };
    buffer_init(&command->input, BUFFER_DEFAULT_LIMIT);
    buffer_append_span(&command->input, request->input);
    buffer_init(&command->output, request->max_output);
    buffer_init(&command->error, COMMAND_ERROR_TEXT);
    int failed = start_process(command, request->argv);
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
    // The killed process is reaped here: it ends at once, and nobody else waits for it.
    if (process_exists(&command->process) && !command->exited) {
        process_signal(&command->process, SIGKILL);
        for (int tries = 0; tries < 1000 && !process_reap(&command->process, &command->exit);
             tries++)
            usleep(100);
    }
    command_free(command);
}
