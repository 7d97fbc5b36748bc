// A disk that becomes full, for LD_PRELOAD: while there is a file named by FULL_DISK, writing into a
// regular file below the directory FULL_DISK_UNDER stops in the middle, and then fails with ENOSPC.
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define EXPORTED __attribute__((visibility("default")))

static bool is_full(int descriptor)
{
    const char *mark = getenv("FULL_DISK"), *under = getenv("FULL_DISK_UNDER");
    char link[64], path[4096];
    struct stat status;
    if (!mark || !under || access(mark, F_OK) < 0 || fstat(descriptor, &status) < 0 ||
        !S_ISREG(status.st_mode))
        return false;
    snprintf(link, sizeof(link), "/proc/self/fd/%d", descriptor);
    ssize_t length = readlink(link, path, sizeof(path) - 1);
    return length > 0 && strncmp(path, under, strlen(under)) == 0;
}

// How much of `size` bytes there is room for; -1: none.
static ssize_t room(int descriptor, size_t size)
{
    static __thread bool was_short;
    if (!is_full(descriptor))
        return (ssize_t)size;
    was_short = !was_short && size > 1;
    errno = ENOSPC;
    return was_short ? (ssize_t)(size / 2) : -1;
}

EXPORTED ssize_t write(int descriptor, const void *data, size_t size)
{
    ssize_t length = room(descriptor, size);
    return length < 0 ? -1 : syscall(SYS_write, descriptor, data, (size_t)length);
}

EXPORTED ssize_t pwrite64(int descriptor, const void *data, size_t size, off64_t at)
{
    ssize_t length = room(descriptor, size);
    return length < 0 ? -1 : syscall(SYS_pwrite64, descriptor, data, (size_t)length, at);
}
