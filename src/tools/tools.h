// The product's MCP tools. A tool is thin: it checks its arguments, calls its domain once and
// renders the domain's result (tools/result/, shared with the CLI). One file per family; each
// registers its tools through tools_add(), which honours the selection of `cadre serve --tools`.
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "base/array.h"
#include "context/store.h"
#include "mcp/mcp.h"
#include "program_host/program_pool.h"
#include "session/session.h"
#include "session/workspace/trust_question.h"
#include "tools/program/toolbox.h"

struct tool_metrics {
    struct mcp_metric *evaluations;
    struct mcp_metric *errors;
    struct mcp_metric *rollbacks;
    struct mcp_metric *seconds;
    struct mcp_metric *programs;
    struct mcp_metric *sessions;
    struct mcp_metric *processes;
    struct mcp_metric *bytes;
};

// Whether the files of the workspace count is asked of the user's own clients (trust/ask_trust.h).
struct asked_trust {
    bool is_users;                   // the client may be asked
    bool with_servers;               // .mcp.json is among the files that are used
    char digest[TRUST_DIGEST_SIZE];  // of the last question
};

struct background;
struct ledger;
struct context_queue;
struct context_tools;
struct output_store;

// What the handlers work with. The first members are filled by the caller, who owns what they
// point to; all of it must outlive the server.
struct tools {
    struct event_base *base;
    struct mcp_server *server;
    struct session_manager *sessions;
    struct context_store *contexts;
    struct program_pool *programs;
    const struct toolbox *toolbox;  // what programs may call
    const char *selection;          // "core", "default", "full", or names with commas between
    bool has_inspector;             // whose page may call what a set leaves out
    const struct tools_observer *observer;  // NULL: nobody looks
    int64_t yield;                          // seconds until a call is answered early, 0 = never
    const char *auto_context;               // mode; NULL: as the store's setting says
    const struct ledger *ledger;            // is told of named memories; NULL: nobody
    const char *memories;                   // directory of named memories; NULL: there is none
    struct session_client client;           // who calls
    bool client_left;                       // nobody reads the answers any more
    struct asked_trust trust;
    struct tool_metrics metrics;
    struct background *background;  // for work on files
    struct context_queue *context_queue;
    struct context_tools *context;
    struct output_store *outputs;      // of sessions; may be shared. NULL before registration: own
    struct output_store *own_outputs;  // of programs
    TAILQ_HEAD(shown_document_list, shown_document) shown;      // SVG that code has shown
    TAILQ_HEAD(shown_answer_list, shown_answer) shown_answers;  // whose images are looked at
    size_t shown_bytes;
    int64_t shown_count;                        // ever
    TAILQ_HEAD(running_list, running) running;  // work whose call was answered early
    int64_t program_count;                      // ever run
    uint64_t succeeded[64];  // hashes of programs that ran with success: the last ones
    size_t succeeded_count;  // ever
    int64_t call_count;      // answered early that are no evaluations
    TAILQ_HEAD(program_task_list, program_task) memory_users;  // runs that use named memories
    struct toolbox_listener toolbox_listener;
};

// What programs do, as it happens. What does not belong to the kind is zero; valid until the observer
// returns.
struct program_news {
    enum {
        PROGRAM_NEWS_STARTED,
        PROGRAM_NEWS_CALL,      // of a tool
        PROGRAM_NEWS_ANSWERED,  // a call
        PROGRAM_NEWS_ENDED,
    } kind;
    const void *run;     // tells it from others while it lasts
    int64_t number;      // for read-output, of this server
    const char *client;  // who asked, or NULL
    struct span source;
    uint64_t call;  // its key: tells it from others of the run
    struct span name;
    struct span text;  // JSON of the arguments; ANSWERED: of the result, or the text of the error
    bool ok;
    value step;  // ENDED; nil: it was cancelled, or there is none
};

struct tools_observer {
    void (*on_program)(void *data, const struct program_news *news);
    void *data;
};

// Registers all families. False: the selection or the mode of auto-context is unknown.
bool tools_register(struct tools *tools, struct error *error);
// After the server stopped, before the store is freed.
void tools_release(struct tools *tools);

// A tool as its family lists it; schemas/NAME.json has what clients are told about it.
struct tool {
    const char *name;
    unsigned flags;  // enum mcp_tool_flags
    mcp_handler_fn *handler;
};

// Registers one tool if the selection has it.
void tools_add(struct tools *tools, const struct tool *tool, void *data);
// The same, but every set has it.
void tools_add_to_all_sets(struct tools *tools, const struct tool *tool, void *data);
// A table of tools whose data is `tools`.
void tools_add_all(struct tools *tools, const struct tool *table, size_t count);
#define TOOLS_ADD_ALL(tools, table) tools_add_all(tools, table, COUNT_OF(table))

// Whether the selection has the tool, which must exist.
bool tools_offer(const char *selection, struct span name);

// Sources of texts (tools/offered_text.h).
extern const char tools_instructions[];  // instructions.md: what the model is told first
extern const char tools_guide[];         // guide.md: the usage guide

// --- metrics.c: numbers for /metrics -------------------------------------------------------------

void tools_register_metrics(struct tools *tools);

// --- evaluate.c: evaluate-lisp and relatives -----------------------------------------------------

void tools_register_evaluate(struct tools *tools);

// --- running.c: evaluations that take long -------------------------------------------------------

void tools_register_running(struct tools *tools);

// --- kept_output.c: output that was too long -----------------------------------------------------

void tools_register_output(struct tools *tools);

// --- shown.c: what code has shown ----------------------------------------------------------------

void tools_register_shown(struct tools *tools);

// --- errors.c: records of errors -----------------------------------------------------------------

void tools_register_errors(struct tools *tools);

// --- debug.c: work in frozen errors --------------------------------------------------------------

void tools_register_debug(struct tools *tools);

// --- session.c: sessions as such -----------------------------------------------------------------

void tools_register_session(struct tools *tools);

// --- kept_session.c: what is kept of sessions ----------------------------------------------------

void tools_register_kept_session(struct tools *tools);

// --- fork.c: the state of one session for another -------------------------------------------------

void tools_register_fork(struct tools *tools);

// --- alternatives.c: several codes in copies of a session -----------------------------------------

void tools_register_alternatives(struct tools *tools);

// --- introspect.c: symbols and classes -----------------------------------------------------------

void tools_register_introspect(struct tools *tools);

// --- workbench/edit.c: files by their forms ------------------------------------------------------

void tools_register_edit(struct tools *tools);

// --- workbench/navigate.c: definitions, another name ---------------------------------------------

void tools_register_navigation(struct tools *tools);

// --- workbench/watch.c: code that is watched while it runs ---------------------------------------

void tools_register_watch(struct tools *tools);

// --- load.c: files, systems, profiles, memory ----------------------------------------------------

void tools_register_load(struct tools *tools);

// --- syntax.c: parentheses -----------------------------------------------------------------------

void tools_register_syntax(struct tools *tools);

// --- testing/tests.c: the tests of a system --------------------------------------------------------

void tools_register_tests(struct tools *tools);

// --- program.c: sandboxed programs ---------------------------------------------------------------

void tools_register_program(struct tools *tools);

// --- program_pause.c: programs that wait for an answer --------------------------------------------

void tools_register_program_pause(struct tools *tools);

// --- program_list.c: the tools of programs -------------------------------------------------------

void tools_register_program_list(struct tools *tools);

// --- program/save_program.c: save-program --------------------------------------------------------

void tools_register_save_program(struct tools *tools);

// --- guide.c: the usage guide --------------------------------------------------------------------

void tools_register_guide(struct tools *tools);

// --- context.c: context items --------------------------------------------------------------------

// Registers what the selection takes (resources and prompt always) and announces changes of the
// store to subscribers, also those made by other processes. The result must be freed before the
// store and after the server stopped.
struct context_tools *tools_register_context(struct tools *tools);
void context_tools_free(struct context_tools *context);
