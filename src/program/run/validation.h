// Checks against signatures during a run (docs/reference/language.md 15). Failures are
// validation_error with the phase and the lines in the details; warnings go to the run's list.
#pragma once

#include "program/run/run_state.h"

// All consume the value and give what the check made of it.
value run_validate_inputs(struct run *run, const struct signature *signature, value context);
value run_validate_output(struct run *run, const struct signature *signature, value result);
value run_validate_tool_arguments(struct run *run, const struct tool *tool, value arguments);
// A result that is refused is noted in the ledger first.
value run_validate_tool_result(struct run *run, const struct tool *tool, value result,
                               struct ledger_entry *entry);
// strict: every tool must have a signature.
void run_validate_tools(struct run *run);
