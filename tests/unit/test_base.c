// The small modules of the base layer: hash, clock, log and path.
#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/path.h"

Test(hash, depends_on_every_byte_and_on_the_seed)
{
    char text[] = "some text of more than eight bytes";
    uint64_t before = hash_bytes(text, sizeof(text), 1);
    for (size_t i = 0; i < sizeof(text); i++) {
        text[i] ^= 1;
        cr_expect_neq(hash_bytes(text, sizeof(text), 1), before);
        text[i] ^= 1;
    }
    cr_expect_eq(hash_bytes(text, sizeof(text), 1), before);
    cr_expect_neq(hash_bytes(text, sizeof(text), 2), before);
    cr_expect_eq(hash_seed(), hash_seed());
}

Test(log, drops_lines_when_no_one_reads_them, .timeout = 30)
{
    int ends[2];
    cr_assert_eq(pipe(ends), 0);
    cr_assert_eq(dup2(ends[1], STDERR_FILENO), STDERR_FILENO);
    for (int i = 0; i < 10000; i++)
        log_error("line %d", i);
    char text[21];
    cr_assert_eq(read(ends[0], text, 20), 20);
    text[20] = '\0';
    cr_expect_str_eq(text, "cadre: error: line 0");
}

Test(clock, formats_utc_and_never_goes_back)
{
    char text[CLOCK_ISO_SIZE];
    clock_format_iso(1767225600, text);
    cr_expect_str_eq(text, "2026-01-01T00:00:00Z");
    int64_t before = clock_now_ns();
    cr_expect_leq(before, clock_now_ns());
}

Test(path, places_of_the_user)
{
    static const struct {
        const char *cache, *home, *expected;
    } cases[] = {
        {"/c", "/h", "/c/cadre/x"},      {NULL, "/h", "/h/.cache/cadre/x"},
        {"", "/h", "/h/.cache/cadre/x"}, {"relative", "/h", "/h/.cache/cadre/x"},
        {NULL, "relative", NULL},        {NULL, NULL, NULL},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        unsetenv("XDG_CACHE_HOME");
        unsetenv("HOME");
        if (cases[i].cache)
            setenv("XDG_CACHE_HOME", cases[i].cache, 1);
        if (cases[i].home)
            setenv("HOME", cases[i].home, 1);
        CLEANUP_FREE char *path = path_in_cache("x");
        if (cases[i].expected)
            cr_expect_str_eq(path, cases[i].expected);
        else
            cr_expect_null(path);
    }
}

Test(path, makes_directories)
{
    char root[] = "/tmp/cadre-path-XXXXXX";
    cr_assert_not_null(mkdtemp(root));
    CLEANUP_FREE char *file = memory_format("%s/a/b/file", root);
    CLEANUP_FREE char *above = memory_format("%s/a/b", root);
    CLEANUP_FREE char *first = memory_format("%s/a", root);
    CLEANUP_FREE char *below = memory_format("%s/below", file);
    struct stat status;
    cr_expect_eq(path_make_parents(file), 0);
    cr_expect_eq(stat(above, &status), 0);
    cr_expect_eq(status.st_mode & 0777, 0700);
    cr_expect_eq(access(file, F_OK), -1);
    cr_expect_eq(path_make_directories(file), 0);
    cr_expect_eq(path_make_directories(file), 0);
    cr_expect_eq(rmdir(file), 0);
    FILE *plain = fopen(file, "w");
    fclose(plain);
    cr_expect_eq(path_make_directories(below), -ENOTDIR);
    cr_expect_eq(path_make_parents(""), -ENOENT);
    cr_expect_eq(unlink(file) | rmdir(above) | rmdir(first) | rmdir(root), 0);
}

Test(memory, large_pages_are_zero_and_move_with_their_bytes)
{
    size_t page = MEMORY_LARGE_PAGE;
    char *memory = memory_try_map(page);
    cr_assert_not_null(memory);
    cr_expect_eq((uintptr_t)memory % page, 0);
    cr_expect(memory[0] == 0 && memory[page - 1] == 0);
    memory[0] = memory[page - 1] = 'x';
    memory = memory_try_remap(memory, page, 3 * page);
    cr_assert_not_null(memory);
    cr_expect(memory[0] == 'x' && memory[page - 1] == 'x' && memory[3 * page - 1] == 0);
    memory_unmap(memory, 3 * page);
    memory_fail_nth(1);
    cr_expect_null(memory_try_map(page));
    memory_fail_nth(0);
}
