#include "tools/program/program_step.h"

#include <inttypes.h>

#include "base/array.h"
#include "base/utf8.h"
#include "program/compile/problem_list.h"
#include "tools/result/result_text.h"
#include "value/text/json.h"

static void render_lines(struct buffer *text, value step, const char *member)
{
    size_t count = map_get_count(step, member);
    if (count == 0)
        return;
    render_gap(text);
    buffer_append_format(text, "[%s]", member);
    for (size_t i = 0; i < count; i++) {
        buffer_append_byte(text, '\n');
        buffer_append_span(text, value_text(map_get_item(step, member, i)));
    }
}

// Of all calls of the tool of `name`.
static void render_tool(struct buffer *text, value step, struct span name)
{
    int64_t calls = 0, failed = 0, cached = 0, duration_ms = 0;
    for (size_t i = 0; i < map_get_count(step, "tool_calls"); i++) {
        value entry = map_get_item(step, "tool_calls", i);
        if (!span_equal(map_get_string(entry, "name"), name))
            continue;
        calls++;
        failed += map_get_string(entry, "error").length > 0;
        cached += map_get_boolean(entry, "cached");
        duration_ms += map_get_integer(entry, "duration_ms", 0);
    }
    buffer_append_format(text, "\n%.*s: ", (int)name.length, name.data);
    render_counted(text, calls, "call");
    if (cached)
        buffer_append_format(text, ", %" PRId64 " cached", cached);
    if (failed)
        buffer_append_format(text, ", %" PRId64 " failed", failed);
    buffer_append_format(text, ", %" PRId64 " ms", duration_ms);
}

static bool is_first_call(value step, size_t index)
{
    struct span name = map_get_string(map_get_item(step, "tool_calls", index), "name");
    for (size_t i = 0; i < index; i++)
        if (span_equal(map_get_string(map_get_item(step, "tool_calls", i), "name"), name))
            return false;
    return true;
}

// A line per tool: arguments and results of the calls are in the structured result alone.
static void render_calls(struct buffer *text, value step, int64_t number)
{
    size_t count = map_get_count(step, "tool_calls");
    if (count == 0)
        return;
    render_gap(text);
    buffer_append_format(text, "[program %" PRId64 "]", number);
    for (size_t i = 0; i < count; i++)
        if (is_first_call(step, i))
            render_tool(text, step, map_get_string(map_get_item(step, "tool_calls", i), "name"));
}

static void render_failure(struct buffer *text, value fail)
{
    value details = map_get(fail, "details");
    struct span reason = map_get_string(fail, "reason"), kind = map_get_string(details, "kind");
    render_gap(text);
    buffer_append_format(text, "[ERROR] %.*s", (int)reason.length, reason.data);
    if (!span_equal(reason, kind))
        buffer_append_format(text, " (%.*s)", (int)kind.length, kind.data);
    buffer_append_byte(text, '\n');
    buffer_append_span(text, map_get_string(fail, "message"));
    if (map_get_integer(details, "line", 0))
        buffer_append_format(text, "\n(line %" PRId64 ", column %" PRId64 ")",
                             map_get_integer(details, "line", 0),
                             map_get_integer(details, "column", 0));
    if (!value_is_nil(map_get(details, "problems"))) {
        buffer_append_byte(text, '\n');
        problems_write_text(map_get(details, "problems"), text);
    }
}

static void render_call(struct buffer *text, value call)
{
    enum { SHOWN = 400 };
    CLEANUP_BUFFER struct buffer arguments;
    buffer_init(&arguments, BUFFER_DEFAULT_LIMIT);
    json_write(&arguments, map_get(call, "args"), 0, NULL);
    buffer_append_span(text, map_get_string(call, "name"));
    buffer_append_byte(text, ' ');
    size_t shown = utf8_offset(arguments.data, arguments.length, SHOWN);
    buffer_append(text, arguments.data, shown);
    buffer_append_text(text, shown < arguments.length ? "…" : "");
}

static void render_writes(struct buffer *text, value step)
{
    size_t count = map_get_count(step, "writes");
    if (count == 0)
        return;
    render_gap(text);
    buffer_append_text(text, map_get_boolean(step, "dry_run") ? "[not made: dry run]"
                                                              : "[made before the failure]");
    for (size_t i = 0; i < count; i++) {
        value write = map_get_item(step, "writes", i);
        buffer_append_byte(text, '\n');
        render_call(text, write);
        if (map_get_boolean(write, "unfinished"))
            buffer_append_text(text, " (begun; its end is not known)");
    }
}

static void render_paused(struct buffer *text, value step)
{
    value paused = map_get(step, "paused"), call = map_get(paused, "call");
    struct span token = map_get_string(paused, "token");
    render_gap(text);
    buffer_append_text(text, "[Paused] ");
    render_call(text, call);
    buffer_append_text(text, map_get_string(call, "state").length
                                 ? "\nIt is not known whether this call was made."
                                 : "\nThe run waits until this call is approved or answered.");
    buffer_append_format(text, "\nresume-program {\"run\": \"%.*s\", \"approve\": \"yes\"}",
                         (int)token.length, token.data);
}

void program_step_render(struct buffer *text, value step, int64_t number)
{
    value fail = map_get(step, "fail");
    render_lines(text, step, "prints");
    render_calls(text, step, number);
    render_lines(text, step, "warnings");
    render_writes(text, step);
    if (value_is_map(fail) || value_is_map(map_get(step, "paused"))) {
        value_is_map(fail) ? render_failure(text, fail) : render_paused(text, step);
        return;
    }
    render_gap(text);
    buffer_append_text(text, "=> ");
    buffer_append_span(text, map_get_string(step, "printed"));
}

// --- what is kept for read-output ----------------------------------------------------------------

bool program_step_has_more(value step)
{
    value memory = map_get(step, "memory");
    return map_get_count(step, "tool_calls") > 0 || (value_is_map(memory) && map_count(memory) > 0);
}

static void render_json(struct buffer *text, const char *heading, value v)
{
    if (value_is_nil(v))
        return;
    buffer_append_format(text, "\n\n[%s]\n", heading);
    json_write(text, v, 0, NULL);
}

void program_step_render_more(struct buffer *text, value step)
{
    size_t count = map_get_count(step, "tool_calls");
    buffer_append_text(text, count ? "\n\n[tool_calls]" : "");
    for (size_t i = 0; i < count; i++) {
        buffer_append_byte(text, '\n');
        json_write(text, map_get_item(step, "tool_calls", i), 0, NULL);
    }
    render_json(text, "memory", map_get(step, "memory"));
    render_json(text, "usage", map_get(step, "usage"));
}

// --- the Step of a run that timed out -----------------------------------------------------

static value timeout_failure(struct region *region, const struct timed_out_step *timed_out)
{
    value name = value_string_text(region, "timeout");
    value limit = map_put_text(region, map_new(region), "name", value_retain(name));
    limit = map_put_text(region, limit, "value", value_integer(timed_out->timeout_ms));
    limit = map_put_text(region, limit, "option", value_retain(name));
    value details = map_put_text(region, map_new(region), "kind", value_retain(name));
    details = map_put_text(region, details, "limit", limit);
    value fail = map_put_text(region, map_new(region), "reason", name);
    fail = map_put_text(region, fail, "message",
                        value_string_format(region, "timeout: %s %" PRId64 " ms (option timeout)",
                                            timed_out->what, timed_out->timeout_ms));
    fail = map_put_text(region, fail, "op", value_nil());
    return map_put_text(region, fail, "details", details);
}

// Of a killed worker only the time is known.
static value timeout_usage(struct region *region, const struct timed_out_step *timed_out)
{
    if (timed_out->duration_ms < 0)
        return value_nil();
    value usage =
        map_put_text(region, map_new(region), "duration_ms", value_integer(timed_out->duration_ms));
    usage = map_put_text(region, usage, "memory_bytes", value_nil());
    return map_put_text(region, usage, "steps", value_nil());
}

value program_step_timed_out(struct region *region, const struct timed_out_step *timed_out)
{
    static const char *const empty[] = {"warnings", "prints", "tool_calls"};
    static const char *const absent[] = {"return", "printed", "memory_delta", "signature"};
    value step = map_put_text(region, map_new(region), "fail", timeout_failure(region, timed_out));
    for (size_t i = 0; i < COUNT_OF(empty); i++)
        step = map_put_text(region, step, empty[i], vector_new(region, 0));
    for (size_t i = 0; i < COUNT_OF(absent); i++)
        step = map_put_text(region, step, absent[i], value_nil());
    step = map_put_text(region, step, "memory", timed_out->memory);
    return map_put_text(region, step, "usage", timeout_usage(region, timed_out));
}

value program_step_error(struct region *region, value fail)
{
    value map = map_put_text(region, map_new(region), "code",
                             value_copy(region, map_get(map_get(fail, "details"), "kind")));
    return map_put_text(region, map, "message", value_copy(region, map_get(fail, "message")));
}
