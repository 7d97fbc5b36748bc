// pmap and pcalls: branches run one at a time in the interpreter's thread, each on a stack of its own;
// only tool callbacks overlap, in other threads. So reference counts stay plain and results are the
// same as those of one branch after the other.
#pragma once

#include "program/state.h"

// A tool call made inside a branch: parks the branch until the callback has returned.
bool parallel_call(struct run *run, const struct tool *tool, struct tool_call *call);
