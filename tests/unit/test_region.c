// Regions: exact accounting, limits, reuse of freed memory, injected failures.
#include <criterion/criterion.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

#include "base/region.h"

struct escape {
    jmp_buf jump;
    size_t refused;
};

static void leave(void *data, size_t size)
{
    struct escape *escape = data;
    escape->refused = size;
    longjmp(escape->jump, 1);
}

Test(region, counts_live_and_peak_bytes_exactly)
{
    struct region *region = region_new(1 << 20);
    void *a = region_alloc(region, 1);
    void *b = region_alloc(region, 100);
    void *c = region_alloc(region, 5000);
    cr_expect_eq(region->live, 16 + 112 + 5008);
    region_return(region, b, 100);
    cr_expect_eq(region->live, 16 + 5008);
    cr_expect_eq(region->peak, 16 + 112 + 5008);
    region_return(region, a, 1);
    region_return(region, c, 5000);
    cr_expect_eq(region->live, 0);
    region_free(region);
}

Test(region, refuses_what_goes_over_the_limit_and_goes_on)
{
    struct region *region = region_new(1000);
    struct escape escape = {0};
    region_on_exhausted(region, leave, &escape);
    if (setjmp(escape.jump) == 0) {
        region_alloc(region, 900);
        region_alloc(region, 200);
        cr_assert_fail("the second allocation fits nowhere");
    }
    cr_expect_eq(escape.refused, 208);
    cr_expect_eq(region->live, 912);
    cr_expect_not_null(region_alloc(region, 80));
    region_free(region);
}

Test(region, refuses_absurd_sizes)
{
    struct region *region = region_new(SIZE_MAX);
    struct escape escape = {0};
    region_on_exhausted(region, leave, &escape);
    if (setjmp(escape.jump) == 0) {
        region_alloc(region, SIZE_MAX - 3);
        cr_assert_fail("no such memory");
    }
    cr_expect_eq(region->live, 0);
    region_free(region);
}

Test(region, fails_the_nth_allocation_once)
{
    struct region *region = region_new(1 << 20);
    struct escape escape = {0};
    region_on_exhausted(region, leave, &escape);
    volatile int done = 0;
    region_fail_nth(region, 3);
    if (setjmp(escape.jump) == 0)
        for (; done < 10; done++)
            region_alloc(region, 32);
    cr_expect_eq(done, 2);
    cr_expect_not_null(region_alloc(region, 32));
    region_free(region);
}

Test(region, charges_count_like_memory)
{
    struct region *region = region_new(1000);
    struct escape escape = {0};
    region_on_exhausted(region, leave, &escape);
    region_charge(region, 990);
    if (setjmp(escape.jump) == 0) {
        region_alloc(region, 32);
        cr_assert_fail("the charge fills the region");
    }
    region_discharge(region, 990);
    cr_expect_not_null(region_alloc(region, 32));
    region_free(region);
}

Test(region, resizing_keeps_the_bytes_and_the_count)
{
    struct region *region = region_new(1 << 24);
    size_t size = 1;
    unsigned char *bytes = region_alloc(region, size);
    bytes[0] = 7;
    for (int step = 0; step < 20; step++) {
        size_t next = size * 2;
        bytes = region_resize(region, bytes, size, next);
        memset(bytes + size, 7, next - size);
        size = next;
    }
    cr_expect_eq(region->live, region_round(size));
    for (size_t i = 0; i < size; i++)
        cr_assert_eq(bytes[i], 7);
    bytes = region_resize(region, bytes, size, 10);
    cr_expect_eq(region->live, 16);
    region_return(region, bytes, 10);
    cr_expect_eq(region->live, 0);
    region_free(region);
}

// Objects of random sizes in random order: no object overlaps another.
Test(region, random_use_keeps_every_object_intact)
{
    enum { SLOTS = 2000, STEPS = 200000 };
    static struct {
        unsigned char *bytes;
        size_t size;
        unsigned char mark;
    } slots[SLOTS];
    struct region *region = region_new(1 << 28);
    size_t live = 0;
    unsigned state = 12345;
    for (int step = 0; step < STEPS; step++) {
        state = state * 1664525 + 1013904223;
        unsigned slot = state >> 8 & 0xFFFF;
        slot %= SLOTS;
        if (slots[slot].bytes) {
            for (size_t i = 0; i < slots[slot].size; i++)
                cr_assert_eq(slots[slot].bytes[i], slots[slot].mark);
            region_return(region, slots[slot].bytes, slots[slot].size);
            live -= region_round(slots[slot].size);
            slots[slot].bytes = NULL;
        } else {
            size_t size = 1 + (state >> 4) % ((state & 15) == 0 ? 3000 : 200);
            slots[slot].bytes = region_alloc(region, size);
            slots[slot].size = size;
            slots[slot].mark = (unsigned char)step;
            memset(slots[slot].bytes, slots[slot].mark, size);
            live += region_round(size);
        }
        cr_assert_eq(region->live, live);
    }
    region_clear(region);
    cr_expect_eq(region->live, 0);
    cr_expect_not_null(region_alloc(region, 48));
    region_free(region);
}

// Memory freed in one size serves another: the same bytes go round many times.
Test(region, freed_small_objects_serve_other_sizes)
{
    enum { COUNT = 4096 };
    static void *objects[COUNT];
    struct region *region = region_new(1 << 28);
    for (size_t size = 16; size <= REGION_SMALL_MAX; size += 16) {
        for (int i = 0; i < COUNT; i++)
            objects[i] = region_alloc(region, size);
        for (int i = COUNT - 1; i >= 0; i--)
            region_return(region, objects[i], size);
        cr_assert_eq(region->live, 0);
    }
    region_free(region);
}

Test(region, large_objects_keep_their_bytes_when_they_are_resized)
{
    struct region *region = region_new(SIZE_MAX);
    size_t size = 1000;
    char *object = region_alloc_zero(region, size);
    for (size_t next = 4000; next < (size_t)20 << 20; next = next * 3 / 2) {
        memset(object, 'x', size);
        object = region_resize(region, object, size, next);
        cr_expect(object[0] == 'x' && object[size - 1] == 'x');
        size = next;
        cr_expect_eq(region->live, region_round(size));
    }
    object = region_resize(region, object, size, (size_t)1 << 20);
    cr_expect(object[0] == 'x' && object[(1 << 20) - 1] == 'x');
    region_return(region, object, (size_t)1 << 20);
    object = region_alloc_zero(region, (size_t)3 << 20);
    for (size_t i = 0; i < (size_t)3 << 20; i += 1000)
        cr_expect_eq(object[i], 0);
    region_return(region, object, (size_t)3 << 20);
    cr_expect(region->live == 0 && region->slack == 0);
    region_free(region);
}
