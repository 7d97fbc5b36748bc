// Runs the branches of pmap and pcalls together: each on a fiber, one at a time; while one waits for
// a tool, whose callback runs in another thread, the next one goes on.
#pragma once

#include "program/run/parallel/parallel.h"
#include "program/run/run_state.h"

// Makes the calls and gives the vector of their results, or leaves with the first failure.
value scheduler_run(struct run *run, const struct parallel_calls *calls);

// A tool call made inside a branch: parks the branch until the callback has returned.
bool scheduler_call_tool(struct run *run, const struct tool *tool, struct tool_call *call);
// Lets the branch wait while another one is computing the cached result of this key; false when none is.
bool scheduler_wait_for_key(struct run *run, value key);
void scheduler_key_started(struct run *run, value key);
void scheduler_key_finished(struct run *run);

// Ends threads and stacks, however the run ended. Waits for callbacks that are running.
void scheduler_release(struct run *run);
