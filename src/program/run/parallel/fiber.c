#include "program/run/parallel/fiber.h"

#include <sys/mman.h>

#include "base/assert.h"
#include "program/eval/stack.h"

#if STACK_SANITIZED
#include <sanitizer/common_interface_defs.h>
#endif

enum { GUARD = 4096 };

static void fiber_main(void *data)
{
    struct fiber *fiber = data;
#if STACK_SANITIZED
    __sanitizer_finish_switch_fiber(NULL, &fiber->back_bottom, &fiber->back_size);
#endif
    fiber->entry(fiber->data);
    UNREACHABLE();
}

bool fiber_init(struct fiber *fiber, size_t size, fiber_fn *entry, void *data)
{
    *fiber = (struct fiber){.entry = entry, .data = data, .size = size};
    fiber->memory = mmap(NULL, size, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
    if (fiber->memory == MAP_FAILED) {
        fiber->memory = NULL;
        return false;
    }
    mprotect(fiber->memory, GUARD, PROT_NONE);
    return true;
}

void fiber_release(struct fiber *fiber)
{
    if (fiber->memory) {
        stack_forget_frames(fiber->memory, fiber->memory + fiber->size);
        munmap(fiber->memory, fiber->size);
    }
    fiber->memory = NULL;
}

static __attribute__((noinline)) _Noreturn void jump(void **to)
{
    __builtin_longjmp(to, 1);
}

// The compiler keeps nothing in registers across its own setjmp, so a jump between stacks needs no
// more than stack pointer, frame pointer and address.
void fiber_resume(struct fiber *fiber)
{
#if STACK_SANITIZED
    __sanitizer_start_switch_fiber(&fiber->back_fake_stack, fiber->memory, fiber->size);
#endif
    if (!__builtin_setjmp(fiber->back)) {
        if (fiber->started)
            jump(fiber->here);
        fiber->started = true;
        stack_switch(fiber->memory + fiber->size, fiber_main, fiber);
        UNREACHABLE();
    }
#if STACK_SANITIZED
    __sanitizer_finish_switch_fiber(fiber->back_fake_stack, NULL, NULL);
#endif
}

void fiber_yield(struct fiber *fiber)
{
#if STACK_SANITIZED
    __sanitizer_start_switch_fiber(&fiber->fake_stack, fiber->back_bottom, fiber->back_size);
#endif
    if (!__builtin_setjmp(fiber->here))
        jump(fiber->back);
#if STACK_SANITIZED
    __sanitizer_finish_switch_fiber(fiber->fake_stack, &fiber->back_bottom, &fiber->back_size);
#endif
}

void fiber_finish(struct fiber *fiber)
{
#if STACK_SANITIZED
    __sanitizer_start_switch_fiber(NULL, fiber->back_bottom, fiber->back_size);
#endif
    jump(fiber->back);
}
