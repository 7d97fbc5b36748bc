// One call of a tool through the daemon, for commands: connects as a client of the workspace, calls,
// waits for the answer.
#pragma once

#include "base/error.h"
#include "daemon/client_settings.h"
#include "value/value.h"

// *ret_result is the tool's result, {content, structuredContent, isError}, in `region`. False with a
// message: the daemon could not be reached, or refused.
bool tool_request(struct region *region, const char *client, const struct settings *settings,
                  const char *tool, value arguments, value *ret_result, struct error *error);
