// `cadre sessions fork` and `adopt`: the tools of these names, through the daemon.
#pragma once

#include "session/session.h"

// `tool` is fork-session or adopt-session; `from` a session, or main@12. The exit status.
int fork_kept(const struct session_sandbox *sandbox, const char *tool, const char *from,
              const char *as);
