// A guardian kills what user code has started, even if this process is killed before it can do so.
#pragma once

#include <sys/types.h>

// Starts a process that waits until this one is gone, however it ended, and then kills every
// process whose environment has an entry that begins with `entry_prefix`. Returns the descriptor
// that keeps it waiting. 0 or negative errno.
int guardian_start(const char *entry_prefix, int *ret_fd, pid_t *ret_pid);
