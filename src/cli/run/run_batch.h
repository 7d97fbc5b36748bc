// `cadre run --batch`: one JSON record per line, one Step per line.
#pragma once

#include "session/session.h"
#include "tools/program/toolbox.h"

// Returns the exit status. `tools` are for every record that has no tool of the same name; with a
// `toolbox` they need a host, and records run in a worker process.
int run_batch(const char *path, value tools, struct toolbox *toolbox,
              const struct session_sandbox *sandbox);
