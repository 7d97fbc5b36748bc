#include "program/eval/stack.h"

#include <sys/mman.h>

#include "base/assert.h"
#include "program/run/run_state.h"

#if STACK_SANITIZED
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif

enum {
    FIRST_PIECE = 512 * 1024,  // bytes above the margin
    LAST_PIECE = 16 * 1024 * 1024,
    LEAST_PIECE = 64 * 1024,
    HOST_PIECE = 8 * 1024 * 1024,
    GUARD = 4096,
};

// Lies at the upper end of its memory.
struct stack_piece {
    struct stack_piece *previous;
    struct stack_piece *next;  // a spare one kept for the next time, or NULL
    char *memory;
    size_t size;       // all of it
    size_t charged;    // in the region
    void *fake_stack;  // AddressSanitizer's, of the stack that was left
    const void *left_bottom;
    size_t left_size;
};

struct switch_call {
    stack_fn *function;
    void *data;
    struct stack_piece *piece;
};

// --- switching -----------------------------------------------------------------------------------

#if defined(__x86_64__)
__asm__(".text\n"
        ".globl stack_switch\n"
        ".hidden stack_switch\n"
        ".type stack_switch,@function\n"
        "stack_switch:\n"
        ".cfi_startproc\n"
        "endbr64\n"
        "push %rbp\n"
        ".cfi_def_cfa_offset 16\n"
        ".cfi_offset %rbp, -16\n"
        "mov %rsp, %rbp\n"
        ".cfi_def_cfa_register %rbp\n"
        "mov %rdi, %rsp\n"
        "mov %rdx, %rdi\n"
        "call *%rsi\n"
        "mov %rbp, %rsp\n"
        "pop %rbp\n"
        ".cfi_def_cfa %rsp, 8\n"
        "ret\n"
        ".cfi_endproc\n"
        ".size stack_switch, .-stack_switch\n");
#elif defined(__aarch64__)
__asm__(".text\n"
        ".globl stack_switch\n"
        ".hidden stack_switch\n"
        ".type stack_switch,%function\n"
        "stack_switch:\n"
        ".cfi_startproc\n"
        "stp x29, x30, [sp, #-16]!\n"
        ".cfi_def_cfa_offset 16\n"
        ".cfi_offset x29, -16\n"
        ".cfi_offset x30, -8\n"
        "mov x29, sp\n"
        ".cfi_def_cfa_register x29\n"
        "mov sp, x0\n"
        "mov x0, x2\n"
        "blr x1\n"
        "mov sp, x29\n"
        "ldp x29, x30, [sp], #16\n"
        ".cfi_def_cfa sp, 0\n"
        "ret\n"
        ".cfi_endproc\n"
        ".size stack_switch, .-stack_switch\n");
#else
#error "stack_switch is written for x86-64 and aarch64"
#endif

void stack_forget_frames(char *low, const char *high)
{
#if STACK_SANITIZED
    __asan_unpoison_memory_region(low, (size_t)(high - low));
#else
    (void)low;
    (void)high;
#endif
}

static void arrive(void *data)
{
    struct switch_call *call = data;
#if STACK_SANITIZED
    __sanitizer_finish_switch_fiber(NULL, &call->piece->left_bottom, &call->piece->left_size);
#endif
    call->function(call->data);
#if STACK_SANITIZED
    __sanitizer_start_switch_fiber(NULL, call->piece->left_bottom, call->piece->left_size);
#endif
}

// --- pieces --------------------------------------------------------------------------------------

static void piece_free(struct run *run, struct stack_piece *piece)
{
    region_discharge(run->region, piece->charged);
    stack_forget_frames(piece->memory, piece->memory + piece->size);
    munmap(piece->memory, piece->size);
}

static struct stack_piece *piece_new(struct run *run, size_t usable, size_t charged)
{
    region_charge(run->region, charged);
    size_t size = GUARD + STACK_MARGIN + usable + sizeof(struct stack_piece);
    size = (size + GUARD - 1) & ~(size_t)(GUARD - 1);
    char *memory = mmap(NULL, size, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
    if (memory == MAP_FAILED) {
        region_discharge(run->region, charged);
        run_raise_limit(run, MEMORY_EXCEEDED, NULL, "max_memory", (int64_t)run->limits.max_memory,
                        "the system has no memory for the stack");
    }
    mprotect(memory, GUARD, PROT_NONE);
    struct stack_piece *piece =
        (struct stack_piece *)((uintptr_t)(memory + size - sizeof(*piece)) & ~(uintptr_t)15);
    *piece = (struct stack_piece){.memory = memory, .size = size, .charged = charged};
    return piece;
}

// Larger pieces the deeper the run is, but not more than half of what the run has left.
static size_t next_usable(const struct run *run, size_t need)
{
    const struct stack_piece *current = run->state->stack.current;
    size_t usable = current ? current->size * 2 : FIRST_PIECE;
    if (usable > LAST_PIECE)
        usable = LAST_PIECE;
    const struct region *region = run->region;
    size_t left = region->limit > region->live ? region->limit - region->live : 0;
    while (usable > LEAST_PIECE && usable > left / 2)
        usable /= 2;
    return usable < need + LEAST_PIECE / 2 ? need + LEAST_PIECE / 2 : usable;
}

static char *piece_end(const struct run *run, const struct stack_piece *piece)
{
    return piece ? piece->memory + GUARD + STACK_MARGIN : run->state->stack.caller_end;
}

static void call_on(struct run *run, struct stack_piece *piece, stack_fn *function, void *data)
{
    struct stack *stack = &run->state->stack;
    struct switch_call call = {.function = function, .data = data, .piece = piece};
    piece->previous = stack->current;
    stack->current = piece;
    run->stack_end = piece_end(run, piece);
#if STACK_SANITIZED
    __sanitizer_start_switch_fiber(&piece->fake_stack, piece->memory,
                                   (size_t)((char *)piece - piece->memory));
#endif
    stack_switch(piece, arrive, &call);
#if STACK_SANITIZED
    __sanitizer_finish_switch_fiber(piece->fake_stack, NULL, NULL);
#endif
    stack->current = piece->previous;
    run->stack_end = piece_end(run, stack->current);
}

void stack_call(struct run *run, size_t need, stack_fn *function, void *data)
{
    struct stack *stack = &run->state->stack;
    struct stack_piece **spare = stack->current ? &stack->current->next : &stack->first_spare;
    struct stack_piece *piece = *spare;
    if (piece && (size_t)((char *)piece - piece_end(run, piece)) < need) {
        *spare = NULL;
        piece_free(run, piece);
        piece = NULL;
    }
    if (!piece) {
        size_t usable = next_usable(run, need);
        piece = piece_new(run, usable, usable);
        *spare = piece;
    }
    call_on(run, piece, function, data);
    // Its own successor is of use only while the recursion goes up and down around it.
    if (piece->next) {
        piece_free(run, piece->next);
        piece->next = NULL;
    }
}

void stack_call_host(struct run *run, stack_fn *function, void *data)
{
    if (!run->state->stack.current && !run->state->stack.is_fiber) {
        function(data);
        return;
    }
    struct stack_piece *piece = piece_new(run, HOST_PIECE, 0);
    call_on(run, piece, function, data);
    piece_free(run, piece);
}

// --- jumps ---------------------------------------------------------------------------------------

struct stack_piece *stack_mark(const struct run *run)
{
    return run->state->stack.current;
}

void stack_unwind(struct run *run, struct stack_piece *mark)
{
    struct stack *stack = &run->state->stack;
    struct stack_piece *piece = stack->current;
    stack->fake_stack = NULL;
    stack->is_switching = piece != mark;
    while (piece && piece != mark) {
        struct stack_piece *previous = piece->previous;
        stack->fake_stack = piece->fake_stack;
        stack->left_bottom = piece->left_bottom;
        stack->left_size = piece->left_size;
        piece = previous;
    }
    CHECK(piece == mark);
#if STACK_SANITIZED
    if (stack->is_switching)
        __sanitizer_start_switch_fiber(NULL, stack->left_bottom, stack->left_size);
#endif
    stack->current = mark;
    run->stack_end = piece_end(run, mark);
}

void stack_landed(struct run *run)
{
#if STACK_SANITIZED
    if (run->state->stack.is_switching)
        __sanitizer_finish_switch_fiber(run->state->stack.fake_stack, NULL, NULL);
#endif
    run->state->stack.is_switching = false;
    const struct stack *stack = &run->state->stack;
    char *low = stack->current    ? stack->current->memory + GUARD
                : stack->is_fiber ? stack->caller_end
                                  : stack->caller_end - STACK_MARGIN;
    stack_forget_frames(low, __builtin_frame_address(0));
}

void stack_release(struct run *run)
{
    struct stack_piece *piece = run->state->stack.first_spare;
    CHECK(!run->state->stack.current);
    while (piece) {
        struct stack_piece *next = piece->next;
        piece_free(run, piece);
        piece = next;
    }
    run->state->stack.first_spare = NULL;
}
