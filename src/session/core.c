#include "session/core.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/memory.h"
#include "base/path.h"
#include "config.h"

static bool is_readable(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && S_ISREG(status.st_mode) && access(path, R_OK) == 0;
}

static int give_path(char *path, char **ret_path)
{
    if (!is_readable(path)) {
        memory_free(path);
        return -ENOENT;
    }
    *ret_path = path;
    return 0;
}

int session_find_sbcl(const struct session_config *config, char **ret_path)
{
    const char *name = config->sbcl ? config->sbcl : "sbcl";
    if (strchr(name, '/')) {
        if (access(name, X_OK) < 0)
            return -ENOENT;
        *ret_path = memory_copy_string(name);
        return 0;
    }
    const char *rest = getenv("PATH");
    if (!rest || !*rest)
        rest = "/usr/local/bin:/usr/bin:/bin";
    while (*rest) {
        size_t length = strcspn(rest, ":");
        char *path = memory_format("%.*s/%s", (int)length, rest, name);
        struct stat status;
        if (length > 0 && access(path, X_OK) == 0 && stat(path, &status) == 0 &&
            S_ISREG(status.st_mode)) {
            *ret_path = path;
            return 0;
        }
        memory_free(path);
        rest += length + (rest[length] == ':');
    }
    return -ENOENT;
}

static bool executable_path(char path[PATH_MAX])
{
    ssize_t length = readlink("/proc/self/exe", path, PATH_MAX - 1);
    if (length <= 0)
        return false;
    path[length] = 0;
    return true;
}

// The program runs from its build directory: then that is where its parts are.
static bool runs_from_build(void)
{
    char path[PATH_MAX];
    size_t directory = strlen(CADRE_BUILDDIR);
    return executable_path(path) && strncmp(path, CADRE_BUILDDIR, directory) == 0 &&
           path[directory] == '/';
}

// Near the executable, wherever the installed tree was moved to, else where it was meant to be.
static char *installed_directory(void)
{
    char path[PATH_MAX], found[PATH_MAX];
    if (executable_path(path)) {
        CLEANUP_FREE char *near = memory_format("%.*s" CADRE_LIBDIR_FROM_BINDIR,
                                                (int)(strrchr(path, '/') + 1 - path), path);
        if (realpath(near, found))
            return memory_copy_string(found);
    }
    return memory_copy_string(CADRE_LIBDIR);
}

static char *part_path_from(const char *directory, const char *name, const char *installed)
{
    if (runs_from_build())
        return memory_format("%s/%s", directory, name);
    CLEANUP_FREE char *library = installed_directory();
    return memory_format("%s/%s", library, installed);
}

static char *shipped_core(void)
{
    return part_path_from(CADRE_BUILDDIR, "lisp/cadre.core", "cadre.core");
}

int session_find_core_builder(char **ret_path)
{
    char *path = part_path_from(CADRE_SOURCE_DIR, "scripts/build-core", "scripts/build-core");
    if (access(path, X_OK) < 0) {
        memory_free(path);
        return -ENOENT;
    }
    *ret_path = path;
    return 0;
}

static unsigned region_tables_of(const struct session_config *config)
{
    return config->heap_mb ? config->heap_mb : CORE_DEFAULT_HEAP_MB;
}

// Size and time of a file stand for its contents: a new SBCL or new sources give a new core.
static uint64_t file_mark(const char *path, uint64_t mark)
{
    struct stat status;
    if (stat(path, &status) < 0)
        return mark;
    uint64_t parts[3] = {(uint64_t)status.st_size, (uint64_t)status.st_mtim.tv_sec,
                         (uint64_t)status.st_mtim.tv_nsec};
    return hash_bytes(parts, sizeof(parts), mark);
}

// The same for all files of the directory, in any order.
static uint64_t directory_mark(const char *path)
{
    uint64_t mark = 0;
    DIR *directory = opendir(path);
    for (struct dirent *entry; directory && (entry = readdir(directory));) {
        CLEANUP_FREE char *file = memory_format("%s/%s", path, entry->d_name);
        if (entry->d_name[0] != '.')
            mark ^= file_mark(file, hash_bytes(entry->d_name, strlen(entry->d_name), 1));
    }
    if (directory)
        closedir(directory);
    return mark;
}

// NULL: there is no SBCL, or no place for caches.
static char *cached_core(const struct session_config *config)
{
    CLEANUP_FREE char *sbcl = NULL;
    CLEANUP_FREE char *sources = part_path_from(CADRE_SOURCE_DIR, "lisp", "lisp");
    if (session_find_sbcl(config, &sbcl) < 0)
        return NULL;
    uint64_t mark = file_mark(sbcl, directory_mark(sources));
    CLEANUP_FREE char *name =
        memory_format("cadre-%016llx-%u.core", (unsigned long long)mark, region_tables_of(config));
    return config->cache_directory ? memory_format("%s/%s", config->cache_directory, name)
                                   : path_in_cache(name);
}

int session_find_core(const struct session_config *config, char **ret_path)
{
    if (config->core)
        return give_path(memory_copy_string(config->core), ret_path);
    if (region_tables_of(config) == CORE_DEFAULT_HEAP_MB &&
        give_path(shipped_core(), ret_path) == 0)
        return 0;
    char *cached = cached_core(config);
    return cached ? give_path(cached, ret_path) : -ENOENT;
}

int core_build_plan(const struct session_config *config, struct core_build *ret_build)
{
    if (config->core)
        return -ENOENT;
    struct core_build build = {0};
    int result = session_find_core_builder(&build.program);
    if (result < 0)
        return result;
    build.target = cached_core(config);
    result = build.target ? path_make_parents(build.target) : -ENOENT;
    if (result < 0) {
        core_build_release(&build);
        return result;
    }
    snprintf(build.heap, sizeof(build.heap), "%u", region_tables_of(config));
    *ret_build = build;
    return 0;
}

void core_build_release(struct core_build *build)
{
    memory_free(build->program);
    memory_free(build->target);
    *build = (struct core_build){0};
}
