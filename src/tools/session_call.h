// One MCP call that becomes one request to a session: arguments in, submission, progress,
// cancellation, rendering of the reply. Shared by all families that talk to sessions.
#pragma once

#include "tools/tools.h"

// The result of a tool before it is sent. `text` is released by the sender.
struct tool_result {
    struct buffer text;
    value structured;  // in the call's region
    bool is_error;
};

// Fills the result from a reply that ran or was refused.
typedef void tool_render_fn(struct mcp_call *call, const struct session_reply *reply,
                            struct tool_result *result);

// The call's `session` and `timeout` are filled in here; `params` takes the named arguments of the
// call (a NULL-terminated list, '-' written as '_') that are present.
value tool_parameters(struct mcp_call *call, const char *const *names);
void tool_submit(struct tools *tools, struct mcp_call *call, struct session_request *request,
                 tool_render_fn *render);

// Arguments with a default; a value out of range is answered and false returned.
const char *tool_session_name(struct mcp_call *call);  // "main" by default; in the call's region
bool tool_integer(struct mcp_call *call, const char *name, int64_t fallback, int64_t low,
                  int64_t high, int64_t *ret_number);
bool tool_flag(struct mcp_call *call, const char *name);
const char *tool_text(struct mcp_call *call, const char *name);  // NULL when absent

// Answers `[ERROR] CODE` and the message, as text and structured.
void tool_refuse(struct mcp_call *call, const char *code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
// Refuses names that are malformed or unknown; tools that read records only.
bool tool_require_session(struct tools *tools, struct mcp_call *call, const char *name);

// For tools without an evaluation's result: starts the structured part; a reply that failed is also
// rendered, and true returned.
bool tool_render_failure(struct mcp_call *call, const struct session_reply *reply,
                         struct tool_result *result);

void tool_send(struct mcp_call *call, struct tool_result *result);
