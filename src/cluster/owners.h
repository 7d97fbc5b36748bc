// What this node knows of the owners of all workspaces, from the records it sees go by, each with the
// time at which it was first seen here. Nothing is decided by it alone: a claim is decided by the
// compare-and-set of its record (lease.h).
#pragma once

#include <sys/queue.h>

#include "cluster/bus.h"
#include "value/value.h"

#define OWNERS_BUCKET "cadre-workspaces"
#define OWNERS_STREAM "KV_" OWNERS_BUCKET
#define OWNERS_SUBJECT "$KV." OWNERS_BUCKET "."

enum {
    CLUSTER_NAME_MAX = 64,  // of a workspace or node: letters, digits, '-' and '_'
    OWNER_FREE_MS = 6000,   // without a refresh
    OWNERS_MAX = 1 << 20,
};

bool cluster_name_valid(struct span name);
#define CLUSTER_NAME_RULE "1 to 64 letters, digits, '-' and '_'"

// A record, as it is in the bucket.
struct owner_record {
    char node[CLUSTER_NAME_MAX + 1];  // "": nobody, the last one has given it up
    uint64_t instance;                // of the node: which of its processes
    uint64_t epoch;                   // of the claim; rises by one with each
    uint64_t count;                   // of refreshes
    uint64_t journal;                 // sequence of the last message of its journal
    uint64_t images;                  // saved in this epoch
};

struct owner {
    struct owner_record record;
    int64_t seen_ms;  // clock_boot_ms()
    char *workspace;
    struct owner *next;  // of its bucket
};

struct owners;

struct owners *owners_new(struct bus *bus);
void owners_free(struct owners *owners);
// A record that was read or seen.
void owners_note(struct owners *owners, const char *workspace, const struct owner_record *record);
const struct owner *owners_find(const struct owners *owners, const char *workspace);  // or NULL
// Whether it may be claimed: nobody has it, or its owner has been silent for long.
bool owner_is_free(const struct owner *owner);
typedef void owners_visit_fn(void *data, const struct owner *owner);
void owners_visit(const struct owners *owners, owners_visit_fn *visit, void *data);

bool owner_record_read(struct span text, struct owner_record *ret_record);
char *owner_record_write(const struct owner_record *record);
