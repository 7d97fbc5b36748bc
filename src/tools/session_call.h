// One MCP call that becomes one request to a session: submission, progress, cancellation, rendering
// and recording of the reply. Shared by all families that use sessions.
#pragma once

#include "tools/tool_call.h"
#include "tools/tools.h"

// No progress notification so shortly before a response that it would be read together with it: some
// clients take that for an error.
enum { PROGRESS_GAP_MS = 600 };

struct session_call;

// Fills the result from a reply that ran or was refused.
typedef void tool_render_fn(const struct session_call *run, const struct session_reply *reply,
                            struct tool_result *result);

struct session_call;

// After a reply that is ok: fills in a second request, whose reply is rendered instead. False: there is
// none, this one is rendered.
typedef bool tool_next_fn(struct session_call *run, const struct session_reply *reply,
                          struct session_request *request);

struct auto_context;
struct shown_answer;
typedef void session_call_fn(struct session_call *run);

// A call whose request a session works on. Render functions use its first two members.
struct session_call {
    struct tools *tools;
    struct mcp_call *call;
    tool_render_fn *render;
    tool_next_fn *next;  // NULL: one request is all
    uint64_t ticket;
    struct auto_context *auto_context;  // NULL: the evaluation does not become a context item
    struct running *running;            // once its call was answered early
    struct event *yield_timer;          // NULL: it is not answered early
    int64_t yield_ms;                   // when it is
    struct kept_output *output;         // all of it; NULL: none is kept
    struct shown_answer *shown;         // NULL: the code has shown nothing
    struct buffer input;                // for the code to read
    struct buffer first_text;           // what `next` keeps of the first reply
    bool is_evaluation;
    int64_t number;    // of a call that is none, once it was answered early
    bool interactive;  // when it is read, the code waits for more
    bool waits_for_input;
    struct tool_result result;
};

// The named arguments of the call (a NULL-terminated list) that are present, with '-' in the names
// written as '_'.
value session_call_parameters(struct mcp_call *call, const char *const *names);

// Submits the request, whose timeout, and session where it has none, are taken from the call's
// arguments; the reply is rendered and sent.
void session_call_submit(struct tools *tools, struct mcp_call *call,
                         struct session_request *request, tool_render_fn *render);
// The same, with a second request after the first one.
void session_call_submit_first(struct tools *tools, struct mcp_call *call,
                               struct session_request *request, tool_next_fn *next,
                               tool_render_fn *render);
// The same for an evaluation that becomes a context item where the user asked for it.
void session_call_submit_recorded(struct tools *tools, struct mcp_call *call,
                                  struct session_request *request, tool_render_fn *render);

// The file that the argument `path` names: ~/x is in the home directory, x where sessions are started.
// Owned by the caller; NULL: the call was refused.
char *session_call_path(struct tools *tools, struct mcp_call *call);

// Frees what belongs to a run whose call is answered otherwise.
void session_call_free(struct session_call *run);

// Cuts what does not fit into one answer, in the text and the structured form.
void session_call_truncate(struct mcp_call *call, struct tool_result *result);

// Refuses names that are malformed or unknown; for tools that only read records.
bool session_call_require_session(struct tools *tools, struct mcp_call *call, const char *name);

// For tools without an evaluation's result: starts the structured part; a reply that failed is also
// rendered, and true returned.
bool session_call_render_failure(struct mcp_call *call, const struct session_reply *reply,
                                 struct tool_result *result);
