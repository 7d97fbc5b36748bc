#include "session/core.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/memory.h"
#include "base/path.h"
#include "base/private.h"
#include "config.h"

static bool is_readable(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && S_ISREG(status.st_mode) && access(path, R_OK) == 0;
}

static int give_path(char *path, char **ret_path)
{
    struct error ignored;
    if (!is_readable(path)) {
        memory_free(path);
        return -ENOENT;
    }
    *ret_path = path;
    return private_check_file(path, &ignored) ? 0 : -EPERM;
}

static bool is_program(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && S_ISREG(status.st_mode) && access(path, X_OK) == 0;
}

// --- places --------------------------------------------------------------------------------------

// The program runs from its build directory: then that is where its parts are.
static bool runs_from_build(void)
{
    CLEANUP_FREE char *path = path_of_program();
    size_t directory = strlen(CADRE_BUILDDIR);
    return strncmp(path, CADRE_BUILDDIR, directory) == 0 && path[directory] == '/';
}

// Near the executable, wherever the installed tree was moved to, else where it was meant to be.
static char *installed_directory(void)
{
    char found[PATH_MAX];
    CLEANUP_FREE char *path = path_of_program();
    if (*path) {
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

char *session_find_brought(const char *name)
{
    return part_path_from(CADRE_BUILDDIR, name, name);
}

// --- SBCL ----------------------------------------------------------------------------------------

// The runtime that lies beside the core, unless another SBCL was asked for; NULL: there is none.
static char *shipped_sbcl(const struct session_config *config)
{
    if (config->sbcl)
        return NULL;
    char *path = part_path_from(CADRE_BUILDDIR, "lisp/sbcl/sbcl", "sbcl/sbcl");
    if (is_program(path))
        return path;
    memory_free(path);
    return NULL;
}

static char *program_in_path(const char *name)
{
    const char *rest = getenv("PATH");
    if (!rest || !*rest)
        rest = "/usr/local/bin:/usr/bin:/bin";
    while (*rest) {
        size_t length = strcspn(rest, ":");
        char *path = memory_format("%.*s/%s", (int)length, rest, name);
        if (length > 0 && is_program(path))
            return path;
        memory_free(path);
        rest += length + (rest[length] == ':');
    }
    return NULL;
}

int session_find_sbcl(const struct session_config *config, char **ret_path)
{
    const char *name = config->sbcl ? config->sbcl : "sbcl";
    char *path = shipped_sbcl(config);
    if (!path && strchr(name, '/'))
        path = is_program(name) ? memory_copy_string(name) : NULL;
    else if (!path)
        path = program_in_path(name);
    if (!path)
        return -ENOENT;
    *ret_path = path;
    return 0;
}

bool session_sbcl_is_shipped(const struct session_config *config)
{
    CLEANUP_FREE char *path = shipped_sbcl(config);
    return path != NULL;
}

// --- the core ------------------------------------------------------------------------------------

static char *shipped_core(void)
{
    return part_path_from(CADRE_BUILDDIR, "lisp/cadre.core", "cadre.core");
}

char *session_find_sources(void)
{
    return part_path_from(CADRE_SOURCE_DIR, "lisp", "lisp");
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

// Contents, not times: archives give all files the same time.
static uint64_t file_mark(const char *path, uint64_t mark)
{
    char piece[1 << 14];
    int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (descriptor < 0)
        return mark;
    for (ssize_t length; (length = read(descriptor, piece, sizeof(piece))) > 0;)
        mark = hash_bytes(piece, (size_t)length, mark);
    close(descriptor);
    return mark;
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
    CLEANUP_FREE char *sources = session_find_sources();
    if (session_find_sbcl(config, &sbcl) < 0)
        return NULL;
    uint64_t mark = file_mark(sbcl, directory_mark(sources));
    CLEANUP_FREE char *name =
        memory_format("cadre-%016llx-%u.core", (unsigned long long)mark, region_tables_of(config));
    return config->cache_directory ? memory_format("%s/%s", config->cache_directory, name)
                                   : path_in_cache(name);
}

// In a directory of somebody else, a core that is safe now may be another one a moment later.
static int give_cached(char *path, char **ret_path)
{
    struct error ignored;
    int result = give_path(path, ret_path);
    return result == 0 && !private_make_parent(*ret_path, &ignored) ? -EPERM : result;
}

int session_find_core(const struct session_config *config, char **ret_path)
{
    if (config->core)
        return give_path(memory_copy_string(config->core), ret_path);
    int result = -ENOENT;
    if (region_tables_of(config) == CORE_DEFAULT_HEAP_MB && session_sbcl_is_shipped(config))
        result = give_path(shipped_core(), ret_path);
    if (result != -ENOENT)
        return result;
    char *cached = cached_core(config);
    return cached ? give_cached(cached, ret_path) : -ENOENT;
}

void core_explain_refusal(const struct session_config *config, struct error *error)
{
    CLEANUP_FREE char *core = NULL;
    CLEANUP_FREE char *cached = cached_core(config);
    error_set(error, ERROR_SYSTEM, "the Lisp core is not safe");
    if (session_find_core(config, &core) == -EPERM && !private_check_file(core, error))
        return;
    if (cached)
        private_make_parent(cached, error);
}

// The shipped SBCL has no core of its own: it saves the shipped core again, at another heap size.
static void plan_source(const struct session_config *config, struct core_build *build)
{
    build->argv[0] = build->program;
    build->argv[1] = build->target;
    build->argv[2] = build->heap;
    build->argv[3] = build->sbcl;
    if (session_sbcl_is_shipped(config))
        build->argv[4] = build->base = shipped_core();
}

int core_build_plan(const struct session_config *config, struct core_build *build)
{
    *build = (struct core_build){0};
    if (config->core || session_find_core_builder(&build->program) < 0 ||
        session_find_sbcl(config, &build->sbcl) < 0)
        return -ENOENT;
    struct error ignored;
    build->target = cached_core(config);
    if (!build->target)
        return -ENOENT;
    snprintf(build->heap, sizeof(build->heap), "%u", region_tables_of(config));
    plan_source(config, build);
    return private_make_parent(build->target, &ignored) ? 0 : -EPERM;
}

void core_build_release(struct core_build *build)
{
    memory_free(build->program);
    memory_free(build->target);
    memory_free(build->sbcl);
    memory_free(build->base);
    *build = (struct core_build){0};
}
