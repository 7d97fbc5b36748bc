#include "base/clock.h"

#include <time.h>

#include "base/assert.h"

static int64_t read_ns(clockid_t clock)
{
    struct timespec now;
    CHECK(clock_gettime(clock, &now) == 0);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

int64_t clock_now_ns(void)
{
    return read_ns(CLOCK_MONOTONIC);
}

int64_t clock_thread_ns(void)
{
    return read_ns(CLOCK_THREAD_CPUTIME_ID);
}

int64_t clock_now_ms(void)
{
    return read_ns(CLOCK_MONOTONIC) / 1000000;
}

int64_t clock_unix_ms(void)
{
    return read_ns(CLOCK_REALTIME) / 1000000;
}

int64_t clock_unix_seconds(void)
{
    return read_ns(CLOCK_REALTIME) / 1000000000;
}

void clock_format_iso(int64_t unix_seconds, char text[CLOCK_ISO_SIZE])
{
    time_t seconds = (time_t)unix_seconds;
    struct tm parts;
    CHECK(gmtime_r(&seconds, &parts));
    CHECK(strftime(text, CLOCK_ISO_SIZE, "%Y-%m-%dT%H:%M:%SZ", &parts) > 0);
}
