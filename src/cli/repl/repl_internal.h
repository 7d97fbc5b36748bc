// Private to `cadre repl`: the state of the REPL, shared by its loop and its commands.
#pragma once

#include "cli/repl/line_editor.h"
#include "cli/session_loop.h"

enum { REPL_REDO_MAX = 256, REPL_PROMPT_SIZE = 128 };

struct repl {
    struct session_loop loop;
    struct session_console console;
    struct line_input input;
    bool in_line;  // the output on the terminal does not end with a newline
    bool coloured;
    struct region *region;  // values of one input; cleared after each
    struct line_editor *editor;
    char prompt[REPL_PROMPT_SIZE];
    int64_t current;              // snapshot of the session's present state
    int64_t before_reset;         // snapshot before the last :reset, -1 = none
    int64_t after_reset;          // snapshot after it
    int64_t redo[REPL_REDO_MAX];  // snapshots before each :undo, newest last
    size_t redo_count;
    char hinted[64];     // operator whose arguments were asked for last
    struct buffer hint;  // they, or empty
    int64_t timeout;     // of a call: seconds, 0 = none, negative = the session's
    bool done;
    bool failed;  // the last evaluation: the exit status when input is not a terminal
};

// --- repl.c: the loop, evaluation and completion -------------------------------------------------

// Submits a request and waits; `handle` gets the reply, with the REPL as its data.
void repl_call(struct repl *repl, struct session_request *request, session_loop_reply_fn *handle);
// The number of the evaluation after which the session's present state was saved.
int64_t repl_current_snapshot(struct repl *repl);
// Waits until the session has made its snapshot and lists it.
void repl_settle(struct repl *repl);
// The next prompt shows the package of the reply.
void repl_update_prompt(struct repl *repl, const struct session_reply *reply);
void repl_print_evaluation(void *data, const struct session_reply *reply);
void repl_print(struct repl *repl, const struct buffer *text);  // with a newline
void repl_print_restarts(struct repl *repl, value error);

// --- repl_news.c: what others do -----------------------------------------------------------------

// From now on, in a shared session.
void repl_listen(struct repl *repl, struct line_editor_help *help);

// --- repl_help.c: help while a line is typed -----------------------------------------------------
struct line_editor_help repl_help(struct repl *repl);

// --- repl_commands.c: the commands that start with a colon ---------------------------------------

// Runs a command if the input is one. Any other keyword is Lisp, unless it has arguments or is
// almost a command: that is a mistyped command, and evaluating it would discard the last error.
bool repl_run_command(struct repl *repl, struct span input);
// The names of the commands; NULL after the last one.
const char *repl_command_name(size_t index);
