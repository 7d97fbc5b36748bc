// What a process of a session, and everything it starts, may reach: all mechanisms together. The
// server prepares it, the child enters it between fork and exec. One file per kernel mechanism:
// mounts.c, capabilities.c, landlock.c, call_filter.c.
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "process/sandbox/call_filter.h"

enum sandbox_mode {
    SANDBOX_WORKSPACE,  // reads system, workspace and Lisp homes; writes the workspace
    SANDBOX_STRICT,     // the same, but writes only its temporary directory, and no network
    SANDBOX_OFF,        // files and network as the user's; other processes stay out of reach
};

const char *sandbox_mode_name(enum sandbox_mode mode);
// The one that allows less.
enum sandbox_mode sandbox_mode_narrower(enum sandbox_mode a, enum sandbox_mode b);
bool sandbox_mode_parse(const char *name, enum sandbox_mode *ret_mode);

// What a kernel may lack, as bits: what then does not hold.
enum confinement_gap {
    CONFINEMENT_GAP_FILES = 1,    // no Landlock
    CONFINEMENT_GAP_SIGNALS = 2,  // Landlock before ABI 6
    CONFINEMENT_GAP_MOVES = 4,    // Landlock 1: no moving of files between directories
    CONFINEMENT_GAP_MOUNTS = 8,   // no mount namespace
    CONFINEMENT_GAP_CALLS = 16,   // no seccomp
    CONFINEMENT_GAP_WATCH = 32,  // the workspace cannot be opened: protected names that appear stay
    CONFINEMENT_GAP_LAST = CONFINEMENT_GAP_WATCH,
};
// A sentence about the gap.
const char *confinement_gap_text(enum confinement_gap gap);

struct confinement_rules {
    enum sandbox_mode mode;
    bool network;
    bool unix_sockets;
    int first_channel;  // as in call_filter.h
    int last_channel;
    int last_pipe;
};

// What all sessions of a server share.
struct confinement {
    struct confinement_rules rules;
    struct call_filter filter;
    unsigned gaps;         // known before any process is started
    unsigned *child_gaps;  // shared memory: what children could not get
};

// One process's paths; each list ends in NULL. Those of `read` may have links on their way, where only
// the user can have put them.
struct confinement_paths {
    const char *const *read;
    const char *const *read_real;
    const char *const *write;
    const char *const *protect;  // below `write`, and there: read-only
    const char *directory;       // the working directory
    int sender;                  // of a signal guard, where confinement_guards()
};

// True when each process needs a signal guard (signal_guard.h).
bool confinement_guards(const struct confinement *confinement);
int confinement_init(struct confinement *confinement, const struct confinement_rules *rules);
void confinement_release(struct confinement *confinement);
// All that does not hold on this machine.
unsigned confinement_gaps(const struct confinement *confinement);

// A close-on-exec descriptor of the rules for files; -EOPNOTSUPP without Landlock, or another
// negative errno.
int confinement_open(const struct confinement *confinement, const struct confinement_paths *paths);
// In the child: for ever. `write` and `protect` are real paths. 0 or negative errno: then nothing may
// run; -EAGAIN: in another child, with a gap more. Async-signal-safe.
int confinement_enter(const struct confinement *confinement, int ruleset,
                      const struct confinement_paths *paths);
