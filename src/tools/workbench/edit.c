// edit-form, read-forms: files changed and shown by their top-level forms.
#include <inttypes.h>
#include <string.h>

#include "base/array.h"
#include "base/memory.h"
#include "tools/result/result_structured.h"
#include "tools/result/result_text.h"
#include "tools/session_call.h"

enum { DIFF_CONTEXT = 2, DIFF_LINES = 80 };

// The named arguments with the absolute path of the file. False: the call was refused.
static bool read_parameters(struct tools *tools, struct mcp_call *call, const char *const *names,
                            value *ret_params)
{
    struct region *region = mcp_call_region(call);
    CLEANUP_FREE char *path = session_call_path(tools, call);
    if (!path)
        return false;
    *ret_params = map_put_text(region, session_call_parameters(call, names), "path",
                               value_string_format(region, "%s", path));
    return true;
}

// --- read-forms ----------------------------------------------------------------------------------

static void append_form(struct buffer *text, value form)
{
    struct span title = map_get_string(form, "title");
    struct span documentation = map_get_string(form, "documentation");
    struct span body = map_get_string(form, "text");
    int64_t line = map_get_integer(form, "line", 0), end = map_get_integer(form, "end_line", 0);
    buffer_append_format(text, "\n%" PRId64, line);
    if (end > line)
        buffer_append_format(text, "-%" PRId64, end);
    buffer_append_format(text, " %.*s", (int)title.length, title.data);
    if (documentation.length)
        buffer_append_format(text, "  ; %.*s", (int)documentation.length, documentation.data);
    if (body.length)
        buffer_append_format(text, "\n%.*s\n", (int)body.length, body.data);
}

static void render_forms(const struct session_call *run, const struct session_reply *reply,
                         struct tool_result *result)
{
    struct region *region = mcp_call_region(run->call);
    if (session_call_render_failure(run->call, reply, result))
        return;
    struct span path = map_get_string(reply->result, "path");
    int64_t total = map_get_integer(reply->result, "total", 0);
    size_t count = map_get_count(reply->result, "outline");
    buffer_append_format(&result->text, "%.*s: ", (int)path.length, path.data);
    render_counted(&result->text, total, "form");
    for (size_t i = 0; i < count; i++)
        append_form(&result->text, map_get_item(reply->result, "outline", i));
    if ((int64_t)count < total)
        buffer_append_format(&result->text, "\n[%" PRId64 " more forms not shown]",
                             total - (int64_t)count);
    static const char *const members[] = {"path", "total", "outline"};
    for (size_t i = 0; i < COUNT_OF(members); i++)
        result->structured =
            structured_member(region, result->structured, reply->result, members[i]);
}

static void handle_read_forms(struct mcp_call *call, void *data)
{
    static const char *const names[] = {"pattern", NULL};
    value params;
    if (!read_parameters(data, call, names, &params))
        return;
    struct session_request request = {
        .kind = SESSION_COPY, .create = true, .op = "read-forms", .params = params};
    session_call_submit(data, call, &request, render_forms);
}

// --- the diff of an edit -------------------------------------------------------------------------

static size_t line_length(struct span text)
{
    const char *end = memchr(text.data, '\n', text.length);
    return end ? (size_t)(end - text.data) + 1 : text.length;
}

static struct span take_line(struct span *text)
{
    struct span line = {text->data, line_length(*text)};
    *text = (struct span){text->data + line.length, text->length - line.length};
    return line;
}

static struct span last_line(struct span text)
{
    size_t length = text.length ? 1 : 0;
    while (length < text.length && text.data[text.length - length - 1] != '\n')
        length++;
    return (struct span){text.data + text.length - length, length};
}

static void append_lines(struct buffer *out, char mark, struct span text)
{
    for (unsigned i = 0; text.length > 0; i++) {
        if (i == DIFF_LINES) {
            buffer_append_format(out, "\n%c …", mark);
            return;
        }
        struct span line = take_line(&text);
        bool ended = line.data[line.length - 1] == '\n';
        buffer_append_format(out, "\n%c %.*s", mark, (int)(line.length - ended), line.data);
    }
}

// The lines that differ, as one block, with some around them.
static void append_diff(struct buffer *out, struct span before, struct span after)
{
    const char *start = before.data;
    while (before.length && after.length) {
        struct span a = before, b = after, line = take_line(&a);
        if (!span_equal(line, take_line(&b)))
            break;
        before = a;
        after = b;
    }
    const char *end = before.data + before.length;
    while (before.length && after.length && span_equal(last_line(before), last_line(after))) {
        size_t length = last_line(before).length;
        before.length -= length;
        after.length -= length;
    }
    struct span above = {start, (size_t)(before.data - start)}, lines = above;
    for (unsigned i = 0; i < DIFF_CONTEXT && lines.length; i++)
        lines.length -= last_line(lines).length;
    append_lines(out, ' ', (struct span){above.data + lines.length, above.length - lines.length});
    append_lines(out, '-', before);
    append_lines(out, '+', after);
    struct span below = {before.data + before.length, (size_t)(end - before.data) - before.length};
    size_t shown = 0;
    for (unsigned i = 0; i < DIFF_CONTEXT && shown < below.length; i++)
        shown += line_length((struct span){below.data + shown, below.length - shown});
    append_lines(out, ' ', (struct span){below.data, shown});
}

// --- edit-form -----------------------------------------------------------------------------------

static void append_edit(struct buffer *text, value edit)
{
    struct span path = map_get_string(edit, "path");
    struct span before = map_get_string(edit, "before"), after = map_get_string(edit, "after");
    const char *verb = span_equal(before, after)          ? "Nothing to change in"
                       : map_get_boolean(edit, "written") ? "Changed"
                                                          : "Would change";
    buffer_append_format(text, "%s %.*s, line %" PRId64, verb, (int)path.length, path.data,
                         map_get_integer(edit, "line", 0));
    append_diff(text, before, after);
}

// Unbalanced content comes back with the lines that would balance it.
static void append_repair(struct buffer *text, struct mcp_call *call, value error)
{
    static const char *const names[] = {"content", "insert-before", "insert-after"};
    if (!span_equal_text(map_get_string(error, "code"), "unbalanced"))
        return;
    for (size_t i = 0; i < COUNT_OF(names); i++)
        if (tool_text(call, names[i]))
            render_repair(text, value_text(mcp_call_argument(call, names[i])));
}

// The request was refused by the tool itself: there is no stack to show.
static bool is_refused(value error)
{
    static const char *const codes[] = {"unbalanced",     "no-such-form",    "ambiguous-form",
                                        "no-such-text",   "file-changed",    "unknown-package",
                                        "ambiguous-text", "invalid-argument"};
    struct span code = map_get_string(error, "code");
    for (size_t i = 0; i < COUNT_OF(codes); i++)
        if (span_equal_text(code, codes[i]))
            return true;
    return false;
}

static void render_failed_edit(const struct session_call *run, const struct session_reply *reply,
                               struct buffer *text)
{
    buffer_append_text(text, "The file is as it was.");
    render_notices(text, reply->notices);
    if (map_get_count(reply->result, "errors") > 0)
        render_compilation(text, reply);
    else if (is_refused(reply->error))
        render_error_heading(text, reply->error);
    else
        render_evaluation(text, reply, &(struct render_evaluation){0});
    append_repair(text, run->call, reply->error);
}

static void render_edit(const struct session_call *run, const struct session_reply *reply,
                        struct tool_result *result)
{
    struct region *region = mcp_call_region(run->call);
    result->structured = structured_reply(region, reply);
    if (!reply->ok) {
        render_failed_edit(run, reply, &result->text);
        return;
    }
    static const char *const members[] = {"path", "line", "written", "warnings", "notes"};
    for (size_t i = 0; i < COUNT_OF(members); i++)
        result->structured =
            structured_member(region, result->structured, reply->result, members[i]);
    append_edit(&result->text, reply->result);
    render_compile_warnings(&result->text, reply->result);
}

// After the edit its evaluation, which warns of the same.
static void render_loaded(const struct session_call *run, const struct session_reply *reply,
                          struct tool_result *result)
{
    if (run->first_text.length == 0) {
        render_edit(run, reply, result);
        return;
    }
    buffer_append_span(&result->text, buffer_span(&run->first_text));
    render_evaluation(&result->text, reply, &(struct render_evaluation){0});
    result->structured = structured_evaluation(mcp_call_region(run->call), reply);
}

// What was written is loaded into the session itself.
static bool load_edit(struct session_call *run, const struct session_reply *reply,
                      struct session_request *request)
{
    static const char *const members[] = {"path", "code", "package", "line"};
    struct region *region = mcp_call_region(run->call);
    value edit = reply->result, params = map_new(region);
    if (map_get_string(edit, "code").length == 0)
        return false;
    buffer_init(&run->first_text, TOOL_TEXT_LIMIT);
    append_edit(&run->first_text, edit);
    for (size_t i = 0; i < COUNT_OF(members); i++)
        params = structured_member(region, params, edit, members[i]);
    *request = (struct session_request){.kind = SESSION_EVALUATE,
                                        .op = "load-forms",
                                        .params = params,
                                        .label = tool_text(run->call, "form"),
                                        .timeout = -1};
    return true;
}

static void handle_edit_form(struct mcp_call *call, void *data)
{
    static const char *const names[] = {"form",    "content",       "old",
                                        "new",     "insert-before", "insert-after",
                                        "compile", "dry-run",       NULL};
    value params;
    if (!read_parameters(data, call, names, &params))
        return;
    struct session_request request = {
        .kind = SESSION_COPY, .create = true, .op = "edit-form", .params = params};
    bool loads = tool_flag(call, "load") && !tool_flag(call, "dry-run");
    session_call_submit_first(data, call, &request, loads ? load_edit : NULL,
                              loads ? render_loaded : render_edit);
}

static const struct tool edit_tools[] = {
    {"read-forms", MCP_TOOL_READ_ONLY | MCP_TOOL_IDEMPOTENT, handle_read_forms},
    {"edit-form", MCP_TOOL_DESTRUCTIVE, handle_edit_form},
};

void tools_register_edit(struct tools *tools)
{
    TOOLS_ADD_ALL(tools, edit_tools);
}
