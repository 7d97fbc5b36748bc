// While a text is read, a full region is an error of the text, not the end of the run: the guard
// replaces the region's handler and jumps back to the reader. The thread's fuel handler may jump out
// of the reader, so the guard restores the region's own handler while that runs.
//
//     if (setjmp(guard.jump)) …out of memory…
//     else { allocation_guard_enter(&guard, region); …read… }
//     allocation_guard_leave(&guard);
#pragma once

#include <setjmp.h>

#include "base/region.h"
#include "value/fuel.h"

struct allocation_guard {
    jmp_buf jump;
    struct region *region;
    region_exhausted_fn *outer_exhausted;
    void *outer_exhausted_data;
    fuel_handler_fn *outer_fuel;
    void *outer_fuel_data;
};

void allocation_guard_enter(struct allocation_guard *guard, struct region *region);
void allocation_guard_leave(struct allocation_guard *guard);
