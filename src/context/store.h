// The store of context items: one SQLite file, shared by any number of processes.
//
// It is opened on first use. Every write is one immediate transaction: it is in the file when the
// function returns true, and nothing of it is when the function returns false. Numbers of items are
// never given twice, not after a removal, a restart or by another process.
// Durability: write-ahead log, synchronous NORMAL: a killed process loses nothing; a power cut may
// lose the last moments but never breaks the file.
//
// Items are copied into the region that is passed, which must be able to hold them.
// One store belongs to one thread. No connection crosses a fork: a child of a process that has a
// store open can use none. Waits for other writers up to CONTEXT_BUSY_MS, then fails with
// store-busy; context_store_set_wait() is for threads that must not block.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "context/item.h"

enum {
    CONTEXT_BUSY_MS = 5000,
    CONTEXT_MAX_ITEMS_DEFAULT = 50,
    CONTEXT_MAX_ITEMS_LOW = 1,
    CONTEXT_MAX_ITEMS_HIGH = 1000,
    CONTEXT_AUTO_LIMIT = 10,                 // unpinned items put there by auto-feed
    CONTEXT_LOAD_LIMIT = 256 * 1024 * 1024,  // bytes of content read by one operation
};

struct context_store;

// `path` NULL: $CADRE_CONTEXT_DB, else the file in the XDG state directory. ":memory:" keeps
// nothing. Touches no file.
struct context_store *context_store_new(const char *path);
void context_store_free(struct context_store *store);
// --- changes.c: for a copy elsewhere -------------------------------------------------------------

struct ledger;
// Is told each change, after it is in the file and before the function that makes it returns.
void context_store_set_ledger(struct context_store *store, const struct ledger *ledger);
// Makes a change that the ledger of another store was told, in the same order.
bool context_store_apply(struct context_store *store, struct span changes,
                         struct context_error *error);

// --- store.c -------------------------------------------------------------------------------------

const char *context_store_path(const struct context_store *store);
// How long to wait for the lock of another writer; 0: fail with store-busy at once.
void context_store_set_wait(struct context_store *store, int64_t milliseconds);

// For threads that must not wait for a disk: `log_is_long` is called after a change when it is time for
// context_log_move(), which moves SQLite's log into the file and may run in another thread. NULL: the
// store does so by itself.
void context_store_on_long_log(struct context_store *store, void (*log_is_long)(void *data),
                               void *data);
bool context_log_move(const char *path);

// Called after each change made through this store, for each item touched; number 0 = any of them.
typedef void context_changed_fn(int64_t number, void *data);
void context_store_on_change(struct context_store *store, context_changed_fn *changed, void *data);
// True when another connection changed the file since the last call (the first call is the base).
// Opens the store; false when it cannot be read.
bool context_store_poll(struct context_store *store);

// --- writing -------------------------------------------------------------------------------------

struct context_counts {
    int64_t count;  // all items of the store
    int64_t max_items;
};

struct context_added {
    struct context_item item;
    struct context_item *evicted;  // in the region, oldest first
    size_t evicted_count;
    int64_t count;  // items afterwards
    int64_t max_items;
};

enum context_add_flags {
    CONTEXT_PINNED = 1,
    // Auto-fed: counts against CONTEXT_AUTO_LIMIT, makes way before what was added by hand, and is
    // not stored when it equals the newest auto-fed item: then ret_added->item.number is 0.
    CONTEXT_AUTOMATIC = 2,
};

bool context_store_add(struct context_store *store, struct region *region,
                       const struct context_draft *draft, unsigned flags,
                       struct context_added *ret_added, struct context_error *error);
bool context_store_remove(struct context_store *store, struct region *region, int64_t number,
                          struct context_item *ret_removed, struct context_counts *ret_counts,
                          struct context_error *error);
bool context_store_pin(struct context_store *store, struct region *region, int64_t number,
                       bool pinned, struct context_item *ret_item, struct context_error *error);
// Number, timestamp, pin and position stay.
bool context_store_update(struct context_store *store, struct region *region, int64_t number,
                          const struct context_draft *draft, struct context_item *ret_item,
                          struct context_error *error);

// Which items: a set of types (1 << enum context_type; 0 = all), then the last `limit` of them.
struct context_filter {
    unsigned types;
    int64_t limit;  // -1 = all
};
#define CONTEXT_FILTER_ALL ((struct context_filter){.limit = -1})

bool context_store_clear(struct context_store *store, unsigned types, bool include_pinned,
                         int64_t *ret_removed, int64_t *ret_kept, struct context_error *error);

// --- reading -------------------------------------------------------------------------------------

bool context_store_get(struct context_store *store, struct region *region, int64_t number,
                       struct context_item *ret_item, struct context_error *error);
// Visits oldest first; the item's spans are valid only during the visit. ret_counts may be NULL.
typedef void context_visit_fn(const struct context_item *item, void *data);
bool context_store_visit(struct context_store *store, const struct context_filter *filter,
                         context_visit_fn *visit, void *data, struct context_counts *ret_counts,
                         struct context_error *error);
// All selected items, copied into the region; too-large over CONTEXT_LOAD_LIMIT.
bool context_store_load(struct context_store *store, struct region *region,
                        const struct context_filter *filter, struct context_item **ret_items,
                        size_t *ret_count, struct context_counts *ret_counts,
                        struct context_error *error);
bool context_store_count(struct context_store *store, struct context_counts *ret_counts,
                         struct context_error *error);

// --- settings.c: settings, kept in the file ------------------------------------------------------

enum context_auto { CONTEXT_AUTO_OFF, CONTEXT_AUTO_ERRORS, CONTEXT_AUTO_HISTORY, CONTEXT_AUTO_ALL };
bool context_auto_from_name(struct span name, enum context_auto *ret_mode);
const char *context_auto_name(enum context_auto mode);

// "max-items" or "auto-context"; invalid-argument for another name or value.
bool context_store_set(struct context_store *store, struct span name, struct span text,
                       struct context_error *error);
bool context_store_max_items(struct context_store *store, int64_t *ret_max_items,
                             struct context_error *error);
bool context_store_auto(struct context_store *store, enum context_auto *ret_mode,
                        struct context_error *error);
