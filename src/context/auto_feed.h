// Auto-feed: evaluations become items by themselves when the setting `auto-context` says so.
//
// Failed evaluations become `error` items, others `repl-history` items; at most CONTEXT_AUTO_LIMIT
// unpinned ones are kept, and a repetition of the newest is not stored again.
#pragma once

#include "context/store.h"

enum {
    CONTEXT_FEED_CHARACTERS = 4000,  // of an item's content
    CONTEXT_FEED_FORM_CHARACTERS = 500,
};

// One finished evaluation. Empty spans are not known. All text must be UTF-8.
struct context_evaluation {
    bool failed;
    struct span session;
    struct span package;
    struct span form;       // what was evaluated
    struct span report;     // failed: the text exactly as it was returned to the client
    struct span values;     // not failed: the lines "=> …"
    struct span condition;  // failed: class name, e.g. DIVISION-BY-ZERO
    struct span filename;   // failed: where, if known
    int64_t start_line;     // 0 = not known
    int64_t duration_ms;
};

// Whether the mode wants the evaluation stored.
bool context_auto_feed_applies(enum context_auto mode, bool failed);
// *ret_stored is what the evaluation's structured result carries as "context":
// {"added":"ctx-9","evicted":["ctx-2"]}, or nil when nothing was to be stored.
bool context_auto_feed(struct context_store *store, struct region *region, enum context_auto mode,
                       const struct context_evaluation *evaluation, value *ret_stored,
                       struct context_error *error);
