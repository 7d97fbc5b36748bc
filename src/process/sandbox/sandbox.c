#include "process/sandbox/sandbox.h"

#include <errno.h>
#include <sys/prctl.h>

int sandbox_lock(size_t memory_limit, struct sandbox_report *ret_report)
{
    int failed = sandbox_limit_resources(memory_limit);
    if (failed < 0)
        return failed;
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0)
        return -errno;
    failed = sandbox_deny_files(&ret_report->landlock);
    if (failed < 0)
        return failed;
    return sandbox_filter_calls();
}
