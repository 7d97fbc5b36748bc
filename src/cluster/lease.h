// A node's ownership of a workspace: its record in the bucket, claimed by compare-and-set with an epoch
// of its own and refreshed every LEASE_REFRESH_MS.
//
// Time is counted from before the last refresh was sent that was acknowledged, on a clock that goes on
// while the machine sleeps. After LEASE_MS without one the lease is lost: that is well before
// OWNER_FREE_MS, from when on others may claim, so that no two nodes hold one at the same time, however
// long a message is on its way.
#pragma once

#include "cluster/chain.h"
#include "cluster/owners.h"

enum { LEASE_REFRESH_MS = 2000, LEASE_MS = 4000 };

struct lease;

enum lease_result {
    LEASE_HELD,
    LEASE_TAKEN,        // by the owner that owners_find() has
    LEASE_UNREACHABLE,  // it could not be found out
};

struct lease_setup {
    struct event_base *base;
    struct jetstream *jetstream;
    struct owners *owners;
    const char *workspace, *node;
    // Which process of the node: a workspace that this one had is free at once, because it has one lease of
    // it at a time.
    uint64_t instance;
    void (*on_claimed)(void *data, enum lease_result result);  // once; not HELD: it may be freed
    void (*on_lost)(void *data, const char *why);              // after HELD, once
    void (*on_released)(void *data);                           // after lease_release(), or lost
    void *data;
};

struct lease *lease_new(const struct lease_setup *setup);
void lease_free(struct lease *lease);
// To be asked before anything is answered.
bool lease_is_held(const struct lease *lease);
uint64_t lease_epoch(const struct lease *lease);
// What the next refresh says besides.
void lease_describe(struct lease *lease, uint64_t journal, uint64_t images);
// Others may claim at once.
void lease_release(struct lease *lease);
