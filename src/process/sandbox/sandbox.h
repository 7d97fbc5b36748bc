// Locks a process that runs programs: afterwards it can compute, talk over the descriptors it
// already has, start threads and end; it cannot open files, make sockets, start processes or trace
// others. One file per kernel mechanism. There is no way back.
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct sandbox_report {
    bool landlock;  // false: this kernel has none, seccomp alone holds
};

// All mechanisms in their order. 0 or negative errno; on failure the process must not run programs.
int sandbox_lock(size_t memory_limit, struct sandbox_report *ret_report);

// --- sandbox_limits.c: resource limits -----------------------------------------------------------
int sandbox_limit_resources(size_t memory_limit);  // address space, no core files, no new files

// --- landlock.c: Landlock ----------------------------------------------------------------
int sandbox_deny_files(bool *ret_available);  // no right on any path

// --- sandbox_seccomp.c: seccomp ------------------------------------------------------------------
int sandbox_filter_calls(void);  // everything not listed gives EPERM
