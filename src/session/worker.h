// The processes of a session: entering, finding, killing, and what they leave behind.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "process/process.h"

struct session;

enum worker_role {
    ROLE_HEAD,
    ROLE_SNAPSHOT,
    ROLE_POSTMORTEM,
    ROLE_COPY,
    ROLE_BUILDER,  // makes a core
    ROLE_KILLED,   // killed, to be reaped
};

// A process of a session.
struct worker {
    struct worker *next;
    struct session *session;
    struct process process;
    enum worker_role role;
    int64_t number;    // SNAPSHOT: evaluation it is the state after
    int64_t error;     // POSTMORTEM: error it is frozen at
    int64_t tried_at;  // POSTMORTEM: frozen error that the failed try began at, 0 = no try
    bool adoptable;    // POSTMORTEM
    bool broken;       // sent garbage and was killed for it: nothing it says counts any more
    int64_t time;      // unix seconds
    uint64_t pss_kb;   // when last measured
    int64_t measured_ms;
    char *code;  // SNAPSHOT: first characters of the evaluation's code
};

// NULL when the process cannot be entered (it is gone).
struct worker *worker_add(struct session *session, pid_t pid, enum worker_role role);
// A process announced by a worker: believed only when it is an unknown process of this session.
struct worker *worker_add_announced(struct session *session, pid_t pid, enum worker_role role);
// Forgotten at once, reaped when it has ended. Not for a head or copy whose end is waited for.
void worker_kill(struct worker *worker);
// Kills a process that a worker announced and that is not wanted.
void worker_kill_announced(struct session *session, pid_t pid);
struct worker *worker_find_snapshot(struct session *session, int64_t number);
// The snapshot with the smallest number above `after`; NULL when there is none.
struct worker *worker_next_snapshot(struct session *session, int64_t after);
struct worker *worker_find_postmortem(struct session *session, int64_t error);
void session_kill_all(struct session *session);
// Kills what the lost or stopped evaluation left behind: everything started since `unit_tick`.
void session_kill_leftovers(struct session *session);
// Processes of user code whose parents ended are children of the server; those that ended, too,
// wait to be reaped. Returns how many still live.
unsigned session_reap_orphans(struct session *session);
