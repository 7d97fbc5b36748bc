// Time that goes on while the machine sleeps, for leases.
#pragma once

#include <stdint.h>
#include <time.h>

#include "base/assert.h"

static inline int64_t clock_boot_ms(void)
{
    struct timespec now;
    CHECK(clock_gettime(CLOCK_BOOTTIME, &now) == 0);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}
