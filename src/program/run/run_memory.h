// The memory of a run: names carried from run to run (docs/reference/language.md 11). Names are
// keywords in here.
#pragma once

#include "program/run/run_state.h"

// The input memory (map with keyword or string names, or nil; borrowed) becomes the run's.
void run_memory_start(struct run *run, value input);
// Writes as def does; `global` is the name's index in the program, or any higher number. Consumes both.
void run_memory_define(struct run *run, size_t global, value name, value v);
void run_memory_write(struct run *run, value name, value v);
void run_memory_globals_free(struct run *run, struct global_slot *globals);
// memory/x: flexible lookup, nil when missing; borrows the name.
value run_memory_read(struct run *run, value name);
// Consumes both.
value run_memory_lookup(struct run *run, value name, value otherwise);
// A keyword or string as a name; type_error otherwise. Consumes it.
value run_memory_name(struct run *run, const char *op, value name);
_Noreturn void run_memory_fail_unbound(struct run *run, uint32_t global);
// The contract after success: merges a map result, gives the value to return. Consumes.
value run_memory_finish(struct run *run, value result);
// The names written by this run with their values.
value run_memory_delta(struct run *run);
// Gives a branch of pmap its own values of the names, before it changes one.
void run_memory_own_globals(struct run *run);
