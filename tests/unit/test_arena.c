#include "base/arena.h"

#include <criterion/criterion.h>
#include <stdint.h>

#include "base/memory.h"

Test(arena, hands_out_aligned_distinct_objects)
{
    struct arena arena;
    arena_init(&arena, 1 << 20);
    char *previous = NULL;
    for (size_t size = 1; size < 9000; size = size * 3 + 1) {
        char *object = arena_alloc_zero(&arena, size);
        cr_assert_not_null(object);
        cr_assert_eq((uintptr_t)object % 16, 0);
        cr_assert_neq(object, previous);
        cr_assert_eq(object[size - 1], 0);
        memset(object, 0xAB, size);
        previous = object;
    }
    arena_release(&arena);
    cr_assert_eq(arena.used, 0);
}

Test(arena, refuses_to_pass_its_limit)
{
    struct arena arena;
    arena_init(&arena, 100);
    cr_assert_null(arena_alloc(&arena, 101));
    cr_assert_null(arena_alloc(&arena, SIZE_MAX));
    cr_assert_not_null(arena_alloc(&arena, 90));
    cr_assert_eq(arena.used, 96);
    cr_assert_null(arena_alloc(&arena, 5));
    arena_clear(&arena);
    cr_assert_not_null(arena_alloc(&arena, 5));
    arena_release(&arena);
}

Test(arena, keeps_filling_a_block_after_a_large_object)
{
    struct arena arena;
    arena_init(&arena, 1 << 20);
    char *first = arena_alloc(&arena, 16);
    cr_assert_not_null(arena_alloc(&arena, 100 * 1024));
    cr_assert_eq((char *)arena_alloc(&arena, 16), first + 16);
    arena_release(&arena);
}

Test(arena, copies_text_with_its_final_nul)
{
    struct arena arena;
    arena_init(&arena, 1 << 20);
    cr_assert_str_eq(arena_copy_text(&arena, SPAN("hello")), "hello");
    cr_assert_str_eq(arena_copy_text(&arena, (struct span){NULL, 0}), "");
    arena_release(&arena);
}

Test(arena, survives_a_failing_allocation)
{
    struct arena arena;
    arena_init(&arena, 1 << 20);
    memory_fail_nth(1);
    cr_assert_null(arena_alloc(&arena, 10));
    cr_assert_eq(arena.used, 0);
    cr_assert_not_null(arena_alloc(&arena, 10));
    arena_release(&arena);
}

Test(arena, an_empty_object_is_no_failure)
{
    struct arena arena;
    arena_init(&arena, 1000);
    cr_expect_not_null(arena_alloc(&arena, 0));
    arena_release(&arena);
}
