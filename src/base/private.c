#include "base/private.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/memory.h"
#include "base/path.h"

// --- directories ---------------------------------------------------------------------------------

// Where the part of the path begins that must be private: behind the user's own directory, at
// "cadre". NULL: it is none of Cadre's.
static const char *private_part(const char *directory)
{
    static char *(*const homes[])(const char *) = {path_in_state, path_in_cache, path_in_runtime};
    for (size_t i = 0; i < COUNT_OF(homes); i++) {
        CLEANUP_FREE char *home = homes[i]("");  // ends in "/cadre/"
        size_t length = home ? strlen(home) - 1 : 0;
        if (home && strncmp(directory, home, length) == 0 &&
            (directory[length] == '/' || directory[length] == '\0'))
            return directory + length - strlen("cadre");
    }
    return NULL;
}

static bool fail(struct error *error, const char *path, int length, const char *what)
{
    return error_set(error, ERROR_SYSTEM, "%.*s %s", length, path, what);
}

// Opens one directory of the private part, made when it is missing. Negative: refused.
static int open_step(int parent, const char *name, const char *path, int length,
                     struct error *error)
{
    struct stat status;
    if (mkdirat(parent, name, 0700) < 0 && errno != EEXIST && errno != EROFS && errno != EACCES) {
        error_set(error, ERROR_SYSTEM, "cannot create %.*s: %s", length, path, strerror(errno));
        return -1;
    }
    int step = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (step < 0 && (errno == ELOOP || errno == ENOTDIR)) {
        fail(error, path, length, "is a link or no directory: it is not used");
        return -1;
    }
    if (step < 0 || fstat(step, &status) < 0) {
        error_set(error, ERROR_SYSTEM, "cannot open %.*s: %s", length, path, strerror(errno));
    } else if (status.st_uid != geteuid()) {
        fail(error, path, length, "belongs to another user: it is not used");
    } else if ((status.st_mode & 077) && fchmod(step, 0700) < 0 && (status.st_mode & 022)) {
        fail(error, path, length, "can be written by others: use chmod 700");
    } else {
        return step;
    }
    if (step >= 0)
        close(step);
    return -1;
}

static bool make_private_part(const char *above, const char *part, const char *directory,
                              struct error *error)
{
    int parent = open(above, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (parent < 0)
        return error_set(error, ERROR_SYSTEM, "cannot open %s: %s", above, strerror(errno));
    while (*part) {
        size_t length = strcspn(part, "/");
        CLEANUP_FREE char *name = memory_copy_text(part, length);
        part += length;
        int step = length == 0 ? parent
                               : open_step(parent, name, directory, (int)(part - directory), error);
        if (step != parent)
            close(parent);
        if (step < 0)
            return false;
        parent = step;
        part += *part == '/';
    }
    close(parent);
    return true;
}

bool private_make_directory(const char *directory, struct error *error)
{
    const char *part = private_part(directory);
    CLEANUP_FREE char *above =
        memory_copy_text(directory, part ? (size_t)(part - directory) : strlen(directory));
    int failed = path_make_directories(above);
    if (failed < 0)
        return error_set(error, ERROR_SYSTEM, "cannot create %s: %s", above, strerror(-failed));
    return !part || make_private_part(above, part, directory, error);
}

bool private_make_parent(const char *file, struct error *error)
{
    const char *slash = strrchr(file, '/');
    if (!slash || slash == file)
        return true;
    CLEANUP_FREE char *directory = memory_copy_text(file, (size_t)(slash - file));
    return private_make_directory(directory, error);
}

// --- files ---------------------------------------------------------------------------------------

bool private_check_file(const char *path, struct error *error)
{
    struct stat status;
    int length = (int)strlen(path);
    if (stat(path, &status) < 0)
        return error_set(error, ERROR_SYSTEM, "%s: %s", path, strerror(errno));
    if (!S_ISREG(status.st_mode))
        return fail(error, path, length, "is not a regular file");
    if (status.st_uid != 0 && status.st_uid != geteuid())
        return fail(error, path, length, "belongs to another user: it is not used");
    if (status.st_mode & 022)
        return fail(error, path, length, "can be written by others: use chmod go-w");
    return true;
}

bool private_create(const char *path, struct private_file *ret_file, struct error *error)
{
    unsigned long long random;
    if (getrandom(&random, sizeof(random), 0) != sizeof(random))
        return error_set(error, ERROR_SYSTEM, "getrandom: %s", strerror(errno));
    char *temporary = memory_format("%s.%016llx", path, random);
    int descriptor = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (descriptor < 0) {
        int cause = errno;
        memory_free(temporary);
        return error_set(error, ERROR_SYSTEM, "cannot write %s: %s", path, strerror(cause));
    }
    *ret_file = (struct private_file){memory_copy_string(path), temporary, descriptor};
    return true;
}

static void release(struct private_file *file)
{
    memory_free(file->path);
    memory_free(file->temporary);
    *file = (struct private_file){.descriptor = -1};
}

void private_create_abandon(struct private_file *file)
{
    close(file->descriptor);
    unlink(file->temporary);
    release(file);
}

bool private_create_commit(struct private_file *file, bool replace, bool *ret_made,
                           struct error *error)
{
    bool ok = fsync(file->descriptor) == 0;
    ok = close(file->descriptor) == 0 && ok;
    int failed = !ok       ? -1
                 : replace ? rename(file->temporary, file->path)
                           : link(file->temporary, file->path);
    bool other_was_first = failed < 0 && !replace && errno == EEXIST;
    if (failed < 0 && !other_was_first)
        error_set(error, ERROR_SYSTEM, "cannot write %s: %s", file->path, strerror(errno));
    if (failed < 0 || !replace)
        unlink(file->temporary);
    release(file);
    *ret_made = failed == 0;
    return failed == 0 || other_was_first;
}
