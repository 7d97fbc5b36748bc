// `cadre run` with tools that need a host (Lisp functions, commands): runs one program in a
// sandboxed worker process, as `cadre serve` does, and serves its tool calls from the loop in this
// process.
#pragma once

#include "tools/program/toolbox.h"

// `record` is a batch record without `tools`, in `region`. Prints the Step, and with `human` a
// readable failure on standard error. Returns the exit status.
int run_worker_execute(const struct toolbox *toolbox, struct region *region, value record,
                       int64_t timeout_ms, bool human);
