// One answer holds MCP_OUTPUT_LIMIT bytes. A session may be allowed to print more: what does not fit is
// cut here, in the text and in the structured form, and both say so.
#pragma once

#include "tools/session_call.h"

void tool_result_fit(struct mcp_call *call, struct tool_result *result);
