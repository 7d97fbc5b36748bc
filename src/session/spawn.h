// Starts a worker: a fresh SBCL process from the saved core (docs/session-protocol.md 1).
//
// The worker is the leader of its own kernel session (no terminal signals, and everything it starts
// can be recognised by that id), dies with this thread, has nothing of the server open, no signal
// blocked or ignored, its address space limited, is confined to what its session may reach, and is
// the kernel's first victim when memory runs out.
#pragma once

#include <stdint.h>
#include <sys/types.h>

// Descriptor numbers of the protocol.
enum {
    SPAWN_FIRST_CHANNEL = 240,
    SPAWN_LAST_CHANNEL = 240,
    SPAWN_LAST_PIPE = 244,
};

// Exit code of a worker that could not have all of its confinement on this machine: the next one starts
// without that part.
enum { SPAWN_EXIT_AGAIN = 96 };

struct reach;
struct reach_plan;

struct spawn_worker {
    const char *sbcl;
    const char *core;
    unsigned heap_mb;
    const struct reach *reach;      // where it starts and what holds it there
    const struct reach_plan *plan;  // its environment and paths
    uint64_t mark;                  // process/mark.h
    const struct cgroup *cgroup;    // NULL: none
    unsigned tasks;  // processes and threads that it may start, where it has no cgroup
    int guard_fd;    // of its signal guard, negative: none
    int channel_fd;
    int output_fd;
    int error_fd;
};

int spawn_worker(const struct spawn_worker *worker, pid_t *ret_pid);

// Starts a worker for images (image/image_file.h), `core_fd` as its IMAGE_CORE_FD unless it is negative,
// its output on `error_fd`. It is no process of a session: code has no part in it.
int spawn_image_worker(const char *const argv[], int core_fd, int error_fd, pid_t *ret_pid);

// Starts a helper program with standard input on /dev/null and all output on `error_fd`; `argv`
// ends in NULL. It is the leader of a kernel session and has `session_entry` and `mark`, as a
// worker, and ends like one.
int spawn_program(const char *const argv[], const char *session_entry, uint64_t mark, int error_fd,
                  pid_t *ret_pid);
