// Runs of `cadre run` whose tools need a host: the program works in a sandboxed process, as in the
// server, and its calls of commands and Lisp functions are answered here.
#pragma once

#include "cli/run/run_pause.h"
#include "session/session.h"
#include "tools/program/toolbox.h"

struct run_worker;

// NULL after a message. The toolbox must outlive it.
struct run_worker *run_worker_new(struct toolbox *toolbox, const struct session_sandbox *sandbox);
void run_worker_free(struct run_worker *worker);

// Runs a batch record; its own tools win over those of the toolbox. `memory` is what it begins
// with. False after a message: there is no Step. A run that exceeds its time has one like any other.
// With a `pause` the run may pause; then it is kept, and its Step has `paused`.
bool run_worker_execute(struct run_worker *worker, struct region *region, value record,
                        value memory, int64_t timeout_ms, const struct run_pause *pause,
                        value *ret_step);
// Goes on with the run that `pause` has taken.
bool run_worker_resume(struct run_worker *worker, struct region *region,
                       const struct run_pause *pause, value *ret_step);
