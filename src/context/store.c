#include "context/store.h"

#include <stdio.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/utf8.h"
#include "context/store_internal.h"

struct context_store *context_store_new(const char *path)
{
    struct context_store *store = memory_alloc_zero(sizeof(*store));
    database_init(&store->database, path);
    return store;
}

void context_store_free(struct context_store *store)
{
    if (!store)
        return;
    database_release(&store->database);
    memory_free(store);
}

const char *context_store_path(const struct context_store *store)
{
    return store->database.path;
}

void context_store_set_wait(struct context_store *store, int64_t milliseconds)
{
    store->database.busy_ms = milliseconds;
}

void context_store_on_long_log(struct context_store *store, void (*log_is_long)(void *data),
                               void *data)
{
    database_on_long_log(&store->database, log_is_long, data);
}

bool context_log_move(const char *path)
{
    return database_move_log(path);
}

void context_store_on_change(struct context_store *store, context_changed_fn *changed, void *data)
{
    store->changed = changed;
    store->changed_data = data;
}

bool context_store_poll(struct context_store *store)
{
    struct database *database = &store->database;
    struct context_error error;
    if (!database_open(database, &error))
        return false;
    sqlite3_stmt *statement = database_statement(database, STATEMENT_DATA_VERSION, &error);
    int64_t version = database->data_version;
    if (!statement || !database_number(database, statement, &version, &error))
        return false;
    bool changed = database->data_version != 0 && version != database->data_version;
    database->data_version = version;
    return changed;
}

// --- rows ----------------------------------------------------------------------------------------

// Borrows from the row. The table's constraints make sure of all this; a file may come from
// anywhere.
static bool item_from_row(struct context_store *store, sqlite3_stmt *statement,
                          struct context_item *ret_item, struct context_error *error)
{
    struct context_item item = {
        .number = sqlite3_column_int64(statement, 0),
        .content = row_text(statement, 2),
        .metadata = row_text(statement, 3),
        .timestamp = sqlite3_column_int64(statement, 4),
        .pinned = sqlite3_column_int(statement, 5) != 0,
        .automatic = sqlite3_column_int(statement, 6) != 0,
    };
    if (!context_type_from_name(row_text(statement, 1), &item.type) || !item.content.data ||
        !utf8_is_valid(item.content.data, item.content.length))
        return context_fail(error, CONTEXT_STORE_UNAVAILABLE, "%s: item ctx-%lld is damaged",
                            store->database.path, (long long)item.number);
    *ret_item = item;
    return true;
}

// ",code,text,": what the statements search types in; "" for all.
enum { TYPES_SIZE = 64 };
static struct span types_text(unsigned types, char text[TYPES_SIZE])
{
    size_t length = 0;
    text[0] = '\0';
    for (unsigned i = 0; i < CONTEXT_TYPE_COUNT; i++) {
        if (types & (1u << i))
            length += (size_t)snprintf(text + length, TYPES_SIZE - length, "%s%s,",
                                       length ? "" : ",", context_type_name((enum context_type)i));
    }
    return (struct span){text, length};
}

static bool get_row(struct context_store *store, struct region *region, int64_t number,
                    struct context_item *ret_item, struct context_error *error)
{
    struct database *database = &store->database;
    sqlite3_stmt *statement = database_statement(database, STATEMENT_GET, error);
    if (!statement)
        return false;
    row_bind_number(statement, 1, number);
    int result = sqlite3_step(statement);
    bool good = false;
    if (result == SQLITE_ROW) {
        struct context_item item;
        good = item_from_row(store, statement, &item, error);
        if (good)
            *ret_item = context_item_copy(region, &item);
    } else if (result == SQLITE_DONE) {
        char id[CONTEXT_ID_SIZE];
        context_id_format(number, id);
        context_fail(error, CONTEXT_NOT_FOUND, "no context item %s", id);
    } else {
        database_fail(database, result, error);
    }
    sqlite3_reset(statement);
    return good;
}

static bool delete_row(struct context_store *store, int64_t number, struct context_error *error)
{
    sqlite3_stmt *statement = database_statement(&store->database, STATEMENT_DELETE, error);
    if (!statement)
        return false;
    row_bind_number(statement, 1, number);
    return database_run(&store->database, statement, error);
}

static bool read_number(struct context_store *store, enum statement which, int64_t *ret_number,
                        struct context_error *error)
{
    sqlite3_stmt *statement = database_statement(&store->database, which, error);
    return statement && database_number(&store->database, statement, ret_number, error);
}

static bool read_counts(struct context_store *store, struct context_counts *ret_counts,
                        struct context_error *error)
{
    return !ret_counts || (context_store_max_items(store, &ret_counts->max_items, error) &&
                           read_number(store, STATEMENT_COUNT_ALL, &ret_counts->count, error));
}

// --- adding --------------------------------------------------------------------------------------

static bool insert(struct context_store *store, const struct context_item *item,
                   int64_t *ret_number, struct context_error *error)
{
    struct database *database = &store->database;
    sqlite3_stmt *statement = database_statement(database, STATEMENT_INSERT, error);
    if (!statement)
        return false;
    row_bind_text(statement, 1, span_from(context_type_name(item->type)));
    row_bind_text(statement, 2, item->content);
    row_bind_text(statement, 3, item->metadata);
    row_bind_number(statement, 4, item->timestamp);
    row_bind_number(statement, 5, item->pinned);
    row_bind_number(statement, 6, item->automatic);
    if (!database_run(database, statement, error))
        return false;
    *ret_number = sqlite3_last_insert_rowid(database->handle);
    return true;
}

// The number of the item to evict next, 0 when there is none.
static bool find_oldest(struct context_store *store, int64_t except, bool automatic,
                        int64_t *ret_number, struct context_error *error)
{
    sqlite3_stmt *statement = database_statement(&store->database, STATEMENT_OLDEST, error);
    if (!statement)
        return false;
    row_bind_number(statement, 1, except);
    row_bind_number(statement, 2, automatic);
    *ret_number = 0;
    return database_number(&store->database, statement, ret_number, error);
}

static bool evict(struct context_store *store, struct region *region, int64_t number,
                  struct context_added *added, struct context_error *error)
{
    struct context_item item;
    if (!get_row(store, region, number, &item, error) || !delete_row(store, number, error))
        return false;
    size_t size = sizeof(item);
    added->evicted = region_resize(region, added->evicted, added->evicted_count * size,
                                   (added->evicted_count + 1) * size);
    added->evicted[added->evicted_count++] = item;
    return true;
}

static bool evict_automatic(struct context_store *store, struct region *region,
                            struct context_added *added, struct context_error *error)
{
    int64_t count = 0;
    if (!read_number(store, STATEMENT_AUTOMATIC_COUNT, &count, error))
        return false;
    for (; count > CONTEXT_AUTO_LIMIT; count--) {
        int64_t number = 0;
        if (!find_oldest(store, added->item.number, true, &number, error) ||
            !evict(store, region, number, added, error))
            return false;
    }
    return true;
}

static bool keep_window(struct context_store *store, struct region *region,
                        struct context_added *added, struct context_error *error)
{
    if (!context_store_max_items(store, &added->max_items, error) ||
        !read_number(store, STATEMENT_COUNT_ALL, &added->count, error))
        return false;
    for (; added->count > added->max_items; added->count--) {
        int64_t number = 0;
        // What was fed automatically makes way for itself first.
        if (added->item.automatic && !find_oldest(store, added->item.number, true, &number, error))
            return false;
        if (number == 0 && !find_oldest(store, added->item.number, false, &number, error))
            return false;
        if (number == 0)
            return context_fail(
                error, CONTEXT_FULL,
                "all %lld items are pinned; unpin or remove one, or raise max-items",
                (long long)(added->count - 1));
        if (!evict(store, region, number, added, error))
            return false;
    }
    return true;
}

static bool is_repeated(struct context_store *store, const struct context_item *item,
                        bool *ret_repeated, struct context_error *error)
{
    sqlite3_stmt *statement =
        database_statement(&store->database, STATEMENT_AUTOMATIC_NEWEST, error);
    if (!statement)
        return false;
    row_bind_text(statement, 1, span_from(context_type_name(item->type)));
    row_bind_text(statement, 2, item->content);
    int64_t same = 0;
    if (!database_number(&store->database, statement, &same, error))
        return false;
    *ret_repeated = same != 0;
    return true;
}

static bool add_in_transaction(struct context_store *store, struct region *region,
                               struct context_added *added, struct context_error *error)
{
    bool repeated = false;
    if (added->item.automatic && !is_repeated(store, &added->item, &repeated, error))
        return false;
    if (repeated)
        return true;
    if (!insert(store, &added->item, &added->item.number, error))
        return false;
    return (!added->item.automatic || evict_automatic(store, region, added, error)) &&
           keep_window(store, region, added, error);
}

bool context_store_add(struct context_store *store, struct region *region,
                       const struct context_draft *draft, unsigned flags,
                       struct context_added *ret_added, struct context_error *error)
{
    struct context_added added = {
        .item =
            {
                .type = draft->type,
                .content = draft->content,
                .metadata = draft->metadata,
                .timestamp = context_universal_time(clock_unix_seconds()),
                .pinned = flags & CONTEXT_PINNED,
                .automatic = flags & CONTEXT_AUTOMATIC,
            },
    };
    if (!database_begin(&store->database, STATEMENT_BEGIN, error))
        return false;
    bool good = add_in_transaction(store, region, &added, error);
    if (!database_end(&store->database, good, error))
        return false;
    *ret_added = added;
    if (added.item.number > 0)
        store_notify(store, added.item.number);
    for (size_t i = 0; i < added.evicted_count; i++)
        store_notify(store, added.evicted[i].number);
    return true;
}

// --- changing ------------------------------------------------------------------------------------

bool context_store_remove(struct context_store *store, struct region *region, int64_t number,
                          struct context_item *ret_removed, struct context_counts *ret_counts,
                          struct context_error *error)
{
    if (!database_begin(&store->database, STATEMENT_BEGIN, error))
        return false;
    bool good = get_row(store, region, number, ret_removed, error) &&
                delete_row(store, number, error) && read_counts(store, ret_counts, error);
    if (!database_end(&store->database, good, error))
        return false;
    store_notify(store, number);
    return true;
}

static bool run_for_item(struct context_store *store, struct region *region, int64_t number,
                         sqlite3_stmt *statement, struct context_item *ret_item,
                         struct context_error *error)
{
    return database_run(&store->database, statement, error) &&
           get_row(store, region, number, ret_item, error);
}

bool context_store_pin(struct context_store *store, struct region *region, int64_t number,
                       bool pinned, struct context_item *ret_item, struct context_error *error)
{
    if (!database_begin(&store->database, STATEMENT_BEGIN, error))
        return false;
    sqlite3_stmt *statement = database_statement(&store->database, STATEMENT_PIN, error);
    if (statement) {
        row_bind_number(statement, 1, number);
        row_bind_number(statement, 2, pinned);
    }
    bool good = statement && run_for_item(store, region, number, statement, ret_item, error);
    if (!database_end(&store->database, good, error))
        return false;
    store_notify(store, number);
    return true;
}

bool context_store_update(struct context_store *store, struct region *region, int64_t number,
                          const struct context_draft *draft, struct context_item *ret_item,
                          struct context_error *error)
{
    if (!database_begin(&store->database, STATEMENT_BEGIN, error))
        return false;
    sqlite3_stmt *statement = database_statement(&store->database, STATEMENT_UPDATE, error);
    if (statement) {
        row_bind_number(statement, 1, number);
        row_bind_text(statement, 2, span_from(context_type_name(draft->type)));
        row_bind_text(statement, 3, draft->content);
        row_bind_text(statement, 4, draft->metadata);
    }
    bool good = statement && run_for_item(store, region, number, statement, ret_item, error);
    if (!database_end(&store->database, good, error))
        return false;
    store_notify(store, number);
    return true;
}

static bool clear_in_transaction(struct context_store *store, struct span types,
                                 bool include_pinned, int64_t *ret_removed, int64_t *ret_kept,
                                 struct context_error *error)
{
    struct database *database = &store->database;
    sqlite3_stmt *statement = database_statement(database, STATEMENT_CLEAR, error);
    if (!statement)
        return false;
    row_bind_text(statement, 1, types);
    row_bind_number(statement, 2, include_pinned);
    if (!database_run(database, statement, error))
        return false;
    *ret_removed = sqlite3_changes64(database->handle);
    statement = database_statement(database, STATEMENT_PINNED_COUNT, error);
    if (!statement)
        return false;
    row_bind_text(statement, 1, types);
    *ret_kept = 0;
    return database_number(database, statement, ret_kept, error);
}

bool context_store_clear(struct context_store *store, unsigned types, bool include_pinned,
                         int64_t *ret_removed, int64_t *ret_kept, struct context_error *error)
{
    char text[TYPES_SIZE];
    if (!database_begin(&store->database, STATEMENT_BEGIN, error))
        return false;
    bool good = clear_in_transaction(store, types_text(types, text), include_pinned, ret_removed,
                                     ret_kept, error);
    if (!database_end(&store->database, good, error))
        return false;
    if (*ret_removed > 0)
        store_notify(store, 0);
    return true;
}

// --- reading -------------------------------------------------------------------------------------

bool context_store_get(struct context_store *store, struct region *region, int64_t number,
                       struct context_item *ret_item, struct context_error *error)
{
    return database_open(&store->database, error) &&
           get_row(store, region, number, ret_item, error);
}

bool context_store_count(struct context_store *store, struct context_counts *ret_counts,
                         struct context_error *error)
{
    return database_open(&store->database, error) && read_counts(store, ret_counts, error);
}

static bool visit_rows(struct context_store *store, const struct context_filter *filter,
                       context_visit_fn *visit, void *data, struct context_error *error)
{
    struct database *database = &store->database;
    sqlite3_stmt *statement = database_statement(database, STATEMENT_LIST, error);
    if (!statement)
        return false;
    char types[TYPES_SIZE];
    row_bind_text(statement, 1, types_text(filter->types, types));
    row_bind_number(statement, 2, filter->limit);
    bool good = true;
    int result;
    while (good && (result = sqlite3_step(statement)) != SQLITE_DONE) {
        struct context_item item = {0};
        good = result == SQLITE_ROW ? item_from_row(store, statement, &item, error)
                                    : database_fail(database, result, error);
        if (good)
            visit(&item, data);
    }
    sqlite3_reset(statement);
    return good;
}

bool context_store_visit(struct context_store *store, const struct context_filter *filter,
                         context_visit_fn *visit, void *data, struct context_counts *ret_counts,
                         struct context_error *error)
{
    if (!database_begin(&store->database, STATEMENT_BEGIN_READ, error))
        return false;
    bool good =
        visit_rows(store, filter, visit, data, error) && read_counts(store, ret_counts, error);
    return database_end(&store->database, good, error);
}

struct loading {
    struct region *region;
    struct context_item *items;
    size_t count;
    size_t capacity;
    size_t bytes;
};

static void load_item(const struct context_item *item, void *data)
{
    struct loading *loading = data;
    loading->bytes += item->content.length + item->metadata.length;
    if (loading->bytes > CONTEXT_LOAD_LIMIT)
        return;
    if (loading->count == loading->capacity) {
        size_t capacity = loading->capacity ? loading->capacity * 2 : 64;
        loading->items = region_resize(loading->region, loading->items,
                                       loading->capacity * sizeof(*item), capacity * sizeof(*item));
        loading->capacity = capacity;
    }
    loading->items[loading->count++] = context_item_copy(loading->region, item);
}

bool context_store_load(struct context_store *store, struct region *region,
                        const struct context_filter *filter, struct context_item **ret_items,
                        size_t *ret_count, struct context_counts *ret_counts,
                        struct context_error *error)
{
    struct loading loading = {.region = region};
    if (!context_store_visit(store, filter, load_item, &loading, ret_counts, error))
        return false;
    if (loading.bytes > CONTEXT_LOAD_LIMIT)
        return context_fail(
            error, CONTEXT_TOO_LARGE,
            "the selected items have %zu bytes; the limit is %d: give types or limit",
            loading.bytes, CONTEXT_LOAD_LIMIT);
    *ret_items = loading.items;
    *ret_count = loading.count;
    return true;
}
