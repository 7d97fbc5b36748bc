// Sessions: crash-proof live Lisp images behind one asynchronous interface.
//
// A manager owns named sessions. A session is one SBCL process, the head, and parked copies of it
// (snapshots after each evaluation, post-mortems at errors). No process is started before the first
// request that needs one. Everything runs on the caller's event_base, in one thread, without
// blocking; callbacks are called from the loop, never from inside session_submit().
//
// A request is answered exactly once through its reply function, unless it was cancelled: then
// never. Requests of one session run in order of arrival, those of different sessions side by side.
// What only reads the supervisor's records (info, errors, limits) is a plain function and never
// waits.
//
// The reply's callback should write its answer out before it returns: the snapshot, whose cost the
// client must not see, is begun right after it.
//
// The session "main" always exists; its process starts on first use. Other names exist after a
// request with `create`. Names: [a-z0-9][a-z0-9._-]{0,31}.
//
// Limits: 64 MiB per message from a worker, 4 MiB per request, `max_queue` waiting requests per
// session, `max_output` characters of output and values per reply, 20 error records, 4 post-mortems,
// `snapshots` snapshots and a memory budget for all parked processes of a session.
#pragma once

#include <event2/event.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>
#include <sys/types.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/span.h"
#include "process/sandbox/confinement.h"
#include "value/value.h"

enum {
    SESSION_NAME_MAX = 32,
    SESSION_ERROR_HISTORY = 20,
    SESSION_POSTMORTEMS = 4,
    SESSION_TEST_ERRORS = 16,        // frozen, of the last run of tests
    SESSION_REQUEST_MAX = 8 << 20,   // bytes of a request as JSON (4 MiB of code, escaped)
    SESSION_MESSAGE_MAX = 64 << 20,  // bytes of an answer as JSON
};

// --- session_limits.c: limits (configure-limits) -------------------------------------------------

struct session_manager;

struct session_limits {
    int64_t timeout;     // seconds per call, 0 = none; 0..86400
    int64_t max_output;  // characters of output and values per answer; 1..4000000
    int64_t max_memory;  // MB of live data; 64..45 % of the heap
    int64_t max_frames;  // frames shown inline; 1..1000
    int64_t snapshots;   // snapshots kept; 1..256
};

struct session_limits session_limits_default(void);  // 30, 20000, 1024, 20, 16
// Lowers max_memory to what a heap of this size allows: for limits that the user did not choose.
void session_limits_fit(struct session_limits *limits, unsigned heap_mb);
// False with the ready text, e.g. "Value must be between 64 and 1152: max-memory = 3".
bool session_limits_check(const struct session_limits *limits, unsigned heap_mb,
                          struct error *error);
// -ENOENT: no such session. Setting takes checked limits.
int session_limits_get(struct session_manager *manager, const char *name,
                       struct session_limits *ret_limits);
int session_limits_set(struct session_manager *manager, const char *name,
                       const struct session_limits *limits);

// --- manager.c: sessions by name -----------------------------------------------------------------

// What messages tell the user to turn to; "" = nothing. NULL: the tool of the MCP server.
struct session_advice {
    const char *raise_timeout;  // configure-limits
    const char *raise_memory;   // configure-limits
    const char *more_frames;    // get-backtrace
};

// What sessions may reach (docs/security.md). The lists end in NULL, may be NULL, and live as long as
// the manager.
struct session_sandbox {
    enum sandbox_mode mode;
    const char *workspace;  // NULL: found, see session/workspace/workspace.h
    const char *refused;    // the workspace is a scratch one, because this directory is never one
    const char *directory;  // where the client works; NULL: this process's working directory
    const char *const *allow_read;
    const char *const *allow_write;
    const char *const *pass_environment;  // names of variables that look like secrets
    bool no_network;
    bool allow_unix_sockets;
};

struct ledger;

struct session_config {
    const char *sbcl;  // NULL: the one beside the program, else "sbcl" from PATH
    const char *core;  // NULL: build directory, installed directory, cache (session_core_*)
    const char *cache_directory;  // NULL: $XDG_CACHE_HOME/cadre or ~/.cache/cadre
    unsigned heap_mb;             // 0: 2560
    unsigned max_sessions;        // 0: as many as the memory allows
    unsigned spare_memory_mb;     // available, or no second session is made; 0: 256
    unsigned max_queue;           // 0: 64
    unsigned max_processes;       // that the code of a session may have running; 0: 8192
    unsigned
        clone_budget_mb;  // PSS of the parked processes of a session; 0: max(256, max-memory / 2)
    struct session_limits limits;  // all zero: the defaults; for new sessions
    struct session_advice advice;  // static texts
    struct session_sandbox sandbox;
    const char *store;    // directory where sessions are kept; NULL: they are not
    int64_t hibernate_s;  // idle so long, a kept session gives up its processes
    bool no_journal;
    const struct ledger *ledger;  // is told what is kept; outlives the manager. NULL: nobody
    bool is_brief;                // it ends with the command: no core of the project is made
};

// Copies what `config` points to. 0 or negative errno. Makes the process a child subreaper.
int session_manager_new(struct event_base *base, const struct session_config *config,
                        struct session_manager **ret_manager);
// Kills and reaps every process; pending requests are dropped without a reply.
void session_manager_free(struct session_manager *manager);

#define SESSION_NAME_RULE                                                                          \
    "A session name is 1 to 32 characters of a-z, 0-9, '.', '_', '-' and begins with a letter or " \
    "digit"
bool session_name_valid(struct span name);
bool session_exists(struct session_manager *manager, const char *name);
// Vector of names, "main" first, then by age.
value session_names(struct session_manager *manager, struct region *region);
// Appends 'Unknown session "x". Known sessions: main, work'.
void session_unknown_text(struct session_manager *manager, const char *name, struct buffer *text);

// Saves all sessions that have changed, as soon as they can be; session_is_saving() tells when that
// is done.
void session_save_all(struct session_manager *manager);
bool session_is_saving(const struct session_manager *manager);

// Where the session is kept; NULL: it is not, or there is none of this name.
const char *session_store_path(struct session_manager *manager, const char *name);
enum save_outcome { SAVE_PENDING, SAVE_DONE, SAVE_FAILED };

// Saves the session as soon as it can be; to be asked again until that is done or has failed
// (saving_request() in image/saving.h). One that does not exist is saved.
enum save_outcome session_save(struct session_manager *manager, const char *name, bool again,
                               const char **ret_reason);

// Ends all processes of the session and forgets everything; running and queued requests are refused
// with "session-closed". -ENOENT: no such session.
int session_close(struct session_manager *manager, const char *name);

// --- request.c: requests -------------------------------------------------------------------------

enum session_request_kind {
    // In the head. Numbered, followed by a snapshot; a failure gets an error record and becomes the
    // last error, a success clears the last error. (evaluate, load-file, load-system, profile, trace)
    SESSION_EVALUATE,
    // In the head, read-only, under the same guard; not numbered, no snapshot, no error record.
    SESSION_QUERY,
    // In a throw-away copy of the current snapshot. (compile, macroexpand, describe-system)
    SESSION_COPY,
    // In a throw-away copy of the current snapshot; numbered. Failures of tests that were frozen are
    // recorded, and replace those of the last run. (run-tests)
    SESSION_TESTS,
    // In a throw-away copy of a frozen error; nothing is recorded. (inspect-frame, eval-in-frame,
    // …)
    SESSION_DEBUG,
    // invoke-restart in a copy of a frozen error; a failure is recorded; `adopt` makes the copy the
    // head as a new evaluation.
    SESSION_RESTART,
    // A fresh image; systems loaded by load-system are loaded again. `op` and `params` unused.
    SESSION_RESET,
    // The state after another evaluation becomes current: `rollback_to`, or `rollback_steps` back
    // along the lineage when `rollback_to` is negative. `op` and `params` unused.
    SESSION_ROLLBACK,
    // A new session, `as`, with the state of this one: the current one, or after evaluation
    // `rollback_to`; while an evaluation runs, the state before it. `op` and `params` unused.
    SESSION_FORK,
    // The same state becomes that of the session `as`, as an evaluation of it.
    SESSION_ADOPT,
    SESSION_REQUEST_KIND_COUNT,
};

struct session_reply;
struct session_progress;
enum session_stream { SESSION_STANDARD_OUTPUT, SESSION_STANDARD_ERROR, SESSION_STREAM_COUNT };
typedef void session_reply_fn(void *data, const struct session_reply *reply);
typedef void session_progress_fn(void *data, const struct session_progress *progress);
typedef void session_output_fn(void *data, enum session_stream stream, struct span text);
typedef void session_input_fn(void *data, uint64_t ticket);

// Who asks: several clients may share a session.
struct session_client {
    uint64_t id;               // of its connection; 0: there is one client alone
    const char *name;          // "repl (pid 4711)"; NULL: as it calls itself
    int process;               // which carries its messages; 0: none
    char *const *environment;  // of a session that it creates; NULL: this process's
};

struct session_request {
    const char *session;  // NULL: "main"
    struct session_client client;
    enum session_request_kind kind;
    bool create;          // start the session when the name is new (else "unknown-session")
    const char *op;       // operation of the agent (docs/session-protocol.md 5)
    value params;         // map with the op's parameters (without `op` and `limits`), or nil
    const char *label;    // code shown in the list of snapshots (first 40 characters); may be NULL
    int64_t timeout;      // seconds for this call, 0 = none, negative = the session's limit
    int64_t error;        // DEBUG, RESTART: number of the error, 0 = the last error
    bool adopt;           // RESTART
    bool beside;          // QUERY, COPY: while an evaluation runs, the state before it will do
    int64_t rollback_to;  // ROLLBACK, FORK, ADOPT: snapshot number; negative: none
    int64_t rollback_steps;  // ROLLBACK: ≥ 1
    const char *as;          // FORK, ADOPT
    bool hidden;             // FORK: in no list, not kept, named by the manager; `as` is NULL
    session_reply_fn *reply;
    session_progress_fn *progress;  // may be NULL; first after 1 s, then every 500 ms while it runs
    // May be NULL. Gets what the reply has as output, as it comes and without the limit max_output;
    // all of it before the reply. It must not call this interface.
    session_output_fn *output;
    // Whether what was written before the request is in the reply as earlier output, as without
    // `output`, or is the first that `output` gets.
    bool earlier_apart;
    // May be NULL: reading standard input then ends in END-OF-FILE. Called when the code reads and
    // there is nothing to read; session_give_input() answers. The time it waits does not count.
    session_input_fn *input;
    void *data;
};

// How far a run of tests is.
struct session_test_progress {
    int64_t total;  // 0: it has not begun
    int64_t done;
    int64_t failed;
};

struct session_progress {
    int64_t elapsed_ms;  // since the request began to run; 0 while it is queued
    bool queued;
    struct span
        line;  // newest complete or partial line of its output, at most 200 bytes; may be empty. Of
               // a run of tests: the name of the last one
    struct session_test_progress tests;
};

// Copies all it needs; the strings and params may be dropped afterwards. Never fails: a refusal is
// a reply, too. The ticket is never 0 and never used again.
uint64_t session_submit(struct session_manager *manager, const struct session_request *request);
// No reply will come. A queued request is removed; a running one is interrupted, at last killed.
// Unknown tickets (already answered) are ignored.
void session_cancel(struct session_manager *manager, uint64_t ticket);
// As the deadline, but now: the reply comes with the error code "interrupted". For Ctrl-C.
void session_interrupt(struct session_manager *manager, uint64_t ticket);
// The same for an evaluation that runs, whoever asked for it. False: it does not run.
bool session_interrupt_evaluation(struct session_manager *manager, const char *name,
                                  int64_t number);
// What is known of a running or queued request; false for an unknown ticket.
bool session_progress(struct session_manager *manager, uint64_t ticket,
                      struct session_progress *ret_progress);

// The number of an evaluation that runs or is queued, 0 for other requests and unknown tickets. One
// that is queued gets its number now, after those before it.
int64_t session_evaluation_number(struct session_manager *manager, uint64_t ticket);

// --- job_streams.c: input ------------------------------------------------------------------------

// The input a request waits for: some text, or its end. Ignored when it does not wait (any more).
// May be called from the request's input function. Text: UTF-8, at most 1 MiB.
enum { SESSION_INPUT_MAX = 1 << 20 };
void session_give_input(struct session_manager *manager, uint64_t ticket, struct span text);
void session_end_input(struct session_manager *manager, uint64_t ticket);
// Moves the output that a running request has made so far into the buffers, cut as in a reply. The
// reply will have only what comes later.
void session_move_output(struct session_manager *manager, uint64_t ticket,
                         struct buffer texts[SESSION_STREAM_COUNT]);

// --- replies -------------------------------------------------------------------------------------

struct session_output {
    struct span text;  // all of it, or beginning, the line "[truncated: …]", and end
    uint64_t omitted;  // characters that are missing
};

// Everything a reply points to is valid until the callback returns.
//
// Refusals (`ran` false): the request changed nothing and `error` has only `code` and `message`:
// unknown-session, too-many-sessions, invalid-argument, busy, sbcl-missing, core-missing,
// start-failed, session-closed, session-exists, no-such-snapshot, no-error, no-such-error, not-frozen,
// not-adoptable, request-too-large, wake-failed.
struct session_reply {
    uint64_t ticket;
    const char *session;
    bool ok;                // it ran and `error` is nil
    bool ran;               // false: refused
    struct region *region;  // of the values here; free for more until the callback returns
    value result;           // the agent's RESULT, a map; nil when the process ended without one
    value whole_values;     // those of `result` before max_output cut some; nil: all are there
    value error;            // as in docs/reference/evaluator.md 2.9; nil when ok
    int64_t error_id;       // its record in the history; 0 = not recorded
    bool frozen;            // the error has a post-mortem
    struct span earlier_output;  // of threads and children, since the last request
    struct session_output standard_output;
    struct session_output standard_error;  // lines about threads and finalizers included
    value notices;                         // vector of strings, [Notice]
    // map {cause, reason, exit_code, signal, snapshot, lost_threads, lost: [{number, code}] of the
    // evaluations before this one, restarted}, or nil
    value rollback;
    int64_t evaluation;  // number of this evaluation, of the current state for other kinds
    int64_t snapshot;    // RESET: the state before (-1: none). ROLLBACK: the current one
    value undone;  // ROLLBACK, adopted RESTART: vector of evaluation numbers that are no part now
    value lost_threads;  // vector of names of user threads that are gone; empty without
    bool adopted;
    struct span package;           // "COMMON-LISP-USER"
    struct span package_label;     // "CL-USER"
    struct span package_before;    // that of the package before the run
    struct session_limits limits;  // in force
    struct session_advice advice;
    unsigned heap_mb;
    int64_t elapsed_us;  // from the start of the run to the reply
    int64_t beside;  // the evaluation that runs, when this is about the state before it; 0 = none
};

// --- keeping.c: memory ---------------------------------------------------------------------------

// Memory of all processes of the sessions, as measured last; without those that save them.
uint64_t session_memory_kb(const struct session_manager *manager);
// When the session was used that session_hibernate() takes: the least recently used one that does
// nothing. INT64_MAX: there is none.
int64_t session_least_use_ms(const struct session_manager *manager);
// It is saved, then gives up its processes.
void session_hibernate(struct session_manager *manager);
// One is being saved for that.
bool session_is_hibernating(const struct session_manager *manager);

// --- info.c: what the supervisor knows; never waits ----------------------------------------------

#define SESSION_NO_ERROR_TEXT           \
    "No error information available.\n" \
    "(No error has occurred since the last successful evaluation)"

unsigned session_heap_mb(struct session_manager *manager);

// A map in `region`, nil when there is no such session:
//   name, state ("down", "starting", "idle", "running", …), pid (0 = none), package, package_label,
//   evaluations, evaluation (current state), errors (recorded since start or reset), queued,
//   live_bytes, heap_mb, threads [names], systems [names], sbcl, probes [{name, ok, detail}],
//   limits {timeout, max-output, max-memory, max-frames, snapshots},
//   snapshots [{number, evaluation, time, mb, code, parent, current}] oldest first
//     (time "2026-01-02T03:04:05Z"; parent absent for 0), frozen [error numbers]
// With `measure` also memory of the processes, read from the kernel now (about 0.1 ms each):
//   head {resident_kb, private_kb, pss_kb}, the same members in snapshots[], and
//   frozen_memory [{error, resident_kb, private_kb, pss_kb}].
value session_info(struct session_manager *manager, const char *name, bool measure,
                   struct region *region);

// Processes that the manager's sessions have now, those that are ending included.
size_t session_process_count(const struct session_manager *manager);
// Whether a request runs or waits in one of them.
bool session_is_busy(const struct session_manager *manager);
// Whether the process is one of theirs, or was started by one.
bool session_is_own_process(struct session_manager *manager, pid_t pid);

// Error history, newest first: vector of the error maps of docs/reference/evaluator.md 2.9,
// complete. Copies.
value session_errors(struct session_manager *manager, const char *name, struct region *region);
// One error by number, 0 = the last error; nil when there is none. A copy.
value session_error(struct session_manager *manager, const char *name, int64_t id,
                    struct region *region);

// --- journal/observer.c: what happens, as it happens ------------------------------------------------------

enum session_news_kind {
    SESSION_NEWS_STARTED,  // an evaluation
    SESSION_NEWS_OUTPUT,   // of one that runs
    SESSION_NEWS_ENDED,    // an evaluation, an adopted restart, a rollback or a reset
    SESSION_NEWS_STATE,
    SESSION_NEWS_CLOSED,
};

// What does not belong to the kind is zero. Valid until the observer returns.
struct session_news {
    enum session_news_kind kind;
    const char *session;
    int64_t current;      // the evaluation whose state the session has
    int64_t evaluation;   // 0: a rollback or reset
    int64_t parent;       // whose state it began with; -1: not known
    const char *client;   // who asked, or NULL
    const char *label;    // the beginning of its code, or NULL
    struct span request;  // JSON of an object without its last brace
    const char *op;
    const struct session_reply *reply;  // ENDED; NULL: it was cancelled
    enum session_stream stream;
    struct span text;
    const char *state;
};

// Called from within the manager: it must not call this interface, but for session_info() and the
// other functions that never wait.
typedef void session_observer_fn(void *data, const struct session_news *news);

struct session_observer {
    LIST_ENTRY(session_observer) link;
    session_observer_fn *notice;
    void *data;
    bool is_listed;  // false at first
};

// The observer is told until it leaves or the manager is freed. It must not leave while it is told.
void session_observe(struct session_manager *manager, struct session_observer *observer);
// Also after the manager was freed.
void session_unobserve(struct session_observer *observer);

// --- lineage.c -----------------------------------------------------------------------------------

// Evaluations, maps {number, code}, for a text: "evaluations 4 (setf x 4), 5 (f)".
void session_evaluation_names(struct buffer *text, value evaluations);

// --- lost_threads.c ------------------------------------------------------------------------------

// Names of lost threads for a text: the first ones, and how many more.
void session_thread_names(struct buffer *text, value names);

// --- testing/testing.c ---------------------------------------------------------------------------

// What the last run of tests left for the next one: the member `last` of its request. False: none.
bool session_last_tests(struct session_manager *manager, const char *name, struct region *region,
                        value *ret_record);

// --- core.c: SBCL and the core (also for `cadre doctor`) -----------------------------------------

// Path of the SBCL that would be run: of the configuration, beside the program, from PATH. -ENOENT:
// none.
int session_find_sbcl(const struct session_config *config, char **ret_path);
// True if that is the one beside the program.
bool session_sbcl_is_shipped(const struct session_config *config);
// Path of the core for the configured heap size. -ENOENT: none there; one will be built on first
// use if the builder is there (session_find_core_builder). -EPERM: the one that is there, *ret_path,
// may be somebody else's work and is not used.
int session_find_core(const struct session_config *config, char **ret_path);
int session_find_core_builder(char **ret_path);
