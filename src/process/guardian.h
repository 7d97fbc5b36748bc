// A guardian is a small process that kills what user code has started when this process is gone,
// however it ended. Its name has nothing of this program's, so that killing that by name spares it;
// it is replaced when it dies; and when it was stopped, the end of this process wakes it.
#pragma once

#include <event2/event.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct guardian;
struct reaper;

// It kills every process with a mark of the family (mark.h), or whose environment has an entry that
// begins with `entry_prefix`. NULL when no process can be started.
struct guardian *guardian_new(struct event_base *base, const char *entry_prefix,
                              uint64_t mark_family);
// Lets it kill what is left, waits for its end, for at most a second. Not from the loop.
void guardian_free(struct guardian *guardian);
// The same without waiting, when nothing is left: the reaper takes the process.
void guardian_dismiss(struct guardian *guardian, struct reaper *reaper);
pid_t guardian_pid(const struct guardian *guardian);  // 0 while it is being replaced
