// The text of a session's records: its state, its errors, a frame of a frozen error.
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "tools/fields.h"
#include "tools/result/result_text.h"

void render_list(struct buffer *text, const char *label, value names)
{
    buffer_append_format(text, "\n%s", label);
    if (value_is_vector(names) && vector_count(names))
        render_names(text, names);
    else
        buffer_append_text(text, "none");
}

static void append_one_line(struct buffer *text, struct span content)
{
    for (size_t i = 0; i < content.length; i++)
        buffer_append_byte(text, (unsigned char)content.data[i] < ' ' ? ' ' : content.data[i]);
}

static void render_snapshots(struct buffer *text, value info)
{
    if (count_in(info, "snapshots"))
        buffer_append_text(text, "\nSnapshots (oldest first):");
    for (size_t i = 0; i < count_in(info, "snapshots"); i++) {
        value snapshot = item_in(info, "snapshots", i);
        struct span time = text_in(snapshot, "time");
        value mb = map_get_text(snapshot, "mb");
        // 2026-01-02T03:04:05Z is shown as 03:04:05Z: snapshots are young.
        if (time.length > 11)
            time = (struct span){time.data + 11, time.length - 11};
        buffer_append_format(
            text, "\n%s %" PRId64 "  after evaluation %" PRId64 "  %.*s  %.1f MB  ",
            flag_in(snapshot, "current") ? "*" : " ", integer_in(snapshot, "number", 0),
            integer_in(snapshot, "evaluation", 0), (int)time.length, time.data,
            mb.tag == VALUE_FLOAT ? mb.number : (double)integer_in(snapshot, "mb", 0));
        append_one_line(text, text_in(snapshot, "code"));
    }
}

static void render_info(struct buffer *text, value info)
{
    buffer_append_format(text, "Session: %.*s\nState: %.*s", (int)text_in(info, "name").length,
                         text_in(info, "name").data, (int)text_in(info, "state").length,
                         text_in(info, "state").data);
    if (integer_in(info, "pid", 0))
        buffer_append_format(text, " (process %" PRId64 ")", integer_in(info, "pid", 0));
    buffer_append_text(text, "\nPackage: ");
    buffer_append_span(text, text_in(info, "package"));
    buffer_append_format(text,
                         "\nEvaluations: %" PRId64 "\nErrors: %" PRId64
                         "\nMemory: %.1f MB live of %" PRId64 " MB heap",
                         integer_in(info, "evaluations", 0), integer_in(info, "errors", 0),
                         (double)integer_in(info, "live_bytes", 0) / (1 << 20),
                         integer_in(info, "heap_mb", 0));
    render_list(text, "Threads: ", map_get_text(info, "threads"));
    render_list(text, "Loaded systems: ", map_get_text(info, "systems"));
}

static void render_frozen(struct buffer *text, value info)
{
    for (size_t i = 0; i < count_in(info, "frozen"); i++)
        buffer_append_format(text, "%s%" PRId64,
                             i ? ", " : "\nFrozen errors: ", item_in(info, "frozen", i).integer);
}

void render_session(struct buffer *text, value info)
{
    value limits = map_get_text(info, "limits");
    render_info(text, info);
    buffer_append_byte(text, '\n');
    render_limits(text, &(struct session_limits){
                            .timeout = integer_in(limits, "timeout", 0),
                            .max_output = integer_in(limits, "max-output", 0),
                            .max_memory = integer_in(limits, "max-memory", 0),
                            .max_frames = integer_in(limits, "max-frames", 0),
                            .snapshots = integer_in(limits, "snapshots", 0),
                        });
    render_snapshots(text, info);
    render_frozen(text, info);
}

static void render_list_line(struct buffer *text, value error)
{
    struct span message = text_in(error, "message");
    const char *end = memchr(message.data, '\n', message.length);
    buffer_append_format(text, "%s%" PRId64 ". ", text->length ? "\n" : "",
                         integer_in(error, "id", 0));
    buffer_append_span(text, text_in(error, "type"));
    buffer_append_text(text, " - ");
    buffer_append(text, message.data, end ? (size_t)(end - message.data) : message.length);
    buffer_append_format(text, " (evaluation %" PRId64, integer_in(error, "evaluation", 0));
    struct span thread = text_in(error, "thread");
    if (thread.length)
        buffer_append_format(text, ", thread \"%.*s\"", (int)thread.length, thread.data);
    buffer_append_text(text, flag_in(error, "frozen") ? ", frozen)" : ")");
}

void render_error_list(struct buffer *text, value errors, int64_t limit)
{
    for (size_t i = 0; i < vector_count(errors) && (int64_t)i < limit; i++)
        render_list_line(text, vector_at(errors, i));
    if (vector_count(errors) == 0)
        buffer_append_text(text, "No errors recorded.");
    else if (limit == 0)
        buffer_append_format(text, "%zu recorded, none shown (limit 0).", vector_count(errors));
}

void render_bindings(struct buffer *text, value result, const char *name)
{
    for (size_t i = 0; i < count_in(result, name); i++) {
        value binding = item_in(result, name, i);
        buffer_append_text(text, "\n  ");
        buffer_append_span(text, text_in(binding, "name"));
        buffer_append_text(text, " = ");
        buffer_append_span(text, text_in(binding, "value"));
    }
}

void render_frame(struct buffer *text, value result)
{
    buffer_append_format(text, "Frame %" PRId64 ": ", integer_in(result, "frame", 0));
    buffer_append_span(text, text_in(result, "call"));
    if (text_in(result, "source").length) {
        buffer_append_text(text, "\nSource: ");
        buffer_append_span(text, text_in(result, "source"));
    }
    buffer_append_text(text, "\nLocals:");
    render_bindings(text, result, "locals");
    if (count_in(result, "locals") == 0)
        buffer_append_text(text, "\n  (none available)");
    if (count_in(result, "unavailable")) {
        buffer_append_text(text, "\nUnavailable: ");
        render_names(text, map_get_text(result, "unavailable"));
    }
}
