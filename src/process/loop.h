// The event loop of a process, with a clock that is fine enough for time limits.
#pragma once

struct event_base;

// NULL: no memory.
struct event_base *loop_new_base(void);
