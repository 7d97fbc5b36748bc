// Runs described as data: the batch record of docs/reference/language.md 17, which the
// command line and the server share.
#pragma once

#include "program/data_tools.h"
#include "program/run/step.h"

// Everything a described run needs; owns its parts.
struct batch_run {
    struct tool_table tools;
    struct arena arena;  // the parsed signature
    struct data_tool *data_tools;
    struct step step;
};

// Runs a record (a map with string keys, living in `region`, which becomes the step's). The step is
// filled whatever happens. Release with batch_run_release() after the step was used. Without a host
// (NULL) there are no remote tools.
void batch_run(struct region *region, value record, const struct remote_host *host,
               struct batch_run *ret_run);
void batch_run_release(struct batch_run *run);
