// Introspection: describe-symbol, find-references, macroexpand-form. A name that does not exist is an
// ordinary answer.
#include <inttypes.h>
#include <stdio.h>

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

static void append_source(struct buffer *text, const char *before, struct span source)
{
    if (source.length) {
        buffer_append_text(text, before);
        buffer_append_span(text, source);
    }
}

// --- symbols -------------------------------------------------------------------------------------

// How many there are beyond the `shown` ones.
static void append_more(struct buffer *text, int64_t total, size_t shown)
{
    int64_t more = total - (int64_t)shown;
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
    append_more(text, total, count);
}

// How it uses the symbol, where that is not what the heading says.
static void append_kinds(struct buffer *text, value user, const char *usual)
{
    bool first = true;
    for (size_t i = 0; i < map_get_count(user, "kinds"); i++) {
        struct span kind = value_text(map_get_item(user, "kinds", i));
        if (span_equal_text(kind, usual))
            continue;
        buffer_append_text(text, first ? " (" : ", ");
        buffer_append_span(text, kind);
        first = false;
    }
    buffer_append_text(text, first ? "" : ")");
}

static void append_uses(struct buffer *text, value user)
{
    for (size_t i = 0; i < map_get_count(user, "uses"); i++) {
        value use = map_get_item(user, "uses", i);
        buffer_append_format(text, "\n    %" PRId64 ": ", map_get_integer(use, "line", 0));
        buffer_append_span(text, map_get_string(use, "text"));
    }
}

// Uses of one kind: where each is, if its file is known.
static void append_users(struct buffer *text, value result, const char *member, const char *usual,
                         const char *heading)
{
    char total[32];
    size_t count = map_get_count(result, member);
    if (count == 0)
        return;
    buffer_append_text(text, text->length ? "\n\n" : "");
    buffer_append_text(text, heading);
    buffer_append_span(text, map_get_string(result, "symbol"));
    buffer_append_text(text, ":\n");
    for (size_t i = 0; i < count; i++) {
        value user = map_get_item(result, member, i);
        buffer_append_text(text, "\n  ");
        buffer_append_span(text, map_get_string(user, "name"));
        append_kinds(text, user, usual);
        append_source(text, "  ", map_get_string(user, "source"));
        append_uses(text, user);
    }
    snprintf(total, sizeof(total), "%s_total", member);
    append_more(text, map_get_integer(result, total, 0), count);
}

static void render_references(const struct session_call *run, const struct session_reply *reply,
                              struct tool_result *result)
{
    if (!begin(run->call, reply, result))
        return;
    struct buffer *text = &result->text;
    append_users(text, reply->result, "callers", "calls", "Functions that call ");
    append_users(text, reply->result, "references", "references", "Code that references ");
    append_users(text, reply->result, "methods", "specializes", "Methods that specialize on ");
    if (text->length == 0) {
        buffer_append_text(text, "No references found for ");
        buffer_append_span(text, map_get_string(reply->result, "symbol"));
    }
}

// --- classes -------------------------------------------------------------------------------------

static void append_joined(struct buffer *text, const char *label, const char *between, value map,
                          const char *member)
{
    for (size_t i = 0; i < map_get_count(map, member); i++) {
        buffer_append_text(text, i == 0 ? label : between);
        buffer_append_span(text, value_text(map_get_item(map, member, i)));
    }
}

static void append_slot(struct buffer *text, value slot)
{
    static const struct {
        const char *label, *member;
    } texts[] = {{"initform", "initform"}, {"type", "type"}, {"allocation", "allocation"}};
    buffer_append_text(text, "\n    ");
    buffer_append_span(text, map_get_string(slot, "name"));
    append_joined(text, "  initarg ", " ", slot, "initargs");
    for (size_t i = 0; i < COUNT_OF(texts); i++)
        if (map_get_string(slot, texts[i].member).length) {
            buffer_append_format(text, "  %s ", texts[i].label);
            buffer_append_span(text, map_get_string(slot, texts[i].member));
        }
    append_joined(text, "  reader ", " ", slot, "readers");
    append_joined(text, "  writer ", " ", slot, "writers");
    if (map_get_string(slot, "documentation").length)
        append_indented(text, "      ", map_get_string(slot, "documentation"));
}

static void append_class(struct buffer *text, value class)
{
    struct span metaclass = map_get_string(class, "metaclass");
    if (!span_equal_text(metaclass, "STANDARD-CLASS"))
        append_line(text, "Metaclass", metaclass);
    append_joined(text, "\n  Superclasses: ", ", ", class, "direct_superclasses");
    append_joined(text, "\n  Subclasses: ", ", ", class, "direct_subclasses");
    if (map_get_count(class, "precedence") == 0)
        buffer_append_text(text, "\n  Precedence: (not known: a superclass is not defined)");
    append_joined(text, "\n  Precedence: ", " → ", class, "precedence");
    if (map_get_count(class, "direct_slots"))
        buffer_append_text(text, "\n  Slots:");
    for (size_t i = 0; i < map_get_count(class, "direct_slots"); i++)
        append_slot(text, map_get_item(class, "direct_slots", i));
    append_joined(text, "\n  Inherited slots: ", ", ", class, "inherited_slots");
}

static void append_methods(struct buffer *text, value symbol)
{
    size_t count = map_get_count(symbol, "methods");
    if (count)
        buffer_append_text(text, "\n  Methods:");
    for (size_t i = 0; i < count; i++) {
        value method = map_get_item(symbol, "methods", i);
        buffer_append_text(text, "\n    ");
        buffer_append_span(text, map_get_string(method, "text"));
        append_source(text, "  ", map_get_string(method, "source"));
    }
    append_more(text, map_get_integer(symbol, "methods_total", 0), count);
}

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
    value class = map_get(reply->result, "class");
    if (value_is_map(class))
        append_class(text, class);
    append_methods(text, reply->result);
    append_line(text, "HyperSpec", map_get_string(reply->result, "page"));
    if (map_get_string(reply->result, "page_text").length)
        append_indented(text, "    ", map_get_string(reply->result, "page_text"));
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
        .kind = SESSION_QUERY,
        .op = op,
        .params = session_call_parameters(call, names),
        .beside = true,
    };
    session_call_submit(tools, call, &request, render);
}

static void handle_symbol(struct mcp_call *call, void *data)
{
    static const char *const by_name[] = {"name", "package", "inherited", NULL};
    static const char *const by_pattern[] = {"pattern", "package", "type", NULL};
    bool has_name = tool_text(call, "name"), has_pattern = tool_text(call, "pattern");
    if (has_name == has_pattern)
        tool_refuse(call, "invalid-argument", "Give name or pattern%s.",
                    has_name ? ", not both" : "");
    else if (has_name)
        query(data, call, "describe-symbol", by_name, render_symbol);
    else
        query(data, call, "apropos", by_pattern, render_apropos);
}

static void handle_references(struct mcp_call *call, void *data)
{
    static const char *const names[] = {"name", "package", "kind", NULL};
    query(data, call, "find-references", names, render_references);
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
    {"find-references", READ_ONLY, handle_references},
    {"macroexpand-form", READ_ONLY, handle_macroexpand},
};

void tools_register_introspect(struct tools *tools)
{
    TOOLS_ADD_ALL(tools, introspection_tools);
}
