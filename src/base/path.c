#include "base/path.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/memory.h"

static int make_directory(const char *directory)
{
    return mkdir(directory, 0700) < 0 && errno != EEXIST ? -errno : 0;
}

int path_make_directories(const char *directory)
{
    CLEANUP_FREE char *path = memory_copy_text(directory, strlen(directory));
    for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        int failed = make_directory(path);
        *slash = '/';
        if (failed < 0)
            return failed;
    }
    return make_directory(path);
}

static char *path_under(const char *variable, const char *fallback, const char *name)
{
    const char *directory = getenv(variable), *home = getenv("HOME");
    if (directory && *directory == '/')
        return memory_format("%s/cadre/%s", directory, name);
    if (home && *home == '/')
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
