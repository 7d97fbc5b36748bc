#include "tools/result/result_tests.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/array.h"
#include "tools/result/result_text.h"

// Characters of failures in an answer to a model; people get all.
enum { SHOWN_MAX = 12000 };

static void append_seconds(struct buffer *text, int64_t microseconds)
{
    double seconds = (double)microseconds / 1e6;
    buffer_append_format(text, seconds < 10 ? "%.3f s" : "%.1f s", seconds);
}

void render_tests_summary(struct buffer *text, value run)
{
    int64_t failed = map_get_integer(run, "failed", 0),
            skipped = map_get_integer(run, "skipped", 0);
    buffer_append_format(text, "%" PRId64 " of ", map_get_integer(run, "passed", 0));
    render_counted(text, map_get_integer(run, "tests", 0), "test");
    buffer_append_text(text, " passed");
    if (failed)
        buffer_append_format(text, ", %" PRId64 " failed", failed);
    if (skipped)
        buffer_append_format(text, ", %" PRId64 " skipped", skipped);
    buffer_append_text(text, " (");
    if (map_get_count(run, "frameworks")) {
        render_names(text, map_get(run, "frameworks"));
        buffer_append_text(text, ", ");
    }
    render_counted(text, map_get_integer(run, "checks", 0), "check");
    buffer_append_text(text, ", ");
    append_seconds(text, map_get_integer(run, "us", 0));
    buffer_append_byte(text, ')');
}

// Continuation lines are indented like the first.
static void append_lines(struct buffer *text, const char *label, struct span lines)
{
    while (lines.length && (lines.data[0] == '\n' || lines.data[0] == ' '))
        lines = (struct span){lines.data + 1, lines.length - 1};
    while (lines.length && lines.data[lines.length - 1] == '\n')
        lines.length--;
    if (lines.length == 0)
        return;
    buffer_append_format(text, "\n  %s", label);
    for (size_t i = 0; i < lines.length; i++) {
        buffer_append_byte(text, lines.data[i]);
        if (lines.data[i] == '\n')
            buffer_append_text(text, "    ");
    }
}

void render_test_failure(struct buffer *text, value failure, bool frozen)
{
    static const struct {
        const char *member, *label;
    } rows[] = {{"expression", ""}, {"expected", "expected: "}, {"got", "got: "}};
    struct span file = map_get_string(failure, "file"), reason = map_get_string(failure, "reason");
    struct span name = map_get_string(failure, "name");
    buffer_append_format(text, "[%.*s] ", (int)reason.length, reason.data);
    buffer_append_span(text, name);
    if (file.length) {
        buffer_append_text(text, "  ");
        buffer_append_span(text, file);
        if (map_get_integer(failure, "line", 0) > 0)
            buffer_append_format(text, ":%" PRId64, map_get_integer(failure, "line", 0));
    }
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        append_lines(text, rows[i].label, map_get_string(failure, rows[i].member));
    // With both values the message repeats them.
    if (map_get_string(failure, "expected").length == 0 ||
        map_get_string(failure, "got").length == 0)
        append_lines(text, "", map_get_string(failure, "message"));
    append_lines(text, "output: ", map_get_string(failure, "output"));
    int64_t error = map_get_integer(failure, "error", 0);
    if (frozen && error > 0)
        buffer_append_format(text, "\n  Frozen as error %" PRId64 ".", error);
}

static void append_slowest(struct buffer *text, value run)
{
    size_t count = map_get_count(run, "slowest");
    for (size_t i = 0; i < count; i++) {
        value test = map_get_item(run, "slowest", i);
        buffer_append_text(text, i ? ", " : "\n\nSlowest: ");
        buffer_append_span(text, map_get_string(test, "name"));
        buffer_append_byte(text, ' ');
        append_seconds(text, map_get_integer(test, "us", 0));
    }
}

static bool any_is_frozen(value run)
{
    for (size_t i = 0; i < map_get_count(run, "failures"); i++)
        if (map_get_integer(map_get_item(run, "failures", i), "error", 0) > 0)
            return true;
    return false;
}

static void render(struct buffer *text, value run, bool frozen, size_t limit)
{
    render_tests_summary(text, run);
    struct span note = map_get_string(run, "note");
    if (note.length) {
        buffer_append_byte(text, '\n');
        buffer_append_span(text, note);
    }
    size_t count = map_get_count(run, "failures"), shown = 0;
    while (shown < count && text->length < limit) {
        buffer_append_text(text, "\n\n");
        render_test_failure(text, map_get_item(run, "failures", shown++), frozen);
    }
    if (shown < count)
        buffer_append_format(text, "\n\n[%zu more failures not shown]", count - shown);
    append_slowest(text, run);
}

void render_tests(struct buffer *text, value run)
{
    render(text, run, true, SHOWN_MAX);
    if (any_is_frozen(run))
        buffer_append_text(text, "\n\nFrozen failures: inspect, eval-in-frame and invoke-restart "
                                 "with `error`; the session is unchanged.");
}

void render_tests_outcome(struct buffer *text, value run)
{
    render(text, run, false, SIZE_MAX);
}
