// The SQLite database under a store: opening, schema, prepared statements, transactions, errors.
#pragma once

#include <sqlite3.h>

#include "base/ledger.h"
#include "context/store.h"

enum statement {
    STATEMENT_BEGIN,
    STATEMENT_BEGIN_READ,
    STATEMENT_COMMIT,
    STATEMENT_ROLLBACK,
    STATEMENT_INSERT,
    STATEMENT_COUNT_ALL,
    STATEMENT_GET,
    STATEMENT_LIST,
    STATEMENT_DELETE,
    STATEMENT_OLDEST,
    STATEMENT_AUTOMATIC_COUNT,
    STATEMENT_AUTOMATIC_NEWEST,
    STATEMENT_PIN,
    STATEMENT_UPDATE,
    STATEMENT_CLEAR,
    STATEMENT_PINNED_COUNT,
    STATEMENT_SETTING_GET,
    STATEMENT_SETTING_PUT,
    STATEMENT_DATA_VERSION,
    STATEMENT_LAST,
};

struct database {
    char *path;
    sqlite3 *handle;   // NULL until first use
    int64_t busy_ms;   // how long to wait for a lock
    int64_t deadline;  // of the wait that has begun
    sqlite3_stmt *statements[STATEMENT_LAST];
    int64_t data_version;             // as last polled; 0 = never, -1 = that of a file that is gone
    void (*log_is_long)(void *data);  // NULL: SQLite moves its log into the file by itself
    void *log_data;
    const struct ledger *ledger;      // NULL: nobody is told of changes
    struct sqlite3_session *changes;  // of the transaction, for the ledger
};

void database_init(struct database *database, const char *path);
void database_release(struct database *database);

// Instead of moving SQLite's log into the file, which waits for the disk, call `log_is_long` after
// each commit that finds it long. NULL: as before.
void database_on_long_log(struct database *database, void (*log_is_long)(void *data), void *data);
// Moves the log of the file into it, as far as no reader needs it; through a connection of its own,
// so that it may run in another thread. False: it could not be opened, or not now.
bool database_move_log(const char *path);

// Opens it when it is not open. Refuses in a child of a process that had a store open.
bool database_open(struct database *database, struct context_error *error);
// store-busy or store-unavailable, with the file and the cause SQLite gives.
bool database_fail(struct database *database, int result, struct context_error *error);

// The prepared statement, reset, without bindings. The database must be open.
// NULL: error is filled.
sqlite3_stmt *database_statement(struct database *database, enum statement which,
                                 struct context_error *error);
// --- changes.c: what transactions change ---------------------------------------------------------

void changes_begin(struct database *database);
void changes_end(struct database *database, bool is_committed);

// --- database.c: statements ----------------------------------------------------------------------

// Runs a statement that gives no row.
bool database_run(struct database *database, sqlite3_stmt *statement, struct context_error *error);
bool database_run_simple(struct database *database, enum statement which,
                         struct context_error *error);
// Runs a statement whose first row is one integer; *ret_number stays as it is without a row.
bool database_number(struct database *database, sqlite3_stmt *statement, int64_t *ret_number,
                     struct context_error *error);
// Opens and begins; `which` is STATEMENT_BEGIN or STATEMENT_BEGIN_READ.
bool database_begin(struct database *database, enum statement which, struct context_error *error);
// Commits when `good`, else (and when the commit fails) rolls back. Returns whether it is
// committed.
bool database_end(struct database *database, bool good, struct context_error *error);
