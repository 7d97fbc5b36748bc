// Reaps processes that were killed, when the kernel says that they have ended. A killed process
// takes a moment to end; no caller waits for it.
#pragma once

#include <event2/event.h>
#include <stdbool.h>
#include <sys/types.h>

#include "process/process.h"

struct reaper;

struct reaper *reaper_new(struct event_base *base);
// Waits for the processes that are left, for at most a second in all. Not from the loop.
void reaper_free(struct reaper *reaper);
struct event_base *reaper_base(const struct reaper *reaper);

// Kills the process, if there is one, and takes it over: `process` is empty afterwards.
void reaper_kill(struct reaper *reaper, struct process *process);
// Has it been killed and not yet been reaped?
bool reaper_has(const struct reaper *reaper, pid_t pid);
