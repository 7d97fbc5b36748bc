// The state that each branch of pmap and pcalls has for itself: it sees the memory as it was when the
// branch began, and what it writes there is dropped at its end.
#pragma once

#include "program/run/run_state.h"

// Starts the state of branch number `index`; gives the state around it, to be put back by the caller.
struct branch_state isolation_begin(struct run *run, size_t index);
void isolation_drop(struct run *run, struct branch_state *branch);
// Adds what a branch printed and called to the current state, and drops the rest.
void isolation_merge(struct run *run, struct branch_state *branch);
