// The journal of a workspace in the cluster: records, in order, each a line of JSON, as one stream of
// bytes over the messages of the subject cadre.journal.WORKSPACE.
//
// A new owner stores a claim record first; what an older one sends from then on is refused. Then it reads
// what is there, and appends. One message is on its way at a time; records that come meanwhile go
// together with the next one. A record that its owner could not finish is torn: the claim of the next
// owner begins a new line.
#pragma once

#include "cluster/chain.h"

#define JOURNAL_STREAM "CADRE"
#define JOURNAL_SUBJECT "cadre.journal."

enum { RECORD_LOG_PENDING_MAX = 64 << 20 };

struct record_log;

struct record_log_setup {
    struct event_base *base;
    struct jetstream *jetstream;
    const char *workspace, *node;
    uint64_t epoch;
    // A record of before, with the sequence of its last message.
    void (*on_record)(void *data, struct span record, uint64_t sequence);
    void (*on_ready)(void *data);                    // all have been told
    void (*on_stored)(void *data);                   // more records are stored
    void (*on_broken)(void *data, const char *why);  // nothing more is stored; it may be freed
    void *data;
};

struct record_log *record_log_new(const struct record_log_setup *setup);
void record_log_free(struct record_log *log);
// After on_ready. Its place: record_log_stored() reaches it when it is stored.
uint64_t record_log_append(struct record_log *log, struct span record);
uint64_t record_log_appended(const struct record_log *log);
uint64_t record_log_stored(const struct record_log *log);
uint64_t record_log_sequence(const struct record_log *log);  // of the last message
// Milliseconds that the newest acknowledged message took.
double record_log_latency_ms(const struct record_log *log);
