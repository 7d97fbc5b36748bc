// find-definition, rename: a name followed through the image, the journal and the workspace's files.
#include <inttypes.h>

#include "base/array.h"
#include "session/journal/journal.h"
#include "tools/result/result_structured.h"
#include "tools/result/result_text.h"
#include "tools/session_call.h"

// The members of the reply, and what both have in common. False: the text is complete.
static bool begin(const struct session_call *run, const struct session_reply *reply,
                  const char *const *members, struct tool_result *result)
{
    struct region *region = mcp_call_region(run->call);
    if (session_call_render_failure(run->call, reply, result))
        return false;
    for (; *members; members++)
        result->structured = structured_member(region, result->structured, reply->result, *members);
    if (!map_get_boolean(reply->result, "found")) {
        buffer_append_span(&result->text, map_get_string(reply->result, "message"));
        return false;
    }
    return true;
}

// --- find-definition -----------------------------------------------------------------------------

// The text of evaluation `number`, from the journal of the session; empty when it has none.
static struct span evaluated_text(const struct session_call *run, struct region *region,
                                  int64_t number)
{
    const char *place = session_store_path(run->tools->sessions, tool_session_name(run->call));
    value entries = place ? journal_read(region, place, JOURNAL_MAX) : value_nil();
    for (size_t i = value_is_vector(entries) ? vector_count(entries) : 0; i-- > 0;) {
        value entry = vector_at(entries, i);
        struct span code = map_get_string(map_get(entry, "request"), "code");
        if (map_get_integer(entry, "evaluation", -1) == number && code.length > 0)
            return code;
    }
    return (struct span){0};
}

static void append_evaluation(struct buffer *text, const struct session_call *run, int64_t number)
{
    struct region *region = region_new(SIZE_MAX);
    struct span code = evaluated_text(run, region, number);
    buffer_append_format(text, "evaluation %" PRId64, number);
    if (code.length > 0) {
        buffer_append_byte(text, '\n');
        buffer_append_span(text, code);
    }
    region_free(region);
}

static void append_definition(struct buffer *text, const struct session_call *run, value definition)
{
    struct span path = map_get_string(definition, "path");
    struct span body = map_get_string(definition, "text");
    int64_t line = map_get_integer(definition, "line", 0);
    int64_t evaluation = map_get_integer(definition, "evaluation", 0);
    if (evaluation > 0) {
        append_evaluation(text, run, evaluation);
        return;
    }
    buffer_append_span(text, path);
    if (line > 0)
        buffer_append_format(text, ":%" PRId64, line);
    if (!map_get_boolean(definition, "loaded"))
        buffer_append_text(text, " (not loaded)");
    if (body.length > 0) {
        buffer_append_byte(text, '\n');
        buffer_append_span(text, body);
    }
}

static void render_definitions(const struct session_call *run, const struct session_reply *reply,
                               struct tool_result *result)
{
    static const char *const members[] = {"found", "message", "total", "definitions", NULL};
    struct buffer *text = &result->text;
    if (!begin(run, reply, members, result))
        return;
    size_t count = map_get_count(reply->result, "definitions");
    for (size_t i = 0; i < count; i++) {
        buffer_append_text(text, i ? "\n\n" : "");
        append_definition(text, run, map_get_item(reply->result, "definitions", i));
    }
    int64_t more = map_get_integer(reply->result, "total", 0) - (int64_t)count;
    if (more > 0)
        buffer_append_format(text, "\n\n[%" PRId64 " more definitions not shown]", more);
}

static void handle_find_definition(struct mcp_call *call, void *data)
{
    static const char *const names[] = {"name", "package", NULL};
    struct session_request request = {.kind = SESSION_COPY,
                                      .create = true,
                                      .op = "find-definition",
                                      .params = session_call_parameters(call, names)};
    session_call_submit(data, call, &request, render_definitions);
}

// --- rename --------------------------------------------------------------------------------------

static void append_file(struct buffer *text, value file)
{
    buffer_append_byte(text, '\n');
    buffer_append_span(text, map_get_string(file, "path"));
    for (size_t i = 0; i < map_get_count(file, "changes"); i++) {
        value change = map_get_item(file, "changes", i);
        struct span before = map_get_string(change, "before");
        struct span after = map_get_string(change, "after");
        buffer_append_format(text, "\n%6" PRId64 " - %.*s\n       + %.*s",
                             map_get_integer(change, "line", 0), (int)before.length, before.data,
                             (int)after.length, after.data);
    }
}

static void append_missing(struct buffer *text, value missing)
{
    if (!value_is_vector(missing) || vector_count(missing) == 0)
        return;
    buffer_append_text(text, "\nNot looked at, since their packages are not loaded: files in ");
    render_names(text, missing);
}

static void render_renaming(const struct session_call *run, const struct session_reply *reply,
                            struct tool_result *result)
{
    static const char *const members[] = {"found",  "message", "symbol",  "to", "written",
                                          "places", "files",   "missing", NULL};
    struct buffer *text = &result->text;
    if (!begin(run, reply, members, result))
        return;
    struct span symbol = map_get_string(reply->result, "symbol");
    struct span to = map_get_string(reply->result, "to");
    int64_t places = map_get_integer(reply->result, "places", 0);
    size_t files = map_get_count(reply->result, "files");
    if (places == 0)
        buffer_append_format(text, "%.*s is in no file of the workspace.", (int)symbol.length,
                             symbol.data);
    else
        buffer_append_format(text, "%s %.*s to %.*s: ",
                             map_get_boolean(reply->result, "written") ? "Renamed" : "Would rename",
                             (int)symbol.length, symbol.data, (int)to.length, to.data);
    if (places > 0) {
        render_counted(text, places, "place");
        buffer_append_text(text, " in ");
        render_counted(text, (int64_t)files, "file");
    }
    for (size_t i = 0; i < files; i++)
        append_file(text, map_get_item(reply->result, "files", i));
    append_missing(text, map_get(reply->result, "missing"));
    if (map_get_boolean(reply->result, "written"))
        buffer_append_text(
            text, "\nThe session still has the old name: reset-session loads its systems again.");
}

static void handle_rename(struct mcp_call *call, void *data)
{
    static const char *const names[] = {"name", "to", "package", "dry-run", NULL};
    struct session_request request = {.kind = SESSION_COPY,
                                      .create = true,
                                      .op = "rename",
                                      .params = session_call_parameters(call, names)};
    session_call_submit(data, call, &request, render_renaming);
}

static const struct tool navigation_tools[] = {
    {"find-definition", MCP_TOOL_READ_ONLY | MCP_TOOL_IDEMPOTENT, handle_find_definition},
    {"rename", MCP_TOOL_DESTRUCTIVE, handle_rename},
};

void tools_register_navigation(struct tools *tools)
{
    TOOLS_ADD_ALL(tools, navigation_tools);
}
