#include "context/database.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/array.h"
#include "base/assert.h"
#include "base/buffer.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/path.h"
#include "base/private.h"

// Each entry takes the file from version i to i + 1.
static const char *const migrations[] = {
    "CREATE TABLE item(n INTEGER PRIMARY KEY AUTOINCREMENT,"
    " type TEXT NOT NULL CHECK(type IN ('code','text','file','repl-history','error','custom')),"
    " content TEXT NOT NULL CHECK(typeof(content)='text'),"
    " metadata TEXT CHECK(metadata IS NULL OR json_type(metadata)='object'),"
    " timestamp INTEGER NOT NULL CHECK(timestamp>=0),"
    " pinned INTEGER NOT NULL DEFAULT 0 CHECK(pinned IN (0,1)),"
    " auto INTEGER NOT NULL DEFAULT 0 CHECK(auto IN (0,1)));"
    "CREATE TRIGGER item_immutable BEFORE UPDATE OF n,timestamp ON item"
    " WHEN NEW.n<>OLD.n OR NEW.timestamp<>OLD.timestamp"
    " BEGIN SELECT RAISE(ABORT,'INV-004: id and timestamp are immutable'); END;"
    // Without it, finding the item to evict would read the content of every item.
    "CREATE INDEX item_eviction ON item(pinned,auto);"
    "CREATE TABLE setting(key TEXT PRIMARY KEY, value TEXT NOT NULL);",
};

enum { SCHEMA_VERSION = COUNT_OF(migrations) };

#define ITEM_COLUMNS "n,type,content,metadata,timestamp,pinned,auto"

static const char *const statement_texts[STATEMENT_LAST] = {
    [STATEMENT_BEGIN] = "BEGIN IMMEDIATE",
    [STATEMENT_BEGIN_READ] = "BEGIN",
    [STATEMENT_COMMIT] = "COMMIT",
    [STATEMENT_ROLLBACK] = "ROLLBACK",
    [STATEMENT_INSERT] = "INSERT INTO item(type,content,metadata,timestamp,pinned,auto)"
                         " VALUES(?1,?2,?3,?4,?5,?6)",
    [STATEMENT_COUNT_ALL] = "SELECT count(*) FROM item",
    [STATEMENT_GET] = "SELECT " ITEM_COLUMNS " FROM item WHERE n=?1",
    [STATEMENT_LIST] = "SELECT " ITEM_COLUMNS " FROM item WHERE n IN"
                       " (SELECT n FROM item WHERE ?1='' OR instr(?1,','||type||',')"
                       " ORDER BY n DESC LIMIT ?2) ORDER BY n",
    [STATEMENT_DELETE] = "DELETE FROM item WHERE n=?1",
    // The oldest unpinned item but ?1; ?2 = 1: auto-fed ones only.
    [STATEMENT_OLDEST] = "SELECT min(n) FROM item WHERE pinned=0 AND auto>=?2 AND n<>?1",
    [STATEMENT_AUTOMATIC_COUNT] = "SELECT count(*) FROM item WHERE pinned=0 AND auto=1",
    [STATEMENT_AUTOMATIC_NEWEST] = "SELECT type=?1 AND content=?2 FROM item WHERE n="
                                   "(SELECT max(n) FROM item WHERE auto=1)",
    [STATEMENT_PIN] = "UPDATE item SET pinned=?2 WHERE n=?1",
    [STATEMENT_UPDATE] = "UPDATE item SET type=?2,content=?3,metadata=?4 WHERE n=?1",
    [STATEMENT_CLEAR] = "DELETE FROM item WHERE (?1='' OR instr(?1,','||type||','))"
                        " AND pinned<=?2",
    [STATEMENT_PINNED_COUNT] = "SELECT count(*) FROM item WHERE pinned=1"
                               " AND (?1='' OR instr(?1,','||type||','))",
    [STATEMENT_SETTING_GET] = "SELECT value FROM setting WHERE key=?1",
    [STATEMENT_SETTING_PUT] = "INSERT INTO setting(key,value) VALUES(?1,?2)"
                              " ON CONFLICT(key) DO UPDATE SET value=excluded.value",
    [STATEMENT_DATA_VERSION] = "PRAGMA data_version",
};

// --- errors --------------------------------------------------------------------------------------

bool database_fail(struct database *database, int result, struct context_error *error)
{
    int kind = result & 0xFF;
    if (kind == SQLITE_BUSY || kind == SQLITE_LOCKED)
        return context_fail(error, CONTEXT_STORE_BUSY,
                            "%s: another process kept it locked for %d s", database->path,
                            CONTEXT_BUSY_MS / 1000);
    int system = database->handle ? sqlite3_system_errno(database->handle) : 0;
    const char *cause = sqlite3_errstr(result);
    if (database->handle && sqlite3_errcode(database->handle) == kind)
        cause = sqlite3_errmsg(database->handle);
    bool from_system = (kind == SQLITE_CANTOPEN || kind == SQLITE_IOERR) && system != 0;
    return context_fail(error, CONTEXT_STORE_UNAVAILABLE, "%s: %s%s%s", database->path, cause,
                        from_system ? ": " : "", from_system ? strerror(system) : "");
}

static bool fail_system(struct database *database, const char *what, int cause,
                        struct context_error *error)
{
    return context_fail(error, CONTEXT_STORE_UNAVAILABLE, "%s: cannot %s: %s", database->path, what,
                        strerror(cause));
}

// --- the file ------------------------------------------------------------------------------------

static char *default_path(void)
{
    const char *chosen = getenv("CADRE_CONTEXT_DB");
    if (chosen && *chosen)
        return memory_copy_string(chosen);
    char *path = path_in_state("context.db");
    return path ? path : memory_copy_text("", 0);
}

void database_init(struct database *database, const char *path)
{
    CLEANUP_FREE char *given = path ? memory_copy_string(path) : default_path();
    bool is_uri = strncmp(given, "file:", 5) == 0;  // to SQLite; to us it is a name like any other
    *database = (struct database){
        .path = memory_format("%s%s", is_uri ? "./" : "", given),
        .busy_ms = CONTEXT_BUSY_MS,
    };
}

static bool is_in_memory(const struct database *database)
{
    return strcmp(database->path, ":memory:") == 0;
}

// SQLite would create the file readable for everybody; its log takes over the file's permissions.
static bool provide_file(struct database *database, struct context_error *error)
{
    if (is_in_memory(database))
        return true;
    struct error refusal;
    if (database->path[0] == '/' && !private_make_parent(database->path, &refusal))
        return context_fail(error, CONTEXT_STORE_UNAVAILABLE, "%s: %s", database->path,
                            refusal.message);
    if (access(database->path, F_OK) == 0)  // reading, too, needs to write: the log's index
        return access(database->path, W_OK) == 0 ||
               fail_system(database, "write to it", errno, error);
    if (database->path[0] == '\0')
        return context_fail(error, CONTEXT_STORE_UNAVAILABLE,
                            "no place for the context file: set HOME, XDG_STATE_HOME or "
                            "CADRE_CONTEXT_DB");
    int failed = path_make_parents(database->path);
    if (failed < 0)
        return fail_system(database, "create its directory", -failed, error);
    int file = open(database->path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (file < 0 && errno == EEXIST)  // another process made it meanwhile
        return true;
    if (file < 0)
        return fail_system(database, "create it", errno, error);
    close(file);
    return true;
}

// --- set-up --------------------------------------------------------------------------------------

// Short waits with a deadline: a commit takes well under a millisecond, SQLite's own handler would
// sleep many times that and let writers starve.
static int wait_while_busy(void *data, int attempt)
{
    struct database *database = data;
    if (attempt == 0)
        database->deadline = clock_now_ms() + database->busy_ms;
    if (clock_now_ms() >= database->deadline)
        return 0;
    uint64_t spread = (uint64_t)clock_now_ns() / 16 % 512;
    usleep((useconds_t)(attempt < 20 ? 100 + spread : 500 + spread * 4));
    return 1;
}

static int read_pragma(sqlite3 *handle, const char *text, int64_t *ret_number)
{
    sqlite3_stmt *statement = NULL;
    int result = sqlite3_prepare_v2(handle, text, -1, &statement, NULL);
    if (result == SQLITE_OK)
        result = sqlite3_step(statement);
    if (result == SQLITE_ROW)
        *ret_number = sqlite3_column_int64(statement, 0);
    sqlite3_finalize(statement);
    return result == SQLITE_ROW || result == SQLITE_DONE ? SQLITE_OK : result;
}

static bool check_version(struct database *database, int64_t *ret_version,
                          struct context_error *error)
{
    int64_t tables = 0;
    int result = read_pragma(database->handle, "PRAGMA user_version", ret_version);
    if (result == SQLITE_OK && *ret_version == 0)
        result = read_pragma(database->handle, "SELECT count(*) FROM sqlite_master", &tables);
    if (result != SQLITE_OK)
        return database_fail(database, result, error);
    if (*ret_version > SCHEMA_VERSION || *ret_version < 0)
        return context_fail(error, CONTEXT_STORE_UNAVAILABLE,
                            "%s: written by a newer cadre (schema %lld, this one knows %d)",
                            database->path, (long long)*ret_version, SCHEMA_VERSION);
    if (tables > 0)
        return context_fail(error, CONTEXT_STORE_UNAVAILABLE,
                            "%s: a database of another program, not a context store",
                            database->path);
    return true;
}

// Switching to the log needs the file for itself for a moment, and SQLite does not wait for that.
static bool use_log(struct database *database, struct context_error *error)
{
    for (int attempt = 0;; attempt++) {
        sqlite3_stmt *statement = NULL;
        int result =
            sqlite3_prepare_v2(database->handle, "PRAGMA journal_mode=WAL", -1, &statement, NULL);
        if (result == SQLITE_OK)
            result = sqlite3_step(statement);
        if (result == SQLITE_ROW) {
            const char *mode = (const char *)sqlite3_column_text(statement, 0);
            if (!is_in_memory(database) && mode && strcmp(mode, "wal") != 0)
                log_warning("%s: no write-ahead log here, journal mode %s", database->path, mode);
        }
        sqlite3_finalize(statement);
        if (result == SQLITE_ROW)
            break;
        if ((result & 0xFF) != SQLITE_BUSY || !wait_while_busy(database, attempt))
            return database_fail(database, result, error);
    }
    int result = sqlite3_exec(database->handle, "PRAGMA synchronous=NORMAL", NULL, NULL, NULL);
    return result == SQLITE_OK || database_fail(database, result, error);
}

static bool migrate_from(struct database *database, int64_t version, struct context_error *error)
{
    int result = SQLITE_OK;
    for (; version < SCHEMA_VERSION && result == SQLITE_OK; version++)
        result = sqlite3_exec(database->handle, migrations[version], NULL, NULL, NULL);
    if (result == SQLITE_OK) {
        char text[64];
        snprintf(text, sizeof(text), "PRAGMA user_version=%d", SCHEMA_VERSION);
        result = sqlite3_exec(database->handle, text, NULL, NULL, NULL);
    }
    return result == SQLITE_OK || database_fail(database, result, error);
}

// The version is read again inside the transaction: another process may have been faster.
static bool migrate(struct database *database, struct context_error *error)
{
    int64_t version = 0;
    if (!database_run_simple(database, STATEMENT_BEGIN, error))
        return false;
    bool good = check_version(database, &version, error) && migrate_from(database, version, error);
    return database_end(database, good, error);
}

// In one transaction: another process may be creating the tables just now.
static bool read_version(struct database *database, int64_t *ret_version,
                         struct context_error *error)
{
    if (!database_run_simple(database, STATEMENT_BEGIN_READ, error))
        return false;
    bool good = check_version(database, ret_version, error);
    return database_end(database, good, error);
}

// --- the log -------------------------------------------------------------------------------------

enum { LOG_PAGES = 1000, LOG_PAGES_MAX = 16000 };  // 4 and 64 MB

// Without somebody else who moves it, or when that does not succeed, the log is moved here: it must
// not grow forever.
static int on_commit(void *data, sqlite3 *handle, const char *name, int pages)
{
    struct database *database = data;
    if (pages >= LOG_PAGES_MAX || (pages >= LOG_PAGES && !database->log_is_long))
        sqlite3_wal_checkpoint_v2(handle, name, SQLITE_CHECKPOINT_PASSIVE, NULL, NULL);
    else if (pages >= LOG_PAGES)
        database->log_is_long(database->log_data);
    return SQLITE_OK;
}

void database_on_long_log(struct database *database, void (*log_is_long)(void *data), void *data)
{
    database->log_is_long = log_is_long;
    database->log_data = data;
}

bool database_move_log(const char *path)
{
    sqlite3 *handle = NULL;
    int result = sqlite3_open_v2(path, &handle, SQLITE_OPEN_READWRITE, NULL);
    // A connection that has read nothing does not know that there is a log.
    if (result == SQLITE_OK)
        result = sqlite3_exec(handle, "PRAGMA schema_version", NULL, NULL, NULL);
    if (result == SQLITE_OK)
        result = sqlite3_wal_checkpoint_v2(handle, NULL, SQLITE_CHECKPOINT_PASSIVE, NULL, NULL);
    sqlite3_close(handle);
    return result == SQLITE_OK;
}

// --- opening -------------------------------------------------------------------------------------

static bool set_up(struct database *database, struct context_error *error)
{
    int64_t version = 0;
    sqlite3_extended_result_codes(database->handle, 1);
    sqlite3_busy_handler(database->handle, wait_while_busy, database);
    sqlite3_wal_hook(database->handle, on_commit, database);
    sqlite3_limit(database->handle, SQLITE_LIMIT_LENGTH, 64 << 20);
    if (!read_version(database, &version, error) || !use_log(database, error))
        return false;
    return version == SCHEMA_VERSION || migrate(database, error);
}

// SQLite keeps what it knows of its locks in memory. A child of a process with an open connection
// inherits that knowledge but not the locks, so any use of the file there, also through a
// connection of its own, could destroy what others write. Such a child is refused.
static struct {
    int process;
    size_t count;
} open_databases;

static bool check_process(struct database *database, struct context_error *error)
{
    if (open_databases.count == 0)
        open_databases.process = getpid();
    return open_databases.process == getpid() ||
           context_fail(error, CONTEXT_STORE_UNAVAILABLE,
                        "%s: the process was forked while a context store was open",
                        database->path);
}

static void close_handle(struct database *database)
{
    for (int i = 0; i < STATEMENT_LAST; i++) {
        sqlite3_finalize(database->statements[i]);
        database->statements[i] = NULL;
    }
    int closed = sqlite3_close(database->handle);
    CHECK(closed == SQLITE_OK);
    database->handle = NULL;
    open_databases.count--;
}

// The file was deleted or replaced: what is added to the old one would be lost.
static bool has_moved(const struct database *database)
{
    int moved = 0;
    if (sqlite3_get_autocommit(database->handle))  // never in the middle of a transaction
        sqlite3_file_control(database->handle, NULL, SQLITE_FCNTL_HAS_MOVED, &moved);
    return moved != 0;
}

bool database_open(struct database *database, struct context_error *error)
{
    if (!check_process(database, error))
        return false;
    if (database->handle && !has_moved(database))
        return true;
    if (database->handle) {
        log_info("%s: deleted or replaced by another file, opening it anew", database->path);
        close_handle(database);
        database->data_version = -1;
    }
    if (!provide_file(database, error))
        return false;
    int result =
        sqlite3_open_v2(database->path, &database->handle,
                        SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, NULL);
    open_databases.count++;
    bool good =
        result == SQLITE_OK ? set_up(database, error) : database_fail(database, result, error);
    if (!good)
        close_handle(database);
    return good;
}

void database_release(struct database *database)
{
    // What was inherited over a fork belongs to the parent.
    if (database->handle && open_databases.process == getpid())
        close_handle(database);
    memory_free(database->path);
}

// --- statements ----------------------------------------------------------------------------------

sqlite3_stmt *database_statement(struct database *database, enum statement which,
                                 struct context_error *error)
{
    sqlite3_stmt **statement = &database->statements[which];
    if (*statement) {
        sqlite3_reset(*statement);
        sqlite3_clear_bindings(*statement);
        return *statement;
    }
    int result = sqlite3_prepare_v3(database->handle, statement_texts[which], -1,
                                    SQLITE_PREPARE_PERSISTENT, statement, NULL);
    if (result != SQLITE_OK)
        database_fail(database, result, error);
    return *statement;
}

bool database_run(struct database *database, sqlite3_stmt *statement, struct context_error *error)
{
    int result;
    do
        result = sqlite3_step(statement);
    while (result == SQLITE_ROW);
    bool good = result == SQLITE_DONE || database_fail(database, result, error);
    sqlite3_reset(statement);
    return good;
}

bool database_run_simple(struct database *database, enum statement which,
                         struct context_error *error)
{
    sqlite3_stmt *statement = database_statement(database, which, error);
    return statement && database_run(database, statement, error);
}

bool database_number(struct database *database, sqlite3_stmt *statement, int64_t *ret_number,
                     struct context_error *error)
{
    int result = sqlite3_step(statement);
    if (result == SQLITE_ROW && sqlite3_column_type(statement, 0) != SQLITE_NULL)
        *ret_number = sqlite3_column_int64(statement, 0);
    bool good =
        result == SQLITE_ROW || result == SQLITE_DONE || database_fail(database, result, error);
    sqlite3_reset(statement);
    return good;
}

bool database_begin(struct database *database, enum statement which, struct context_error *error)
{
    if (!database_open(database, error) || !database_run_simple(database, which, error))
        return false;
    if (which == STATEMENT_BEGIN)
        changes_begin(database);
    return true;
}

bool database_end(struct database *database, bool good, struct context_error *error)
{
    bool is_committed = good && database_run_simple(database, STATEMENT_COMMIT, error);
    changes_end(database, is_committed);
    if (is_committed)
        return true;
    // Some failures (a full disk) roll back by themselves.
    struct context_error ignored;
    if (!sqlite3_get_autocommit(database->handle))
        database_run_simple(database, STATEMENT_ROLLBACK, &ignored);
    return false;
}
