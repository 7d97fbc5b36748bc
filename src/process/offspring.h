// Everything a session or a command has started, wherever it is by now: found by its mark (mark.h),
// by its kernel session or by its environment, and killed. And the children of this process that
// nobody waits for: orphans whose parents have ended (this process is a child subreaper).
//
// Processes that are open (process.h) belong to somebody and are left alone.
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct cgroup;

struct offspring {
    const struct cgroup *cgroup;  // NULL: none
    const uint64_t *marks;        // none is 0
    size_t mark_count;
    const char *entry;  // in the environment, "NAME=value"
    const pid_t *kernel_sessions;
    size_t kernel_session_count;
    uint64_t since_tick;  // what was started before stays; 0: nothing stays
};

typedef void offspring_kill_fn(void *data, pid_t pid);

// Searches and kills until a search finds no process that it had not found before; a process may
// start others during the search, but not once it is killed. Of thousands some may be left: no new
// search begins after 50 ms. How many were found alive; 0 also when the last of them have been killed
// before and have ended: whoever must be sure calls again until then. `kill_one` NULL: SIGKILL.
unsigned offspring_kill(const struct offspring *offspring, offspring_kill_fn *kill_one, void *data);

// How many there are, in one search.
unsigned offspring_count(const struct offspring *offspring);
// The same by the mark alone, which is ten times as fast: it counts those that have ended and are not
// reaped, and does not know when one was started.
unsigned offspring_estimate(const struct offspring *offspring);

// Kills all descendants of this process and reaps those that have ended. How many were found alive.
unsigned offspring_kill_descendants(void);
// Reaps all children that have ended.
void offspring_reap(void);
