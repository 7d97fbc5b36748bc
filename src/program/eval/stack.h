// The C stack of a run. User recursion is limited by time and memory only: a call that comes near the
// end of the stack goes on in a new piece, which is counted in the run's region.
//
// The run starts on its caller's stack and may use STACK_CALLER_BUDGET bytes of it; STACK_MARGIN bytes
// below every end are left for builtins and libraries, which do not check. So a thread that runs
// programs needs 1 MiB of stack.
#pragma once

#include <stdbool.h>
#include <stddef.h>

#if defined(__SANITIZE_ADDRESS__)
#define STACK_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define STACK_SANITIZED 1
#endif
#endif
#ifndef STACK_SANITIZED
#define STACK_SANITIZED 0
#endif

enum {
    STACK_CALLER_BUDGET = (STACK_SANITIZED ? 1024 : 256) * 1024,
    STACK_MARGIN = (STACK_SANITIZED ? 1024 : 256) * 1024,
};

struct run;
struct stack_piece;

typedef void stack_fn(void *data);

// Calls function(data) on the next piece of stack, at least `need` bytes above its margin. Raises
// memory_exceeded when the run has no memory for it.
void stack_call(struct run *run, size_t need, stack_fn *function, void *data);
// The same on a large piece that is not counted: for code of the host.
void stack_call_host(struct run *run, stack_fn *function, void *data);

// Calls function(data) with the stack pointer at `top`, which is 16-byte aligned.
void stack_switch(void *top, stack_fn *function, void *data);

// Frames that a jump has left behind are unknown to AddressSanitizer; this makes their memory plain.
void stack_forget_frames(char *low, const char *high);

// Is there less than `need` bytes left before the margin?
static inline bool stack_is_low(const char *stack_end, size_t need)
{
    return (size_t)((char *)__builtin_frame_address(0) - stack_end) < need ||
           (char *)__builtin_frame_address(0) < stack_end;
}

// Pieces in use, to come back to after a jump.
struct stack_piece *stack_mark(const struct run *run);
// Just before and just after a jump from deeper pieces to the one that was current at `mark`.
void stack_unwind(struct run *run, struct stack_piece *mark);
void stack_landed(struct run *run);
// Gives all pieces back.
void stack_release(struct run *run);
