// One call of run-program or resume-program, from its arguments to its reply: it waits for its memory,
// then for the descriptions of its tools, then for a worker's answer, then until its memory, or the run
// itself, is saved.
#pragma once

#include "tools/program/saved_programs.h"
#include "tools/program/toolbox_run.h"
#include "tools/session_call.h"

struct program_task {
    TAILQ_ENTRY(program_task) link;  // in tools->memory_users, when it names a memory
    struct tools *tools;
    struct mcp_call *call;  // NULL: cancelled while files were being read or written
    value record;
    value step;  // to be sent when the memory or the run is saved
    int64_t timeout_ms;
    char *memory_name;                      // NULL: none
    struct named_memory *memory;            // NULL: none, or not its turn yet
    bool is_waiting;                        // for a file
    struct saved_programs *saved;           // that it may call; NULL: none
    struct toolbox_resolution *resolution;  // NULL: not begun, or done
    struct event *deadline;                 // of the resolution
    uint64_t ticket;
    int64_t number;  // for wait and read-output
    int64_t started_ms;
    struct running *running;       // once its call was answered early
    struct event *yield_timer;     // NULL: it is not answered early
    struct event *progress_timer;  // from its first tool call on
    size_t tool_calls;             // begun
    char tool[64];                 // the name in the last of them
    bool is_saving;                // its memory: the answer cannot be stopped any more
    bool is_told;                  // to the observer, that it ended
    bool is_resumed;               // with the record of a run that paused
    struct toolbox_run run;
};

// --- program.c: what both tools do ---------------------------------------------------------------

struct program_task *program_task_new(struct tools *tools, struct mcp_call *call);
void program_task_free(struct program_task *task);
// From now on a call that is cancelled stops it.
void program_task_watch(struct program_task *task);
// Frees it when it was cancelled while a file was being read or written. True: go on.
bool program_task_is_wanted(struct program_task *task);
bool program_task_read_yield(struct program_task *task);
// Takes its turn at the memory of that name. False: refused.
bool program_task_use_memory(struct program_task *task, struct span name);
// Record, memory and limits are read: goes on until the reply.
void program_task_start(struct program_task *task);
void program_task_reply(struct program_task *task, value step);
// Its time is over; `what` took it.
void program_task_time_out(struct program_task *task, bool started, const char *what);
// Gives it to a worker.
void program_task_submit(struct program_task *task);

// --- program/program_resolve.c: what it is told about its tools ----------------------------------

void program_task_resolve(struct program_task *task);

// --- program_pause.c: runs that wait -------------------------------------------------------------

// The Step waits for a call: keeps the run, then asks the person or answers with the Step.
void program_pause(struct program_task *task, value step);
// A run of this call waits for the person's answer, which has come. False: none does.
bool program_pause_continue(struct tools *tools, struct mcp_call *call);

// --- program/save_program.c: programs that are kept ----------------------------------------------

// A program has run with success: it may be saved.
void save_program_note(struct tools *tools, struct span source);

// --- program/program_news.c: what the observer of programs is told ---------------------------------

void program_news_started(struct program_task *task);
void program_news_call(struct program_task *task, uint64_t key, struct span name,
                       struct span arguments);
void program_news_answered(struct program_task *task, uint64_t key, bool ok, struct span text);
// Once; without a Step: it was cancelled, or refused.
void program_news_ended(struct program_task *task, value step);
