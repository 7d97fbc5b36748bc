// Monotonic time for durations and deadlines, wall time for stamps.
#pragma once

#include <stdint.h>
#include <sys/time.h>

int64_t clock_now_ns(void);     // CLOCK_MONOTONIC
int64_t clock_now_ms(void);     // CLOCK_MONOTONIC
int64_t clock_thread_ns(void);  // of the processor, used by this thread
int64_t clock_unix_ms(void);    // CLOCK_REALTIME
int64_t clock_unix_seconds(void);

enum { CLOCK_ISO_SIZE = 24 };
// Writes "2026-01-02T03:04:05Z" and the final NUL.
void clock_format_iso(int64_t unix_seconds, char text[CLOCK_ISO_SIZE]);

// For libevent's timers. Negative counts as 0.
static inline struct timeval timeval_from_ms(int64_t milliseconds)
{
    if (milliseconds < 0)
        milliseconds = 0;
    return (struct timeval){.tv_sec = milliseconds / 1000, .tv_usec = milliseconds % 1000 * 1000};
}
