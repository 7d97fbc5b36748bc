// What each transaction has changed, as a changeset of SQLite's session extension: told to the ledger
// after the commit, and applied to a copy of the database elsewhere. Debian's SQLite has the extension;
// nothing of it runs without a ledger.
#define SQLITE_ENABLE_SESSION
#define SQLITE_ENABLE_PREUPDATE_HOOK
#include "base/log.h"
#include "context/store_internal.h"

void changes_begin(struct database *database)
{
    if (!database->ledger || database->changes)
        return;
    int result = sqlite3session_create(database->handle, "main", &database->changes);
    if (result == SQLITE_OK)
        result = sqlite3session_attach(database->changes, NULL);
    CHECK(result == SQLITE_OK);
}

void changes_end(struct database *database, bool is_committed)
{
    void *bytes = NULL;
    int length = 0;
    if (!database->changes)
        return;
    int result = is_committed ? sqlite3session_changeset(database->changes, &length, &bytes) : 0;
    CHECK(result == SQLITE_OK);  // only memory can be missing
    if (length > 0)
        database->ledger->context(database->ledger->data, (struct span){bytes, (size_t)length});
    sqlite3_free(bytes);
    sqlite3session_delete(database->changes);
    database->changes = NULL;
}

// A copy that has other rows than the original had is no copy.
static int on_conflict(void *data, int kind, sqlite3_changeset_iter *change)
{
    (void)data;
    (void)kind;
    (void)change;
    return SQLITE_CHANGESET_ABORT;
}

bool context_store_apply(struct context_store *store, struct span changes,
                         struct context_error *error)
{
    struct database *database = &store->database;
    if (!database_open(database, error))
        return false;
    int result = sqlite3changeset_apply(database->handle, (int)changes.length,
                                        (void *)(uintptr_t)changes.data, NULL, on_conflict, NULL);
    return result == SQLITE_OK || database_fail(database, result, error);
}

void context_store_set_ledger(struct context_store *store, const struct ledger *ledger)
{
    store->database.ledger = ledger;
}
