// What /proc tells about processes: parents, sessions, memory, environment. Everything read here
// may be gone or different a moment later; callers hold a pidfd or only kill what they recognise.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct proc_status {
    char state;  // 'Z' = zombie
    pid_t parent;
    pid_t session;        // kernel session id (setsid)
    uint64_t start_tick;  // since boot, in proc_tick units
};

struct proc_memory {
    uint64_t resident_kb;
    uint64_t private_kb;
    uint64_t pss_kb;
};

int proc_status_read(pid_t pid, struct proc_status *ret_status);
int proc_memory_read(pid_t pid, struct proc_memory *ret_memory);
// Memory that the machine can give without swapping.
int proc_available_kb(uint64_t *ret_kb);
// Does its environment hold exactly this "NAME=value", or one that begins so (prefix)?
bool proc_environment_has(pid_t pid, const char *entry, bool prefix);

// Does its main thread sleep in recvmsg() on its descriptor `fd`? False also when that is not to be
// known.
bool proc_waits_in_recvmsg(pid_t pid, int fd);

enum proc_visit { PROC_VISIT_CONTINUE, PROC_VISIT_STOP };
typedef enum proc_visit proc_visit_fn(void *data, pid_t pid);
// Calls `visit` for each direct child of `pid` (all its threads).
int proc_children(pid_t pid, proc_visit_fn *visit, void *data);
// The same for all descendants, parents first.
int proc_descendants(pid_t pid, proc_visit_fn *visit, void *data);
// The same for all processes there are.
int proc_all(proc_visit_fn *visit, void *data);

// The name of this process for tools that find processes by name, and its command line: at most
// 15 bytes. For a child that goes on running this program.
void proc_rename_self(const char *name);

uint64_t proc_tick_now(void);  // the current time in the unit of start_tick
