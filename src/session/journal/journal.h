// The journal of a session: every evaluation in order, one JSON object per line, append-only. An
// entry is written as started before the code runs and completed before the answer; the disk has it
// within a second (the owner calls journal_sync() in a background thread). A file of JOURNAL_MAX bytes
// becomes journal.1.jsonl, in place of the one before.
//
//   {"evaluation":12,"event":"started","parent":11,"time":…,"client":"…","package":"…","request":{…}}
//   {"evaluation":12,"event":"completed","ok":true,"outcome":"=> 42","us":1234}
//   {"evaluation":7,"event":"rollback"}        the state after evaluation 7 is current
//   {"evaluation":0,"event":"reset"}
//   {"evaluation":7,"event":"forked"}          what stands before it was copied from another session
//
// It holds the code that people typed: its files are 0600. A line that was torn by a crash is skipped
// by readers. When it cannot be written, evaluations go on.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/ledger.h"
#include "base/span.h"
#include "value/value.h"

enum { JOURNAL_MAX = 16 << 20, JOURNAL_TAIL = 1 << 20 };

struct journal {
    char *directory;
    int fd;                       // -1: not open
    int64_t size;                 // of the file
    bool dirty;                   // since the last sync
    bool failed;                  // the last write; told once
    const struct ledger *ledger;  // is told each line; NULL: nobody
    const char *session;          // of the ledger
};

void journal_init(struct journal *journal, const char *directory);
void journal_release(struct journal *journal);

struct journal_entry {
    int64_t evaluation;
    int64_t parent;
    const char *client;
    struct span package;
    struct span request;  // JSON text of an object
};

// False: it could not be written, for the first time; errno says why.
bool journal_started(struct journal *journal, const struct journal_entry *entry);
bool journal_completed(struct journal *journal, int64_t evaluation, bool ok, struct span outcome,
                       int64_t elapsed_us);
bool journal_moved(struct journal *journal, const char *event, int64_t evaluation);
// A descriptor for fdatasync() in another thread, to be closed there; -1: nothing to do.
int journal_take_sync(struct journal *journal);

// --- journal_copy.c ------------------------------------------------------------------------------

// A journal that has no entry yet begins with those of the journal in `directory` up to the evaluation
// `last`. False with errno.
bool journal_begin_as_copy(const struct journal *journal, const char *directory, int64_t last);

// --- journal_read.c ------------------------------------------------------------------------------

// The largest number of an evaluation in the files of `directory`, 0 = none.
int64_t journal_last_evaluation(const char *directory);
// All entries, oldest first, as a vector of maps; lines that are no entries are skipped. At most
// `max_bytes` of the files' ends.
value journal_read(struct region *region, const char *directory, size_t max_bytes);
