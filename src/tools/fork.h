// Arguments that name a state of a session: "main", or "main@12" for the one after evaluation 12.
#pragma once

#include "tools/tool_call.h"

struct tool_state_name {
    const char *session;  // "main" when the argument is absent; in the call's region
    int64_t number;       // -1: the current state
};

// False: the call was refused.
bool tool_state_name(struct mcp_call *call, const char *name, struct tool_state_name *ret_state);
