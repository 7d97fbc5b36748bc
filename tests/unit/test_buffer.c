#include "base/buffer.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/memory.h"

Test(buffer, starts_as_empty_text)
{
    CLEANUP_BUFFER struct buffer buffer;
    buffer_init(&buffer, BUFFER_DEFAULT_LIMIT);
    cr_assert_str_eq(buffer_text(&buffer), "");
    cr_assert_eq(buffer_span(&buffer).length, 0);
}

Test(buffer, appends_all_kinds)
{
    CLEANUP_BUFFER struct buffer buffer;
    buffer_init(&buffer, BUFFER_DEFAULT_LIMIT);
    buffer_append(&buffer, "a\0b", 3);
    buffer_append_text(&buffer, "cd");
    buffer_append_byte(&buffer, 'e');
    buffer_append_span(&buffer, SPAN("fg"));
    buffer_append_format(&buffer, "%d-%s", 12, "h");
    cr_assert_not(buffer.failed);
    cr_assert(span_equal(buffer_span(&buffer), SPAN("a\0bcdefg12-h")));
    cr_assert_eq(buffer.data[buffer.length], '\0');
}

Test(buffer, consumes_and_truncates)
{
    CLEANUP_BUFFER struct buffer buffer;
    buffer_init(&buffer, BUFFER_DEFAULT_LIMIT);
    buffer_append_text(&buffer, "0123456789");
    buffer_consume(&buffer, 0);
    buffer_consume(&buffer, 3);
    cr_assert_str_eq(buffer_text(&buffer), "3456789");
    buffer_truncate(&buffer, 2);
    cr_assert_str_eq(buffer_text(&buffer), "34");
    buffer_consume(&buffer, 2);
    cr_assert_str_eq(buffer_text(&buffer), "");
}

Test(buffer, stops_at_its_limit_until_cleared)
{
    CLEANUP_BUFFER struct buffer buffer;
    buffer_init(&buffer, 8);
    buffer_append_text(&buffer, "12345678");
    cr_assert_not(buffer.failed);
    buffer_append_byte(&buffer, '9');
    cr_assert(buffer.failed);
    cr_assert_str_eq(buffer_text(&buffer), "12345678");
    buffer_append(&buffer, "", 0);
    cr_assert(buffer.failed, "a failure must not be forgotten by a later append");
    buffer_clear(&buffer);
    buffer_append_text(&buffer, "new");
    cr_assert_not(buffer.failed);
    cr_assert_str_eq(buffer_text(&buffer), "new");
}

Test(buffer, reads_a_descriptor_to_its_end_or_the_limit)
{
    struct buffer buffer;
    int zero = open("/dev/zero", O_RDONLY | O_CLOEXEC), null = open("/dev/null", O_RDONLY);
    buffer_init(&buffer, 100000);
    cr_expect_eq(buffer_append_descriptor(&buffer, null), 0);
    cr_expect_eq(buffer.length, 0);
    cr_expect_not(buffer.failed);
    cr_expect_eq(buffer_append_descriptor(&buffer, zero), 0);
    cr_expect(buffer.failed);
    buffer_clear(&buffer);
    close(null);
    cr_expect_eq(buffer_append_descriptor(&buffer, null), -EBADF);
    int ends[2];
    cr_assert_eq(pipe(ends), 0);
    cr_assert_eq(write(ends[1], "in a pipe", 9), 9);
    close(ends[1]);
    cr_expect_eq(buffer_append_descriptor(&buffer, ends[0]), 0);
    cr_expect_str_eq(buffer_text(&buffer), "in a pipe");
    close(ends[0]);
    close(zero);
    buffer_release(&buffer);
}

Test(buffer, survives_every_failing_allocation)
{
    for (size_t n = 1;; n++) {
        CLEANUP_BUFFER struct buffer buffer;
        buffer_init(&buffer, BUFFER_DEFAULT_LIMIT);
        memory_fail_nth(n);
        for (int i = 0; i < 1000; i++)
            buffer_append_format(&buffer, "%d,", i);
        memory_fail_nth(0);
        if (!buffer.failed) {
            cr_assert_gt(n, 3, "the sweep must have met some allocations");
            cr_assert_eq(buffer.length, 10 * 2 + 90 * 3 + 900 * 4);
            return;
        }
        cr_assert_eq(strlen(buffer_text(&buffer)), buffer.length);
    }
}
