// Directories and files that only the user may write.
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/path.h"
#include "base/private.h"

static char place[] = "/tmp/test-private-XXXXXX";

static void set_up(void)
{
    cr_assert(mkdtemp(place));
    setenv("XDG_STATE_HOME", place, 1);
    setenv("XDG_CACHE_HOME", place, 1);
}

static void tear_down(void)
{
    char command[128];
    snprintf(command, sizeof(command), "rm -rf %s", place);
    cr_assert_eq(system(command), 0);
}

TestSuite(private, .init = set_up, .fini = tear_down);

static char *inside(const char *name)
{
    static char path[256];
    snprintf(path, sizeof(path), "%s/%s", place, name);
    return path;
}

static unsigned mode_of(const char *path)
{
    struct stat status;
    cr_assert_eq(lstat(path, &status), 0, "%s", path);
    return status.st_mode & 07777;
}

static void expect_refused(const char *name, const char *reason)
{
    CLEANUP_FREE char *directory = path_in_state(name);
    struct error error;
    cr_expect_not(private_make_directory(directory, &error), "%s", directory);
    cr_expect(strstr(error.message, reason), "%s", error.message);
}

Test(private, directories_are_made_for_the_user_alone)
{
    CLEANUP_FREE char *directory = path_in_state("a/b");
    struct error error;
    umask(0);
    cr_assert(private_make_directory(directory, &error), "%s", error.message);
    cr_assert(private_make_directory(directory, &error), "%s", error.message);
    cr_expect_eq(mode_of(directory), 0700);
    cr_expect_eq(mode_of(inside("cadre")), 0700);
    CLEANUP_FREE char *file = path_in_state("c/file");
    cr_assert(private_make_parent(file, &error), "%s", error.message);
    cr_expect_eq(mode_of(inside("cadre/c")), 0700);
}

Test(private, an_open_directory_is_closed_to_others)
{
    struct error error;
    CLEANUP_FREE char *directory = path_in_state("a");
    cr_assert_eq(mkdir(inside("cadre"), 0777), 0);
    cr_assert_eq(chmod(inside("cadre"), 0777), 0);
    cr_assert(private_make_directory(directory, &error), "%s", error.message);
    cr_expect_eq(mode_of(inside("cadre")), 0700);
}

Test(private, links_and_files_are_no_directories)
{
    cr_assert_eq(mkdir(inside("elsewhere"), 0700), 0);
    CLEANUP_FREE char *target = memory_copy_string(inside("elsewhere"));
    cr_assert_eq(symlink(target, inside("cadre")), 0);
    expect_refused("", "is a link");
    expect_refused("a", "is a link");
    cr_assert_eq(unlink(inside("cadre")), 0);
    cr_assert_eq(mkdir(inside("cadre"), 0700), 0);
    cr_assert_eq(symlink(target, inside("cadre/a")), 0);
    expect_refused("a/b", "is a link");
    cr_assert_eq(unlink(inside("cadre/a")), 0);
    close(open(inside("cadre/a"), O_CREAT | O_WRONLY, 0600));
    expect_refused("a", "no directory");
}

Test(private, what_another_user_made_is_not_used)
{
    if (geteuid() != 0)
        return;  // only root can make it
    cr_assert_eq(mkdir(inside("cadre"), 0777), 0);
    cr_assert_eq(chown(inside("cadre"), 65534, 65534), 0);
    expect_refused("", "belongs to another user");
    expect_refused("a", "belongs to another user");
    struct error error;
    close(open(inside("core"), O_CREAT | O_WRONLY, 0600));
    cr_expect(private_check_file(inside("core"), &error));
    cr_assert_eq(chown(inside("core"), 65534, 65534), 0);
    cr_expect_not(private_check_file(inside("core"), &error));
    cr_expect(strstr(error.message, "belongs to another user"), "%s", error.message);
}

Test(private, files_that_others_can_write_are_not_used)
{
    struct error error;
    close(open(inside("core"), O_CREAT | O_WRONLY, 0644));
    cr_expect(private_check_file(inside("core"), &error));
    static const mode_t wrong[] = {0646, 0664, 0602, 0620};
    for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
        cr_assert_eq(chmod(inside("core"), wrong[i]), 0);
        cr_expect_not(private_check_file(inside("core"), &error), "%o", wrong[i]);
    }
    cr_expect_not(private_check_file(place, &error));
    cr_expect_not(private_check_file(inside("none"), &error));
}

static bool write_new(const char *path, bool replace, bool *ret_made)
{
    struct private_file file;
    struct error error;
    cr_assert(private_create(path, &file, &error), "%s", error.message);
    cr_assert_eq(write(file.descriptor, "new", 3), 3);
    return private_create_commit(&file, replace, ret_made, &error);
}

Test(private, new_files_replace_links_and_follow_none)
{
    bool made;
    umask(0);
    close(open(inside("victim"), O_CREAT | O_WRONLY, 0600));
    CLEANUP_FREE char *victim = memory_copy_string(inside("victim"));
    cr_assert_eq(symlink(victim, inside("file")), 0);
    cr_expect(write_new(inside("file"), true, &made) && made);
    cr_expect_eq(mode_of(inside("file")), 0600);
    struct stat status;
    cr_assert_eq(lstat(inside("file"), &status), 0);
    cr_expect(S_ISREG(status.st_mode) && status.st_size == 3);
    cr_assert_eq(stat(victim, &status), 0);
    cr_expect_eq(status.st_size, 0);
}

Test(private, the_first_of_two_files_stays)
{
    bool made;
    cr_expect(write_new(inside("file"), false, &made) && made);
    struct stat before, after;
    cr_assert_eq(stat(inside("file"), &before), 0);
    cr_expect(write_new(inside("file"), false, &made) && !made);
    cr_assert_eq(stat(inside("file"), &after), 0);
    cr_expect_eq(before.st_ino, after.st_ino);
    struct private_file file;
    struct error error;
    cr_assert(private_create(inside("file"), &file, &error));
    CLEANUP_FREE char *temporary = memory_copy_string(file.temporary);
    private_create_abandon(&file);
    cr_expect(access(temporary, F_OK) < 0 && errno == ENOENT);
}
