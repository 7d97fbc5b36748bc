// pmap and pcalls: branches run one at a time in the interpreter's thread, each on a stack of its own;
// only tool callbacks overlap, in other threads. So reference counts stay plain, and the results are
// those of one branch after the other. Without tools the branches simply run in order.
#pragma once

#include "program/run/state.h"

// A tool call made inside a branch: parks the branch until the callback has returned.
bool parallel_call(struct run *run, const struct tool *tool, struct tool_call *call);
// Lets the branch wait while another one is computing the cached result of this key.
bool parallel_wait_for(struct run *run, value key);
void parallel_started(struct run *run, value key);
void parallel_finished(struct run *run);

// Ends threads and stacks, however the run ended. Waits for callbacks that are running.
void parallel_release(struct run *run);
