// The store: window, pins, persistence, settings, failures of the file. The cases W1 to W9.
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sqlite3.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "base/array.h"
#include "base/clock.h"
#include "context_support.h"

static void add_many(struct context_test *test, int count)
{
    for (int i = 0; i < count; i++)
        must_add(test, "{\"content\":\"x\"}");
}

Test(context_store, W1_window)
{
    struct context_test test = context_test_start();
    add_many(&test, 50);
    struct context_result result = add(&test, "{\"content\":\"(defun add (a b) (+ a b))\"}");
    cr_expect_str_eq(
        text_of(&test, result.text),
        "Added ctx-51 (code, 25 characters). 50 of 50 items.\nEvicted ctx-1 (code): x");
    value evicted = map_get(result.structured, "evicted");
    cr_assert_eq(vector_count(evicted), 1);
    cr_expect_str_eq(text_of(&test, map_get(vector_at(evicted, 0), "id")), "ctx-1");
    const char *ids = ids_of(&test);
    cr_expect(strncmp(ids, "ctx-2 ctx-3 ", 12) == 0);
    cr_expect_str_eq(ids + strlen(ids) - 13, "ctx-50 ctx-51");
    context_test_end(&test);
}

Test(context_store, W2_pinned_items_stay)
{
    struct context_test test = context_test_start();
    add_many(&test, 1);
    struct context_result pinned = add(&test, "{\"id\":\"ctx-1\",\"pinned\":true}");
    cr_assert(pinned.ok);
    cr_expect_str_eq(text_of(&test, pinned.text), "Pinned ctx-1.");
    add_many(&test, 50);
    const char *ids = ids_of(&test);
    cr_expect(strncmp(ids, "ctx-1 ctx-3 ", 12) == 0, "%s", ids);
    context_test_end(&test);
}

static void set(struct context_test *test, const char *name, const char *text)
{
    struct context_error error = {0};
    cr_assert(context_store_set(test->store, span_from(name), span_from(text), &error), "%s",
              error.message);
}

// A running server must not go on with a file that nobody else can see.
Test(context_store, deleted_or_replaced_file)
{
    struct context_test test = context_test_start_in_file();
    add_many(&test, 2);
    cr_expect_not(context_store_poll(test.store));
    cr_assert_eq(unlink(test.path), 0);
    cr_expect(context_store_poll(test.store));
    cr_expect_not(context_store_poll(test.store));
    cr_expect_str_eq(ids_of(&test), "");
    must_add(&test, "{\"content\":\"x\"}");

    char other_path[340];
    snprintf(other_path, sizeof(other_path), "%s.other", test.path);
    struct context_test other = {
        .store = context_store_new(other_path), .region = test.region, .path = ":memory:"};
    add_many(&other, 3);
    context_store_free(other.store);
    static const char *const endings[] = {"-wal",
                                          "-shm"};  // SQLite would take them for the new file's
    for (size_t i = 0; i < COUNT_OF(endings); i++) {
        char path[340];
        snprintf(path, sizeof(path), "%s%s", test.path, endings[i]);
        unlink(path);
    }
    cr_assert_eq(rename(other_path, test.path), 0);
    must_add(&test, "{\"content\":\"y\"}");
    cr_expect_str_eq(ids_of(&test), "ctx-1 ctx-2 ctx-3 ctx-4");
    context_test_reopen(&test);
    cr_expect_str_eq(ids_of(&test), "ctx-1 ctx-2 ctx-3 ctx-4");
    context_test_end(&test);
}

Test(context_store, W3_full)
{
    struct context_test test = context_test_start();
    set(&test, "max-items", "3");
    for (int i = 0; i < 3; i++)
        must_add(&test, "{\"content\":\"x\",\"pinned\":true}");
    expect_error(&test, CONTEXT_OPERATION_ADD, "{\"content\":\"x\"}", "context-full",
                 "all 3 items are pinned; unpin or remove one, or raise max-items");
    cr_expect_str_eq(ids_of(&test), "ctx-1 ctx-2 ctx-3");
    struct context_result unpinned = add(&test, "{\"id\":\"ctx-2\",\"pinned\":false}");
    cr_expect_str_eq(text_of(&test, unpinned.text), "Unpinned ctx-2.");
    must_add(&test, "{\"content\":\"x\"}");
    cr_expect_str_eq(ids_of(&test), "ctx-1 ctx-3 ctx-4");
    context_test_end(&test);
}

Test(context_store, W4_ids_never_return)
{
    struct context_test test = context_test_start_in_file();
    add_many(&test, 3);
    cr_assert(call(&test, CONTEXT_OPERATION_CLEAR, "{}").ok);
    context_test_reopen(&test);
    add_many(&test, 1);
    cr_expect_str_eq(ids_of(&test), "ctx-4");
    cr_assert(call(&test, CONTEXT_OPERATION_REMOVE, "{\"id\":\"ctx-4\"}").ok);
    context_test_reopen(&test);
    add_many(&test, 1);
    cr_expect_str_eq(ids_of(&test), "ctx-5");
    context_test_end(&test);
}

Test(context_store, W5_clear)
{
    struct context_test test = context_test_start();
    must_add(&test, "{\"content\":\"x\",\"pinned\":true}");
    add_many(&test, 3);
    must_add(&test, "{\"content\":\"x\",\"type\":\"text\"}");
    struct context_result result = call(&test, CONTEXT_OPERATION_CLEAR, "{\"types\":[\"text\"]}");
    cr_expect_str_eq(text_of(&test, result.text), "Removed 1 item.");
    result = call(&test, CONTEXT_OPERATION_CLEAR, "{}");
    cr_expect_str_eq(text_of(&test, result.text), "Removed 3 items. Kept 1 pinned item.");
    cr_expect_str_eq(json_of(&test, result.structured),
                     "{\"ok\":true,\"removed\":3,\"kept_pinned\":1}");
    result = call(&test, CONTEXT_OPERATION_CLEAR, "{\"include_pinned\":true}");
    cr_expect_str_eq(text_of(&test, result.text), "Removed 1 item.");
    result = call(&test, CONTEXT_OPERATION_CLEAR, "{}");
    cr_expect_str_eq(text_of(&test, result.text), "Removed 0 items.");
    context_test_end(&test);
}

Test(context_store, W7_timestamps_are_immutable)
{
    struct context_test test = context_test_start_in_file();
    add_many(&test, 1);
    sqlite3 *database = NULL;
    cr_assert_eq(sqlite3_open(test.path, &database), SQLITE_OK);
    char *message = NULL;
    int result = sqlite3_exec(database, "UPDATE item SET timestamp=1", NULL, NULL, &message);
    cr_expect_eq(result & 0xFF, SQLITE_CONSTRAINT);
    cr_expect_str_eq(message, "INV-004: id and timestamp are immutable");
    sqlite3_free(message);
    cr_expect_neq(sqlite3_exec(database, "UPDATE item SET n=9", NULL, NULL, NULL), SQLITE_OK);
    cr_expect_neq(sqlite3_exec(database, "UPDATE item SET type='foo'", NULL, NULL, NULL),
                  SQLITE_OK);
    cr_expect_neq(sqlite3_exec(database, "UPDATE item SET metadata='[]'", NULL, NULL, NULL),
                  SQLITE_OK);
    sqlite3_close(database);
    context_test_end(&test);
}

Test(context_store, W8_timestamp_is_now)
{
    struct context_test test = context_test_start();
    int64_t before = context_universal_time(clock_unix_seconds());
    struct context_result result = add(&test, "{\"content\":\"x\"}");
    int64_t after = context_universal_time(clock_unix_seconds());
    int64_t timestamp = map_get(map_get(result.structured, "item"), "timestamp").integer;
    cr_expect_geq(timestamp, before);
    cr_expect_leq(timestamp, after);
    context_test_end(&test);
}

Test(context_store, W9_lowering_the_window)
{
    struct context_test test = context_test_start();
    add_many(&test, 50);
    set(&test, "max-items", "3");
    struct context_result result = add(&test, "{\"content\":\"new\"}");
    cr_expect_eq(vector_count(map_get(result.structured, "evicted")), 48);
    cr_expect_str_eq(ids_of(&test), "ctx-49 ctx-50 ctx-51");
    context_test_end(&test);
}

Test(context_store, list_and_texts)
{
    struct context_test test = context_test_start();
    cr_expect_str_eq(text_of(&test, list(&test, "{}").text), "No context items.");
    must_add(&test,
             "{\"content\":\"(defun add (a b) (+ a b))\",\"metadata\":{\"filename\":\"math.lisp\","
             "\"start_line\":5,\"end_line\":7}}");
    must_add(&test, "{\"content\":\"two\\nlines\",\"type\":\"text\",\"pinned\":true}");
    must_add(&test, "{\"content\":\"three\",\"type\":\"text\"}");
    cr_expect_str_eq(
        text_of(&test, list(&test, "{}").text),
        "3 of 50 items\n- ctx-1 code math.lisp:5-7 (25 characters): (defun add (a b) (+ a b))\n"
        "- ctx-2 text [pinned] (9 characters): two…\n- ctx-3 text (5 characters): three");
    cr_expect_str_eq(text_of(&test, list(&test, "{\"types\":[\"text\"],\"limit\":1}").text),
                     "1 shown, 3 of 50 items\n- ctx-3 text (5 characters): three");
    cr_expect_str_eq(text_of(&test, list(&test, "{\"limit\":0}").text), "0 shown, 3 of 50 items");
    cr_expect_str_eq(text_of(&test, list(&test, "{\"limit\":99}").text),
                     text_of(&test, list(&test, "{\"limit\":3}").text));
    cr_expect_str_eq(text_of(&test, list(&test, "{\"ids\":[\"ctx-2\"]}").text),
                     "1 shown, 3 of 50 items\n- ctx-2 text [pinned] (9 characters): two…");
    struct context_result full = list(&test, "{\"content\":true,\"types\":[\"code\"]}");
    value item = vector_at(map_get(full.structured, "items"), 0);
    CLEANUP_BUFFER struct buffer expected;
    buffer_init(&expected, BUFFER_DEFAULT_LIMIT);
    buffer_append_format(
        &expected,
        "{\"id\":\"ctx-1\",\"type\":\"code\",\"content\":\"(defun add (a b) (+ a "
        "b))\",\"metadata\":"
        "{\"filename\":\"math.lisp\",\"start_line\":5,\"end_line\":7},\"timestamp\":%lld}",
        (long long)map_get(item, "timestamp").integer);
    cr_expect_str_eq(json_of(&test, item), buffer_text(&expected));
    struct context_result removed = call(&test, CONTEXT_OPERATION_REMOVE, "{\"id\":\"ctx-1\"}");
    cr_expect_str_eq(text_of(&test, removed.text), "Removed ctx-1. 2 of 50 items.");
    context_test_end(&test);
}

Test(context_store, update_keeps_identity)
{
    struct context_test test = context_test_start();
    add_many(&test, 2);
    struct context_item before;
    struct context_item after;
    struct context_error error;
    cr_assert(context_store_get(test.store, test.region, 1, &before, &error));
    value content = value_string_text(test.region, "new");
    value type = value_string_text(test.region, "text");
    struct context_fields fields = {.content = &content, .type = &type};
    struct context_draft draft;
    cr_assert(context_draft_check(test.region, &fields, &draft, &error));
    cr_assert(context_store_update(test.store, test.region, 1, &draft, &after, &error));
    cr_expect_eq(after.number, 1);
    cr_expect_eq(after.timestamp, before.timestamp);
    cr_expect_eq((int)after.type, CONTEXT_TEXT);
    cr_expect(span_equal(after.content, SPAN("new")));
    cr_expect_str_eq(ids_of(&test), "ctx-1 ctx-2");
    cr_assert_not(context_store_update(test.store, test.region, 9, &draft, &after, &error));
    cr_expect_eq((int)error.code, CONTEXT_NOT_FOUND);
    context_test_end(&test);
}

Test(context_store, content_is_kept_byte_for_byte)
{
    struct context_test test = context_test_start_in_file();
    struct span content = SPAN("a\0b\xC3\xA9\xF0\x9F\x98\x80\r\n\0");
    value arguments = map_put_text(test.region, map_new(test.region), "content",
                                   value_string(test.region, content));
    cr_assert(context_operate(test.store, test.region, CONTEXT_OPERATION_ADD, arguments).ok);
    context_test_reopen(&test);
    struct context_item item;
    struct context_error error;
    cr_assert(context_store_get(test.store, test.region, 1, &item, &error));
    cr_expect(span_equal(item.content, content));
    context_test_end(&test);
}

Test(context_store, settings)
{
    struct context_test test = context_test_start_in_file();
    struct context_error error;
    static const char *const bad[] = {"0", "1001", "-1", "", "3x", "99999999999999999999"};
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        cr_expect_not(context_store_set(test.store, SPAN("max-items"), span_from(bad[i]), &error));
        cr_expect_eq((int)error.code, CONTEXT_INVALID_ARGUMENT);
    }
    cr_expect_not(context_store_set(test.store, SPAN("auto-context"), SPAN("maybe"), &error));
    cr_expect_not(context_store_set(test.store, SPAN("colour"), SPAN("red"), &error));
    set(&test, "max-items", "1000");
    set(&test, "auto-context", "history");
    context_test_reopen(&test);
    int64_t max_items = 0;
    enum context_auto mode;
    cr_assert(context_store_max_items(test.store, &max_items, &error));
    cr_assert(context_store_auto(test.store, &mode, &error));
    cr_expect_eq(max_items, 1000);
    cr_expect_eq((int)mode, CONTEXT_AUTO_HISTORY);
    context_test_end(&test);
}

static int64_t changed_sum;
static void count_change(int64_t number, void *data)
{
    (*(int *)data)++;
    changed_sum += number;
}

Test(context_store, tells_changes)
{
    struct context_test test = context_test_start_in_file();
    int changes = 0;
    context_store_on_change(test.store, count_change, &changes);
    cr_expect_not(context_store_poll(test.store));
    add_many(&test, 2);
    cr_expect_eq(changes, 2);
    cr_expect_eq(changed_sum, 3);
    cr_expect_not(context_store_poll(test.store));

    struct context_store *other = context_store_new(test.path);
    struct context_test second = test;
    second.store = other;
    must_add(&second, "{\"content\":\"from elsewhere\"}");
    cr_expect(context_store_poll(test.store));
    cr_expect_not(context_store_poll(test.store));
    context_store_free(other);
    context_test_end(&test);
}

// --- the file ------------------------------------------------------------------------------------

Test(context_store, is_opened_on_first_use_and_private)
{
    struct context_test test = context_test_start_in_file();
    context_store_free(test.store);
    snprintf(test.path, sizeof(test.path), "%s/a/b/context.db", test.directory);
    test.store = context_store_new(test.path);
    struct stat status;
    cr_expect_neq(stat(test.path, &status), 0);
    add_many(&test, 1);
    cr_assert_eq(stat(test.path, &status), 0);
    cr_expect_eq(status.st_mode & 0777, 0600);
    char directory[320];
    snprintf(directory, sizeof(directory), "%s/a", test.directory);
    cr_assert_eq(stat(directory, &status), 0);
    cr_expect_eq(status.st_mode & 0777, 0700);
    context_test_end(&test);
}

Test(context_store, default_path)
{
    static const struct {
        const char *chosen;
        const char *state;
        const char *path;
    } table[] = {
        {"/x/c.db", "/s", "/x/c.db"},
        {"", "/s", "/s/cadre/context.db"},
        {NULL, NULL, "/h/.local/state/cadre/context.db"},
        {NULL, "", "/h/.local/state/cadre/context.db"},
        {NULL, "relative", "/h/.local/state/cadre/context.db"},
    };
    setenv("HOME", "/h", 1);
    for (size_t i = 0; i < COUNT_OF(table); i++) {
        unsetenv("CADRE_CONTEXT_DB");
        unsetenv("XDG_STATE_HOME");
        if (table[i].chosen)
            setenv("CADRE_CONTEXT_DB", table[i].chosen, 1);
        if (table[i].state)
            setenv("XDG_STATE_HOME", table[i].state, 1);
        struct context_store *store = context_store_new(NULL);
        cr_expect_str_eq(context_store_path(store), table[i].path);
        context_store_free(store);
    }
}

Test(context_store, no_default_path_without_a_home)
{
    unsetenv("CADRE_CONTEXT_DB");
    unsetenv("XDG_STATE_HOME");
    unsetenv("HOME");
    struct context_test test = {.store = context_store_new(NULL),
                                .region = region_new((size_t)2 << 30)};
    struct context_result result = list(&test, "{}");
    cr_assert_not(result.ok);
    cr_expect_str_eq(result.error.message, "no place for the context file: set HOME, "
                                           "XDG_STATE_HOME or CADRE_CONTEXT_DB");
    context_test_end(&test);
}

static void expect_unavailable(struct context_test *test, const char *cause)
{
    struct context_result result = list(test, "{}");
    cr_assert_not(result.ok);
    cr_expect_str_eq(context_code_name(result.error.code), "store-unavailable");
    cr_expect(strstr(result.error.message, test->path), "%s", result.error.message);
    cr_expect(strstr(result.error.message, cause), "%s", result.error.message);
}

static void write_file(const char *path, const char *text, size_t length)
{
    FILE *file = fopen(path, "w");
    cr_assert_not_null(file);
    cr_assert_eq(fwrite(text, 1, length, file), length);
    cr_assert_eq(fclose(file), 0);
}

static uint64_t file_hash(const char *path)
{
    char data[65536];
    FILE *file = fopen(path, "r");
    cr_assert_not_null(file);
    size_t length = fread(data, 1, sizeof(data), file);
    fclose(file);
    uint64_t hash = length;
    for (size_t i = 0; i < length; i++)
        hash = hash * 1099511628211u + (unsigned char)data[i];
    return hash;
}

Test(context_store, corrupt_file)
{
    struct context_test test = context_test_start_in_file();
    char garbage[4096];
    memset(garbage, 'g', sizeof(garbage));
    write_file(test.path, garbage, sizeof(garbage));
    uint64_t before = file_hash(test.path);
    expect_unavailable(&test, "not a database");
    cr_expect_eq(file_hash(test.path), before);
    context_test_end(&test);
}

static void execute(const char *path, const char *sql)
{
    sqlite3 *database = NULL;
    cr_assert_eq(sqlite3_open(path, &database), SQLITE_OK);
    cr_assert_eq(sqlite3_exec(database, sql, NULL, NULL, NULL), SQLITE_OK, "%s",
                 sqlite3_errmsg(database));
    sqlite3_close(database);
}

Test(context_store, newer_schema_is_left_alone)
{
    struct context_test test = context_test_start_in_file();
    execute(test.path, "CREATE TABLE item(future); PRAGMA user_version=99");
    uint64_t before = file_hash(test.path);
    expect_unavailable(&test, "written by a newer cadre (schema 99, this one knows 1)");
    cr_expect_eq(file_hash(test.path), before);
    context_test_end(&test);
}

Test(context_store, foreign_database_is_left_alone)
{
    struct context_test test = context_test_start_in_file();
    execute(test.path, "CREATE TABLE accounts(x)");
    uint64_t before = file_hash(test.path);
    expect_unavailable(&test, "a database of another program");
    cr_expect_eq(file_hash(test.path), before);
    context_test_end(&test);
}

// Constraints can be switched off by whoever writes the file; rows are looked at all the same.
Test(context_store, damaged_rows_are_refused)
{
    struct context_test test = context_test_start_in_file();
    add_many(&test, 2);
    execute(test.path, "PRAGMA ignore_check_constraints=1; UPDATE item SET type='evil' WHERE n=1;"
                       "UPDATE item SET metadata='{' WHERE n=2");
    expect_unavailable(&test, "item ctx-1 is damaged");
    execute(test.path, "DELETE FROM item WHERE n=1; PRAGMA ignore_check_constraints=1;"
                       "UPDATE item SET content=CAST(x'FF41' AS TEXT) WHERE n=2");
    expect_unavailable(&test, "item ctx-2 is damaged");
    context_test_end(&test);
}

Test(context_store, unusable_places)
{
    struct context_test test = context_test_start_in_file();
    write_file(test.path, "", 0);
    context_store_free(test.store);
    snprintf(test.path, sizeof(test.path), "%s/context.db/below/context.db", test.directory);
    test.store = context_store_new(test.path);
    expect_unavailable(&test, "Not a directory");
    context_store_free(test.store);
    snprintf(test.path, sizeof(test.path), "%s", test.directory);
    test.store = context_store_new(test.path);
    expect_unavailable(&test, "unable to open");
    context_test_end(&test);
}

// A directory that cannot be written: the superuser may write anywhere, so this runs as somebody else.
Test(context_store, read_only_directory)
{
    struct context_test test = context_test_start_in_file();
    cr_assert_eq(chmod(test.directory, 0555), 0);
    pid_t child = fork();
    if (child == 0) {
        if (getuid() == 0 && setuid(65534) != 0)
            _exit(2);
        struct context_result result = list(&test, "{}");
        bool clear = !result.ok && result.error.code == CONTEXT_STORE_UNAVAILABLE &&
                     strstr(result.error.message, "Permission denied");
        _exit(clear ? 0 : 1);
    }
    int status = 0;
    cr_assert_eq(waitpid(child, &status, 0), child);
    cr_expect(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    context_test_end(&test);
}

// A file that may not grow stands for a full disk.
Test(context_store, full_disk_loses_nothing)
{
    struct context_test test = context_test_start_in_file();
    add_many(&test, 3);
    signal(SIGXFSZ, SIG_IGN);
    struct rlimit limit;
    cr_assert_eq(getrlimit(RLIMIT_FSIZE, &limit), 0);
    rlim_t before = limit.rlim_cur;
    limit.rlim_cur = 400 * 1024;
    cr_assert_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
    char *content = region_alloc(test.region, 1 << 20);
    memset(content, 'x', 1 << 20);
    value arguments = map_put_text(test.region, map_new(test.region), "content",
                                   value_string(test.region, (struct span){content, 1 << 20}));
    struct context_result result =
        context_operate(test.store, test.region, CONTEXT_OPERATION_ADD, arguments);
    limit.rlim_cur = before;
    cr_assert_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
    cr_assert_not(result.ok);
    cr_expect_str_eq(context_code_name(result.error.code), "store-unavailable");
    cr_expect(strstr(result.error.message, test.path));
    cr_expect_str_eq(ids_of(&test), "ctx-1 ctx-2 ctx-3");
    must_add(&test, "{\"content\":\"y\"}");
    cr_expect_str_eq(ids_of(&test), "ctx-1 ctx-2 ctx-3 ctx-4");
    context_test_end(&test);
}

Test(context_store, busy, .timeout = 60)
{
    struct context_test test = context_test_start_in_file();
    add_many(&test, 1);
    sqlite3 *database = NULL;
    cr_assert_eq(sqlite3_open(test.path, &database), SQLITE_OK);
    cr_assert_eq(sqlite3_exec(database, "BEGIN IMMEDIATE", NULL, NULL, NULL), SQLITE_OK);
    int64_t start = clock_now_ms();
    struct context_result result = add(&test, "{\"content\":\"x\"}");
    int64_t waited = clock_now_ms() - start;
    cr_assert_not(result.ok);
    cr_expect_str_eq(context_code_name(result.error.code), "store-busy");
    cr_expect(strstr(result.error.message, test.path));
    cr_expect_geq(waited, CONTEXT_BUSY_MS - 100);
    cr_expect_leq(waited, CONTEXT_BUSY_MS + 2000);
    cr_expect_str_eq(ids_of(&test), "ctx-1");
    // For a thread that must not block: the same error, at once.
    context_store_set_wait(test.store, 0);
    start = clock_now_ms();
    result = add(&test, "{\"content\":\"x\"}");
    cr_expect_str_eq(context_code_name(result.error.code), "store-busy");
    cr_expect_lt(clock_now_ms() - start, 1000);
    cr_expect_str_eq(ids_of(&test), "ctx-1");
    sqlite3_exec(database, "ROLLBACK", NULL, NULL, NULL);
    sqlite3_close(database);
    must_add(&test, "{\"content\":\"x\"}");
    context_test_end(&test);
}

static void count_call(void *data)
{
    ++*(int *)data;
}

static int64_t file_size(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 ? status.st_size : -1;
}

// A thread that must not wait for a disk leaves the log to another one.
Test(context_store, leaves_its_long_log_to_others)
{
    enum { ITEM = 100000, COUNT = 60 };  // more than 4 MB
    struct context_test test = context_test_start_in_file();
    int calls = 0;
    context_store_on_long_log(test.store, count_call, &calls);
    char *arguments = memory_alloc(ITEM + 32);
    int used = sprintf(arguments, "{\"content\":\"");
    memset(arguments + used, 'x', ITEM);
    strcpy(arguments + used + ITEM, "\"}");
    for (int i = 0; i < COUNT; i++)
        must_add(&test, arguments);
    cr_expect_gt(calls, 0);
    cr_expect_lt(file_size(test.path), ITEM, "the log was moved by this thread");
    cr_expect(context_log_move(test.path));
    cr_expect_gt(file_size(test.path), ITEM);
    // Without anybody else the store does it.
    context_store_on_long_log(test.store, NULL, NULL);
    char log[512];
    snprintf(log, sizeof(log), "%s-wal", test.path);
    for (int i = 0; i < 4 * COUNT; i++)
        must_add(&test, arguments);
    cr_expect_lt(file_size(log), 2 * COUNT * ITEM, "nobody moves the log");
    memory_free(arguments);
    context_test_end(&test);
}
