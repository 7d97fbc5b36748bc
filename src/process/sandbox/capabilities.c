#include "process/sandbox/capabilities.h"

#include <errno.h>
#include <linux/capability.h>
#include <linux/securebits.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { CAPABILITIES_MAX = 64 };

// Only root, or whoever has CAP_SETPCAP, may lower the bounding set and set the secure bits; others
// have nothing that no-new-privileges does not keep out.
static void lower_bounds(void)
{
    for (int capability = 0; capability < CAPABILITIES_MAX; capability++)
        if (prctl(PR_CAPBSET_READ, capability, 0, 0, 0) == 1)
            prctl(PR_CAPBSET_DROP, capability, 0, 0, 0);
    prctl(PR_SET_SECUREBITS, SECBIT_NOROOT | SECBIT_NOROOT_LOCKED, 0, 0, 0);
    prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
}

int capabilities_drop(void)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = {0};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
        return -errno;
    lower_bounds();
    return syscall(SYS_capset, &header, none) < 0 ? -errno : 0;
}
