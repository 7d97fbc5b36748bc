// Runs one program with tools that need a host (Lisp functions, commands): in a locked worker process,
// with the host's loop in this one. The way `cadre serve` runs programs, for the command line.
#pragma once

#include "tools/program/toolbox.h"

// `record` is a batch record without `tools`, living in `region`. Prints the Step, and with `human` a
// failure for a person on standard error; the exit status.
int run_hosted(const struct toolbox *toolbox, struct region *region, value record,
               int64_t timeout_ms, bool human);
