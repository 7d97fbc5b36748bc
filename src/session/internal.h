// What the files of the session layer share: the structures of a manager, a session, its processes
// and its requests. Owned by the manager; nothing here is visible outside this folder.
#pragma once

#include <event2/event.h>

#include "base/buffer.h"
#include "process/process.h"
#include "session/capture.h"
#include "session/channel.h"
#include "session/error_history.h"
#include "session/process_failure.h"
#include "session/session.h"
#include "session/state/state.h"

#define NO_ERROR_TEXT                   \
    "No error information available.\n" \
    "(No error has occurred since the last successful evaluation)"

enum {
    SESSION_RESULT_LIMIT = 256 << 20,  // bytes of a worker's answer as values
    SESSION_REGION_LIMIT = 512 << 20,  // … with what the supervisor adds

    SESSION_KERNEL_SESSIONS = 16,  // fresh workers of a session whose offspring may still live
    SESSION_NOTICES = 16,          // waiting for the next reply; older ones are dropped
    SESSION_SYSTEMS = 64,          // loaded again after a reset
    SESSION_CODE_CHARACTERS = 40,  // of an evaluation's code, in the list of snapshots
    SESSION_START_TRIES = 3,

    TIME_START_MS = 10000,
    TIME_BUILD_MS = 180000,
    TIME_SNAP_MS = 2000,
    TIME_WAKE_MS = 1000,
    TIME_READ_REQUEST_MS = 2000,  // a busy machine may be so late to hand a request to an idle head
    TIME_FINALIZE_MS = 500,
    TIME_INTERRUPT_MS = 400,  // from the soft stop to the hard one
    TIME_HARD_STOP_MS = 300,  // from the hard stop to SIGKILL, and between further ones
};

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

enum job_stop { STOP_NONE, STOP_TIMEOUT, STOP_INTERRUPT, STOP_CANCEL };

// A request: queued, then running, then answered and freed.
struct job {
    struct job *next;
    uint64_t ticket;
    struct session *session;  // NULL: refused before it had one
    enum session_request_kind kind;
    bool internal;  // loads a system again after a reset: no callbacks, no number of its own
    bool cancelled;
    bool reset_done;           // RESET: the fresh image is there
    bool waited_for_snapshot;  // COPY
    bool adopt;
    char *name;
    char *op;
    char *label;
    struct buffer params;  // JSON text of an object
    int64_t timeout;       // seconds, 0 = none
    int64_t error;
    int64_t rollback_to;
    int64_t rollback_steps;
    session_reply_fn *reply;
    session_progress_fn *progress;
    void *data;

    // While it runs and afterwards:
    int64_t started_ns;  // 0 = queued
    uint32_t message_number;
    char *package_before;   // label of the package it began in
    unsigned tries;         // heads that were dead before they took it
    int64_t number;         // evaluation
    enum job_stop stop;     // why it is being stopped
    struct region *region;  // of everything below
    value result;
    value frames;      // error map of the hard stop, or nil
    bool has_failure;  // its process ended
    struct failure failure;
    struct exit_notice exit_notice;
    struct worker *postmortem;  // announced by its result
    bool adopted;
    bool rolled_back;
    int64_t snapshot;  // RESET: state before
    value undone;
    value lost_threads;
    char refusal_code[32];  // "" = not refused
    char *refusal_message;
};

enum copy_phase {
    COPY_WAKING,          // until WOKE
    COPY_WORKING,         // until RESULT
    COPY_INTERRUPTING,    // soft stop sent
    COPY_STOPPING,        // hard stop sent
    COPY_ENDING,          // answered, killed, until its exit
    COPY_REPLACING_HEAD,  // adoption: until the exit of the old head
    COPY_ADOPTING,        // adoption: until ADOPTED
};

struct session {
    struct session *next;
    struct session_manager *manager;
    char name[SESSION_NAME_MAX + 1];
    char *environment_entry;  // "CADRE_SESSION=…"
    struct session_limits limits;

    enum session_state state;
    bool handling;         // inside session_handle()
    bool close_requested;  // by a callback
    struct event *timer;

    struct channel main;
    struct channel aux;
    struct capture output;
    struct capture errors;
    bool open;  // the four above are

    struct worker *workers;  // all processes
    struct worker *head;
    struct worker *copy;
    struct worker *source;  // WAKING, COPY: the parked process that was signalled
    pid_t kernel_sessions[SESSION_KERNEL_SESSIONS];
    size_t kernel_session_count;
    unsigned start_tries;
    bool building;         // STARTING: a core
    bool protocol_broken;  // the head or copy sent garbage and was killed for it

    struct job *job;  // the one that runs
    struct job *queue;
    struct job **queue_end;
    size_t queue_length;
    uint32_t message_number;  // of the last message that wants an answer
    bool finalizing;          // IDLE: the head runs finalizers
    uint32_t finalize_number;
    unsigned finalize_stage;
    unsigned finalizers;      // pending, as last announced
    bool discard_finalizers;  // at the next wake
    bool discard_timers;      // at the next wake
    bool died_idle;           // and nothing has been evaluated since

    enum copy_phase copy_phase;
    bool wake_spawns;     // WAKING: a fresh worker instead of a snapshot
    bool wake_only_this;  // WAKING: an explicit rollback; else older ones will do
    int64_t wake_number;  // WAKING: the snapshot wanted
    char *wake_notice;    // why, for the notice when it is done
    int64_t snap_number;  // HOUSEKEEPING
    uint32_t snap_message;
    char *snap_code;
    uint64_t unit_tick;  // when the current evaluation or housekeeping began
    int64_t used_ns;     // when a process was last sent a request
    int64_t prewake_ns;  // when the head was last pre-woken
    int64_t snapped_ns;  // when its last snapshot was there

    int64_t evaluations;    // counter
    int64_t current;        // the evaluation whose state the head has
    int64_t before_reset;   // snapshot kept by the last reset, -1 = none
    struct buffer lineage;  // int64_t parent of each evaluation, by number
    int64_t measured_ms;    // last time memory of clones was read

    char *systems[SESSION_SYSTEMS];  // loaded by load-system
    size_t system_count;
    char *system_directories;  // JSON: of all systems loaded, where they are found after a reset

    struct error_history history;
    char *notices[SESSION_NOTICES];
    size_t notice_count;
    struct buffer late_errors;  // lines about threads and finalizers for the next [stderr]
    char *lost_threads;         // names lost by the last rollback, for the notice after a timeout

    struct region *state_region;
    value agent_state;  // `state` of the agent's last message
    struct region *hello_region;
    value hello;
    struct region *scratch;  // for reading small messages
    struct event *progress_timer;
};

struct session_manager {
    struct event_base *base;
    struct session_config config;
    char *sbcl;
    char *core;
    char *cache_directory;
    char id[40];
    struct session *sessions;  // oldest first
    struct session *closing;
    unsigned session_count;
    uint64_t last_ticket;
    uint64_t last_session;
    struct job *refused;  // to be answered from the loop
    struct event *refused_event;
    struct event *reap_timer;
    struct region *shapes;      // of the messages (shapes_share)
    uint64_t poll_from_ticket;  // first request that is polled for (busy_poll.c)
    unsigned poll_misses;       // in a row
    int64_t last_poll_ns;
    struct region *spare_region;
    int guardian_fd;
    struct process guardian;
};

// --- manager.c -----------------------------------------------------------------------------------
struct session *manager_find(struct session_manager *manager, const char *name);
struct region *manager_acquire_region(struct session_manager *manager);
void manager_return_region(struct session_manager *manager, struct region *region);
bool manager_knows_pid(struct session_manager *manager, pid_t pid);
void manager_start_guardian(struct session_manager *manager);
void session_unlink_closed(struct session *session);  // all its processes are gone: frees it

// --- busy_poll.c ---------------------------------------------------------------------------------
uint64_t busy_poll_first_ticket(void);  // for poll_from_ticket of a new manager
void busy_poll_hit(const struct session *session, const struct job *job);
// Processors are few or busy: the next request will not be polled for.
bool busy_poll_disabled(const struct session_manager *manager);
void session_prewake_head(struct session *session);

// --- worker.c ------------------------------------------------------------------------------------
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
// Processes of user code whose parents ended are children of the server; those that ended, too, wait
// to be reaped. Returns how many still live.
unsigned session_reap_orphans(struct session *session);

// --- session.c -----------------------------------------------------------------------------------
struct session *session_new(struct session_manager *manager, const char *name);
void session_free(struct session *session);
int session_open(struct session *session);
void session_set_timer(struct session *session, int64_t milliseconds);  // negative: none
// A JSON object; false for anything else.
bool session_read(struct session *session, struct region *region, struct span text,
                  value *ret_value);
bool session_read_scratch(struct session *session, const struct channel_message *message,
                          value *ret_value);  // valid until the next one
void session_keep_state(struct session *session, value message);
uint32_t session_send(struct session *session, struct channel *channel, uint32_t type,
                      struct span payload);
void session_break_protocol(struct session *session, struct worker *worker);

// Members of messages, which may be missing or of any type.
pid_t message_pid(value message, const char *name);  // 0 = none

// --- job.c ---------------------------------------------------------------------------------------
struct job *job_new(struct session_manager *manager, const struct session_request *request);
struct job *job_new_system(const char *name, const char *directories);
void job_free(struct session_manager *manager, struct job *job);
struct region *job_region(struct session_manager *manager, struct job *job);
void job_enqueue(struct session *session, struct job *job);
void job_requeue(struct session *session, struct job *job);  // as the first
struct job *job_dequeue(struct session *session);
bool job_remove_queued(struct session *session, uint64_t ticket);
void job_begin(struct job *job);
void job_send(struct job *job, struct channel *channel);  // and starts its time
int64_t job_elapsed_ms(const struct job *job);
// Puts a request that no head has read back into the queue; false: it has been tried often enough.
bool job_retry(struct job *job);
// What its process sends. A result that is not well-formed gives false.
bool job_read_result(struct job *job, const struct channel_message *message);
void job_read_exit_notice(struct job *job, const struct channel_message *message);
void job_read_frames(struct job *job, const struct channel_message *message);
// Its process has ended: finds out why.
void job_classify_exit(struct job *job, const struct process_exit *exit, bool killed_by_us);
void job_progress(const struct session *session, const struct job *job,
                  struct session_progress *ret_progress);

// --- reply.c -------------------------------------------------------------------------------------
// Both answer (unless cancelled or internal) and free; a refusal is answered from the loop.
void job_refuse(struct session_manager *manager, struct job *job, const char *code,
                const char *format, ...) __attribute__((format(printf, 4, 5)));
void job_refuse_queued(struct session *session, const char *code, const char *message);
void job_finish(struct session *session, struct job *job);
void manager_answer_refused(struct session_manager *manager);
void session_record_thread_errors(struct session *session, struct region *region, value result);
void session_record_thread_error(struct session *session, struct region *region, value error);

// --- lineage.c -----------------------------------------------------------------------------------
void lineage_set_parent(struct session *session, int64_t number, int64_t parent);
int64_t lineage_parent(const struct session *session, int64_t number);  // -1 = none
bool lineage_has_ancestor(const struct session *session, int64_t number, int64_t ancestor);
// Evaluations that are part of `from` and not of `to`, oldest first.
value lineage_undone(const struct session *session, struct region *region, int64_t from,
                     int64_t to);
int64_t lineage_nearest_snapshot(struct session *session, int64_t number);  // -1 = none

// --- lost_threads.c ------------------------------------------------------------------------------
// Names of the threads of a head that is gone and, when it died in between, those the snapshot knew
// (`message` is its WOKE, or nil); the session remembers them. Valid until the next message.
value session_collect_lost_threads(struct session *session, value message);

// --- notice.c ------------------------------------------------------------------------------------
void session_notice(struct session *session, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
// Why a snapshot is woken, for the notice when it is awake.
void session_wake_notice(struct session *session, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
// The same: the head did `what` ("died while idle"), with its status and what its runtime said.
void session_notice_death(struct session *session, const char *what,
                          const struct process_exit *exit);

// --- systems.c -----------------------------------------------------------------------------------
void systems_remember(struct session *session, const struct job *job);  // its result was ok
// Queues requests that load the systems of the current state again, before all others.
void systems_reload(struct session *session);

// --- evict.c -------------------------------------------------------------------------------------
void snapshot_evict(struct session *session);
void postmortem_evict(struct session *session);
