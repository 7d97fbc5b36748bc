// Resource limits: what a process may take from the machine.
#include <errno.h>
#include <sys/resource.h>

#include "process/sandbox/sandbox.h"

static int set_limit(int resource, rlim_t value)
{
    struct rlimit limit = {value, value};
    return setrlimit((__rlimit_resource_t)resource, &limit) < 0 ? -errno : 0;
}

int sandbox_limit_resources(size_t memory_limit)
{
    int failed = set_limit(RLIMIT_CORE, 0);
    // AddressSanitizer reserves terabytes of address space; there the limit would only break it.
#ifndef __SANITIZE_ADDRESS__
    if (failed == 0 && memory_limit > 0)
        failed = set_limit(RLIMIT_AS, memory_limit);
#else
    (void)memory_limit;
#endif
    if (failed == 0)
        failed = set_limit(RLIMIT_FSIZE, 0);
    return failed;
}
