// Signals that the processes of a session send, on kernels whose Landlock has no scopes (before ABI
// 6): the filter of the session (call_filter.h) hands kill(2) and its relatives to the server, which
// lets them go on when they go to a process with the session's mark (process/mark.h). The numbers are
// in registers: nobody can change them after they were looked at.
#pragma once

#include <event2/event.h>
#include <stdbool.h>
#include <stdint.h>

struct signal_guard;

// Can this kernel hand calls to another process?
bool signal_guard_available(void);

// Adds one to the list, for a process that starts with the descriptor that is returned and enters a
// filter that notifies, and for all that come from it; the caller closes the descriptor when the
// child has it. Those whose processes are gone are removed. Negative errno: none was added.
int signal_guard_add(struct signal_guard **guards, struct event_base *base, uint64_t mark);
// Processes that were cloned from those with `mark` have the same filter and the mark `heir`.
void signal_guard_share(struct signal_guard *guards, uint64_t mark, uint64_t heir);
// No process has the mark any more.
void signal_guard_forget(struct signal_guard *guards, uint64_t mark);
// From now on the signals of their processes fail.
void signal_guard_free_all(struct signal_guard **guards);

// In the child: sends the listener of its filter. 0 or negative errno. Async-signal-safe.
int signal_guard_send(int sender, int listener);
