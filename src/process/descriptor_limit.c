#include "process/descriptor_limit.h"

#include <stdbool.h>
#include <sys/resource.h>

// Of a process like the open files themselves.
static struct rlimit original;
static bool is_raised;

void descriptor_limit_raise(void)
{
    if (is_raised || getrlimit(RLIMIT_NOFILE, &original) < 0)
        return;
    struct rlimit raised = {.rlim_cur = original.rlim_max, .rlim_max = original.rlim_max};
    is_raised = setrlimit(RLIMIT_NOFILE, &raised) == 0;
}

void descriptor_limit_restore(void)
{
    if (is_raised)
        setrlimit(RLIMIT_NOFILE, &original);
}

// A message with descriptors may go above the limit by as many as it has, and several may do so at once.
// Where there are few descriptors, a session needs them itself.
static rlim_t margin_of(rlim_t limit)
{
    enum { FEW = 1024, MARGIN_MAX = 4096 };
    if (limit < FEW)
        return 0;
    return limit / 2 < MARGIN_MAX ? limit / 2 : MARGIN_MAX;
}

void descriptor_limit_confine(void)
{
    if (!is_raised)
        return;
    struct rlimit limit = original;
    limit.rlim_max -= margin_of(limit.rlim_max);
    if (limit.rlim_cur > limit.rlim_max)
        limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
}
