// Introspection: describe-symbol, apropos-search, who-calls, who-references, class-info,
// find-methods, macroexpand-form. A name that does not exist is an ordinary answer.
#include <inttypes.h>

#include "base/array.h"
#include "tools/result/result_structured.h"
#include "tools/result/result_text.h"
#include "tools/session_call.h"

// Fills the parts all of these share: the structured copy of the agent's members, the failure's
// text and the text of "not found". False: the text is complete.
static bool begin(struct mcp_call *call, const struct session_reply *reply,
                  struct tool_result *result)
{
    static const char *const internal[] = {"op", "timing", "state", "ok", "error", NULL};
    struct region *region = mcp_call_region(call);
    bool failed = session_call_render_failure(call, reply, result);
    value map = result->structured;
    if (value_is_map(reply->result)) {
        struct map_cursor cursor = map_iterate(reply->result);
        value key, item;
        while (map_next(&cursor, &key, &item)) {
            bool shown = value_is_string(key);
            for (size_t i = 0; internal[i]; i++)
                shown = shown && !span_equal_text(value_text(key), internal[i]);
            if (shown)
                map = map_put(region, map, value_copy(region, key), value_copy(region, item));
        }
    }
    result->structured = map;
    if (failed)
        return false;
    value found = map_get(reply->result, "found");
    if (found.tag == VALUE_BOOLEAN && !found.boolean) {
        buffer_append_span(&result->text, map_get_string(reply->result, "message"));
        return false;
    }
    return true;
}

static void append_line(struct buffer *text, const char *label, struct span content)
{
    if (content.length == 0)
        return;
    buffer_append_format(text, "\n  %s: ", label);
    buffer_append_span(text, content);
}

static void append_indented(struct buffer *text, const char *indent, struct span content)
{
    buffer_append_format(text, "\n%s", indent);
    for (size_t i = 0; i < content.length; i++) {
        buffer_append_byte(text, content.data[i]);
        if (content.data[i] == '\n')
            buffer_append_text(text, indent);
    }
}

// --- symbols -------------------------------------------------------------------------------------

static void render_symbol(const struct session_call *run, const struct session_reply *reply,
                          struct tool_result *result)
{
    if (!begin(run->call, reply, result))
        return;
    struct buffer *text = &result->text;
    buffer_append_span(text, map_get_string(reply->result, "symbol"));
    buffer_append_text(text, " [");
    buffer_append_span(text, map_get_string(reply->result, "kind"));
    buffer_append_byte(text, ']');
    append_line(text, "Arglist", map_get_string(reply->result, "arglist"));
    append_line(text, "Value", map_get_string(reply->result, "value"));
    if (map_get_string(reply->result, "documentation").length) {
        buffer_append_text(text, "\n  Documentation:");
        append_indented(text, "    ", map_get_string(reply->result, "documentation"));
    }
    append_line(text, "Source", map_get_string(reply->result, "source"));
}

// How many there are beyond the `shown` ones.
static void append_more(struct buffer *text, value result, size_t shown)
{
    int64_t more = map_get_integer(result, "total", (int64_t)shown) - (int64_t)shown;
    if (more > 0)
        buffer_append_format(text, "\n... %" PRId64 " more", more);
}

static void render_apropos(const struct session_call *run, const struct session_reply *reply,
                           struct tool_result *result)
{
    if (!begin(run->call, reply, result))
        return;
    struct buffer *text = &result->text;
    size_t count = map_get_count(reply->result, "matches");
    int64_t total = map_get_integer(reply->result, "total", (int64_t)count);
    buffer_append_text(text, "Found ");
    render_counted(text, total, "symbol");
    buffer_append_format(text, " matching '%s'%s", tool_text(run->call, "pattern"),
                         count ? ":\n" : ".");
    for (size_t i = 0; i < count; i++) {
        value match = map_get_item(reply->result, "matches", i);
        struct span symbol = map_get_string(match, "symbol"), kind = map_get_string(match, "kind");
        buffer_append_format(text, "\n  %.*s [%.*s]", (int)symbol.length, symbol.data,
                             (int)kind.length, kind.data);
    }
    append_more(text, reply->result, count);
}

static void render_users(struct mcp_call *call, const struct session_reply *reply,
                         struct tool_result *result, const char *member, const char *heading,
                         const char *none)
{
    if (!begin(call, reply, result))
        return;
    struct buffer *text = &result->text;
    size_t count = map_get_count(reply->result, member);
    buffer_append_text(text, count ? heading : none);
    buffer_append_span(text, map_get_string(reply->result, "symbol"));
    if (count)
        buffer_append_text(text, ":\n");
    for (size_t i = 0; i < count; i++) {
        buffer_append_text(text, "\n  ");
        buffer_append_span(text, value_text(map_get_item(reply->result, member, i)));
    }
    append_more(text, reply->result, count);
}

static void render_callers(const struct session_call *run, const struct session_reply *reply,
                           struct tool_result *result)
{
    render_users(run->call, reply, result, "callers", "Functions that call ",
                 "No callers found for ");
}

static void render_references(const struct session_call *run, const struct session_reply *reply,
                              struct tool_result *result)
{
    render_users(run->call, reply, result, "references", "Code that references ",
                 "No references found for ");
}

// --- classes -------------------------------------------------------------------------------------

static void append_class_list(struct buffer *text, value result, const char *member,
                              const char *heading)
{
    size_t count = map_get_count(result, member);
    buffer_append_format(text, "\n\n%s:%s", heading, count ? "" : " (none)");
    for (size_t i = 0; i < count; i++) {
        buffer_append_text(text, "\n  - ");
        buffer_append_span(text, value_text(map_get_item(result, member, i)));
    }
}

static void append_joined(struct buffer *text, const char *label, value slot, const char *member)
{
    for (size_t i = 0; i < map_get_count(slot, member); i++) {
        if (i == 0)
            buffer_append_format(text, "\n    %s: ", label);
        else
            buffer_append_text(text, ", ");
        buffer_append_span(text, value_text(map_get_item(slot, member, i)));
    }
}

static void append_slot(struct buffer *text, value slot)
{
    static const struct {
        const char *label, *member;
    } texts[] = {{"Initform", "initform"}, {"Type", "type"}, {"Allocation", "allocation"}};
    buffer_append_text(text, "\n  ");
    buffer_append_span(text, map_get_string(slot, "name"));
    append_joined(text, "Initarg", slot, "initargs");
    for (size_t i = 0; i < COUNT_OF(texts); i++)
        if (map_get_string(slot, texts[i].member).length) {
            buffer_append_format(text, "\n    %s: ", texts[i].label);
            buffer_append_span(text, map_get_string(slot, texts[i].member));
        }
    append_joined(text, "Readers", slot, "readers");
    append_joined(text, "Writers", slot, "writers");
    if (map_get_string(slot, "documentation").length)
        append_indented(text, "    ", map_get_string(slot, "documentation"));
}

static void render_class(const struct session_call *run, const struct session_reply *reply,
                         struct tool_result *result)
{
    if (!begin(run->call, reply, result))
        return;
    struct buffer *text = &result->text;
    value class = reply->result;
    buffer_append_text(text, "Class: ");
    buffer_append_span(text, map_get_string(class, "class"));
    append_line(text, "Metaclass", map_get_string(class, "metaclass"));
    append_line(text, "Package", map_get_string(class, "package"));
    append_class_list(text, class, "direct_superclasses", "Direct Superclasses");
    append_class_list(text, class, "direct_subclasses", "Direct Subclasses");
    buffer_append_text(text, "\n\nClass Precedence List:\n  ");
    if (map_get_count(class, "precedence") == 0)
        buffer_append_text(text, "(not known: a superclass is not defined)");
    for (size_t i = 0; i < map_get_count(class, "precedence"); i++) {
        buffer_append_text(text, i ? " → " : "");
        buffer_append_span(text, value_text(map_get_item(class, "precedence", i)));
    }
    buffer_append_format(text, "\n\nDirect Slots (%zu):", map_get_count(class, "direct_slots"));
    for (size_t i = 0; i < map_get_count(class, "direct_slots"); i++)
        append_slot(text, map_get_item(class, "direct_slots", i));
    buffer_append_format(text, "\n\nAll Slots (inherited included): %zu",
                         map_get_count(class, "slots"));
}

static void render_methods(const struct session_call *run, const struct session_reply *reply,
                           struct tool_result *result)
{
    if (!begin(run->call, reply, result))
        return;
    size_t count = map_get_count(reply->result, "methods");
    struct span class = map_get_string(reply->result, "class");
    render_counted(&result->text, (int64_t)count, "method");
    buffer_append_format(&result->text, " specialized on %.*s%s", (int)class.length, class.data,
                         count ? ":\n" : ".");
    for (size_t i = 0; i < count; i++) {
        buffer_append_text(&result->text, "\n  ");
        buffer_append_span(&result->text,
                           map_get_string(map_get_item(reply->result, "methods", i), "text"));
    }
}

static void render_expansion(const struct session_call *run, const struct session_reply *reply,
                             struct tool_result *result)
{
    if (!begin(run->call, reply, result))
        return;
    struct buffer *text = &result->text;
    buffer_append_text(text, "Expansion of ");
    buffer_append_span(text, map_get_string(reply->result, "form"));
    buffer_append_text(text, ":\n\n");
    buffer_append_span(text, map_get_string(reply->result, "expansion"));
    if (!map_get_boolean(reply->result, "expanded"))
        buffer_append_text(text, "\n\n(Form is not a macro call)");
}

// --- handlers ------------------------------------------------------------------------------------

static void query(struct tools *tools, struct mcp_call *call, const char *op,
                  const char *const *names, tool_render_fn *render)
{
    struct session_request request = {
        .kind = SESSION_QUERY, .op = op, .params = session_call_parameters(call, names)};
    session_call_submit(tools, call, &request, render);
}

static const char *const name_and_package[] = {"name", "package", NULL};

static void handle_symbol(struct mcp_call *call, void *data)
{
    query(data, call, "describe-symbol", name_and_package, render_symbol);
}

static void handle_apropos(struct mcp_call *call, void *data)
{
    static const char *const names[] = {"pattern", "package", "type", NULL};
    query(data, call, "apropos", names, render_apropos);
}

static void handle_callers(struct mcp_call *call, void *data)
{
    query(data, call, "who-calls", name_and_package, render_callers);
}

static void handle_references(struct mcp_call *call, void *data)
{
    query(data, call, "who-references", name_and_package, render_references);
}

static void handle_class(struct mcp_call *call, void *data)
{
    static const char *const names[] = {"class", "package", NULL};
    query(data, call, "class-info", names, render_class);
}

static void handle_methods(struct mcp_call *call, void *data)
{
    static const char *const names[] = {"class", "package", "include-inherited", NULL};
    query(data, call, "find-methods", names, render_methods);
}

static void handle_macroexpand(struct mcp_call *call, void *data)
{
    static const char *const names[] = {"form", "full", "package", NULL};
    struct session_request request = {.kind = SESSION_COPY,
                                      .create = true,
                                      .op = "macroexpand",
                                      .params = session_call_parameters(call, names)};
    session_call_submit(data, call, &request, render_expansion);
}

#define READ_ONLY (MCP_TOOL_READ_ONLY | MCP_TOOL_IDEMPOTENT)

static const struct tool introspection_tools[] = {
    {"describe-symbol", READ_ONLY, handle_symbol},
    {"apropos-search", READ_ONLY, handle_apropos},
    {"who-calls", READ_ONLY, handle_callers},
    {"who-references", READ_ONLY, handle_references},
    {"macroexpand-form", READ_ONLY, handle_macroexpand},
    {"class-info", READ_ONLY, handle_class},
    {"find-methods", READ_ONLY, handle_methods},
};

void tools_register_introspect(struct tools *tools)
{
    TOOLS_ADD_ALL(tools, introspection_tools);
}
