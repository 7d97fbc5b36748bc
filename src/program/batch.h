// Runs described as data: the batch record of docs/reference/language.md 17, which the command line
// and the server share, and tools described as data, for tests, examples and tools files.
#pragma once

#include "program/run/step.h"

// Answers for tools described as {"remote": true}. May be called from several threads at once.
struct remote_host {
    bool (*call)(void *data, struct span name, struct tool_call *call);
    void *data;
};

// Everything a described run needs; owns its parts.
struct batch_run {
    struct tool_table tools;
    struct arena arena;  // the parsed signature
    struct data_tool *scripts;
    struct step step;
};

// Runs a record (a map with string keys, living in `region`, which becomes the step's). The step is
// filled whatever happens. Release with batch_run_release() after the step was used. Without a host
// (NULL) there are no remote tools.
void batch_run(struct region *region, value record, const struct remote_host *host,
               struct batch_run *ret_run);
void batch_run_release(struct batch_run *run);

// The pieces, for callers that have no record but options of their own.
struct run_options {
    struct run_limits limits;
    bool explicit_memory;
    int float_precision;  // -1: none
    bool plain;           // without optimisations, for tests
    size_t fail_allocation;
};
void run_options_default(struct run_options *options);
// One option by name; the value is an integer, or "merge" or "explicit" for memory.
bool run_option_set(struct run_options *options, struct span name, value v,
                    struct diagnostic *ret_diagnostic);

// Fills a table from an object name → record (docs/reference/language.md 17). Scripts are owned by
// *scripts and freed with data_tools_free(), after the table. The host may be NULL.
struct data_tool;
bool data_tools_add(struct tool_table *table, struct data_tool **scripts, value tools,
                    const struct remote_host *host, struct diagnostic *ret_diagnostic);
void data_tools_free(struct data_tool *scripts);

// A program with all its inputs, as values in `region` (which becomes the step's).
struct program_inputs {
    struct region *region;
    struct span source;
    size_t definition_bytes;  // at the start of the source: functions kept in memory
    value context, memory, history;
    struct span signature;  // data NULL: none
    enum signature_mode validation;
    const struct tool_table *tools;
    struct run_options options;
};
// Compiles and runs. The arena gets the parsed signature and must live as long as the step.
void program_compile_and_run(const struct program_inputs *inputs, struct arena *arena,
                             struct step *ret_step);
