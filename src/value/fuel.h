// Fuel: how long operations on values are stopped.
//
// Every loop of value/ that can be long spends fuel, about one unit per element or per 16 bytes
// (5–50 ns). When it has run out, the handler of the thread is called: it reads the clock, and either
// leaves by longjmp or sets fuel.left again. A run that wants to notice its deadline within a
// few milliseconds gives about 50,000 units at a time. Without a handler spending does nothing.
//
// A handler that jumps out leaves what the interrupted operation had allocated in the region; the
// region is to be dropped as a whole then. value_release() spends fuel too.
//
// fuel.region is where functions that take no region (comparing, hashing, writing) get the memory
// of their work lists when data is deeply nested; NULL means memory that no limit counts, which is
// right for data whose depth was bounded when it was read.
#pragma once

#include <stdint.h>

struct region;

typedef void fuel_handler_fn(void *data);

struct fuel {
    int64_t left;
    fuel_handler_fn *handler;
    void *data;
    struct region *region;
};

extern _Thread_local struct fuel fuel __attribute__((tls_model("initial-exec")));

void fuel_refill(void);  // calls the handler, or sets a large amount when there is none

static inline void fuel_spend(uint64_t units)
{
    fuel.left -= (int64_t)units;
    if (__builtin_expect(fuel.left < 0, 0))
        fuel_refill();
}
