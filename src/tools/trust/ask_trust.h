// Before a session starts that would load what its workspace brings, the person is asked whether these
// files count (session/workspace/trust_question.h): where the client can ask, once for each state of the
// files, and only clients of the user.
#pragma once

#include "tools/tools.h"

// To be called by handlers that have had no effect so far. True: the call asks, and its handler will run
// again, or it was refused.
bool ask_trust(struct tools *tools, struct mcp_call *call, const struct session_request *request);
