// The actions of the state table (state.c) and what the states offer each other, by file.
//
// <state>_on_<event> is in <state>.c. <state>_begin() enters the state from another one: it is
// called by an action, does what the state begins with and returns the state.
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "session/state/state.h"
#include "value/value.h"

struct channel_message;
struct job;
struct link;
struct process_exit;
struct worker;

// --- shared.c: actions of several states ---------------------------------------------------------
session_action_fn ignore_event;
session_action_fn drop_snapshot;       // kills it
session_action_fn keep_late_snapshot;  // announced after the wait for it was given up

// --- down.c --------------------------------------------------------------------------------------
session_action_fn down_on_request;

// --- restoring.c ---------------------------------------------------------------------------------
session_action_fn restoring_on_head_exit, restoring_on_timer;
// Whether there is an image that has not been found unusable.
bool restoring_is_possible(const struct session *session);
enum session_state restoring_begin(struct session *session);
// The process did not start from the image: the next one, or a fresh session.
enum session_state restoring_next(struct session *session);
// How long a process that starts from the image may take.
int64_t restoring_start_ms(const struct session *session);
void restoring_done(struct session *session);  // the process says hello

// --- resting.c -----------------------------------------------------------------------------------
session_action_fn idle_on_rest, resting_on_timer;

// --- starting.c ----------------------------------------------------------------------------------
session_action_fn starting_on_message, starting_on_head_exit, starting_on_timer;
// The control group of the session, where it can have one and has none.
void session_make_cgroup(struct session *session);
enum session_state starting_begin(struct session *session);  // DOWN when it fails at once

// --- idle.c --------------------------------------------------------------------------------------
session_action_fn idle_on_request, idle_on_message, idle_on_head_exit, idle_on_timer,
    idle_on_snapshot;
// The snapshot is not there; names those that are.
void job_refuse_snapshot(struct session *session, struct job *job, int64_t number);
// The session gets the state of another one, or gives its own.
enum session_state idle_begin_fork(struct session *session, struct job *job);
void idle_begin_finalizers(struct session *session);
// The head died between two requests.
void idle_notice_death(struct session *session, const struct process_exit *exit);

// --- running.c -----------------------------------------------------------------------------------
session_action_fn running_on_message, running_on_head_exit, running_on_timer, running_on_cancel;
// The head has ended while it worked on the request: the reply comes when a snapshot is awake.
enum session_state running_fail(struct session *session, const struct session_event *event,
                                bool killed_by_us);
// The head has answered, and nothing that the request started is in the way any more: replies.
// Ends a head from whose channel somebody else took the request; it is repeated on the next one.
bool running_end_robbed(struct session *session);
enum session_state running_finish(struct session *session);

// --- clearing.c ----------------------------------------------------------------------------------
session_action_fn clearing_on_head_exit, clearing_on_timer;
enum session_state clearing_begin(struct session *session);

// --- interrupting.c ------------------------------------------------------------------------------
session_action_fn interrupting_on_head_exit, interrupting_on_timer;
enum session_state interrupting_begin(struct session *session);

// --- stopping.c ----------------------------------------------------------------------------------
session_action_fn stopping_on_message, stopping_on_head_exit, stopping_on_timer;
enum session_state stopping_begin(struct session *session);

// --- snapshotting.c ------------------------------------------------------------------------------
session_action_fn snapshotting_on_message, snapshotting_on_snapped, snapshotting_on_head_exit,
    snapshotting_on_timer;
// Asks the head for a snapshot of the state after evaluation `number`; `code` may be NULL.
enum session_state snapshotting_begin(struct session *session, int64_t number, const char *code);
// Enters the announced snapshot; false when it is not the one that was asked for last.
bool snapshotting_register(struct session *session, const struct channel_message *message,
                           value content);

// A clone says on the channel that was offered with SNAP that it is parked: it is the snapshot,
// even if the head ends before it can say so.
void snapshotting_on_parked(struct link *link, pid_t pid);

// --- waking.c ------------------------------------------------------------------------------------
session_action_fn waking_on_message, waking_on_head_exit, waking_on_timer;
// Kills the head, if there is one, and wakes the snapshot `number` or an older one of its lineage.
enum session_state waking_begin(struct session *session, int64_t number);
// Kills the head and starts a fresh worker.
enum session_state waking_begin_fresh(struct session *session);
void waking_kill_head(struct session *session);  // its end leads on

// --- fork.c: a session gets the state of another one ----------------------------------------------
// A request that was submitted for the session whose state is wanted: it is handed to the session
// that gets it. That one does not exist yet, or has its own turn first.
enum session_state fork_begin(struct session *session, struct job *job);
// True when that needs no turn, because the snapshot is there; the request is consumed.
bool fork_at_once(struct session *session, struct job *job);
// In the session that gets the state. NULL: the request was refused.
struct worker *fork_source(struct session *session, struct job *job);
// What the clone of `source` is told that will be the session's head; the caller frees it.
char *fork_describe(const struct session *session);
// The process says that it is awake: may it be entered?
bool fork_accepts(struct session *session, const struct channel_message *message);
// It is the head: the session has its state.
void fork_finish(struct session *session, struct job *job);
// There is no clone: a session that was made for it ends, another one is in `state`.
enum session_state fork_abandon(struct session *session, enum session_state state);
// A snapshot cannot wake. True: it was asked by another session than its own.
bool fork_on_wake_failed(const struct worker *source, const struct channel_message *message);
// The worker is gone or is being killed.
void fork_forget_source(const struct worker *worker);

// --- copy.c --------------------------------------------------------------------------------------
session_action_fn copy_on_message, copy_on_head_exit, copy_on_timer, copy_on_cancel,
    copy_on_copy_exit;
enum session_state copy_begin(struct session *session, struct worker *source);
// The copy is of a snapshot of another session, and becomes the head of this one.
enum session_state copy_begin_fork(struct session *session, struct worker *source);

// --- closing.c -----------------------------------------------------------------------------------
session_action_fn closing_on_timer;
void closing_begin(struct session *session);  // not from an action
