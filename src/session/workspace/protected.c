#include "session/workspace/protected.h"

#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/memory.h"
#include "session/workspace/workspace.h"

const char *const protected_names[] = {".git",    ".cadre", ".mcp.json", ".claude",
                                       ".vscode", ".idea",  ".envrc"};
const size_t protected_name_count = COUNT_OF(protected_names);

bool protected_is_name(const char *name)
{
    for (size_t i = 0; i < protected_name_count; i++)
        if (strcmp(name, protected_names[i]) == 0)
            return true;
    return false;
}

// --- lists of paths ------------------------------------------------------------------------------

void path_list_add(struct path_list *list, const char *format, ...)
{
    if (list->count == REACH_PATHS_MAX)
        return;
    va_list arguments;
    va_start(arguments, format);
    list->paths[list->count++] = memory_format_list(SIZE_MAX, format, arguments);
    va_end(arguments);
}

void path_list_append(struct path_list *list, const struct path_list *more)
{
    for (size_t i = 0; i < more->count; i++)
        path_list_add(list, "%s", more->paths[i]);
}

void path_list_release(struct path_list *list)
{
    for (size_t i = 0; i < list->count; i++)
        memory_free((char *)(uintptr_t)list->paths[i]);
    *list = (struct path_list){0};
}

// --- worktrees of git ----------------------------------------------------------------------------

// The first line of a small file, without `prefix`. False: it is not so.
static bool read_line(const char *path, const char *prefix, char line[PATH_MAX])
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    ssize_t length = fd < 0 ? -1 : read(fd, line, PATH_MAX - 1);
    if (fd >= 0)
        close(fd);
    if (length <= 0)
        return false;
    line[length] = '\0';
    line[strcspn(line, "\n")] = '\0';
    size_t skipped = strlen(prefix);
    if (strncmp(line, prefix, skipped) != 0)
        return false;
    memmove(line, line + skipped, strlen(line + skipped) + 1);
    return true;
}

// The real path of the directory named in a file, relative to `base`.
static bool follow(const char *file, const char *prefix, const char *base, char real[PATH_MAX])
{
    char line[PATH_MAX];
    if (!read_line(file, prefix, line))
        return false;
    CLEANUP_FREE char *path =
        *line == '/' ? memory_copy_string(line) : memory_format("%s/%s", base, line);
    return realpath(path, real) != NULL;
}

static bool has_entry(const char *directory, const char *name)
{
    CLEANUP_FREE char *path = memory_format("%s/%s", directory, name);
    return access(path, F_OK) == 0;
}

static bool is_below(const char *path, const char *directory)
{
    return path_is_within(path, directory) && strcmp(path, directory) != 0;
}

// git keeps what belongs to a worktree at worktrees/NAME of its repository.
static bool is_worktree_of(const char *repository, const char *common)
{
    size_t length = strlen(common);
    const char *name = strrchr(repository, '/');
    return is_below(repository, common) && strncmp(repository + length, "/worktrees", 10) == 0 &&
           name == repository + length + 10;
}

// `.git` is a file in a worktree. It could name any directory: one elsewhere may be read only when it
// names this worktree in turn, and where git keeps it, which only git writes; a directory of the
// workspace that pretends so could name any repository. One in the workspace is protected anyway.
static void collect_worktree(const char *workspace, struct path_list *read,
                             struct path_list *protect)
{
    char repository[PATH_MAX], common[PATH_MAX], back[PATH_MAX];
    CLEANUP_FREE char *file = memory_format("%s/.git", workspace);
    if (!follow(file, "gitdir: ", workspace, repository))
        return;
    CLEANUP_FREE char *back_file = memory_format("%s/gitdir", repository);
    CLEANUP_FREE char *common_file = memory_format("%s/commondir", repository);
    bool is_known = follow(back_file, "", repository, back) && strcmp(back, file) == 0;
    bool has_common = follow(common_file, "", repository, common) &&
                      is_worktree_of(repository, common) && has_entry(common, "HEAD") &&
                      has_entry(common, "objects") && has_entry(common, "refs");
    const char *const found[] = {repository, has_common ? common : NULL};
    for (size_t i = 0; i < COUNT_OF(found) && found[i]; i++) {
        if (is_known)
            path_list_add(read, "%s", found[i]);
        if (is_known || is_below(found[i], workspace))
            path_list_add(protect, "%s", found[i]);
    }
}

void protected_collect(const char *workspace, struct path_list *read, struct path_list *protect)
{
    struct stat status;
    char real[PATH_MAX];
    for (size_t i = 0; i < protected_name_count; i++) {
        CLEANUP_FREE char *path = memory_format("%s/%s", workspace, protected_names[i]);
        if (lstat(path, &status) < 0)
            continue;
        if (S_ISREG(status.st_mode) || S_ISDIR(status.st_mode))
            path_list_add(protect, "%s", path);
        // What a link leads to, where the session could write it.
        else if (S_ISLNK(status.st_mode) && realpath(path, real) && is_below(real, workspace))
            path_list_add(protect, "%s", real);
    }
    collect_worktree(workspace, read, protect);
}
