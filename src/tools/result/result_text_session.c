// The text of a session's records: its state, its errors, a frame of a frozen error.
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

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
    if (map_get_count(info, "snapshots"))
        buffer_append_text(text, "\nSnapshots (oldest first):");
    for (size_t i = 0; i < map_get_count(info, "snapshots"); i++) {
        value snapshot = map_get_item(info, "snapshots", i);
        struct span time = map_get_string(snapshot, "time");
        value mb = map_get(snapshot, "mb");
        // 2026-01-02T03:04:05Z is shown as 03:04:05Z: snapshots are young.
        if (time.length > 11)
            time = (struct span){time.data + 11, time.length - 11};
        buffer_append_format(
            text, "\n%s %" PRId64 "  after evaluation %" PRId64 "  %.*s  %.1f MB  ",
            map_get_boolean(snapshot, "current") ? "*" : " ",
            map_get_integer(snapshot, "number", 0), map_get_integer(snapshot, "evaluation", 0),
            (int)time.length, time.data,
            mb.tag == VALUE_FLOAT ? mb.number : (double)map_get_integer(snapshot, "mb", 0));
        append_one_line(text, map_get_string(snapshot, "code"));
    }
}

static void render_info(struct buffer *text, value info)
{
    buffer_append_format(
        text, "Session: %.*s\nState: %.*s", (int)map_get_string(info, "name").length,
        map_get_string(info, "name").data, (int)map_get_string(info, "state").length,
        map_get_string(info, "state").data);
    if (map_get_integer(info, "pid", 0))
        buffer_append_format(text, " (process %" PRId64 ")", map_get_integer(info, "pid", 0));
    buffer_append_text(text, "\nPackage: ");
    buffer_append_span(text, map_get_string(info, "package"));
    buffer_append_format(text,
                         "\nEvaluations: %" PRId64 "\nErrors: %" PRId64
                         "\nMemory: %.1f MB live of %" PRId64 " MB heap",
                         map_get_integer(info, "evaluations", 0),
                         map_get_integer(info, "errors", 0),
                         (double)map_get_integer(info, "live_bytes", 0) / (1 << 20),
                         map_get_integer(info, "heap_mb", 0));
    render_list(text, "Threads: ", map_get(info, "threads"));
    render_list(text, "Loaded systems: ", map_get(info, "systems"));
}

static void render_frozen(struct buffer *text, value info)
{
    for (size_t i = 0; i < map_get_count(info, "frozen"); i++)
        buffer_append_format(text, "%s%" PRId64, i ? ", " : "\nFrozen errors: ",
                             map_get_item(info, "frozen", i).integer);
}

static void render_sandbox(struct buffer *text, value sandbox)
{
    buffer_append_text(text, "\nSandbox: ");
    buffer_append_span(text, map_get_string(sandbox, "mode"));
    struct span workspace = map_get_string(sandbox, "workspace");
    if (!workspace.length)
        return;  // no process has been started yet
    buffer_append_format(text, ", network %s, Unix sockets %s",
                         map_get_boolean(sandbox, "network") ? "allowed" : "refused",
                         map_get_boolean(sandbox, "unix_sockets") ? "allowed" : "refused");
    for (size_t i = 0; i < map_get_count(sandbox, "missing"); i++) {
        buffer_append_text(text, "\n  not complete: ");
        buffer_append_span(text, value_text(map_get_item(sandbox, "missing", i)));
    }
    buffer_append_text(text, "\nWorkspace: ");
    buffer_append_span(text, workspace);
    if (map_get_boolean(sandbox, "scratch"))
        buffer_append_text(text, " (scratch)");
}

static void render_project(struct buffer *text, value project)
{
    if (map_get_count(project, "systems") == 0 && map_get_string(project, "init").length == 0)
        return;
    struct span core = map_get_string(project, "core");
    buffer_append_text(text, "\nProject: ");
    render_names(text, map_get(project, "systems"));
    if (map_get_string(project, "init").length > 0)
        buffer_append_format(text, "%s.cadre/init.lisp",
                             map_get_count(project, "systems") > 0 ? ", " : "");
    buffer_append_text(text, map_get_boolean(project, "failed") ? " (could not be loaded)"
                             : span_equal_text(core, "project") ? " (from its core)"
                             : span_equal_text(core, "dependencies")
                                 ? " (loaded on the core of its "
                                   "dependencies)"
                                 : " (loaded)");
}

void render_session(struct buffer *text, value info)
{
    value limits = map_get(info, "limits");
    render_info(text, info);
    buffer_append_byte(text, '\n');
    render_limits(text, &(struct session_limits){
                            .timeout = map_get_integer(limits, "timeout", 0),
                            .max_output = map_get_integer(limits, "max-output", 0),
                            .max_memory = map_get_integer(limits, "max-memory", 0),
                            .max_frames = map_get_integer(limits, "max-frames", 0),
                            .snapshots = map_get_integer(limits, "snapshots", 0),
                        });
    render_sandbox(text, map_get(info, "sandbox"));
    render_project(text, map_get(info, "project"));
    render_snapshots(text, info);
    render_frozen(text, info);
}

static void render_list_line(struct buffer *text, value error)
{
    struct span message = map_get_string(error, "message");
    const char *end = memchr(message.data, '\n', message.length);
    buffer_append_format(text, "%s%" PRId64 ". ", text->length ? "\n" : "",
                         map_get_integer(error, "id", 0));
    buffer_append_span(text, map_get_string(error, "type"));
    buffer_append_text(text, " - ");
    buffer_append(text, message.data, end ? (size_t)(end - message.data) : message.length);
    buffer_append_format(text, " (evaluation %" PRId64, map_get_integer(error, "evaluation", 0));
    struct span thread = map_get_string(error, "thread");
    if (thread.length)
        buffer_append_format(text, ", thread \"%.*s\"", (int)thread.length, thread.data);
    buffer_append_text(text, map_get_boolean(error, "frozen") ? ", frozen)" : ")");
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
    for (size_t i = 0; i < map_get_count(result, name); i++) {
        value binding = map_get_item(result, name, i);
        buffer_append_text(text, "\n  ");
        buffer_append_span(text, map_get_string(binding, "name"));
        buffer_append_text(text, " = ");
        buffer_append_span(text, map_get_string(binding, "value"));
    }
}

void render_frame(struct buffer *text, value result)
{
    buffer_append_format(text, "Frame %" PRId64 ": ", map_get_integer(result, "frame", 0));
    buffer_append_span(text, map_get_string(result, "call"));
    if (map_get_string(result, "source").length) {
        buffer_append_text(text, "\nSource: ");
        buffer_append_span(text, map_get_string(result, "source"));
    }
    buffer_append_text(text, "\nLocals:");
    render_bindings(text, result, "locals");
    if (map_get_count(result, "locals") == 0)
        buffer_append_text(text, "\n  (none available)");
    if (map_get_count(result, "unavailable")) {
        buffer_append_text(text, "\nUnavailable: ");
        render_names(text, map_get(result, "unavailable"));
    }
}
