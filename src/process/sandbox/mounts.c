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

enum {
    ATTRIBUTE_READ_ONLY = 1,
    RECURSIVE = 0x8000,
    OPEN_CLONE = 1,
    MOVE_FROM_DESCRIPTOR = 4,
    TREES_MAX = 64,  // paths that are written; of more, the rest is read-only
};

const char *const mounts_terminals[] = {"/dev/pts", "/dev/ptmx", NULL};

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
    if (prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) < 0 ||
        unshare(CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWIPC) < 0)
        return -errno;
    int failed = write_text("/proc/self/setgroups", "deny");
    if (failed == 0 || failed == -ENOENT)
        failed = write_map("/proc/self/uid_map", user);
    return failed == 0 ? write_map("/proc/self/gid_map", group) : failed;
}

static int set_read_only(const char *path)
{
    struct attributes attributes = {.set = ATTRIBUTE_READ_ONLY};
    return syscall(SYS_mount_setattr, AT_FDCWD, path, RECURSIVE, &attributes, sizeof(attributes)) <
                   0
               ? -errno
               : 0;
}

static int protect(const char *path)
{
    if (mount(path, path, NULL, MS_BIND | MS_REC, NULL) < 0)
        return errno == ENOENT ? 0 : -errno;  // gone since it was found
    return set_read_only(path);
}

// Copies of the trees keep what may be written in them when all else becomes read-only.
static int copy_trees(const char *const *paths, int trees[TREES_MAX])
{
    for (size_t i = 0; i < TREES_MAX; i++)
        trees[i] = -1;
    for (size_t i = 0; i < TREES_MAX && paths && paths[i]; i++) {
        trees[i] =
            (int)syscall(SYS_open_tree, AT_FDCWD, paths[i], OPEN_CLONE | RECURSIVE | O_CLOEXEC);
        if (trees[i] < 0 && errno != ENOENT)
            return -errno;
    }
    return 0;
}

static int place_trees(const char *const *paths, const int trees[TREES_MAX])
{
    for (size_t i = 0; i < TREES_MAX && paths && paths[i]; i++) {
        if (trees[i] < 0)
            continue;
        if (syscall(SYS_move_mount, trees[i], "", AT_FDCWD, paths[i], MOVE_FROM_DESCRIPTOR) < 0)
            return -errno;
        close(trees[i]);
    }
    return 0;
}

static int make_terminals(void)
{
    if (mount("devpts", "/dev/pts", "devpts", MS_NOSUID | MS_NOEXEC,
              "newinstance,ptmxmode=0666,mode=0620") < 0)
        return -errno;
    return mount("/dev/pts/ptmx", "/dev/ptmx", NULL, MS_BIND, NULL) < 0 ? -errno : 0;
}

int mounts_enter(const struct mounts *mounts)
{
    int trees[TREES_MAX];
    int failed = unshare(CLONE_NEWNS | CLONE_NEWIPC) < 0 ? enter_user_namespace() : 0;
    // What is mounted outside later appears here, too, but nothing the other way.
    if (failed == 0 && mount("none", "/", NULL, MS_REC | MS_SLAVE, NULL) < 0)
        failed = -errno;
    if (failed == 0)
        failed = copy_trees(mounts->write, trees);
    if (failed == 0)
        failed = set_read_only("/");
    if (failed == 0)
        failed = place_trees(mounts->write, trees);
    for (size_t i = 0; failed == 0 && mounts->protect && mounts->protect[i]; i++)
        failed = protect(mounts->protect[i]);
    return failed == 0 ? make_terminals() : failed;
}
