// One child process, used through its pidfd: signalled, watched for its end, reaped without
// blocking. A process is entered here before anything is sent to it and stays unreaped until
// process_reap(), so that its pid cannot be reused before. System layer: 0 or negative errno.
#pragma once

#include <event2/event.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

// Sent to parked processes; blocked in every worker (docs/session-protocol.md 3).
#define PROCESS_WAKE_SIGNAL (SIGRTMIN + 2)

struct process {
    pid_t pid;  // 0 = no process
    int pidfd;
    struct event *exit_event;
};

struct process_exit {
    bool known;     // false: not our child, its status is unknown
    bool signaled;  // `code` is a signal number, else an exit code
    int code;
};

static inline bool process_exists(const struct process *process)
{
    return process->pid != 0;
}

// In a child, between fork and exec: default handlers, nothing blocked. Async-signal-safe.
void process_reset_signals(void);

int process_open(struct process *process, pid_t pid);
// Is the process with this pid open somewhere in this program, and not closed yet? Such a process is
// somebody's to reap. Opened and closed by one thread only.
bool process_is_open(pid_t pid);
// `callback` is called on the loop when the process has ended; reap it then.
int process_watch(struct process *process, struct event_base *base, event_callback_fn callback,
                  void *data);
void process_unwatch(struct process *process);
int process_signal(const struct process *process, int signal);
// A process that was stopped goes on.
int process_wake(const struct process *process);
// To the main thread alone, then SIGCONT: a process that stopped itself must be able to act.
int process_interrupt(const struct process *process, int signal);
// The same with SIGINT, carrying the number of the request to stop: the worker can tell when the
// signal comes before it has read that request, or after it has answered it.
int process_stop_request(const struct process *process, uint32_t number);
// False while it is still running.
bool process_reap(struct process *process, struct process_exit *ret_exit);
// Forgets the process; it must be reaped or not ours.
void process_close(struct process *process);
