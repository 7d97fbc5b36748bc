#include "program/fiber.h"

#include <stdint.h>
#include <sys/mman.h>

#include "base/assert.h"
#include "program/stack.h"

#if STACK_SANITIZED
#include <sanitizer/common_interface_defs.h>
#endif

enum { GUARD = 4096 };

// makecontext passes ints only: the pointer comes in two halves.
static void fiber_main(unsigned high, unsigned low)
{
    struct fiber *fiber = (struct fiber *)((uintptr_t)high << 32 | (uintptr_t)low);
#if STACK_SANITIZED
    __sanitizer_finish_switch_fiber(NULL, &fiber->back_bottom, &fiber->back_size);
#endif
    fiber->entry(fiber->data);
    UNREACHABLE();
}

int fiber_init(struct fiber *fiber, size_t size, fiber_fn *entry, void *data)
{
    *fiber = (struct fiber){.entry = entry, .data = data, .size = size};
    fiber->memory = mmap(NULL, size, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
    if (fiber->memory == MAP_FAILED) {
        fiber->memory = NULL;
        return 0;
    }
    mprotect(fiber->memory, GUARD, PROT_NONE);
    getcontext(&fiber->context);
    fiber->context.uc_stack.ss_sp = fiber->memory;
    fiber->context.uc_stack.ss_size = size;
    fiber->context.uc_link = NULL;
    uintptr_t address = (uintptr_t)fiber;
    makecontext(&fiber->context, (void (*)(void))fiber_main, 2, (unsigned)(address >> 32),
                (unsigned)address);
    return 1;
}

void fiber_release(struct fiber *fiber)
{
    if (fiber->memory)
        munmap(fiber->memory, fiber->size);
    fiber->memory = NULL;
}

void fiber_resume(struct fiber *fiber)
{
#if STACK_SANITIZED
    __sanitizer_start_switch_fiber(&fiber->back_fake_stack, fiber->memory, fiber->size);
#endif
    swapcontext(&fiber->back, &fiber->context);
#if STACK_SANITIZED
    __sanitizer_finish_switch_fiber(fiber->back_fake_stack, NULL, NULL);
#endif
}

void fiber_yield(struct fiber *fiber)
{
#if STACK_SANITIZED
    __sanitizer_start_switch_fiber(&fiber->fake_stack, fiber->back_bottom, fiber->back_size);
#endif
    swapcontext(&fiber->context, &fiber->back);
#if STACK_SANITIZED
    __sanitizer_finish_switch_fiber(fiber->fake_stack, &fiber->back_bottom, &fiber->back_size);
#endif
}

void fiber_finish(struct fiber *fiber)
{
#if STACK_SANITIZED
    __sanitizer_start_switch_fiber(NULL, fiber->back_bottom, fiber->back_size);
#endif
    setcontext(&fiber->back);
    UNREACHABLE();
}
