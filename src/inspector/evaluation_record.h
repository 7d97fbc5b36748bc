// The evaluations of one session, as the page shows them: a row for each, and the details of the newest.
#pragma once

#include "base/buffer.h"
#include "session/session.h"

struct evaluation_row {
    int64_t number, parent;
    char *client;         // or NULL
    char *code;           // its first line
    const char *outcome;  // "running", "ok", "error", "rolled-back", "cancelled", "unfinished"
    char *summary;        // the value, or the error, in one line
    int64_t started_ms;   // wall time
    int64_t elapsed_us;   // -1: it runs
    int64_t error;        // number of its error, 0 = none
    int64_t live_bytes;   // afterwards; 0 = not known
    char *detail;         // JSON, or NULL: not kept (any more)
    size_t detail_bytes;
};

struct session_record {
    struct session_record *next;
    char name[SESSION_NAME_MAX + 1];
    struct evaluation_row *rows;  // by number
    size_t count, capacity;
    size_t detail_bytes;
    size_t first_detail;  // row, none before it has one
    int64_t running;      // the evaluation that `output` and `fresh` belong to
    bool has_journal;     // what it remembers was read
    int64_t current;
    char state[16];
    struct buffer output;  // of the evaluation that runs: its beginning
    struct buffer fresh;   // what readers have not been told
    uint64_t dropped;      // bytes of it that they will not be told
    int64_t sampled_ms;
    bool wants_sample;
};

void session_record_free(struct session_record *record);
// NULL: there is none.
struct evaluation_row *session_record_find(struct session_record *record, int64_t number);
struct evaluation_row *session_record_start(struct session_record *record,
                                            const struct session_news *news);
// An evaluation that began unseen, as an adopted restart does, begins now.
struct evaluation_row *session_record_end(struct session_record *record,
                                          const struct session_news *news);
// The rows that a journal has and the record has not.
void session_record_read_journal(struct session_record *record, const char *directory);

value evaluation_row_write(struct region *region, const struct evaluation_row *row);
// At most `limit` rows whose numbers are below `before`, newest first.
value session_record_rows(struct region *region, const struct session_record *record,
                          int64_t before, size_t limit);
