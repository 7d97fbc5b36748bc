#include "process/mark.h"

#include <stddef.h>
#include <sys/random.h>
#include <sys/resource.h>

static const uint64_t LARGEST = UINT64_C(1) << 62;

// An unprivileged process can only lower its limit: in a session of another server the new marks
// are below that one's.
uint64_t mark_new_family(void)
{
    struct rlimit limit;
    uint64_t random;
    if (getrlimit(RLIMIT_LOCKS, &limit) < 0 ||
        getrandom(&random, sizeof(random), 0) != sizeof(random))
        return 0;
    uint64_t most = limit.rlim_max < LARGEST ? limit.rlim_max : LARGEST;
    uint64_t families = most >> MARK_NUMBER_BITS;
    enum { FAMILIES_MIN = 1 << 20 };  // fewer, and two servers could draw the same
    if (families < FAMILIES_MIN)
        return 0;
    return (families / 2 + random % (families / 2)) << MARK_NUMBER_BITS;
}

// Downwards: a process can lower its limit, and so take the mark of a later number.
uint64_t mark_of_number(uint64_t family, uint64_t number)
{
    uint64_t numbers = (UINT64_C(1) << MARK_NUMBER_BITS) - 1;
    return family ? family + numbers - (number - 1) % numbers : 0;
}

void mark_set(uint64_t mark)
{
    if (mark)
        setrlimit(RLIMIT_LOCKS, &(struct rlimit){mark, mark});
}

bool mark_give(pid_t pid, uint64_t mark)
{
    return !mark || prlimit(pid, RLIMIT_LOCKS, &(struct rlimit){mark, mark}, NULL) == 0;
}

uint64_t mark_read(pid_t pid)
{
    struct rlimit limit;
    if (prlimit(pid, RLIMIT_LOCKS, NULL, &limit) < 0 || limit.rlim_max == RLIM_INFINITY)
        return 0;
    return limit.rlim_max;
}

bool mark_is_of_family(uint64_t mark, uint64_t family)
{
    return family && mark >> MARK_NUMBER_BITS == family >> MARK_NUMBER_BITS;
}
