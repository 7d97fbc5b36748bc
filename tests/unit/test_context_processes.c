// Several processes on one file: W6, forks, and kills at any moment.
#include <signal.h>
#include <sqlite3.h>
#include <sys/wait.h>

#include "base/hash.h"
#include "context_support.h"

static void add_in_child(const char *path, int count)
{
    struct context_test test = {
        .store = context_store_new(path),
        .region = region_new((size_t)1 << 30),
    };
    for (int i = 0; i < count; i++) {
        struct context_result result = add(&test, "{\"content\":\"x\"}");
        if (!result.ok) {
            fprintf(stderr, "%s\n", result.error.message);
            _exit(1);
        }
        region_clear(test.region);
    }
    context_store_free(test.store);
    region_free(test.region);
    _exit(0);
}

static int64_t last_number(const char *path)
{
    sqlite3 *database = NULL;
    sqlite3_stmt *statement = NULL;
    cr_assert_eq(sqlite3_open(path, &database), SQLITE_OK);
    cr_assert_eq(sqlite3_prepare_v2(database, "SELECT seq FROM sqlite_sequence WHERE name='item'",
                                    -1, &statement, NULL),
                 SQLITE_OK);
    cr_assert_eq(sqlite3_step(statement), SQLITE_ROW);
    int64_t number = sqlite3_column_int64(statement, 0);
    sqlite3_finalize(statement);
    sqlite3_close(database);
    return number;
}

// Eight processes create the file together, too: nobody opened it before.
Test(context_processes, W6_eight_writers, .timeout = 120)
{
    enum { PROCESSES = 8, ADDS = 200 };
    struct context_test test = context_test_start_in_file();
    for (int i = 0; i < PROCESSES; i++) {
        if (fork() == 0)
            add_in_child(test.path, ADDS);
    }
    for (int i = 0; i < PROCESSES; i++) {
        int status = 0;
        cr_assert_gt(wait(&status), 0);
        cr_expect(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
    // Every add took a number of its own: none was given twice, or there would be fewer.
    cr_expect_eq(last_number(test.path), PROCESSES * ADDS);
    CLEANUP_BUFFER struct buffer expected;
    buffer_init(&expected, BUFFER_DEFAULT_LIMIT);
    for (int i = PROCESSES * ADDS - 49; i <= PROCESSES * ADDS; i++)
        buffer_append_format(&expected, "%sctx-%d", expected.length ? " " : "", i);
    cr_expect_str_eq(ids_of(&test), buffer_text(&expected));
    context_test_end(&test);
}

// The moment in which a file is created: nobody may take it for something else or find it locked.
Test(context_processes, many_create_the_file_at_once, .timeout = 120)
{
    enum { ROUNDS = 20, PROCESSES = 12 };
    for (int round = 0; round < ROUNDS; round++) {
        struct context_test test = context_test_start_in_file();
        for (int i = 0; i < PROCESSES; i++) {
            if (fork() == 0)
                add_in_child(test.path, 1);
        }
        for (int i = 0; i < PROCESSES; i++) {
            int status = 0;
            cr_assert_gt(wait(&status), 0);
            cr_assert(WIFEXITED(status) && WEXITSTATUS(status) == 0, "round %d", round);
        }
        cr_assert_eq(last_number(test.path), PROCESSES);
        context_test_end(&test);
    }
}

// SQLite's locks do not survive a fork; a child that used the file could destroy what others write.
Test(context_processes, a_child_of_an_open_store_is_refused)
{
    struct context_test test = context_test_start_in_file();
    must_add(&test, "{\"content\":\"parent\"}");
    pid_t child = fork();
    if (child == 0) {
        struct context_result inherited = add(&test, "{\"content\":\"child\"}");
        struct context_store *parents = test.store;
        test.store = context_store_new(test.path);
        struct context_result own = add(&test, "{\"content\":\"child\"}");
        context_store_free(test.store);
        context_store_free(parents);
        _exit(inherited.error.code == CONTEXT_STORE_UNAVAILABLE &&
                      own.error.code == CONTEXT_STORE_UNAVAILABLE
                  ? 0
                  : 1);
    }
    int status = 0;
    cr_assert_eq(waitpid(child, &status, 0), child);
    cr_expect(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    must_add(&test, "{\"content\":\"parent again\"}");
    cr_expect_str_eq(ids_of(&test), "ctx-1 ctx-2");
    context_test_end(&test);
}

static bool integrity_is_ok(const char *path)
{
    sqlite3 *database = NULL;
    sqlite3_stmt *statement = NULL;
    bool ok =
        sqlite3_open(path, &database) == SQLITE_OK &&
        sqlite3_prepare_v2(database, "PRAGMA integrity_check", -1, &statement, NULL) == SQLITE_OK &&
        sqlite3_step(statement) == SQLITE_ROW &&
        strcmp((const char *)sqlite3_column_text(statement, 0), "ok") == 0;
    sqlite3_finalize(statement);
    sqlite3_close(database);
    return ok;
}

// The child says each number after its add returned; whatever it said must be in the store.
static void add_and_report(const char *path, int pipe_end)
{
    struct context_test test = {
        .store = context_store_new(path),
        .region = region_new((size_t)1 << 30),
    };
    for (;;) {
        struct context_result result = add(&test, "{\"content\":\"killed at any moment\"}");
        if (!result.ok)
            _exit(1);
        int64_t number = 0;
        struct span id = value_text(map_get(map_get(result.structured, "item"), "id"));
        context_id_parse(id, &number);
        if (write(pipe_end, &number, sizeof(number)) != sizeof(number))
            _exit(1);
        region_clear(test.region);
    }
}

Test(context_processes, kill_at_any_moment, .timeout = 240)
{
    int rounds = getenv("CADRE_LONG") ? 600 : 200;
    struct context_test test = context_test_start_in_file();
    int64_t last = 0;
    for (int round = 0; round < rounds; round++) {
        int ends[2];
        context_test_reopen(&test);  // closed while forking
        cr_assert_eq(pipe(ends), 0);
        pid_t child = fork();
        if (child == 0)
            add_and_report(test.path, ends[1]);
        close(ends[1]);
        // Every second child is killed after its first add at the earliest, however slow the machine.
        if (round % 2 == 1)
            cr_assert_eq(read(ends[0], &last, sizeof(last)), (ssize_t)sizeof(last));
        usleep((useconds_t)(hash_u64((uint64_t)round, 7) % 12000));
        cr_assert_eq(kill(child, SIGKILL), 0);
        int status = 0;
        cr_assert_eq(waitpid(child, &status, 0), child);
        cr_assert(WIFSIGNALED(status), "the child ended by itself");
        int64_t number = 0;
        while (read(ends[0], &number, sizeof(number)) == sizeof(number)) {
            cr_assert_gt(number, last, "a number came back");
            last = number;
        }
        close(ends[0]);
        cr_assert(integrity_is_ok(test.path), "round %d", round);
        if (last > 0)
            cr_assert_geq(last_number(test.path), last, "an add that was confirmed is lost");
        struct context_item item;
        struct context_error error;
        if (last > 0)
            cr_assert(context_store_get(test.store, test.region, last, &item, &error), "%s",
                      error.message);
    }
    cr_assert_gt(last, 0);
    context_test_end(&test);
}
