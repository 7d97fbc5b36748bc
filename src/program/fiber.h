// Fibers: stacks of their own that take turns in one thread. For branches of pmap that wait for tools.
#pragma once

#include <stddef.h>
#include <ucontext.h>

typedef void fiber_fn(void *data);

struct fiber {
    ucontext_t context;  // where it goes on
    ucontext_t back;     // where it was resumed from
    char *memory;
    size_t size;
    fiber_fn *entry;
    void *data;
    void *fake_stack;  // AddressSanitizer's
    void *back_fake_stack;
    const void *back_bottom;
    size_t back_size;
};

// False when there is no memory. The entry must end by fiber_finish().
int fiber_init(struct fiber *fiber, size_t size, fiber_fn *entry, void *data);
void fiber_release(struct fiber *fiber);
void fiber_resume(struct fiber *fiber);            // until it yields or finishes
void fiber_yield(struct fiber *fiber);             // back to the resumer
_Noreturn void fiber_finish(struct fiber *fiber);  // for good
