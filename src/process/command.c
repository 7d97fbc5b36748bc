#include "process/command.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/clock.h"
#include "base/memory.h"
#include "process/piped.h"
#include "process/process.h"
#include "process/reaper.h"

struct command {
    struct reaper *reaper;
    struct event_base *base;
    struct piped piped;
    struct event *events[PIPED_STREAMS];
    struct event *deadline;
    struct buffer input;
    size_t written;
    struct buffer output;
    struct buffer error;
    int64_t timeout_ms;
    char failure[96];  // why we ended it; empty: it ended by itself
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
    piped_close(&command->piped, stream);
}

static void command_free(struct command *command)
{
    for (int stream = 0; stream < PIPED_STREAMS; stream++)
        close_stream(command, stream);
    if (command->deadline)
        event_free(command->deadline);
    piped_release(&command->piped);
    buffer_release(&command->input);
    buffer_release(&command->output);
    buffer_release(&command->error);
    memory_free(command);
}

// --- its end -------------------------------------------------------------------------------------

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
    result->is_pending = !command->failure[0] && !command->exit.signaled &&
                         command->exit.code == COMMAND_NO_ANSWER_YET;
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
    bool reading = command->piped.fds[STDOUT_FILENO] >= 0 || command->piped.fds[STDERR_FILENO] >= 0;
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
    piped_kill_group(&command->piped);
    process_signal(&command->piped.process, SIGKILL);  // also before it has its group
    finish_if_done(command);
}

static void on_exit_event(evutil_socket_t fd, short what, void *data)
{
    (void)fd;
    (void)what;
    struct command *command = data;
    if (!process_reap(&command->piped.process, &command->exit))
        return;
    command->exited = true;
    piped_end(&command->piped);  // one that holds the pipe open must not delay the answer
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
    int stream = fd == command->piped.fds[STDOUT_FILENO] ? STDOUT_FILENO : STDERR_FILENO;
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

static int watch(struct command *command)
{
    command->events[STDIN_FILENO] = event_new(command->base, command->piped.fds[STDIN_FILENO],
                                              EV_WRITE | EV_PERSIST, on_input, command);
    command->events[STDOUT_FILENO] = event_new(command->base, command->piped.fds[STDOUT_FILENO],
                                               EV_READ | EV_PERSIST, on_output, command);
    command->events[STDERR_FILENO] = event_new(command->base, command->piped.fds[STDERR_FILENO],
                                               EV_READ | EV_PERSIST, on_output, command);
    command->deadline = evtimer_new(command->base, on_deadline, command);
    if (!command->deadline)
        return -ENOMEM;
    for (int stream = 0; stream < PIPED_STREAMS; stream++)
        if (!command->events[stream] || event_add(command->events[stream], NULL) < 0)
            return -ENOMEM;
    struct timeval limit = timeval_from_ms(command->timeout_ms);
    return evtimer_add(command->deadline, &limit) < 0 ? -ENOMEM : 0;
}

int command_start(struct reaper *reaper, const struct command_request *request,
                  struct command **ret_command)
{
    struct command *command = memory_alloc_zero(sizeof(*command));
    *command = (struct command){
        .reaper = reaper,
        .base = reaper_base(reaper),
        .timeout_ms = request->timeout_ms,
        .done = request->done,
        .data = request->data,
    };
    buffer_init(&command->input, BUFFER_DEFAULT_LIMIT);
    buffer_append_span(&command->input, request->input);
    buffer_init(&command->output, request->max_output);
    buffer_init(&command->error, COMMAND_ERROR_TEXT);
    piped_init(&command->piped, reaper);
    struct piped_request piped = {
        .argv = request->argv, .pass = request->pass, .on_exit = on_exit_event, .data = command};
    int failed = piped_start(&command->piped, &piped);
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
    piped_kill_group(&command->piped);
    if (!command->exited)
        reaper_kill(command->reaper, &command->piped.process);
    piped_end(&command->piped);
    command_free(command);
}
