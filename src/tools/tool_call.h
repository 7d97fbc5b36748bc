// One call of a tool: reading its arguments and sending its result. Shared by all families of
// tools.
#pragma once

#include "base/buffer.h"
#include "mcp/mcp.h"

struct tools;

// Arguments with a default. A value out of range is refused in the call and false returned.
const char *tool_text(struct mcp_call *call, const char *name);       // NULL when absent
const char *tool_copy_text(struct mcp_call *call, struct span text);  // in the call's region
const char *tool_session_name(struct mcp_call *call);  // "main" by default; in the call's region
// Who asks: "claude-code (pid 4711)", in the call's region; NULL: nobody knows.
const char *tool_client_name(const struct tools *tools, struct mcp_call *call);
bool tool_flag(struct mcp_call *call, const char *name);
bool tool_integer(struct mcp_call *call, const char *name, int64_t fallback, int64_t low,
                  int64_t high, int64_t *ret_number);

// A result before it is sent.
struct tool_result {
    struct buffer text;  // released by tool_reply()
    value structured;    // in the call's region
    bool is_error;
};

enum { TOOL_TEXT_LIMIT = 64 << 20 };  // above what any session reply can hold

void tool_reply(struct mcp_call *call, struct tool_result *result);
// Replies `[ERROR] CODE` and the message, as text and structured.
void tool_refuse(struct mcp_call *call, const char *code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
