// Finished evaluations become context items, where the user asked for it.
#pragma once

#include "tools/session_call.h"

// While a session works on an evaluation: looks up whether such ones are wanted now, which may take
// a look into the store.
void tools_prepare_feed(struct tools *tools);
// Adds the member "context" to the structured result when something was stored, or could not be.
void tools_feed_context(struct tools *tools, struct mcp_call *call,
                        const struct session_reply *reply, struct tool_result *result);
