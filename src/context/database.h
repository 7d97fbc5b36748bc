// The SQLite connection under a store: opening, schema, prepared statements, transactions, errors.
#pragma once

#include <sqlite3.h>

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

struct connection {
    char *path;
    sqlite3 *database;  // NULL until first use
    int64_t busy_ms;    // how long to wait for a lock
    int64_t deadline;   // of the wait that has begun
    sqlite3_stmt *statements[STATEMENT_LAST];
    int64_t data_version;  // as last polled; 0 = never, -1 = that of a file that is gone
};

void connection_init(struct connection *connection, const char *path);
void connection_release(struct connection *connection);

// Opens it when it is not open. Refuses in a child of a process that had a store open.
bool connection_open(struct connection *connection, struct context_error *error);
// store-busy or store-unavailable, with the file and the cause SQLite gives.
bool connection_fail(struct connection *connection, int result, struct context_error *error);

// The prepared statement, reset, without bindings. The connection must be open.
// NULL: error is filled.
sqlite3_stmt *connection_statement(struct connection *connection, enum statement which,
                                   struct context_error *error);
// Runs a statement that gives no row.
bool connection_run(struct connection *connection, sqlite3_stmt *statement,
                    struct context_error *error);
bool connection_run_simple(struct connection *connection, enum statement which,
                           struct context_error *error);
// Runs a statement whose first row is one integer; *ret_number stays as it is without a row.
bool connection_number(struct connection *connection, sqlite3_stmt *statement, int64_t *ret_number,
                       struct context_error *error);
// Opens and begins; `which` is STATEMENT_BEGIN or STATEMENT_BEGIN_READ.
bool connection_begin(struct connection *connection, enum statement which,
                      struct context_error *error);
// Commits when `good`, else (and when the commit fails) rolls back. Returns whether it is
// committed.
bool connection_end(struct connection *connection, bool good, struct context_error *error);
