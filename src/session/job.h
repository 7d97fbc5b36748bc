// A request on its way: written when submitted, sent when its turn comes, answered once.
#pragma once

#include "base/buffer.h"
#include "session/channel.h"
#include "session/process_failure.h"
#include "session/session.h"

struct session;
struct session_event;
struct worker;
struct capture;

// Keeps what the runtime of SBCL writes out of the output that is handed on as it comes.
struct output_filter {
    bool in_line;        // the text handed on does not end with a newline
    bool skips;          // until the end of a line of the runtime
    bool holds;          // the runtime may be dying: decided when the request ends
    struct buffer held;  // text since then
};

enum job_stop { STOP_NONE, STOP_TIMEOUT, STOP_INTERRUPT, STOP_CANCEL };

// A request: queued, then running, then answered and freed.
struct job {
    struct job *next;
    uint64_t ticket;
    struct session *session;  // NULL: refused before it had one
    enum session_request_kind kind;
    bool internal;  // loads a system or definitions again: no callbacks, no number of its own
    bool cancelled;
    bool reset_done;           // RESET: the fresh image is there
    bool waited_for_snapshot;  // COPY
    bool adopt;
    bool beside;  // may be answered by a copy of a snapshot while the head works
    char *name;
    char *client;  // who asks, or NULL
    uint64_t client_id;
    char *label;
    char *op;
    struct buffer request;  // JSON text of the request but for its limits and the last brace
    int64_t timeout;        // seconds, 0 = none
    int64_t error;
    int64_t rollback_to;
    int64_t rollback_steps;
    char *as;             // FORK, ADOPT: the session that gets the state
    bool hidden;          // FORK
    uint64_t fork_from;   // its turn in the session whose state it is has come: the id of that one
    int64_t fork_number;  // the snapshot, then
    session_reply_fn *reply;
    session_progress_fn *progress;
    session_output_fn *output;
    bool earlier_apart;
    session_input_fn *input;
    void *data;

    // While it runs and afterwards:
    int64_t started_ns;  // 0 = queued
    uint32_t message_number;
    int64_t deadline_ns;                                 // 0 = none
    bool heard;                                          // its head has sent something about it
    bool waits_for_input;                                // its time stands still
    int64_t input_left_ns;                               // of its time, then
    struct output_filter filters[SESSION_STREAM_COUNT];  // of what `output` gets
    char *package_before;                                // label of the package it began in
    unsigned tries;                                      // heads that were dead before they took it
    int64_t number;                                      // evaluation
    enum job_stop stop;                                  // why it is being stopped
    struct region *region;                               // of everything below
    value result;
    value frames;      // error map of the hard stop, or nil
    bool has_failure;  // its process ended
    struct process_failure failure;
    struct exit_notice exit_notice;
    struct worker *postmortem;  // announced by its result
    struct session_test_progress tests;
    char test_name[128];  // of the last one
    bool adopted;
    bool rolled_back;
    int64_t snapshot;  // RESET: state before
    value undone;
    value lost;      // evaluations before it that are lost, too: maps {number, code}
    bool restarted;  // nothing was left to go back to
    value lost_threads;
    char refusal_code[32];  // "" = not refused
    char *refusal_message;
};

// --- job.c ---------------------------------------------------------------------------------------
struct job *job_new(struct session_manager *manager, const struct session_request *request);
// Code that the supervisor lets a session evaluate before all else; no callbacks, no number.
struct job *job_new_code(const char *label, struct span code);
// Loads a part of the project: the init file or the systems `what`; seconds as in a request.
struct job *job_new_project(const char *label, int64_t timeout, const char *name, value what);
struct job *job_new_system(const char *name, const char *directories);
void job_free(struct session_manager *manager, struct job *job);
struct region *job_region(struct session_manager *manager, struct job *job);
void job_enqueue(struct session *session, struct job *job);
void job_requeue(struct session *session, struct job *job);  // as the first
struct job *job_dequeue(struct session *session);
bool job_queued_beside(const struct session *session);  // is there one that needs no head?
struct job *job_dequeue_beside(struct session *session);
struct job *job_take_queued(struct session *session, uint64_t ticket);  // NULL: it is not
void job_begin(struct job *job);
void job_send(struct job *job, struct worker *worker);  // and starts its time
void job_send_request(struct job *job, struct worker *worker);
int64_t job_elapsed_ms(const struct job *job);
// Puts a request that no head has read back into the queue; false: it has been tried often enough.
bool job_retry(struct job *job);
// What its process sends. A result that is not well-formed gives false.
bool job_read_result(struct job *job, const struct channel_message *message);
void job_read_exit_notice(struct job *job, const struct channel_message *message);
void job_read_frames(struct job *job, const struct channel_message *message);
// Its process has ended: finds out why.
void job_classify_exit(struct job *job, const struct session_event *event, bool killed_by_us);
void job_progress(const struct session *session, const struct job *job,
                  struct session_progress *ret_progress);

// --- job_streams.c: output as it comes, input when it is asked for --------------------------------
void job_streams_init(struct job *job, const struct session_request *request);
void job_streams_release(struct job *job);
// The request begins: what the session has written before it is its output, too.
void job_streams_begin(struct session *session, struct job *job);
// Hands on what has been held back; before the reply, and before late_errors are moved into it.
void job_streams_finish(struct session *session, struct job *job, bool died);
// The worker asks for input on its channel.
void job_want_input(struct session *session, struct job *job);

// --- reply.c: answers ----------------------------------------------------------------------------
// Both answer (unless cancelled or internal) and free; a refusal is answered from the loop.
void job_refuse(struct session_manager *manager, struct job *job, const char *code,
                const char *format, ...) __attribute__((format(printf, 4, 5)));
void job_refuse_queued(struct session *session, const char *code, const char *message);
void job_finish(struct session *session, struct job *job);
void job_finish_beside(struct session *session, struct job *job);  // without output and records
void manager_answer_refused(struct session_manager *manager);
// An error map with its number (0: none), the evaluation that it belongs to, time and `frozen`.
value session_complete_error(struct session *session, struct region *region, value error,
                             int64_t id, int64_t evaluation, bool frozen);
void session_record_thread_errors(struct session *session, struct region *region, value result);
void session_record_thread_error(struct session *session, struct region *region, value error);
