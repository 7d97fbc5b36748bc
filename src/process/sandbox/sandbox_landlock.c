// Landlock: a ruleset that handles every file right and grants none.
#include <errno.h>
#include <linux/landlock.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "process/sandbox/sandbox.h"

// Rights by version of the interface: asking for one the kernel does not know is an error.
static uint64_t all_rights(long version)
{
    uint64_t rights = (LANDLOCK_ACCESS_FS_MAKE_SYM << 1) - 1;
    if (version >= 2)
        rights |= 1ULL << 13;  // refer
    if (version >= 3)
        rights |= 1ULL << 14;  // truncate
    return rights;
}

int sandbox_deny_files(bool *ret_available)
{
    long version = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
    if (version < 0) {
        *ret_available = false;
        return errno == ENOSYS || errno == EOPNOTSUPP ? 0 : -errno;
    }
    struct landlock_ruleset_attr attributes = {.handled_access_fs = all_rights(version)};
    int ruleset = (int)syscall(SYS_landlock_create_ruleset, &attributes, sizeof(attributes), 0);
    if (ruleset < 0)
        return -errno;
    int failed = syscall(SYS_landlock_restrict_self, ruleset, 0) < 0 ? -errno : 0;
    close(ruleset);
    *ret_available = failed == 0;
    return failed;
}
