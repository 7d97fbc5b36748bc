// One run of a program, as the tools see it: its calls so far, what a person has approved, whether writes
// are made at all.
#pragma once

#include "program/call_log.h"
#include "tools/program/toolbox.h"

struct toolbox_run {
    struct call_log *log;
    bool may_pause;      // else a call that has to be asked about is refused
    bool is_dry;         // writes are listed, not made
    value approved;      // vector of keys, as integers: these calls are
    value approved_all;  // vector of names: all calls of these are
    struct region *region;
    value dry_writes;  // vector of {name, args}
};

void toolbox_run_init(struct toolbox_run *run, struct region *region);
void toolbox_run_release(struct toolbox_run *run);
// Approves one call.
void toolbox_run_approve(struct toolbox_run *run, uint64_t key);
// It is made now: made again, it needs another approval.
void toolbox_run_use_approval(struct toolbox_run *run, uint64_t key);
bool toolbox_run_has_approved_call(const struct toolbox_run *run, uint64_t key);
bool toolbox_run_has_approved(const struct toolbox_run *run, struct span name, uint64_t key);
// The Step with `writes`: what a failed run has changed nevertheless, or may have (`unfinished`); of a
// dry run, what it would have changed. Consumes the Step.
value toolbox_run_add_writes(const struct toolbox_run *run, struct region *region, value step);
// The tools of a dry run: the results of writes are nil, whatever their signatures say. Consumes.
value toolbox_run_loosen(struct region *region, value tools);
