// What the files of the store share: its struct, and how rows and parameters are read and bound.
#pragma once

#include "base/assert.h"
#include "context/database.h"

struct context_store {
    struct database database;
    context_changed_fn *changed;
    void *changed_data;
};

static inline void store_notify(struct context_store *store, int64_t number)
{
    if (store->changed)
        store->changed(number, store->changed_data);
}

// Borrowed until the statement moves on; no data for NULL.
static inline struct span row_text(sqlite3_stmt *statement, int column)
{
    if (sqlite3_column_type(statement, column) == SQLITE_NULL)
        return (struct span){0};
    const char *data = (const char *)sqlite3_column_text(statement, column);
    return (struct span){data ? data : "", (size_t)sqlite3_column_bytes(statement, column)};
}

static inline void row_bind_text(sqlite3_stmt *statement, int parameter, struct span text)
{
    int result = text.data ? sqlite3_bind_text64(statement, parameter, text.data, text.length,
                                                 SQLITE_STATIC, SQLITE_UTF8)
                           : sqlite3_bind_null(statement, parameter);
    CHECK(result == SQLITE_OK);
}

static inline void row_bind_number(sqlite3_stmt *statement, int parameter, int64_t number)
{
    int result = sqlite3_bind_int64(statement, parameter, number);
    CHECK(result == SQLITE_OK);
}
