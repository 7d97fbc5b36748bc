#include "base/path.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/memory.h"

static int make_directory(const char *directory)
{
    if (mkdir(directory, 0700) == 0 || errno == EEXIST)
        return 0;
    // mkdir() may fail otherwise for a directory that exists (read-only file system).
    int cause = errno;
    struct stat status;
    return stat(directory, &status) == 0 ? 0 : -cause;
}

int path_make_parents(const char *file)
{
    if (!*file)
        return -ENOENT;
    CLEANUP_FREE char *path = memory_copy_string(file);
    for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        int failed = make_directory(path);
        *slash = '/';
        if (failed < 0)
            return failed;
    }
    return 0;
}

int path_make_directories(const char *directory)
{
    int failed = path_make_parents(directory);
    return failed < 0 ? failed : make_directory(directory);
}

static char *path_under(const char *variable, const char *fallback, const char *name)
{
    const char *directory = getenv(variable), *home = getenv("HOME");
    if (directory && *directory == '/')
        return memory_format("%s/cadre/%s", directory, name);
    if (fallback && home && *home == '/')
        return memory_format("%s/%s/cadre/%s", home, fallback, name);
    return NULL;
}

char *path_in_state(const char *name)
{
    return path_under("XDG_STATE_HOME", ".local/state", name);
}

char *path_in_cache(const char *name)
{
    return path_under("XDG_CACHE_HOME", ".cache", name);
}

char *path_in_configuration(const char *name)
{
    return path_under("XDG_CONFIG_HOME", ".config", name);
}

char *path_in_runtime(const char *name)
{
    return path_under("XDG_RUNTIME_DIR", NULL, name);
}

char *path_of_program(void)
{
    char path[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", path, sizeof(path));
    return memory_copy_text(path, length > 0 ? (size_t)length : 0);
}

int path_open_real(const char *path, int flags)
{
    struct open_how how = {.flags = (unsigned)flags, .resolve = RESOLVE_NO_SYMLINKS};
    int fd = (int)syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof(how));
    // Linux before 5.6 has no Landlock either: nothing keeps sessions in their directories there.
    return fd < 0 && errno == ENOSYS ? open(path, flags | O_NOFOLLOW) : fd;
}
