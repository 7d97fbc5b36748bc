// Capture: what is kept of a worker's output.
#include <criterion/criterion.h>
#include <string.h>

#include "base/utf8.h"
#include "session/capture.h"

struct capture_fixture {
    struct capture capture;
    struct buffer text;
};

static void capture_open(struct capture_fixture *fixture, size_t limit)
{
    capture_init(&fixture->capture, limit);
    buffer_init(&fixture->text, BUFFER_DEFAULT_LIMIT);
}

static void capture_close(struct capture_fixture *fixture)
{
    capture_release(&fixture->capture);
    buffer_release(&fixture->text);
}

static uint64_t move(struct capture_fixture *fixture)
{
    buffer_clear(&fixture->text);
    return capture_move(&fixture->capture, &fixture->text);
}

Test(capture, keeps_all_within_the_limit)
{
    struct capture_fixture fixture;
    capture_open(&fixture, 100);
    char text[101];
    memset(text, 'x', 100);
    text[100] = 0;
    capture_add(&fixture.capture, text, 100);
    cr_assert_eq(move(&fixture), 0);
    cr_assert_str_eq(buffer_text(&fixture.text), text);
    cr_assert_eq(move(&fixture), 0);
    cr_assert_eq(fixture.text.length, 0);
    capture_close(&fixture);
}

Test(capture, beginning_and_end_over_the_limit)
{
    struct capture_fixture fixture;
    capture_open(&fixture, 8);
    capture_add(&fixture.capture, "abcdefghijklm", 13);
    cr_assert_eq(move(&fixture), 5);
    cr_assert_str_eq(buffer_text(&fixture.text),
                     "abcdef\n[truncated: 5 characters omitted; max-output 8]\nlm");
    capture_close(&fixture);
}

static void expect_shrunk(size_t limit, size_t keep, const char *input, const char *expected)
{
    struct capture_fixture fixture;
    capture_open(&fixture, limit);
    capture_add(&fixture.capture, input, strlen(input));
    capture_shrink(&fixture.capture, keep);
    move(&fixture);
    cr_expect_str_eq(buffer_text(&fixture.text), expected);
    capture_close(&fixture);
}

// A reply may have less room than the limit; the line still names the limit.
Test(capture, shrinks_to_a_share)
{
    static const char input[] = "abcdefghijklm";
    expect_shrunk(100, 13, input, input);
    expect_shrunk(100, 8, input, "abcdef\n[truncated: 5 characters omitted; max-output 100]\nlm");
    expect_shrunk(13, 8, input, "abcdef\n[truncated: 5 characters omitted; max-output 13]\nlm");
    expect_shrunk(12, 4, input, "abc\n[truncated: 9 characters omitted; max-output 12]\nm");
    expect_shrunk(100, 4, "λμνξοπ", "λμν\n[truncated: 2 characters omitted; max-output 100]\nπ");
    expect_shrunk(100, 0, "ab", "[truncated: 2 characters omitted; max-output 100]\n");
}

// The result does not depend on the pieces it came in.
Test(capture, pieces_do_not_matter)
{
    static const char input[] = "a\xCE\xBB\xE2\x82\xAC\xF0\x9F\x98\x80\xFFz\xE2\x82x\xC3";
    struct capture_fixture whole, pieces;
    capture_open(&whole, 100);
    capture_add(&whole.capture, input, sizeof(input) - 1);
    move(&whole);
    cr_assert_str_eq(buffer_text(&whole.text), "a\xCE\xBB\xE2\x82\xAC\xF0\x9F\x98\x80\xEF\xBF\xBDz"
                                               "\xEF\xBF\xBDx\xEF\xBF\xBD");
    for (size_t size = 1; size < sizeof(input); size++) {
        capture_open(&pieces, 100);
        for (size_t at = 0; at < sizeof(input) - 1; at += size) {
            size_t left = sizeof(input) - 1 - at;
            capture_add(&pieces.capture, input + at, left < size ? left : size);
        }
        move(&pieces);
        cr_assert_str_eq(buffer_text(&pieces.text), buffer_text(&whole.text), "size %zu", size);
        capture_close(&pieces);
    }
    capture_close(&whole);
}

Test(capture, counts_characters_of_a_flood)
{
    struct capture_fixture fixture;
    capture_open(&fixture, 1000);
    char lambdas[2000];
    for (size_t i = 0; i < sizeof(lambdas); i += 2)
        memcpy(lambdas + i, "\xCE\xBB", 2);
    for (int i = 0; i < 1000; i++)
        capture_add(&fixture.capture, lambdas, sizeof(lambdas));
    cr_assert_lt(fixture.capture.tail.capacity, 1u << 20);
    cr_assert_eq(move(&fixture), 1000000 - 1000);
    cr_assert(strstr(buffer_text(&fixture.text), "[truncated: 999000 characters omitted"));
    capture_close(&fixture);
}

Test(capture, newest_line_and_last_bytes)
{
    struct capture_fixture fixture;
    capture_open(&fixture, 1000);
    capture_add(&fixture.capture, "one\ntwo\n", 8);
    struct span line = capture_newest_line(&fixture.capture, 100);
    cr_assert(span_equal_text(line, "two"));
    capture_add(&fixture.capture, "thr", 3);
    line = capture_newest_line(&fixture.capture, 2);
    cr_assert(span_equal_text(line, "hr"));
    capture_add(&fixture.capture, "\xFF\xE2\x82\xAC\xC3", 5);
    capture_last(&fixture.capture, &fixture.text);
    cr_assert_str_eq(buffer_text(&fixture.text),
                     "one\ntwo\nthr\xEF\xBF\xBD\xE2\x82\xAC\xEF\xBF\xBD");
    capture_close(&fixture);
}

Test(capture, last_bytes_begin_within_a_character)
{
    struct capture_fixture fixture;
    capture_open(&fixture, 10);
    for (int i = 0; i < CAPTURE_LAST_BYTES; i++)
        capture_add(&fixture.capture, "\xE2\x82\xAC", 3);
    capture_last(&fixture.capture, &fixture.text);
    cr_assert(utf8_is_valid(buffer_text(&fixture.text), fixture.text.length));
    cr_assert_geq(fixture.text.length, CAPTURE_LAST_BYTES);
    capture_close(&fixture);
}

static void append_heard(void *data, const struct capture *capture, struct span text)
{
    (void)capture;
    buffer_append_span(data, text);
}

Test(capture, a_listener_gets_all_of_it)
{
    struct capture_fixture fixture;
    struct buffer heard;
    buffer_init(&heard, BUFFER_DEFAULT_LIMIT);
    capture_open(&fixture, 8);
    capture_add(&fixture.capture, "early ", 6);
    capture_listen(&fixture.capture, append_heard, &heard);
    capture_add(&fixture.capture, "more than eight \xC3", 17);
    capture_add(&fixture.capture, "\xA9\xFF.", 3);
    cr_assert_str_eq(buffer_text(&heard), "early more than eight é\xEF\xBF\xBD.");
    cr_assert_gt(move(&fixture), 0);
    capture_listen(&fixture.capture, NULL, NULL);
    capture_add(&fixture.capture, "x", 1);
    cr_assert_str_eq(buffer_text(&heard), "early more than eight é\xEF\xBF\xBD.");
    buffer_release(&heard);
    capture_close(&fixture);
}
