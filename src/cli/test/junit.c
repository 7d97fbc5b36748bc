#include "cli/test/junit.h"

#include <inttypes.h>

#include "base/utf8.h"
#include "tools/result/result_tests.h"

// Control characters are not allowed in XML 1.0, not even escaped.
static void append_escaped(struct buffer *xml, struct span text)
{
    for (size_t i = 0; i < text.length; i++) {
        unsigned char byte = (unsigned char)text.data[i];
        switch (byte) {
        case '&': buffer_append_text(xml, "&amp;"); break;
        case '<': buffer_append_text(xml, "&lt;"); break;
        case '>': buffer_append_text(xml, "&gt;"); break;
        case '"': buffer_append_text(xml, "&quot;"); break;
        case '\n': buffer_append_text(xml, "&#10;"); break;
        default: buffer_append_byte(xml, byte < ' ' && byte != '\t' ? '?' : (char)byte);
        }
    }
}

static void append_attribute(struct buffer *xml, const char *name, struct span text)
{
    buffer_append_format(xml, " %s=\"", name);
    append_escaped(xml, text);
    buffer_append_byte(xml, '"');
}

static void append_time(struct buffer *xml, value map)
{
    buffer_append_format(xml, " time=\"%.6f\"", (double)map_get_integer(map, "us", 0) / 1e6);
}

static void append_counts(struct buffer *xml, value run, int64_t errors)
{
    buffer_append_format(xml,
                         " tests=\"%" PRId64 "\" failures=\"%" PRId64 "\" errors=\"%" PRId64
                         "\" skipped=\"%" PRId64 "\"",
                         map_get_integer(run, "tests", 0),
                         map_get_integer(run, "failed", 0) - errors, errors,
                         map_get_integer(run, "skipped", 0));
    append_time(xml, run);
}

static bool is_check(value failure)
{
    return span_equal_text(map_get_string(failure, "reason"), "failed");
}

// A test that did more than fail a check counts as an error.
static int64_t count_errors(value run)
{
    int64_t errors = 0;
    struct span last = {"", 0};
    for (size_t i = 0; i < map_get_count(run, "failures"); i++) {
        value failure = map_get_item(run, "failures", i);
        struct span name = map_get_string(failure, "name");
        if (is_check(failure) || span_equal(name, last))
            continue;
        errors++;
        last = name;
    }
    return errors;
}

static void append_failures(struct buffer *xml, value run, struct span name)
{
    for (size_t i = 0; i < map_get_count(run, "failures"); i++) {
        value failure = map_get_item(run, "failures", i);
        if (!span_equal(map_get_string(failure, "name"), name))
            continue;
        const char *element = is_check(failure) ? "failure" : "error";
        buffer_append_format(xml, "\n      <%s", element);
        append_attribute(xml, "type", map_get_string(failure, "reason"));
        append_attribute(xml, "message", map_get_string(failure, "message"));
        buffer_append_byte(xml, '>');
        CLEANUP_BUFFER struct buffer text;
        buffer_init(&text, BUFFER_DEFAULT_LIMIT);
        render_test_failure(&text, failure, false);
        append_escaped(xml, buffer_span(&text));
        buffer_append_format(xml, "</%s>", element);
    }
}

static void append_test(struct buffer *xml, value run, value test, const char *system)
{
    struct span name = map_get_string(test, "name"), suite = map_get_string(test, "suite");
    struct span status = map_get_string(test, "status");
    buffer_append_text(xml, "\n    <testcase");
    append_attribute(xml, "name", name);
    append_attribute(xml, "classname", suite.length ? suite : span_from(system));
    append_time(xml, test);
    buffer_append_byte(xml, '>');
    if (span_equal_text(status, "skipped")) {
        buffer_append_text(xml, "\n      <skipped");
        append_attribute(xml, "message", map_get_string(test, "skipped"));
        buffer_append_text(xml, "/>");
    } else if (span_equal_text(status, "failed")) {
        append_failures(xml, run, name);
    }
    buffer_append_text(xml, "</testcase>");
}

void junit_write(struct buffer *xml, const char *system, value run)
{
    int64_t errors = count_errors(run);
    buffer_append_text(xml, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites");
    append_counts(xml, run, errors);
    buffer_append_text(xml, ">\n  <testsuite");
    append_attribute(xml, "name", span_from(system));
    append_counts(xml, run, errors);
    buffer_append_byte(xml, '>');
    for (size_t i = 0; i < map_get_count(run, "results"); i++)
        append_test(xml, run, map_get_item(run, "results", i), system);
    buffer_append_text(xml, "\n  </testsuite>\n</testsuites>\n");
}
