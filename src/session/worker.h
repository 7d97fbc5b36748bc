// The processes of a session: entering, finding, killing, and what they leave behind.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/span.h"
#include "process/process.h"
#include "session/session.h"

struct link;
struct session;
struct session_manager;

enum worker_role {
    ROLE_HEAD,
    ROLE_SNAPSHOT,
    ROLE_POSTMORTEM,
    ROLE_COPY,
    ROLE_BUILDER,  // makes a core, or unpacks one
    ROLE_SAVER,    // a copy that saves itself
    ROLE_PACKER,   // makes an image of what it saved
    ROLE_BESIDE,   // answers a question while the head works
    ROLE_KILLED,   // killed, to be reaped
};

// The channel of a test's post-mortem, and the number of the message that asked for it.
struct offered_test {
    int64_t number;
    struct link *link;
};

// A process of a session.
struct worker {
    struct worker *next;
    struct session *session;
    struct process process;
    enum worker_role role;
    int64_t number;     // SNAPSHOT: evaluation it is the state after
    int64_t error;      // POSTMORTEM: error it is frozen at
    int64_t tried_at;   // POSTMORTEM: frozen error that the failed try began at, 0 = no try
    bool adoptable;     // POSTMORTEM
    bool broken;        // sent garbage and was killed for it: nothing it says counts any more
    bool channel_lost;  // its channel was shut down, and it was killed for it
    bool robbed;        // another process took its request, and it was killed for it
    bool answered;      // SNAPSHOT, POSTMORTEM: it said on its channel that it is parked
    bool mute;          // SNAPSHOT: did not answer when it was to wake
    struct link *link;
    struct link *offered;                            // channel of a clone that it may make
    struct link *spare;                              // the same, kept for the error of a thread
    struct offered_test tests[SESSION_TEST_ERRORS];  // COPY that runs tests
    size_t test_count;
    int64_t test;     // POSTMORTEM: of a test: not 0
    unsigned offers;  // since its last request
    int64_t added_ms;
    int64_t time;     // unix seconds
    uint64_t pss_kb;  // when last measured
    int64_t measured_ms;
    char *code;  // SNAPSHOT: first characters of the evaluation's code
};

// Forgets a process that has ended; the caller has unlinked it.
void worker_release(struct worker *worker);
// NULL when the process cannot be entered (it is gone).
struct worker *worker_add(struct session *session, pid_t pid, enum worker_role role);
// A process that was started with the worker's ends of `link`, which is the worker's from now on.
struct worker *worker_add_started(struct session *session, pid_t pid, enum worker_role role,
                                  struct link *link);
// A process announced by a worker: believed only when it is an unknown process of this session.
struct worker *worker_add_announced(struct session *session, pid_t pid, enum worker_role role);
// The same for a parked clone of `parent`, which must have been offered a channel for it.
struct worker *worker_add_parked(struct worker *parent, pid_t pid, enum worker_role role);
// The same for the post-mortem of a thread of `parent`, which has used the spare channel.
struct worker *worker_add_frozen_thread(struct worker *parent, pid_t pid);
// The same for the post-mortem of a test that `copy` has run, which has the other end of *offered.
struct worker *worker_add_tested(struct worker *copy, pid_t pid, struct link **offered);
// The kernel session of a worker that was started, or of a clone that began one of its own.
void session_remember_kernel_session(struct session *session, pid_t id);
// A clone that says on the awaited link that it is awake.
struct worker *worker_add_woken(struct session *session, pid_t pid, enum worker_role role);
// Offers the channel of a clone, in place of one that was offered before. 0 or negative errno.
int worker_offer(struct worker *worker, uint32_t type, uint32_t number, struct span payload);
// The same for a channel kept for later.
int worker_offer_link(struct worker *worker, uint32_t number, struct link **ret_link);
// A process says on `link` that it is parked.
void worker_parked(struct link *link, pid_t pid);
bool worker_is_parked(const struct worker *worker);
// Kills clones that have not said in time that they are parked: they could not be woken.
void session_drop_void(struct session *session);
// Wakes a parked process: sends what it shall do, and the link of the clone that it makes, on its
// channel; then signals it, and lets it go on in case something has stopped it.
int worker_wake(struct worker *worker, struct span how, struct link *link);
// Forgotten at once, reaped when it has ended. Not for a head or copy whose end is waited for.
void worker_kill(struct worker *worker);
// Kills a process that a worker announced and that is not wanted.
void worker_kill_announced(struct session *session, pid_t pid);
struct worker *worker_find_snapshot(struct session *session, int64_t number);
// The snapshot with the smallest number above `after`; NULL when there is none.
struct worker *worker_next_snapshot(struct session *session, int64_t after);
struct worker *worker_find_postmortem(struct session *session, int64_t error);
// Kills all its processes and everything they started; how many of the latter were found alive.
unsigned session_kill_all(struct session *session);
// Processes that the session's code has started and that run now.
unsigned session_count_children(const struct session *session);
uint64_t worker_memory_kb(const struct worker *worker);  // 0 = unknown
// Begins to count what the sessions have running, now and then while there is anything.
void manager_count_processes(struct session_manager *manager);
// To be called by its timer.
void manager_limit_processes(struct session_manager *manager);
// Kills what the lost or stopped evaluation left behind: everything started since `unit_tick`.
// Returns how many were found alive.
unsigned session_kill_leftovers(struct session *session);
