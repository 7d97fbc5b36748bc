// What `cadre run` prints of a Step: all of it as one line of JSON, or its value alone.
#pragma once

#include "program/run/step.h"
#include "value/value.h"

struct run_output {
    bool value_only;  // --value: prints and failures go to standard error
    bool json;        // --value: the value as JSON; otherwise a string as it is, others as Lisp
    bool human;       // failures are shown on standard error, too
};

enum run_printed { RUN_SUCCEEDED, RUN_FAILED, RUN_WAITS, RUN_UNPRINTED };

// `step` is a Step as JSON describes it, `program` its source.
enum run_printed run_output_print(const struct run_output *output, value step, struct span program);
// A Step made in this process as one line of JSON, with an `id` first unless it is NULL.
bool run_output_print_step(const struct step *step, const value *id);
