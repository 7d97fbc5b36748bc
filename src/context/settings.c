// Settings of a store: max-items and auto-context.
#include "base/array.h"
#include "base/ascii.h"
#include "context/store_internal.h"

static const char *const auto_names[] = {
    [CONTEXT_AUTO_OFF] = "off",
    [CONTEXT_AUTO_ERRORS] = "errors",
    [CONTEXT_AUTO_HISTORY] = "history",
    [CONTEXT_AUTO_ALL] = "all",
};

const char *context_auto_name(enum context_auto mode)
{
    return auto_names[mode];
}

bool context_auto_from_name(struct span name, enum context_auto *ret_mode)
{
    for (size_t i = 0; i < COUNT_OF(auto_names); i++) {
        if (span_equal_text(name, auto_names[i])) {
            *ret_mode = (enum context_auto)i;
            return true;
        }
    }
    return false;
}

static bool max_items_from_text(struct span text, int64_t *ret_number)
{
    enum { MAX_DIGITS = 4 };
    int64_t number = 0;
    if (text.length > MAX_DIGITS)
        return false;
    for (size_t i = 0; i < text.length; i++) {
        if (!ascii_is_digit(text.data[i]))
            return false;
        number = number * 10 + (text.data[i] - '0');
    }
    if (number < CONTEXT_MAX_ITEMS_LOW || number > CONTEXT_MAX_ITEMS_HIGH)
        return false;
    *ret_number = number;
    return true;
}

// Calls `read` with the stored text; without one, or with an invalid one, the caller's
// default stays.
static bool read_setting(struct context_store *store, const char *name,
                         void (*read)(struct span text, void *data), void *data,
                         struct context_error *error)
{
    struct database *database = &store->database;
    if (!database_open(database, error))
        return false;
    sqlite3_stmt *statement = database_statement(database, STATEMENT_SETTING_GET, error);
    if (!statement)
        return false;
    row_bind_text(statement, 1, span_from(name));
    int result = sqlite3_step(statement);
    if (result == SQLITE_ROW)
        read(row_text(statement, 0), data);
    bool good =
        result == SQLITE_ROW || result == SQLITE_DONE || database_fail(database, result, error);
    sqlite3_reset(statement);
    return good;
}

static void read_max_items(struct span text, void *data)
{
    max_items_from_text(text, data);
}

static void read_auto(struct span text, void *data)
{
    context_auto_from_name(text, data);
}

bool context_store_max_items(struct context_store *store, int64_t *ret_max_items,
                             struct context_error *error)
{
    *ret_max_items = CONTEXT_MAX_ITEMS_DEFAULT;
    return read_setting(store, "max-items", read_max_items, ret_max_items, error);
}

bool context_store_auto(struct context_store *store, enum context_auto *ret_mode,
                        struct context_error *error)
{
    *ret_mode = CONTEXT_AUTO_OFF;
    return read_setting(store, "auto-context", read_auto, ret_mode, error);
}

static bool check_setting(struct span name, struct span text, struct context_error *error)
{
    int64_t number;
    enum context_auto mode;
    if (span_equal(name, SPAN("max-items")))
        return max_items_from_text(text, &number) ||
               context_fail(error, CONTEXT_INVALID_ARGUMENT,
                            "max-items must be an integer from %d to %d; got \"%.*s\"",
                            CONTEXT_MAX_ITEMS_LOW, CONTEXT_MAX_ITEMS_HIGH,
                            (int)(text.length < 60 ? text.length : 60), text.data);
    if (span_equal(name, SPAN("auto-context")))
        return context_auto_from_name(text, &mode) ||
               context_fail(error, CONTEXT_INVALID_ARGUMENT,
                            "auto-context must be off, errors, history or all; got \"%.*s\"",
                            (int)(text.length < 60 ? text.length : 60), text.data);
    return context_fail(error, CONTEXT_INVALID_ARGUMENT,
                        "no setting \"%.*s\"; there are max-items and auto-context",
                        (int)(name.length < 60 ? name.length : 60), name.data);
}

bool context_store_set(struct context_store *store, struct span name, struct span text,
                       struct context_error *error)
{
    if (!check_setting(name, text, error) || !database_open(&store->database, error))
        return false;
    sqlite3_stmt *statement = database_statement(&store->database, STATEMENT_SETTING_PUT, error);
    if (!statement)
        return false;
    row_bind_text(statement, 1, name);
    row_bind_text(statement, 2, text);
    if (!database_run(&store->database, statement, error))
        return false;
    store_notify(store, 0);
    return true;
}
