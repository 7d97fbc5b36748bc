#include "tools/result/result_text.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/array.h"
#include "base/ascii.h"

enum { DEBUG_RESTARTS_SHOWN = 9, DESCRIPTION_BYTES = 80, DESCRIPTION_FRAMES = 5 };

void render_gap(struct buffer *text)
{
    if (text->length > 0)
        buffer_append_text(text, "\n\n");
}

void render_counted(struct buffer *text, int64_t count, const char *noun)
{
    buffer_append_format(text, "%" PRId64 " %s%s", count, noun, count == 1 ? "" : "s");
}

void render_names(struct buffer *text, value names)
{
    for (size_t i = 0; i < vector_count(names); i++) {
        if (i > 0)
            buffer_append_text(text, ", ");
        buffer_append_span(text, value_text(vector_at(names, i)));
    }
}

static struct span trim(struct span body)
{
    while (body.length > 0 && *body.data == '\n') {
        body.data++;
        body.length--;
    }
    while (body.length > 0 && strchr(" \t\r\n", body.data[body.length - 1]) &&
           body.data[body.length - 1] != '\0')
        body.length--;
    return body;
}

void render_section(struct buffer *text, const char *heading, struct span body)
{
    body = trim(body);
    if (body.length == 0)
        return;
    render_gap(text);
    buffer_append_format(text, "[%s]\n", heading);
    buffer_append_span(text, body);
}

void render_notices(struct buffer *text, value notices)
{
    if (!value_is_vector(notices) || vector_count(notices) == 0)
        return;
    render_gap(text);
    buffer_append_text(text, "[Notice]");
    for (size_t i = 0; i < vector_count(notices); i++) {
        buffer_append_byte(text, '\n');
        buffer_append_span(text, value_text(vector_at(notices, i)));
    }
}

// Where in its file the code stands.
static void render_warning_file(struct buffer *text, value warning)
{
    struct span path = map_get_string(warning, "path");
    int64_t line = map_get_integer(warning, "line", 0);
    if (path.length == 0)
        return;
    buffer_append_text(text, "\n  in ");
    buffer_append_span(text, path);
    if (line > 0)
        buffer_append_format(text, ":%" PRId64, line);
}

void render_warnings(struct buffer *text, value result)
{
    size_t count = map_get_count(result, "warnings");
    if (count == 0)
        return;
    render_gap(text);
    buffer_append_text(text, "[warnings]");
    for (size_t i = 0; i < count; i++) {
        value warning = map_get_item(result, "warnings", i);
        buffer_append_byte(text, '\n');
        buffer_append_span(text, map_get_string(warning, "category"));
        buffer_append_text(text, ": ");
        buffer_append_span(text, map_get_string(warning, "message"));
        render_warning_file(text, warning);
    }
    int64_t more = map_get_integer(result, "warnings_omitted", 0);
    if (more > 0) {
        buffer_append_text(text, "\n... ");
        render_counted(text, more, "more warning");
    }
}

// What the compiler says of libraries that the evaluation has loaded, on one line.
static void render_library_summary(struct buffer *text, value result)
{
    struct span summary = map_get_string(result, "library_summary");
    if (summary.length == 0)
        return;
    if (map_get_count(result, "warnings") == 0) {
        render_gap(text);
        buffer_append_text(text, "[warnings]");
    }
    buffer_append_text(text, "\n... of libraries: ");
    buffer_append_span(text, summary);
}

// Microseconds as "12.301ms"; nothing at all is "0ms".
static void render_milliseconds(struct buffer *text, int64_t microseconds)
{
    if (microseconds == 0)
        buffer_append_text(text, "0ms");
    else
        buffer_append_format(text, "%.3fms", (double)microseconds / 1000);
}

static void render_timing_line(struct buffer *text, value timing)
{
    if (!value_is_map(timing))
        return;
    buffer_append_text(text, "\n; Timing: ");
    render_milliseconds(text, map_get_integer(timing, "real_us", 0));
    buffer_append_text(text, " real, ");
    render_milliseconds(text, map_get_integer(timing, "run_us", 0));
    buffer_append_text(text, " run, ");
    render_milliseconds(text, map_get_integer(timing, "gc_us", 0));
    buffer_append_text(text, " GC, ");
    render_counted(text, map_get_integer(timing, "bytes", 0), "byte");
    buffer_append_text(text, " consed");
}

static void render_values_omitted(struct buffer *text, const struct session_reply *reply)
{
    int64_t omitted = map_get_integer(reply->result, "values_omitted", 0);
    omitted = map_get_integer(reply->result, "values_omitted_after", omitted);
    struct span cut = map_get_string(reply->result, "values_cut");
    if (cut.length > 0) {
        buffer_append_format(text, "\n[%.*s", (int)cut.length, cut.data);
        if (reply->evaluation > 0 && !reply->advice.more_frames)
            buffer_append_format(text, "; inspect \"$%" PRId64 "\"", reply->evaluation);
        buffer_append_byte(text, ']');
    }
    if (omitted == 0)
        return;
    buffer_append_format(text, "\n[truncated: %s",
                         map_get_boolean(reply->result, "values_stopped") ? "at least " : "");
    render_counted(text, omitted, "character");
    buffer_append_format(text, " omitted; max-output %" PRId64 "]", reply->limits.max_output);
}

void render_values(struct buffer *text, const struct session_reply *reply)
{
    value result = reply->result;
    size_t count = map_get_count(result, "values");
    render_gap(text);
    if (map_get_boolean(result, "aborted"))
        buffer_append_text(text, "; Aborted: the evaluation returned to top level.");
    else if (count == 0 && map_get_integer(result, "forms", 0) == 0)
        buffer_append_text(text, "; No forms to evaluate.");
    else if (count == 0)
        buffer_append_text(text, "; No values");
    for (size_t i = 0; i < count; i++) {
        buffer_append_text(text, i == 0 ? "=> " : "\n=> ");
        buffer_append_span(text, value_text(map_get_item(result, "values", i)));
    }
    render_values_omitted(text, reply);
}

// Where the failing form is, unless it is the first form of the code given.
static void render_position(struct buffer *text, value error)
{
    struct span path = map_get_string(error, "path");
    int64_t form = map_get_integer(error, "form", 1), line = map_get_integer(error, "line", 1),
            column = map_get_integer(error, "column", 1);
    if (path.length > 0)
        buffer_append_format(text, "\n(in form %" PRId64 ", %.*s:%" PRId64 ", column %" PRId64,
                             form, (int)path.length, path.data, line, column);
    else if (form > 1)
        buffer_append_format(text, "\n(in form %" PRId64 ", line %" PRId64 ", column %" PRId64,
                             form, line, column);
    else
        return;
    if (span_equal_text(map_get_string(error, "phase"), "compile"))
        buffer_append_text(text, path.length > 0 ? "; the file was not loaded)" : ")");
    else if (form > 1 && !map_get_boolean(error, "rolled_back"))
        buffer_append_text(text, "; the forms before it took effect)");
    else
        buffer_append_byte(text, ')');
}

void render_error_heading(struct buffer *text, value error)
{
    render_gap(text);
    struct span type = map_get_string(error, "type");
    buffer_append_text(text, "[ERROR] ");
    if (type.length > 0) {
        buffer_append_span(text, type);
    } else {  // no condition: the code, as a label
        struct span code = map_get_string(error, "code");
        for (size_t i = 0; i < code.length; i++) {
            char c = code.data[i];
            buffer_append_byte(text, ascii_to_upper(c));
        }
    }
    buffer_append_byte(text, '\n');
    buffer_append_span(text, map_get_string(error, "message"));
    render_position(text, error);
    struct span hint = map_get_string(error, "hint");
    if (hint.length > 0) {
        buffer_append_text(text, "\nhint: ");
        buffer_append_span(text, hint);
    }
}

void render_frame_line(struct buffer *text, value frame, const char *indent)
{
    struct span file = map_get_string(frame, "file");
    buffer_append_format(text, "\n%s%" PRId64 ": ", indent, map_get_integer(frame, "number", 0));
    buffer_append_span(text, map_get_string(frame, "call"));
    if (file.length > 0)
        buffer_append_format(text, "  %.*s", (int)file.length, file.data);
}

size_t render_frames(struct buffer *text, value frames, int64_t offset, int64_t count,
                     const char *indent)
{
    size_t shown = 0;
    for (size_t i = 0; value_is_vector(frames) && i < vector_count(frames); i++) {
        value frame = vector_at(frames, i);
        if (map_get_integer(frame, "number", 0) < offset)
            continue;
        if ((int64_t)shown == count)
            break;
        render_frame_line(text, frame, indent);
        shown++;
    }
    return shown;
}

void render_lost_threads(struct buffer *text, value names)
{
    if (!value_is_vector(names) || vector_count(names) == 0)
        return;
    buffer_append_text(text, "\nLost threads: ");
    session_thread_names(text, names);
}

static void render_lost(struct buffer *text, value rollback)
{
    value lost = map_get(rollback, "lost");
    size_t count = value_is_vector(lost) ? vector_count(lost) : 0;
    if (value_is_true(map_get(rollback, "restarted"))) {
        buffer_append_text(text, "\nLost: the whole state; no snapshot was left");
        if (count > 0)
            buffer_append_text(text, ". Besides this evaluation: ");
    } else {
        buffer_append_text(text, "\nLost: the effects of this evaluation");
        bool more = map_get_count(rollback, "lost_threads") > 0;  // which the last line names
        buffer_append_text(text, count > 0 ? " and of " : more ? "" : ", nothing else");
    }
    if (count > 0)
        session_evaluation_names(text, lost);
    buffer_append_text(text, ".");
}

static void render_rollback(struct buffer *text, const struct session_reply *reply)
{
    if (value_is_nil(reply->rollback))
        return;
    render_gap(text);
    buffer_append_text(text, "[Rollback]\nReason: ");
    struct span reason = map_get_string(reply->rollback, "reason");
    buffer_append_span(text, reason);
    if (reason.length == 0 || reason.data[reason.length - 1] != '.')
        buffer_append_byte(text, '.');
    render_lost(text, reply->rollback);
    buffer_append_format(text, "\nCurrent snapshot: %" PRId64,
                         map_get_integer(reply->rollback, "snapshot", 0));
    render_lost_threads(text, map_get(reply->rollback, "lost_threads"));
}

// Those that every evaluation has need no words.
static bool is_own_restart(struct span description)
{
    return span_starts_with(description, SPAN("Evaluate form ")) ||
           span_equal_text(description, "Return to top level.");
}

// ` (Use specified value.)`: what a restart does, unless its name says it.
static void render_restart_description(struct buffer *text, value restart)
{
    struct span name = map_get_string(restart, "name"),
                description = map_get_string(restart, "description");
    if (description.length == 0 || description.length > DESCRIPTION_BYTES ||
        is_own_restart(description) ||
        (description.length == name.length &&
         strncasecmp(description.data, name.data, name.length) == 0))
        return;
    buffer_append_format(text, " (%.*s)", (int)description.length, description.data);
}

static void render_debug(struct buffer *text, const struct session_reply *reply)
{
    if (!reply->frozen)
        return;
    render_gap(text);
    buffer_append_format(text, "[Debug]\nError %" PRId64 " is frozen; restarts:", reply->error_id);
    size_t count = map_get_count(reply->error, "restarts");
    for (size_t i = 0; i < count && i < DEBUG_RESTARTS_SHOWN; i++) {
        value restart = map_get_item(reply->error, "restarts", i);
        buffer_append_format(text, "%s %" PRId64 " ", i ? "," : "",
                             map_get_integer(restart, "number", 0));
        buffer_append_span(text, map_get_string(restart, "name"));
        render_restart_description(text, restart);
    }
    if (count > DEBUG_RESTARTS_SHOWN)
        buffer_append_text(text, ", …");
}

// What was written and found before the outcome.
static void render_findings(struct buffer *text, const struct session_reply *reply)
{
    render_section(text, RENDER_EARLIER_OUTPUT, reply->earlier_output);
    render_section(text, "stdout", reply->standard_output.text);
    render_section(text, "stderr", reply->standard_error.text);
    if (value_is_map(reply->result)) {
        render_warnings(text, reply->result);
        render_library_summary(text, reply->result);
    }
}

static void render_outcome(struct buffer *text, const struct session_reply *reply, bool timing)
{
    if (reply->ok) {
        render_values(text, reply);
        if (timing)
            render_timing_line(text, map_get(reply->result, "timing"));
    } else {
        render_error_heading(text, reply->error);
        render_backtrace(text, reply);
    }
}

void render_evaluation(struct buffer *text, const struct session_reply *reply,
                       const struct render_evaluation *style)
{
    render_notices(text, reply->notices);
    if (!reply->ran) {
        render_error_heading(text, reply->error);
        return;
    }
    if (!style->outcome_first)
        render_findings(text, reply);
    render_outcome(text, reply, style->timing);
    if (style->outcome_first)
        render_findings(text, reply);
    render_rollback(text, reply);
    render_debug(text, reply);
    if (style->last_lines) {
        render_gap(text);
        buffer_append_text(text, style->last_lines);
    }
}

void render_grouped(struct buffer *text, int64_t number)
{
    char digits[32];
    int length = snprintf(digits, sizeof(digits), "%" PRId64, number);
    for (int i = 0; i < length; i++) {
        if (i > 0 && (length - i) % 3 == 0 && digits[i - 1] != '-')
            buffer_append_byte(text, ',');
        buffer_append_byte(text, digits[i]);
    }
}

static void render_timing_table(struct buffer *text, value timing)
{
    static const struct {
        const char *label, *name;
    } rows[] = {{"Real time:      ", "real_us"},
                {"Run time:       ", "run_us"},
                {"GC time:        ", "gc_us"}};
    buffer_append_text(text, "Timing:");
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        buffer_append_format(text, "\n  %s%.3f ms", rows[i].label,
                             (double)map_get_integer(timing, rows[i].name, 0) / 1000);
    buffer_append_text(text, "\n  Bytes consed:   ");
    render_grouped(text, map_get_integer(timing, "bytes", 0));
    buffer_append_text(text, "\n  Page faults:    ");
    render_grouped(text, map_get_integer(timing, "page_faults", 0));
}

static void render_indented(struct buffer *text, struct span value_text_span)
{
    buffer_append_text(text, "\n  ");
    for (size_t i = 0; i < value_text_span.length; i++) {
        buffer_append_byte(text, value_text_span.data[i]);
        if (value_text_span.data[i] == '\n')
            buffer_append_text(text, "  ");
    }
}

void render_time_execution(struct buffer *text, const struct session_reply *reply)
{
    if (!reply->ok) {
        if (reply->ran)
            buffer_append_text(text, "Error during execution:\n");
        CLEANUP_BUFFER struct buffer report;
        buffer_init(&report, text->limit);
        render_evaluation(&report, reply, &(struct render_evaluation){0});
        buffer_append_span(text, buffer_span(&report));
        return;
    }
    render_notices(text, reply->notices);
    render_section(text, RENDER_EARLIER_OUTPUT, reply->earlier_output);
    render_gap(text);
    render_timing_table(text, map_get(reply->result, "timing"));
    buffer_append_text(text, "\n\nResult:");
    size_t count = map_get_count(reply->result, "values");
    for (size_t i = 0; i < count; i++)
        render_indented(text, value_text(map_get_item(reply->result, "values", i)));
    if (count == 0)
        buffer_append_text(text, "\n  (no values)");
    render_values_omitted(text, reply);
    struct span output = trim(reply->standard_output.text);
    if (output.length > 0) {
        buffer_append_text(text, "\n\nOutput:\n");
        buffer_append_span(text, output);
    }
    render_section(text, "stderr", reply->standard_error.text);
    render_warnings(text, reply->result);
}

static void render_diagnostic(struct buffer *text, value item, const char *label)
{
    buffer_append_format(text, "\n  %s", label);
    buffer_append_span(text, map_get_string(item, "message"));
    struct span source = map_get_string(item, "source");
    if (source.length == 0)
        return;
    buffer_append_format(text, "\n    in form %" PRId64 ", line %" PRId64 ": ",
                         map_get_integer(item, "form", 1), map_get_integer(item, "line", 1));
    buffer_append_span(text, source);
}

typedef const char *diagnostic_label_fn(value item);

static const char *no_label(value item)
{
    (void)item;
    return "";
}

static const char *warning_label(value item)
{
    bool is_style = span_equal_text(map_get_string(item, "category"), "STYLE-WARNING");
    return is_style ? "[STYLE] " : "[WARNING] ";
}

static void render_diagnostics(struct buffer *text, value result, const char *name,
                               const char *heading, diagnostic_label_fn *label)
{
    size_t count = map_get_count(result, name);
    if (count == 0)
        return;
    render_gap(text);
    buffer_append_format(text, "%s (%zu):", heading, count);
    for (size_t i = 0; i < count; i++) {
        value item = map_get_item(result, name, i);
        render_diagnostic(text, item, label(item));
    }
}

static bool has_full_warning(value result)
{
    for (size_t i = 0; i < map_get_count(result, "warnings"); i++)
        if (span_equal_text(map_get_string(map_get_item(result, "warnings", i), "category"),
                            "WARNING"))
            return true;
    return false;
}

void render_compile_warnings(struct buffer *text, value result)
{
    render_diagnostics(text, result, "warnings", "Warnings", warning_label);
}

void render_compile_notes(struct buffer *text, value result)
{
    render_diagnostics(text, result, "notes", "Compiler notes", no_label);
}

void render_compilation(struct buffer *text, const struct session_reply *reply)
{
    value result = reply->result;
    bool diagnosed = value_is_map(result) && value_is_vector(map_get(result, "errors"));
    if (!diagnosed || (!reply->ok && map_get_count(result, "errors") == 0)) {
        if (reply->ran)
            buffer_append_text(text, "Compilation FAILED.");
        CLEANUP_BUFFER struct buffer report;
        buffer_init(&report, text->limit);
        render_evaluation(&report, reply, &(struct render_evaluation){0});
        render_gap(text);
        buffer_append_span(text, buffer_span(&report));
        return;
    }
    render_notices(text, reply->notices);
    render_gap(text);
    buffer_append_text(text, !reply->ok ? "Compilation FAILED."
                             : has_full_warning(result)
                                 ? "Compiled; compile-file would report failure."
                                 : "Compilation successful.");
    if (map_get_count(result, "errors") + map_get_count(result, "warnings") +
            map_get_count(result, "notes") ==
        0)
        buffer_append_text(text, "\nNo warnings or notes.");
    render_diagnostics(text, result, "errors", "Errors", no_label);
    render_compile_warnings(text, result);
    render_compile_notes(text, result);
}

void render_limits(struct buffer *text, const struct session_limits *limits)
{
    buffer_append_text(text, "Current limits:\n  timeout: ");
    if (limits->timeout == 0)
        buffer_append_text(text, "disabled seconds (WARNING: no timeout)");
    else
        render_counted(text, limits->timeout, "second");
    buffer_append_text(text, "\n  max-output: ");
    render_counted(text, limits->max_output, "character");
    buffer_append_format(
        text, "\n  max-memory: %" PRId64 " MB\n  max-frames: %" PRId64 "\n  snapshots: %" PRId64,
        limits->max_memory, limits->max_frames, limits->snapshots);
}

static void render_place(struct buffer *text, value error)
{
    buffer_append_format(text, "\n  At: evaluation %" PRId64,
                         map_get_integer(error, "evaluation", 0));
    struct span thread = map_get_string(error, "thread");
    if (thread.length > 0)
        buffer_append_format(text, ", thread \"%.*s\"", (int)thread.length, thread.data);
    if (map_get_integer(error, "form", 0) > 0)
        buffer_append_format(text, ", form %" PRId64, map_get_integer(error, "form", 0));
    struct span path = map_get_string(error, "path");
    if (path.length > 0)
        buffer_append_format(text, ", %.*s:%" PRId64, (int)path.length, path.data,
                             map_get_integer(error, "line", 0));
    else if (map_get_integer(error, "line", 0) > 0)
        buffer_append_format(text, ", line %" PRId64, map_get_integer(error, "line", 0));
    if (map_get_integer(error, "column", 0) > 0)
        buffer_append_format(text, ", column %" PRId64, map_get_integer(error, "column", 0));
    buffer_append_text(text, "; ");
    buffer_append_span(text, map_get_string(error, "time"));
    buffer_append_format(text, "; error %" PRId64 "%s", map_get_integer(error, "id", 0),
                         map_get_boolean(error, "frozen") ? ", frozen" : "");
}

void render_error_description(struct buffer *text, value error)
{
    if (value_is_nil(error)) {
        buffer_append_text(text, SESSION_NO_ERROR_TEXT);
        return;
    }
    buffer_append_text(text, "Error: ");
    buffer_append_span(text, map_get_string(error, "type"));
    render_indented(text, map_get_string(error, "message"));
    struct span hint = map_get_string(error, "hint");
    if (hint.length > 0) {
        buffer_append_text(text, "\n  hint: ");
        buffer_append_span(text, hint);
    }
    render_place(text, error);
    buffer_append_text(text, "\n\nAvailable Restarts:");
    for (size_t i = 0; i < map_get_count(error, "restarts"); i++) {
        value restart = map_get_item(error, "restarts", i);
        buffer_append_format(text, "\n  %" PRId64 ". ", map_get_integer(restart, "number", 0));
        buffer_append_span(text, map_get_string(restart, "name"));
        buffer_append_text(text, " - ");
        buffer_append_span(text, map_get_string(restart, "description"));
    }
    if (map_get_count(error, "restarts") == 0)
        buffer_append_text(text, "\n  (none)");
    size_t frames = map_get_count(error, "frames");
    buffer_append_text(text, "\n\nBacktrace (top ");
    render_counted(text, frames < DESCRIPTION_FRAMES ? (int64_t)frames : DESCRIPTION_FRAMES,
                   "frame");
    buffer_append_text(text, "):");
    render_frames(text, map_get(error, "frames"), 0, DESCRIPTION_FRAMES, "  ");
    if (map_get_integer(error, "depth", (int64_t)frames) > DESCRIPTION_FRAMES)
        buffer_append_text(text, "\n\nFor full backtrace, use get-backtrace tool.");
}
