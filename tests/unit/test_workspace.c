// Which directory is the workspace.
#include <criterion/criterion.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "session/workspace/workspace.h"

static char base[PATH_MAX];

static const char *in_base(const char *name)
{
    static char path[PATH_MAX + 64];
    snprintf(path, sizeof(path), "%s%s", base, name);
    return path;
}

static void setup(void)
{
    char template[] = "/tmp/workspace-XXXXXX";
    cr_assert(mkdtemp(template) && realpath(template, base));
    mkdir(in_base("/home"), 0700);
    mkdir(in_base("/home/project"), 0700);
    mkdir(in_base("/home/project/src"), 0700);
    mkdir(in_base("/plain"), 0700);
    setenv("HOME", in_base("/home"), 1);
    unsetenv("XDG_STATE_HOME");
}

static void teardown(void)
{
    char command[PATH_MAX + 64];
    snprintf(command, sizeof(command), "rm -rf %s", base);
    cr_assert(chdir("/") == 0 && system(command) == 0);
}

TestSuite(workspace, .init = setup, .fini = teardown);

static void expect(const char *given, const char *root, enum workspace_origin origin,
                   const char *path)
{
    struct workspace workspace;
    struct error error;
    cr_assert(workspace_resolve(given, root, &workspace, &error), "%s", error.message);
    cr_expect_eq(workspace.origin, origin, "%d is not %d", workspace.origin, origin);
    cr_expect_str_eq(workspace.path, in_base(path));
    workspace_release(&workspace);
}

static void put(const char *path)
{
    FILE *file = fopen(in_base(path), "w");
    cr_assert(file);
    fclose(file);
}

Test(workspace, the_project_around_the_working_directory)
{
    cr_assert_eq(chdir(in_base("/home/project/src")), 0);
    expect(NULL, NULL, WORKSPACE_DIRECTORY, "/home/project/src");
    put("/home/project/app.asd");
    expect(NULL, NULL, WORKSPACE_PROJECT, "/home/project");
    mkdir(in_base("/home/project/src/.cadre"), 0700);
    expect(NULL, NULL, WORKSPACE_PROJECT, "/home/project/src");
}

Test(workspace, a_worktree_has_a_file)
{
    put("/plain/.git");
    cr_assert_eq(chdir(in_base("/plain")), 0);
    expect(NULL, NULL, WORKSPACE_PROJECT, "/plain");
}

Test(workspace, what_is_given_comes_first)
{
    cr_assert_eq(chdir(in_base("/plain")), 0);
    expect(NULL, in_base("/home/project"), WORKSPACE_ROOT, "/home/project");
    char root[PATH_MAX];
    snprintf(root, sizeof(root), "%s", in_base("/home/project"));
    expect(in_base("/home/project/src"), root, WORKSPACE_GIVEN, "/home/project/src");
    expect(NULL, "/no/such/directory", WORKSPACE_DIRECTORY, "/plain");
}

Test(workspace, home_is_none_whatever_lies_there)
{
    mkdir(in_base("/home/.git"), 0700);
    put("/a.asd");
    cr_assert_eq(chdir(in_base("/home")), 0);
    expect(NULL, NULL, WORKSPACE_SCRATCH, "/home/.local/state/cadre/scratch");
    cr_assert_eq(chdir(in_base("/")), 0);
    expect(NULL, NULL, WORKSPACE_SCRATCH, "/home/.local/state/cadre/scratch");
    cr_assert_eq(chdir(in_base("/home/project")), 0);
    expect(NULL, NULL, WORKSPACE_DIRECTORY, "/home/project");
    expect(NULL, "/", WORKSPACE_SCRATCH, "/home/.local/state/cadre/scratch");
    expect(NULL, in_base("/home/project/src/../.."), WORKSPACE_SCRATCH,
           "/home/.local/state/cadre/scratch");
}

Test(workspace, a_link_is_what_it_leads_to)
{
    cr_assert_eq(symlink("../home", in_base("/plain/link")), 0);
    cr_assert_eq(chdir(in_base("/plain/link")), 0);
    expect(NULL, NULL, WORKSPACE_SCRATCH, "/home/.local/state/cadre/scratch");
}

Test(workspace, a_given_one_that_cannot_be_is_an_error)
{
    static const char *const wrong[] = {
        "/", "/tmp", "/usr", "/usr/lib", "/etc", "/proc/self", "/no/such/directory", "/etc/passwd"};
    struct workspace workspace;
    struct error error;
    for (size_t i = 0; i < COUNT_OF(wrong); i++)
        cr_expect(!workspace_resolve(wrong[i], NULL, &workspace, &error), "%s", wrong[i]);
    cr_expect(!workspace_resolve(in_base("/home"), NULL, &workspace, &error));
}
