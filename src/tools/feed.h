// Finished evaluations become context items, where the user asked for it.
#pragma once

#include "tools/run.h"

// Adds the member "context" to the structured result when something was stored, or could not be.
void tools_feed_context(struct tools *tools, struct mcp_call *call,
                        const struct session_reply *reply, struct tool_result *result);
