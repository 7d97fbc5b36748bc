#include "process/sandbox/mounts.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdint.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

// struct mount_attr of newer kernels' headers.
struct attributes {
    uint64_t set;
    uint64_t clear;
    uint64_t propagation;
    uint64_t user_namespace;
};

enum { ATTRIBUTE_READ_ONLY = 1, RECURSIVE = 0x8000 };

static int write_text(const char *path, const char *text)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    ssize_t length = write(fd, text, strlen(text));
    int failed = length < 0 ? -errno : 0;
    close(fd);
    return failed;
}

// "1000 1000 1": the id is the same inside and outside. snprintf() is not async-signal-safe.
static int write_map(const char *path, unsigned id)
{
    char digits[16], text[64] = "";
    char *start = digits + sizeof(digits) - 1;
    *start = '\0';
    do {
        *--start = (char)('0' + id % 10);
        id /= 10;
    } while (id > 0);
    char *end = stpncpy(text, start, sizeof(digits));
    *end++ = ' ';
    end = stpncpy(end, start, sizeof(digits));
    memcpy(end, " 1", 3);
    return write_text(path, text);
}

static int enter_user_namespace(void)
{
    uid_t user = geteuid();
    gid_t group = getegid();
    // /proc/self belongs to root while this process is not dumpable.
    if (prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) < 0 || unshare(CLONE_NEWUSER | CLONE_NEWNS) < 0)
        return -errno;
    int failed = write_text("/proc/self/setgroups", "deny");
    if (failed == 0 || failed == -ENOENT)
        failed = write_map("/proc/self/uid_map", user);
    return failed == 0 ? write_map("/proc/self/gid_map", group) : failed;
}

static int make_read_only(const char *path)
{
    struct attributes attributes = {.set = ATTRIBUTE_READ_ONLY};
    if (mount(path, path, NULL, MS_BIND | MS_REC, NULL) < 0)
        return errno == ENOENT ? 0 : -errno;  // gone since it was found
    return syscall(SYS_mount_setattr, AT_FDCWD, path, RECURSIVE, &attributes, sizeof(attributes)) <
                   0
               ? -errno
               : 0;
}

int mounts_protect(const char *const *paths)
{
    int failed = unshare(CLONE_NEWNS) < 0 ? enter_user_namespace() : 0;
    if (failed < 0)
        return failed;
    // What is mounted outside later appears here, too, but nothing the other way.
    if (mount("none", "/", NULL, MS_REC | MS_SLAVE, NULL) < 0)
        return -errno;
    for (size_t i = 0; failed == 0 && paths[i]; i++)
        failed = make_read_only(paths[i]);
    return failed;
}
