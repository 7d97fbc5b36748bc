// Runs of programs as the page shows them: source, Step, and when each call of a tool began and ended.
#pragma once

#include <sys/queue.h>

#include "tools/tools.h"

struct program_call_record {
    uint64_t call;  // its key
    bool is_answered;
    char *name;
    char *arguments, *result;      // JSON; of a failure its text
    int64_t started_us, ended_us;  // since the run began; -1: it runs
    bool ok;
};

struct program_record {
    TAILQ_ENTRY(program_record) link;
    const void *run;  // NULL: it ended
    int64_t id;       // in this workspace
    int64_t number;   // for read-output, of its server
    char *client;
    char *source;
    int64_t started_ms;  // wall time
    int64_t started_ns;
    int64_t elapsed_us;   // -1: it runs
    const char *outcome;  // "running", "ok", "error", "cancelled"
    char *step;           // JSON, or NULL
    struct program_call_record *calls;
    size_t call_count, call_capacity;
    size_t dropped_calls;
    size_t ledger_count;  // calls in the Step, also those that never left the program's process
    size_t bytes;
};

struct program_records {
    TAILQ_HEAD(program_record_list, program_record) list;  // newest first
    size_t count, bytes;
    int64_t last_id;
};

void program_records_init(struct program_records *records);
void program_records_release(struct program_records *records);
struct program_record *program_records_find(const struct program_records *records, int64_t id);
// The record that changed, or NULL; *ret_call is the call that did.
struct program_record *program_records_note(struct program_records *records,
                                            const struct program_news *news,
                                            const struct program_call_record **ret_call);
value program_record_write(struct region *region, const struct program_record *record,
                           bool with_details);
value program_call_write(struct region *region, const struct program_call_record *call);
