// The sandbox's rules about paths. One path lies within another when its components begin with the
// other's; a `.git` file that somebody else wrote gives no right to read, and protects nothing
// outside of the workspace. Input: two lines with paths, then the content of `.git`.
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/assert.h"
#include "base/memory.h"
#include "fuzz.h"
#include "session/workspace/protected.h"
#include "session/workspace/workspace.h"

static char workspace[PATH_MAX];

static void remove_workspace(void)
{
    static const char *const files[] = {"work/.git", "work/own/HEAD", "elsewhere/HEAD"};
    static const char *const directories[] = {
        "work/own/objects", "work/own/refs", "work/own", "elsewhere/objects",
        "elsewhere/refs",   "elsewhere",     "work",     ""};
    for (size_t i = 0; i < COUNT_OF(files); i++) {
        CLEANUP_FREE char *path = memory_format("%s/../%s", workspace, files[i]);
        unlink(path);
    }
    for (size_t i = 0; i < COUNT_OF(directories); i++) {
        CLEANUP_FREE char *path =
            memory_format("%.*s/%s", (int)(strlen(workspace) - 5), workspace, directories[i]);
        rmdir(path);
    }
}

// A workspace with a repository in it, and one beside it that does not know this worktree.
static void make_workspace(void)
{
    static const char *const repositories[] = {"work/own", "elsewhere"};
    static const char *const parts[] = {"", "/objects", "/refs"};
    char base[] = "/tmp/cadre-fuzz-paths-XXXXXX";
    CHECK(mkdtemp(base));
    snprintf(workspace, sizeof(workspace), "%s/work", base);
    CHECK(mkdir(workspace, 0700) == 0);
    for (size_t i = 0; i < COUNT_OF(repositories); i++) {
        for (size_t k = 0; k < COUNT_OF(parts); k++) {
            CLEANUP_FREE char *path = memory_format("%s/%s%s", base, repositories[i], parts[k]);
            CHECK(mkdir(path, 0700) == 0);
        }
        CLEANUP_FREE char *head = memory_format("%s/%s/HEAD", base, repositories[i]);
        close(open(head, O_WRONLY | O_CREAT, 0600));
    }
    atexit(remove_workspace);
}

// By components, as the rule says it.
static bool is_within(const char *path, const char *directory)
{
    while (true) {
        path += strspn(path, "/");
        directory += strspn(directory, "/");
        size_t length = strcspn(directory, "/");
        if (length == 0)
            return true;
        if (strcspn(path, "/") != length || memcmp(path, directory, length) != 0)
            return false;
        path += length;
        directory += length;
    }
}

// A real path: absolute, no empty component, no slash at its end.
static bool is_real(const char *path)
{
    size_t length = strlen(path);
    return path[0] == '/' && !strstr(path, "//") && (length == 1 || path[length - 1] != '/');
}

static void check_git_file(const char *content, size_t size)
{
    static struct path_list read, protect;
    CLEANUP_FREE char *path = memory_format("%s/.git", workspace);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    CHECK(fd >= 0 && write(fd, content, size) == (ssize_t)size);
    close(fd);
    protected_collect(workspace, &read, &protect);
    CHECK(read.count == 0);
    CHECK(protect.count >= 1 && strcmp(protect.paths[0], path) == 0);
    for (size_t i = 0; i < protect.count; i++)
        CHECK(is_within(protect.paths[i], workspace) && strcmp(protect.paths[i], workspace) != 0);
    path_list_release(&read);
    path_list_release(&protect);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (!*workspace)
        make_workspace();
    CLEANUP_FREE char *text = memory_copy_text((const char *)data, size);
    char *first = text, *end = strchr(first, '\n');
    char *second = end ? end + 1 : NULL, *rest = second ? strchr(second, '\n') : NULL;
    if (!rest)
        return 0;
    *end = *rest++ = '\0';
    if (is_real(first) && is_real(second))
        CHECK(path_is_within(first, second) == is_within(first, second));
    check_git_file(rest, size - (size_t)(rest - text));
    return 0;
}
