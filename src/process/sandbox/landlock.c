#include "process/sandbox/landlock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/path.h"
#include "process/sandbox/sandbox.h"

// The kernel's header may be older than the kernel: the interface is written down here.
enum {
    CREATE_RULESET_VERSION = 1,
    RULE_PATH_BENEATH = 1,

    ACCESS_EXECUTE = 1 << 0,
    ACCESS_WRITE_FILE = 1 << 1,
    ACCESS_READ_FILE = 1 << 2,
    ACCESS_READ_DIRECTORY = 1 << 3,
    ACCESS_MAKE_CHARACTER_DEVICE = 1 << 6,
    ACCESS_MAKE_BLOCK_DEVICE = 1 << 11,
    ACCESS_VERSION_1 = (1 << 13) - 1,
    ACCESS_REFER = 1 << 13,
    ACCESS_TRUNCATE = 1 << 14,
    ACCESS_IOCTL_DEVICE = 1 << 15,
    ACCESS_OF_FILES = ACCESS_EXECUTE | ACCESS_WRITE_FILE | ACCESS_READ_FILE | ACCESS_TRUNCATE |
                      ACCESS_IOCTL_DEVICE,
    ACCESS_READ = ACCESS_EXECUTE | ACCESS_READ_FILE | ACCESS_READ_DIRECTORY,

    NETWORK_BIND_TCP = 1 << 0,
    NETWORK_CONNECT_TCP = 1 << 1,
    SCOPE_ABSTRACT_SOCKETS = 1 << 0,
    SCOPE_SIGNALS = 1 << 1,
};

struct ruleset {
    uint64_t files;
    uint64_t network;
    uint64_t scoped;
};

struct path_rule {
    uint64_t access;
    int32_t parent;
} __attribute__((packed));

int landlock_abi(void)
{
    long version = syscall(SYS_landlock_create_ruleset, NULL, 0, CREATE_RULESET_VERSION);
    if (version < 0)
        return 0;
    const char *forced = getenv("CADRE_LANDLOCK_ABI");
    if (forced && *forced >= '0' && *forced <= '9' && atoi(forced) < version)
        return atoi(forced);
    return (int)version;
}

static uint64_t known_file_rights(int abi)
{
    uint64_t rights = ACCESS_VERSION_1;
    if (abi >= LANDLOCK_ABI_REFER)
        rights |= ACCESS_REFER;
    if (abi >= LANDLOCK_ABI_TRUNCATE)
        rights |= ACCESS_TRUNCATE;
    if (abi >= LANDLOCK_ABI_IOCTL)
        rights |= ACCESS_IOCTL_DEVICE;
    return rights;
}

// A kernel refuses a structure that has bytes it does not know and that are not zero.
static int create_ruleset(const struct ruleset *ruleset)
{
    int fd = (int)syscall(SYS_landlock_create_ruleset, ruleset, sizeof(*ruleset), 0);
    return fd < 0 ? -errno : fd;
}

static int open_as_it_is(const char *path)
{
    return open(path, O_PATH | O_CLOEXEC);
}

static int open_without_links(const char *path)
{
    return path_open_real(path, O_PATH | O_CLOEXEC);
}

typedef int open_path_fn(const char *path);

static int allow(int ruleset, const char *path, open_path_fn *open_path, uint64_t access)
{
    int fd = open_path(path);
    if (fd < 0)
        return 0;  // what is not there, or not reachable for us, needs no right
    struct stat status;
    if (fstat(fd, &status) == 0 && !S_ISDIR(status.st_mode))
        access &= ACCESS_OF_FILES;
    struct path_rule rule = {.access = access, .parent = fd};
    int failed =
        syscall(SYS_landlock_add_rule, ruleset, RULE_PATH_BENEATH, &rule, 0) < 0 ? -errno : 0;
    close(fd);
    return failed;
}

static int allow_all(int ruleset, const char *const *paths, open_path_fn *open_path,
                     uint64_t access)
{
    int failed = 0;
    for (size_t i = 0; failed == 0 && paths && paths[i]; i++)
        failed = allow(ruleset, paths[i], open_path, access);
    return failed;
}

static int add_rules(int ruleset, const struct landlock_rules *rules, uint64_t known)
{
    const uint64_t not_in_files =
        ACCESS_MAKE_CHARACTER_DEVICE | ACCESS_MAKE_BLOCK_DEVICE | ACCESS_IOCTL_DEVICE;
    int failed = allow_all(ruleset, rules->read, open_as_it_is, ACCESS_READ);
    if (failed == 0)
        failed = allow_all(ruleset, rules->read_real, open_without_links, ACCESS_READ);
    if (failed == 0)
        failed = allow_all(ruleset, rules->write, open_without_links, known & ~not_in_files);
    return failed == 0 ? landlock_add_devices(ruleset, rules->devices) : failed;
}

int landlock_add_devices(int ruleset, const char *const *devices)
{
    const uint64_t access = ACCESS_READ | ACCESS_WRITE_FILE | ACCESS_TRUNCATE | ACCESS_IOCTL_DEVICE;
    return allow_all(ruleset, devices, open_as_it_is, access & known_file_rights(landlock_abi()));
}

int landlock_open(const struct landlock_rules *rules)
{
    int abi = landlock_abi();
    if (abi == 0)
        return -EOPNOTSUPP;
    struct ruleset ruleset = {0};
    if (rules->files)
        ruleset.files = known_file_rights(abi);
    else if (abi < LANDLOCK_ABI_SCOPE)
        // A right that no process without capabilities has anyway: any domain keeps its processes
        // from looking into others.
        ruleset.files = ACCESS_MAKE_BLOCK_DEVICE;
    if (!rules->network && abi >= LANDLOCK_ABI_NETWORK)
        ruleset.network = NETWORK_BIND_TCP | NETWORK_CONNECT_TCP;
    if (abi >= LANDLOCK_ABI_SCOPE)
        ruleset.scoped = SCOPE_ABSTRACT_SOCKETS | SCOPE_SIGNALS;
    int fd = create_ruleset(&ruleset);
    if (fd < 0 || !rules->files)
        return fd;
    int failed = add_rules(fd, rules, ruleset.files);
    if (failed < 0)
        close(fd);
    return failed < 0 ? failed : fd;
}

int landlock_enter(int ruleset)
{
    return syscall(SYS_landlock_restrict_self, ruleset, 0) < 0 ? -errno : 0;
}

// --- programs ------------------------------------------------------------------------------------

int sandbox_deny_files(bool *ret_available)
{
    int ruleset = landlock_open(&(struct landlock_rules){.files = true});
    *ret_available = ruleset >= 0;
    if (ruleset < 0)
        return ruleset == -EOPNOTSUPP ? 0 : ruleset;
    int failed = landlock_enter(ruleset);
    close(ruleset);
    return failed;
}
