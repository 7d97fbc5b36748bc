// Finished evaluations become context items, where the user asked for it.
#pragma once

#include "tools/session_call.h"

// The mode that the command line gives, else the store's setting.
enum context_auto auto_context_mode(const struct tools *tools);
// Adds the member "context" to the structured result when an item was stored, or could not be.
void auto_context_record(const struct session_call *run, const struct session_reply *reply,
                         struct tool_result *result);
