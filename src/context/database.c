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

bool connection_fail(struct connection *connection, int result, struct context_error *error)
{
    int kind = result & 0xFF;
    if (kind == SQLITE_BUSY || kind == SQLITE_LOCKED)
        return context_fail(error, CONTEXT_STORE_BUSY,
                            "%s: another process kept it locked for %d s", connection->path,
                            CONTEXT_BUSY_MS / 1000);
    int system = connection->database ? sqlite3_system_errno(connection->database) : 0;
    const char *cause = sqlite3_errstr(result);
    if (connection->database && sqlite3_errcode(connection->database) == kind)
        cause = sqlite3_errmsg(connection->database);
    bool from_system = (kind == SQLITE_CANTOPEN || kind == SQLITE_IOERR) && system != 0;
    return context_fail(error, CONTEXT_STORE_UNAVAILABLE, "%s: %s%s%s", connection->path, cause,
                        from_system ? ": " : "", from_system ? strerror(system) : "");
}

static bool fail_system(struct connection *connection, const char *what, int cause,
                        struct context_error *error)
{
    return context_fail(error, CONTEXT_STORE_UNAVAILABLE, "%s: cannot %s: %s", connection->path,
                        what, strerror(cause));
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

void connection_init(struct connection *connection, const char *path)
{
    CLEANUP_FREE char *given = path ? memory_copy_string(path) : default_path();
    bool is_uri = strncmp(given, "file:", 5) == 0;  // to SQLite; to us it is a name like any other
    *connection = (struct connection){
        .path = memory_format("%s%s", is_uri ? "./" : "", given),
        .busy_ms = CONTEXT_BUSY_MS,
    };
}

static bool is_in_memory(const struct connection *connection)
{
    return strcmp(connection->path, ":memory:") == 0;
}

// SQLite would create the file readable for everybody; its log takes over the file's permissions.
static bool provide_file(struct connection *connection, struct context_error *error)
{
    if (is_in_memory(connection))
        return true;
    if (access(connection->path, F_OK) == 0)  // reading, too, needs to write: the log's index
        return access(connection->path, W_OK) == 0 ||
               fail_system(connection, "write to it", errno, error);
    if (connection->path[0] == '\0')
        return context_fail(error, CONTEXT_STORE_UNAVAILABLE,
                            "no place for the context file: set HOME, XDG_STATE_HOME or "
                            "CADRE_CONTEXT_DB");
    int failed = path_make_parents(connection->path);
    if (failed < 0)
        return fail_system(connection, "create its directory", -failed, error);
    int file = open(connection->path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (file < 0)
        return fail_system(connection, "create it", errno, error);
    close(file);
    return true;
}

// --- set-up --------------------------------------------------------------------------------------

// Short waits with a deadline: a commit takes well under a millisecond, SQLite's own handler would
// sleep many times that and let writers starve.
static int wait_while_busy(void *data, int attempt)
{
    struct connection *connection = data;
    if (attempt == 0)
        connection->deadline = clock_now_ms() + connection->busy_ms;
    if (clock_now_ms() >= connection->deadline)
        return 0;
    uint64_t spread = (uint64_t)clock_now_ns() / 16 % 512;
    usleep((useconds_t)(attempt < 20 ? 100 + spread : 500 + spread * 4));
    return 1;
}

static int read_pragma(sqlite3 *database, const char *text, int64_t *ret_number)
{
    sqlite3_stmt *statement = NULL;
    int result = sqlite3_prepare_v2(database, text, -1, &statement, NULL);
    if (result == SQLITE_OK)
        result = sqlite3_step(statement);
    if (result == SQLITE_ROW)
        *ret_number = sqlite3_column_int64(statement, 0);
    sqlite3_finalize(statement);
    return result == SQLITE_ROW || result == SQLITE_DONE ? SQLITE_OK : result;
}

static bool check_version(struct connection *connection, int64_t *ret_version,
                          struct context_error *error)
{
    int64_t tables = 0;
    int result = read_pragma(connection->database, "PRAGMA user_version", ret_version);
    if (result == SQLITE_OK && *ret_version == 0)
        result = read_pragma(connection->database, "SELECT count(*) FROM sqlite_master", &tables);
    if (result != SQLITE_OK)
        return connection_fail(connection, result, error);
    if (*ret_version > SCHEMA_VERSION || *ret_version < 0)
        return context_fail(error, CONTEXT_STORE_UNAVAILABLE,
                            "%s: written by a newer cadre (schema %lld, this one knows %d)",
                            connection->path, (long long)*ret_version, SCHEMA_VERSION);
    if (tables > 0)
        return context_fail(error, CONTEXT_STORE_UNAVAILABLE,
                            "%s: a database of another program, not a context store",
                            connection->path);
    return true;
}

// Switching to the log needs the file for itself for a moment, and SQLite does not wait for that.
static bool use_log(struct connection *connection, struct context_error *error)
{
    for (int attempt = 0;; attempt++) {
        sqlite3_stmt *statement = NULL;
        int result = sqlite3_prepare_v2(connection->database, "PRAGMA journal_mode=WAL", -1,
                                        &statement, NULL);
        if (result == SQLITE_OK)
            result = sqlite3_step(statement);
        if (result == SQLITE_ROW) {
            const char *mode = (const char *)sqlite3_column_text(statement, 0);
            if (!is_in_memory(connection) && mode && strcmp(mode, "wal") != 0)
                log_warning("%s: no write-ahead log here, journal mode %s", connection->path, mode);
        }
        sqlite3_finalize(statement);
        if (result == SQLITE_ROW)
            break;
        if ((result & 0xFF) != SQLITE_BUSY || !wait_while_busy(connection, attempt))
            return connection_fail(connection, result, error);
    }
    int result = sqlite3_exec(connection->database, "PRAGMA synchronous=NORMAL", NULL, NULL, NULL);
    return result == SQLITE_OK || connection_fail(connection, result, error);
}

static bool migrate_from(struct connection *connection, int64_t version,
                         struct context_error *error)
{
    int result = SQLITE_OK;
    for (; version < SCHEMA_VERSION && result == SQLITE_OK; version++)
        result = sqlite3_exec(connection->database, migrations[version], NULL, NULL, NULL);
    if (result == SQLITE_OK) {
        char text[64];
        snprintf(text, sizeof(text), "PRAGMA user_version=%d", SCHEMA_VERSION);
        result = sqlite3_exec(connection->database, text, NULL, NULL, NULL);
    }
    return result == SQLITE_OK || connection_fail(connection, result, error);
}

// The version is read again inside the transaction: another process may have been faster.
static bool migrate(struct connection *connection, struct context_error *error)
{
    int64_t version = 0;
    if (!connection_run_simple(connection, STATEMENT_BEGIN, error))
        return false;
    bool good =
        check_version(connection, &version, error) && migrate_from(connection, version, error);
    return connection_end(connection, good, error);
}

// In one transaction: another process may be creating the tables just now.
static bool read_version(struct connection *connection, int64_t *ret_version,
                         struct context_error *error)
{
    if (!connection_run_simple(connection, STATEMENT_BEGIN_READ, error))
        return false;
    bool good = check_version(connection, ret_version, error);
    return connection_end(connection, good, error);
}

static bool set_up(struct connection *connection, struct context_error *error)
{
    int64_t version = 0;
    sqlite3_extended_result_codes(connection->database, 1);
    sqlite3_busy_handler(connection->database, wait_while_busy, connection);
    sqlite3_limit(connection->database, SQLITE_LIMIT_LENGTH, 64 << 20);
    if (!read_version(connection, &version, error) || !use_log(connection, error))
        return false;
    return version == SCHEMA_VERSION || migrate(connection, error);
}

// SQLite keeps what it knows of its locks in memory. A child of a process with an open connection
// inherits that knowledge but not the locks, so any use of the file there, also through a
// connection of its own, could destroy what others write. Such a child is refused.
static struct {
    int process;
    size_t count;
} open_connections;

static bool check_process(struct connection *connection, struct context_error *error)
{
    if (open_connections.count == 0)
        open_connections.process = getpid();
    return open_connections.process == getpid() ||
           context_fail(error, CONTEXT_STORE_UNAVAILABLE,
                        "%s: the process was forked while a context store was open",
                        connection->path);
}

static void close_database(struct connection *connection)
{
    for (int i = 0; i < STATEMENT_LAST; i++) {
        sqlite3_finalize(connection->statements[i]);
        connection->statements[i] = NULL;
    }
    int closed = sqlite3_close(connection->database);
    CHECK(closed == SQLITE_OK);
    connection->database = NULL;
    open_connections.count--;
}

// The file was deleted or replaced: what is added to the old one would be lost.
static bool has_moved(const struct connection *connection)
{
    int moved = 0;
    if (sqlite3_get_autocommit(connection->database))  // never in the middle of a transaction
        sqlite3_file_control(connection->database, NULL, SQLITE_FCNTL_HAS_MOVED, &moved);
    return moved != 0;
}

bool connection_open(struct connection *connection, struct context_error *error)
{
    if (!check_process(connection, error))
        return false;
    if (connection->database && !has_moved(connection))
        return true;
    if (connection->database) {
        log_info("%s: deleted or replaced by another file, opening it anew", connection->path);
        close_database(connection);
        connection->data_version = -1;
    }
    if (!provide_file(connection, error))
        return false;
    int result =
        sqlite3_open_v2(connection->path, &connection->database,
                        SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, NULL);
    open_connections.count++;
    bool good = result == SQLITE_OK ? set_up(connection, error)
                                    : connection_fail(connection, result, error);
    if (!good)
        close_database(connection);
    return good;
}

void connection_release(struct connection *connection)
{
    // What was inherited over a fork belongs to the parent.
    if (connection->database && open_connections.process == getpid())
        close_database(connection);
    memory_free(connection->path);
}

// --- statements ----------------------------------------------------------------------------------

sqlite3_stmt *connection_statement(struct connection *connection, enum statement which,
                                   struct context_error *error)
{
    sqlite3_stmt **statement = &connection->statements[which];
    if (*statement) {
        sqlite3_reset(*statement);
        sqlite3_clear_bindings(*statement);
        return *statement;
    }
    int result = sqlite3_prepare_v3(connection->database, statement_texts[which], -1,
                                    SQLITE_PREPARE_PERSISTENT, statement, NULL);
    if (result != SQLITE_OK)
        connection_fail(connection, result, error);
    return *statement;
}

bool connection_run(struct connection *connection, sqlite3_stmt *statement,
                    struct context_error *error)
{
    int result;
    do
        result = sqlite3_step(statement);
    while (result == SQLITE_ROW);
    bool good = result == SQLITE_DONE || connection_fail(connection, result, error);
    sqlite3_reset(statement);
    return good;
}

bool connection_run_simple(struct connection *connection, enum statement which,
                           struct context_error *error)
{
    sqlite3_stmt *statement = connection_statement(connection, which, error);
    return statement && connection_run(connection, statement, error);
}

bool connection_number(struct connection *connection, sqlite3_stmt *statement, int64_t *ret_number,
                       struct context_error *error)
{
    int result = sqlite3_step(statement);
    if (result == SQLITE_ROW && sqlite3_column_type(statement, 0) != SQLITE_NULL)
        *ret_number = sqlite3_column_int64(statement, 0);
    bool good =
        result == SQLITE_ROW || result == SQLITE_DONE || connection_fail(connection, result, error);
    sqlite3_reset(statement);
    return good;
}

bool connection_begin(struct connection *connection, enum statement which,
                      struct context_error *error)
{
    return connection_open(connection, error) && connection_run_simple(connection, which, error);
}

bool connection_end(struct connection *connection, bool good, struct context_error *error)
{
    if (good && connection_run_simple(connection, STATEMENT_COMMIT, error))
        return true;
    // Some failures (a full disk) roll back by themselves.
    struct context_error ignored;
    if (!sqlite3_get_autocommit(connection->database))
        connection_run_simple(connection, STATEMENT_ROLLBACK, &ignored);
    return false;
}
