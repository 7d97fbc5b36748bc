// What the files of the session layer share: the structures of a manager and its sessions, and the
// functions that have no header of their own. Nothing here is visible outside this folder.
#pragma once

#include <event2/event.h>

#include "base/buffer.h"
#include "process/process.h"
#include "session/capture.h"
#include "session/channel.h"
#include "session/error_history.h"
#include "session/image/saving.h"
#include "session/job.h"
#include "session/journal/journal.h"
#include "session/journal/observer.h"
#include "session/keeping.h"
#include "session/link.h"
#include "session/project/project.h"
#include "session/session.h"
#include "session/state/state.h"
#include "session/testing/testing.h"
#include "session/worker.h"
#include "session/workspace/reach.h"

enum {
    SESSION_RESULT_LIMIT = 256 << 20,  // bytes of a worker's answer as values
    SESSION_REGION_LIMIT = 512 << 20,  // … with what the supervisor adds

    SESSION_KERNEL_SESSIONS = 16,  // fresh workers of a session whose offspring may still live
    SESSION_NOTICES = 16,          // waiting for the next reply; older ones are dropped
    SESSION_SYSTEMS = 64,          // loaded again after a reset
    SESSION_CODE_CHARACTERS = 40,  // of an evaluation's code, in the list of snapshots
    SESSION_START_TRIES = 3,
    SESSION_RETIRED_LINKS = 32,  // pipes of ended processes that others still write to
    SESSION_LABELS = 256,        // evaluations whose code is remembered
    SESSION_VISITORS = 64,       // clients of which it is known what they have seen
    SESSION_OFFERS_MAX = 16,     // channels that one request may ask for

    TIME_START_MS = 10000,
    TIME_BUILD_MS = 180000,
    TIME_SNAP_MS = 2000,
    TIME_WAKE_MS = 1000,            // until a parked process is signalled again
    TIME_WAKE_PATIENCE_MS = 10000,  // until a snapshot that cannot wake is left for a later call
    TIME_PARK_MS = 10000,           // until a process that does not say that it is parked is void
    TIME_PARK_STEP_MS = 1000,
    TIME_CLEAR_MS = 2000,         // for processes that were killed to end
    TIME_CLEAR_STEP_MS = 2,       // between two looks at them
    TIME_READ_REQUEST_MS = 2000,  // a busy machine may be so late to hand a request to an idle head
    TIME_FINALIZE_MS = 500,
    TIME_INTERRUPT_MS = 400,  // from the soft stop to the hard one
    TIME_HARD_STOP_MS = 300,  // from the hard stop to SIGKILL, and between further ones
};

enum wake_phase {
    WAKE_ENDING,    // the old head
    WAKE_CLEARING,  // until what its last evaluation started is gone, too
    WAKE_ASKED,     // a snapshot was signalled
    WAKE_PAUSED,    // it could not clone itself and will be asked again
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

// A client, and the last evaluation that it knows of.
struct visitor {
    uint64_t client;
    int64_t seen;
};

// Who made an evaluation.
struct evaluator {
    int64_t number;
    uint64_t client;
    char name[64];
};

struct session {
    struct session *next;
    struct session_manager *manager;
    uint64_t id;  // never used again
    char name[SESSION_NAME_MAX + 1];
    char *environment_entry;  // "CADRE_SESSION=…"
    char **environment;       // of the client that made it; NULL: this process's
    struct cgroup *cgroup;    // of all its processes, or NULL
    struct {                  // of its processes (process/mark.h), the present one last
        uint64_t values[SESSION_KERNEL_SESSIONS];
        size_t count;
    } marks;
    char *last_tests;     // of the last run of tests, for the next one; JSON, or NULL
    bool lent_temporary;  // other sessions use its temporary directory
    bool is_hidden;       // known to who made it, and to nobody else; not kept
    bool is_forked;       // until it has its state: without it, it ends
    struct session_limits limits;

    enum session_state state;
    enum session_state told_state;  // to the observer
    bool handling;                  // inside session_handle()
    bool close_requested;           // by a callback
    struct event *timer;            // of the state

    struct link *links;     // of all processes
    struct capture output;  // of all of them
    struct capture errors;

    struct worker *workers;  // all processes
    struct worker *head;
    struct worker *copy;
    struct worker *source;    // WAKING, COPY: the parked process that was signalled
    struct link *awaited;     // WAKING, COPY: of the process that it makes
    bool died_idle;           // the head did, and nothing has been evaluated since
    bool crowded;             // the head or copy was killed because of all it had started
    bool protocol_broken;     // the head or copy sent garbage and was killed for it
    uint64_t unit_tick;       // when the current evaluation or snapshot began
    uint32_t message_number;  // of the last message that wants an answer
    struct {                  // fresh workers, whose offspring may still live
        pid_t ids[SESSION_KERNEL_SESSIONS];
        size_t count;
    } kernel_sessions;

    struct job *job;  // the one that runs
    struct event *progress_timer;
    struct {
        struct job *first;
        struct job **end;
        size_t length;
    } queue;

    struct {
        unsigned tries;
        bool building;  // a core
    } start;            // STARTING
    struct {
        bool running;
        uint32_t message;
        unsigned stage;    // of stopping it
        unsigned pending;  // as last announced
    } finalizer;           // IDLE
    struct {
        int64_t number;
        uint32_t message;
        char *code;
    } snap;                  // SNAPSHOTTING
    int64_t clear_until_ms;  // CLEARING, WAKING
    struct {
        enum wake_phase phase;
        unsigned tries;      // of the snapshot that is asked now
        int64_t give_up_ms;  // when it is left for a later call
        char failure[128];   // why it could not wake, as it said
        bool spawns;         // a fresh worker instead of a snapshot
        bool only_this;      // an explicit rollback; else older snapshots will do
        bool discard_finalizers;
        bool discard_timers;
        int64_t number;  // the snapshot wanted
        char *notice;    // why, for the notice when it is done
    } wake;              // WAKING
    enum copy_phase copy_phase;
    struct {
        struct job *job;        // a question; NULL: none
        struct worker *source;  // the snapshot that was asked for a copy
        struct link *awaited;   // of the copy
        struct worker *copy;    // once it is there
        struct event *timer;
        struct capture output;  // of the copy, which nobody sees
        struct capture errors;
    } beside;  // RUNNING, and for a moment later

    char *store;  // its directory; NULL: nothing is kept
    struct journal journal;
    struct saving saving;
    int64_t used_ms;  // when it last had a request
    bool wants_rest;  // it gives up its processes as soon as its state is saved
    char *runtime;    // that its processes run
    char *base;       // core whose heir their core is: itself, or that of the image
    struct {
        bool active;        // a Lisp process starts from `core`
        bool exhausted;     // no image can be used
        bool from_journal;  // there may be none: another node had the session
        unsigned tried;
        int64_t began_ms;
        bool was_cached;  // `core` was there before
        char *core;
        char *runtime;  // NULL: the present one
        struct region *region;
        value description;
    } restore;  // RESTORING, STARTING
    struct project project;
    struct visitor visitors[SESSION_VISITORS];
    struct evaluator evaluators[SESSION_LABELS];  // by number modulo

    struct {
        int64_t evaluations;           // counter
        int64_t current;               // the evaluation whose state the head has
        int64_t first;                 // the state it began with: restored, or of another session
        int64_t before_reset;          // snapshot kept by the last reset, -1 = none
        struct buffer parents;         // int64_t parent of each evaluation, by number
        char *labels[SESSION_LABELS];  // code of the newest evaluations, by number modulo
    } lineage;
    int64_t measured_ms;  // last time memory of clones was read

    struct {
        char *names[SESSION_SYSTEMS];  // loaded by load-system
        size_t count;
        char *directories;  // JSON: of all systems loaded, where they are found after a reset
    } systems;

    struct error_history history;
    struct {
        char *notices[SESSION_NOTICES];
        size_t notice_count;
        struct buffer earlier_output;  // what threads and children wrote between two requests
        struct buffer late_errors;     // lines about threads and finalizers, for [stderr]
        int64_t thread_error;          // newest error of a thread in the reply being made, or 0
        char *lost_threads;  // names lost by the last rollback, for the notice after a timeout
    } pending;               // for the next reply

    struct {
        struct region *state_region;
        value state;  // `state` of its last message
        struct region *hello_region;
        value hello;
    } agent;
    struct region *scratch;  // for reading small messages
};

struct session_manager {
    struct event_base *base;
    struct session_config config;
    char *sbcl;
    char *core;
    char *cache_directory;
    char *store;                    // directory of all sessions; NULL: nothing is kept
    struct background *background;  // with a store
    struct event *keep_timer;       // the same
    struct {
        struct project_build *build;  // NULL: no core is made
        bool is_told;                 // what of it is not used
        char *failure;                // why the last one was not made, or NULL
    } project;
    char *root;                   // of the client, or NULL
    struct path_list tool_paths;  // of tools in Lisp, read by all sessions
    struct reach reach;
    char id[40];
    struct session *sessions;  // oldest first
    struct session *closing;
    unsigned session_count;
    uint64_t last_ticket;
    uint64_t last_session;
    uint64_t last_mark;
    struct job *refused;  // to be answered from the loop
    struct event *refused_event;
    struct event *reap_timer;
    struct event *count_timer;  // while a request runs or something it started does
    struct event *void_timer;   // while a parked process has not said that it is
    struct region *shapes;      // of the messages (shapes_share)
    struct region *spare_region;
    struct cgroup_tree *cgroups;  // NULL: none can be made
    unsigned last_cgroup;
    uint64_t mark_family;                // of everything that sessions start (process/mark.h)
    struct signal_guard *signal_guards;  // where Landlock has no scopes
    struct guardian *guardian;           // from the first session on
    struct event *child_event;
    LIST_HEAD(, session_observer) observers;
};

// --- manager.c: sessions by name, shared regions -------------------------------------------------
struct session *manager_find(struct session_manager *manager, const char *name);
struct session *manager_add(struct session_manager *manager, const char *name);
struct region *manager_acquire_region(struct session_manager *manager);
void manager_return_region(struct session_manager *manager, struct region *region);
bool manager_knows(struct session_manager *manager, const char *name);  // makes none
bool manager_knows_pid(struct session_manager *manager, pid_t pid);
void manager_start_guardian(struct session_manager *manager);
void session_unlink_closed(struct session *session);  // all its processes are gone: frees it

// --- session.c: one session ----------------------------------------------------------------------
struct session *session_new(struct session_manager *manager, const char *name);
void session_free(struct session *session);
// The session takes a copy of the environment of the client that makes it, unless it has one.
void session_take_environment(struct session *session, char *const *environment);
channel_message_fn session_on_message;                                  // `data` is the link
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

// Its processes have a mark of their own from now on; a mark that is smaller than all before.
void session_take_mark(struct session *session);
static inline uint64_t session_mark(const struct session *session)
{
    return session->marks.count > 0 ? session->marks.values[session->marks.count - 1] : 0;
}

// --- request.c: requests -------------------------------------------------------------------------
// True: there are too many sessions, and the request was refused.
bool manager_refuses_one_more(struct session_manager *manager, struct job *job);

// --- lineage.c: which evaluations a state is made of ---------------------------------------------
void lineage_set_parent(struct session *session, int64_t number, int64_t parent);
int64_t lineage_parent(const struct session *session, int64_t number);  // -1 = none
bool lineage_has_ancestor(const struct session *session, int64_t number, int64_t ancestor);
// Evaluations that are part of `from` and not of `to`, oldest first.
value lineage_undone(const struct session *session, struct region *region, int64_t from,
                     int64_t to);
int64_t lineage_nearest_snapshot(struct session *session, int64_t number);  // -1 = none
// The code an evaluation began with.
void lineage_set_label(struct session *session, int64_t number, const char *label);
const char *lineage_label(const struct session *session, int64_t number);  // "" = forgotten
// As lineage_undone(), as maps {number, code}.
value lineage_lost(const struct session *session, struct region *region, int64_t from, int64_t to);

// --- lost_threads.c: threads of user code that are gone ------------------------------------------
// Names of the threads of a head that is gone and, when it died in between, those the snapshot knew
// (`message` is its WOKE, or nil); the session remembers them. Valid until the next message.
value session_collect_lost_threads(struct session *session, value message);

// --- reply_limit.c: max-output of one answer -----------------------------------------------------

// Cuts the output captured and the values of the job's result to max-output characters together.
// The values as they were, when some of them had to be cut, else nil.
value reply_limit(struct session *session, struct job *job);

// --- notice.c: what is told with the next reply --------------------------------------------------
void session_notice(struct session *session, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
// Why a snapshot is woken, for the notice when it is awake.
void session_wake_notice(struct session *session, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
// The same: the head did `what` ("died while idle"), with its status and what its runtime said.
void session_notice_death(struct session *session, const char *what,
                          const struct process_exit *exit);

// --- beside.c: questions while the head works -----------------------------------------------------
void beside_init(struct session *session);
void beside_release(struct session *session);
// A request was queued, or a question is answered: is there one to be answered beside the head?
void beside_consider(struct session *session);
bool beside_on_message(struct link *link, const struct channel_message *message);  // false: not its
void beside_forget(struct worker *worker);                     // it is gone, or being killed
void beside_on_exit(struct session *session);                  // the copy ended without an answer
bool beside_cancel(struct session *session, uint64_t ticket);  // false: not its
void beside_close(struct session *session, const char *code, const char *message);

// --- systems.c: ASDF systems, loaded again after a reset -----------------------------------------
void systems_remember(struct session *session, const struct job *job);  // its result was ok
// Those of an image's description.
void systems_restore(struct session *session, value description);
// Queues requests that load the systems of the current state again, before all others.
void systems_reload(struct session *session);

// --- evict.c: which parked processes are kept ----------------------------------------------------
void snapshot_evict(struct session *session);
void postmortem_evict(struct session *session);
