// Fibers: several stacks in one thread, switched explicitly. For branches of pmap that wait for tools.
#pragma once

#include <stdbool.h>
#include <stddef.h>

typedef void fiber_fn(void *data);

struct fiber {
    void *here[5];  // where it is resumed
    void *back[5];  // where it was resumed from
    bool started;
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
bool fiber_init(struct fiber *fiber, size_t size, fiber_fn *entry, void *data);
void fiber_release(struct fiber *fiber);
// The three switches of stacks must stay calls.
void fiber_resume(struct fiber *fiber) __attribute__((noinline));  // until it yields or finishes
void fiber_yield(struct fiber *fiber) __attribute__((noinline));   // back to the resumer
_Noreturn void fiber_finish(struct fiber *fiber) __attribute__((noinline));  // does not come back
