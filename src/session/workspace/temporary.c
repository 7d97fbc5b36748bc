#include "session/workspace/temporary.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/memory.h"
#include "process/process.h"

#define NAME_BEGINNING "cadre-sessions-"
#define RANDOM_PART "XXXXXX"
#define REMOVED_ENDING ".removed"

pid_t temporary_remove_tree(const char *path)
{
    const char *const argv[] = {"rm", "-rf", "--one-file-system", "--", path, NULL};
    char *const none[] = {NULL};
    pid_t pid = fork();
    if (pid != 0)
        return pid;
    process_reset_signals();
    setsid();
    execve("/bin/rm", (char *const *)(uintptr_t)argv, none);
    _exit(EXIT_FAILURE);
}

// --- the lock ------------------------------------------------------------------------------------

// A locked descriptor of the directory, which is this user's and still has that name; negative: it
// is in use, or not one. The lock ends with the process, whatever ends it.
static int lock_directory(const char *path)
{
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    struct stat opened, named;
    if (fd < 0)
        return -1;
    if (fstat(fd, &opened) == 0 && opened.st_uid == geteuid() &&
        flock(fd, LOCK_EX | LOCK_NB) == 0 && lstat(path, &named) == 0 &&
        named.st_ino == opened.st_ino && named.st_dev == opened.st_dev)
        return fd;
    close(fd);
    return -1;
}

// --- what others left ----------------------------------------------------------------------------

static bool is_temporary_name(const char *name)
{
    size_t beginning = strlen(NAME_BEGINNING), whole = beginning + strlen(RANDOM_PART);
    return strncmp(name, NAME_BEGINNING, beginning) == 0 && strlen(name) >= whole &&
           (!name[whole] || strcmp(name + whole, REMOVED_ENDING) == 0);
}

// Moved aside under the lock, so that who has just made a directory and not locked it yet sees that
// it is gone, and makes another.
static bool remove_left(const char *path)
{
    int lock = lock_directory(path);
    if (lock < 0)
        return false;
    CLEANUP_FREE char *aside = strstr(path, REMOVED_ENDING)
                                   ? memory_copy_string(path)
                                   : memory_format("%s" REMOVED_ENDING, path);
    bool removed = strcmp(path, aside) == 0 || rename(path, aside) == 0;
    if (removed)
        temporary_remove_tree(aside);
    close(lock);
    return removed;
}

static void remove_all_left(const char *parent)
{
    enum { ENTRIES_MAX = 20000, REMOVED_MAX = 32 };
    DIR *entries = opendir(parent);
    struct dirent *entry;
    int removed = 0;
    for (int i = 0; i < ENTRIES_MAX && removed < REMOVED_MAX && entries; i++) {
        entry = readdir(entries);
        if (!entry)
            break;
        if (!is_temporary_name(entry->d_name))
            continue;
        CLEANUP_FREE char *path = memory_format("%s/%s", parent, entry->d_name);
        removed += remove_left(path);
    }
    if (entries)
        closedir(entries);
}

// --- one's own -----------------------------------------------------------------------------------

// A server that starts at the same time may take it for one that was left, before it is locked.
static bool make_locked(struct temporary *temporary, const char *parent)
{
    enum { TRIES = 100 };
    for (int i = 0; i < TRIES; i++) {
        CLEANUP_FREE char *path = memory_format("%s/" NAME_BEGINNING RANDOM_PART, parent);
        if (!mkdtemp(path))
            return false;
        int lock = lock_directory(path);
        if (lock >= 0) {
            *temporary = (struct temporary){.path = memory_copy_string(path), .lock = lock};
            return true;
        }
        rmdir(path);  // if it is there
    }
    errno = EBUSY;
    return false;
}

bool temporary_make(struct temporary *temporary, struct error *error)
{
    const char *parent = getenv("TMPDIR");
    char real[PATH_MAX];
    if (!parent || *parent != '/' || !realpath(parent, real))
        if (!realpath("/tmp", real))
            snprintf(real, sizeof(real), "/tmp");
    remove_all_left(real);
    if (make_locked(temporary, real))
        return true;
    return error_set(error, ERROR_SYSTEM, "no temporary directory in %s: %s", real,
                     strerror(errno));
}

void temporary_release(struct temporary *temporary)
{
    enum { WAIT_MS = 1000 };
    if (!temporary->path)
        return;
    pid_t pid = temporary_remove_tree(temporary->path);
    for (int waited = 0; pid > 0 && waited < WAIT_MS && waitpid(pid, NULL, WNOHANG) == 0; waited++)
        usleep(1000);
    close(temporary->lock);
    memory_free(temporary->path);
    *temporary = (struct temporary){0};
}
