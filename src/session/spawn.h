// Starts a worker: a fresh SBCL process from the saved core (docs/session-protocol.md 1).
//
// The worker is the leader of its own kernel session (no terminal signals, and everything it starts
// can be recognised by that id), dies with this thread, has nothing of the server open, no signal
// blocked or ignored, its address space limited, and is the kernel's first victim when memory runs
// out.
#pragma once

#include <sys/types.h>

struct spawn_worker {
    const char *sbcl;
    const char *core;
    unsigned heap_mb;
    const char *session_entry;  // "CADRE_SESSION=…"
    int main_fd;
    int aux_fd;
    int output_fd;
    int error_fd;
};

int spawn_worker(const struct spawn_worker *worker, pid_t *ret_pid);

// Starts a helper program with standard input on /dev/null and all output on `error_fd`; `argv`
// ends in NULL. It is the leader of a kernel session and has `session_entry`, as a worker, and ends
// like one.
int spawn_program(const char *const argv[], const char *session_entry, int error_fd,
                  pid_t *ret_pid);
