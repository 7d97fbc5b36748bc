// Monotonic time for durations and deadlines, wall time for stamps.
#pragma once

#include <stdint.h>

int64_t clock_now_ns(void);   // CLOCK_MONOTONIC
int64_t clock_now_ms(void);   // CLOCK_MONOTONIC
int64_t clock_unix_ms(void);  // CLOCK_REALTIME
int64_t clock_unix_seconds(void);

enum { CLOCK_ISO_SIZE = 24 };
// Writes "2026-01-02T03:04:05Z" and the final NUL.
void clock_format_iso(int64_t unix_seconds, char text[CLOCK_ISO_SIZE]);
