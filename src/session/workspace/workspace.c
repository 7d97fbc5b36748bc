#include "session/workspace/workspace.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/memory.h"
#include "base/path.h"
#include "base/private.h"

bool path_is_within(const char *path, const char *directory)
{
    size_t length = strlen(directory);
    if (length == 1)
        return true;  // the root
    return strncmp(path, directory, length) == 0 && (path[length] == '/' || !path[length]);
}

// --- what is never a workspace -------------------------------------------------------------------

static bool is_listed(const char *path, const char *const *list, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(path, list[i]) == 0)
            return true;
    return false;
}

static bool is_system_directory(const char *path)
{
    // Themselves; projects lie below some of them.
    static const char *const themselves[] = {
        "/",         "/tmp",       "/var",       "/var/tmp", "/var/lib",
        "/var/log",  "/var/cache", "/var/spool", "/var/run", "/opt",
        "/srv",      "/home",      "/root",      "/mnt",     "/media",
        "/snap",     "/nix",       "/gnu",       "/run",     "/run/user",
        "/run/lock", "/usr/src",   "/usr/local", "/Users",   "/usr/local/src",
        "/dev/shm"};
    // With everything below them, except the sources of the machine's owner.
    static const char *const trees[] = {"/bin", "/sbin", "/lib",  "/lib32", "/lib64", "/libx32",
                                        "/usr", "/etc",  "/boot", "/dev",   "/proc",  "/sys"};
    if (is_listed(path, themselves, COUNT_OF(themselves)))
        return true;
    if (path_is_within(path, "/usr/src") || path_is_within(path, "/usr/local/src") ||
        path_is_within(path, "/dev/shm"))
        return false;
    for (size_t i = 0; i < COUNT_OF(trees); i++)
        if (path_is_within(path, trees[i]))
            return true;
    return false;
}

// Is the path the directory or below it, symbolic links followed?
static bool holds(const char *directory, const char *path)
{
    char real[PATH_MAX];
    return path && *path == '/' && path_is_within(realpath(path, real) ? real : path, directory);
}

bool workspace_is_forbidden(const char *path)
{
    const struct passwd *user = getpwuid(getuid());
    return is_system_directory(path) || holds(path, getenv("HOME")) ||
           (user && holds(path, user->pw_dir));
}

// --- finding it ----------------------------------------------------------------------------------

static bool has_system_definition(const char *directory)
{
    enum { ENTRIES_MAX = 20000 };
    bool found = false;
    DIR *entries = opendir(directory);
    struct dirent *entry;
    for (int i = 0; i < ENTRIES_MAX && entries && !found && (entry = readdir(entries)); i++) {
        size_t length = strlen(entry->d_name);
        found = length > 4 && strcmp(entry->d_name + length - 4, ".asd") == 0;
    }
    if (entries)
        closedir(entries);
    return found;
}

static bool holds_project(const char *directory)
{
    static const char *const marks[] = {".cadre", ".git"};
    struct stat status;
    for (size_t i = 0; i < COUNT_OF(marks); i++) {
        CLEANUP_FREE char *path = memory_format("%s/%s", directory, marks[i]);
        if (stat(path, &status) == 0)
            return true;
    }
    return has_system_definition(directory);
}

// The nearest ancestor of the directory, or itself, that holds a project. What is above a directory
// that is never a workspace is none, either.
static char *find_project(const char *directory)
{
    char *path = memory_copy_string(directory);
    while (!workspace_is_forbidden(path)) {
        if (holds_project(path))
            return path;
        *strrchr(path, '/') = '\0';
        if (!*path)
            break;
    }
    memory_free(path);
    return NULL;
}

static bool use_scratch(const char *refused, struct workspace *ret_workspace, struct error *error)
{
    CLEANUP_FREE char *path = path_in_state("scratch");
    char real[PATH_MAX];
    if (!path)
        return error_set(error, ERROR_INVALID,
                         "no directory for a scratch workspace: set HOME or XDG_STATE_HOME, or "
                         "give --workspace");
    if (!private_make_directory(path, error))
        return false;
    if (!realpath(path, real))
        return error_set(error, ERROR_INVALID, "no directory for a scratch workspace: %s", path);
    *ret_workspace = (struct workspace){.path = memory_copy_string(real),
                                        .origin = WORKSPACE_SCRATCH,
                                        .refused = memory_copy_string(refused)};
    return true;
}

static bool use_given(const char *given, struct workspace *ret_workspace, struct error *error)
{
    char real[PATH_MAX];
    struct stat status;
    if (!realpath(given, real) || stat(real, &status) < 0 || !S_ISDIR(status.st_mode)) {
        error_set(error, ERROR_INVALID, "--workspace %s: %s", given,
                  strerror(errno ? errno : ENOTDIR));
        return false;
    }
    if (workspace_is_forbidden(real)) {
        error_set(error, ERROR_INVALID,
                  "--workspace %s: never a workspace (the root, the home directory and what is "
                  "above it, /tmp, system directories)",
                  real);
        return false;
    }
    *ret_workspace =
        (struct workspace){.path = memory_copy_string(real), .origin = WORKSPACE_GIVEN};
    return true;
}

bool workspace_resolve(const char *given, const char *root, struct workspace *ret_workspace,
                       struct error *error)
{
    char real[PATH_MAX];
    struct stat status;
    errno = 0;
    if (given)
        return use_given(given, ret_workspace, error);
    if (root && realpath(root, real) && stat(real, &status) == 0 && S_ISDIR(status.st_mode)) {
        if (workspace_is_forbidden(real))
            return use_scratch(real, ret_workspace, error);
        *ret_workspace =
            (struct workspace){.path = memory_copy_string(real), .origin = WORKSPACE_ROOT};
        return true;
    }
    if (!realpath(".", real))
        return use_scratch("the working directory, which cannot be read,", ret_workspace, error);
    char *project = find_project(real);
    if (!project && workspace_is_forbidden(real))
        return use_scratch(real, ret_workspace, error);
    *ret_workspace = (struct workspace){
        .path = project ? project : memory_copy_string(real),
        .origin = project ? WORKSPACE_PROJECT : WORKSPACE_DIRECTORY,
    };
    return true;
}

void workspace_release(struct workspace *workspace)
{
    memory_free(workspace->path);
    memory_free(workspace->refused);
    *workspace = (struct workspace){0};
}
