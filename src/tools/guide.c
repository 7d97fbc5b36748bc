// The usage guide: one text, as a resource and as a prompt.
#include "tools/tools.h"

static const char guide[] =
    "# Using Cadre\n"
    "\n"
    "## Sessions: live Common Lisp\n"
    "- `evaluate-lisp {\"code\": \"(defun sq (x) (* x x)) (sq 5)\"}` evaluates forms one by one; "
    "what they define "
    "stays. The answer has [stdout], [stderr], [warnings] and a line `=> VALUE` per value.\n"
    "- Every evaluation is a transaction. If the code crashes, exits, exhausts the heap or cannot "
    "be interrupted, "
    "the session is set back to the state before that call and says so in [Rollback].\n"
    "- `rollback-session {\"steps\": 2}` undoes evaluations, `{\"to\": 7}` goes to any snapshot "
    "that "
    "`session-info` lists, forward too. `reset-session` starts afresh and can itself be undone.\n"
    "- Work that may go wrong fits a session of its own: pass `\"session\": \"scratch\"`.\n"
    "- `compile-form` finds type conflicts and undefined names without running anything. "
    "`time-execution` measures. "
    "`validate-syntax` and `match-paren` find a missing parenthesis.\n"
    "\n"
    "## Errors are frozen\n"
    "A failed evaluation names the condition, the frames and the restarts, and keeps its process "
    "at the point of "
    "error. Then:\n"
    "1. `get-backtrace {\"locals\": true}` shows all frames with their variables.\n"
    "2. `inspect-frame {\"frame\": 1}` shows one, `{\"frame\": 1, \"path\": [\"ORDER\", \"ITEMS\", "
    "0]}` looks into it.\n"
    "3. `eval-in-frame {\"frame\": 1, \"code\": \"(length items)\"}` evaluates with the frame's "
    "variables.\n"
    "4. `invoke-restart {\"restart\": \"RETRY\", \"code\": \"(defun helper (n) ...)\"}` repairs "
    "and goes on; with "
    "`\"adopt\": true` the outcome becomes the session, otherwise it is only shown. Try as often "
    "as you like: each "
    "try is a copy.\n"
    "\n"
    "## Looking around\n"
    "`list-definitions`, `describe-symbol`, `apropos-search`, `who-calls`, `who-references`, "
    "`class-info`, "
    "`find-methods`, `macroexpand-form`, `load-file`, `load-system`, `profile-code`, "
    "`memory-report`.\n"
    "\n"
    "## Programs\n"
    "`run-program` runs a small sandboxed program over data and tools instead of many single "
    "calls; "
    "`list-program-tools` says which tools it can use.\n"
    "\n"
    "## Context\n"
    "`add-context` keeps code, notes, files and errors; `render-context` gives them as one "
    "document for a prompt.\n"
    "\n"
    "## Limits\n"
    "A call stops after 30 seconds; `timeout` (seconds) changes that for one call, "
    "`configure-limits` for the "
    "session. Output over the limit is cut in the middle and says how much is missing.\n";

static void read_guide(struct mcp_call *call, void *data)
{
    (void)data;
    mcp_call_reply_text(call, "text/markdown", SPAN(guide));
}

static void get_guide(struct mcp_call *call, void *data)
{
    (void)data;
    mcp_call_add_text(call, SPAN(guide));
    mcp_call_reply_prompt(call);
}

void tools_register_guide(struct tools *tools)
{
    mcp_server_add_resource(tools->server,
                            &(struct mcp_resource){
                                .uri = "cadre://guide",
                                .name = "guide",
                                .title = "Using Cadre",
                                .description = "How to use the tools well, for models and people",
                                .mime_type = "text/markdown",
                                .size = sizeof(guide) - 1,
                                .handler = read_guide,
                            });
    mcp_server_add_prompt(tools->server, &(struct mcp_prompt){
                                             .name = "cadre-guide",
                                             .title = "Using Cadre",
                                             .description = "The usage guide as a message",
                                             .handler = get_guide,
                                         });
}
