// seccomp for sessions: the system calls they may not make. Everything else is allowed, because a
// session is a whole Lisp with everything it may start.
#pragma once

#include <linux/filter.h>
#include <stdbool.h>
#include <sys/types.h>

struct call_filter_rules {
    bool kernel_interfaces;  // refuse tracing, namespaces, mounts, modules, …; false: only the rest
    bool network;            // internet sockets
    bool unix_sockets;       // Unix sockets with an address; pairs of sockets are always allowed
    bool truncation;         // refuse what Landlock before ABI 3 does not: truncation by path
    bool signals;            // hand signals to the server, which Landlock before ABI 6 lets pass
    int first_channel;       // the descriptors of the session's protocol: their flags and options
    int last_channel;        // cannot be changed, nor can they be shut down
    int last_pipe;           // after them: duplicates of the standard streams; the same for flags
};

// A filter, ready to be installed in any number of processes.
struct call_filter {
    struct sock_fprog program;
    bool notifies;  // signals: a process that enters it has a listener (signal_guard.h)
};

// 0 or negative errno.
int call_filter_init(struct call_filter *filter, const struct call_filter_rules *rules);
void call_filter_release(struct call_filter *filter);
// In the process: from now on. It must have no-new-privileges. *ret_listener
// is -1 where the filter does not notify. 0 or negative errno. Async-signal-safe.
int call_filter_enter(const struct call_filter *filter, int *ret_listener);
