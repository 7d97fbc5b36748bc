// The small modules of the base layer: hash and clock.
#include <criterion/criterion.h>

#include "base/clock.h"
#include "base/hash.h"

Test(hash, depends_on_every_byte_and_on_the_seed)
{
    char text[] = "some text of more than eight bytes";
    uint64_t before = hash_bytes(text, sizeof(text), 1);
    for (size_t i = 0; i < sizeof(text); i++) {
        text[i] ^= 1;
        cr_expect_neq(hash_bytes(text, sizeof(text), 1), before);
        text[i] ^= 1;
    }
    cr_expect_eq(hash_bytes(text, sizeof(text), 1), before);
    cr_expect_neq(hash_bytes(text, sizeof(text), 2), before);
    cr_expect_eq(hash_seed(), hash_seed());
}

Test(clock, formats_utc_and_never_goes_back)
{
    char text[CLOCK_ISO_SIZE];
    clock_format_iso(1767225600, text);
    cr_expect_str_eq(text, "2026-01-01T00:00:00Z");
    int64_t before = clock_now_ns();
    cr_expect_leq(before, clock_now_ns());
}
