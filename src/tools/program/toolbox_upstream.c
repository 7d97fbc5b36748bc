#include "tools/program/toolbox_upstream.h"

#include <string.h>

#include "base/hash.h"
#include "program/compile/analysis.h"
#include "program/compile/suggest.h"
#include "program/run/tool_table.h"

struct span toolbox_upstream_namespace(const struct upstream_server *server,
                                       char text[TOOLBOX_NAMESPACE_SIZE])
{
    const char *name = upstream_entry(server)->name;
    int length = snprintf(text, TOOLBOX_NAMESPACE_SIZE, "%s%s",
                          program_has_namespace(span_from(name)) ? "mcp-" : "", name);
    return (struct span){text, (size_t)length};
}

value toolbox_put_server_limits(struct region *region, value options)
{
    options = map_put_text(region, options, "timeout", value_integer(TOOLBOX_SERVERS_TIMEOUT_MS));
    if (!value_is_nil(map_get(options, "max_compute")))
        return options;
    return map_put_text(region, options, "max_compute", value_integer(TOOLBOX_SERVERS_COMPUTE_MS));
}

static bool is_symbol_byte(char byte)
{
    return byte == '\'' || name_is_symbol((struct span){&byte, 1}) || (byte >= '0' && byte <= '9');
}

// The next "namespace/tool" of the text from *at on; empty at its end. Also what stands in strings
// and comments: more than the program calls, never less.
static struct span next_name(struct span text, struct span namespace, size_t *at)
{
    while (*at + namespace.length + 1 < text.length) {
        const char *found =
            memmem(text.data + *at, text.length - *at, namespace.data, namespace.length);
        if (!found)
            break;
        size_t start = (size_t)(found - text.data), end = start + namespace.length;
        *at = start + 1;
        bool begins =
            start == 0 || (!is_symbol_byte(text.data[start - 1]) && text.data[start - 1] != '/');
        if (!begins || end >= text.length || text.data[end] != '/')
            continue;
        for (end++; end < text.length && is_symbol_byte(text.data[end]);)
            end++;
        *at = end;
        if (end > start + namespace.length + 1)
            return (struct span){text.data + start, end - start};
    }
    *at = text.length;
    return (struct span){0};
}

static bool text_names(const struct upstream_server *server, struct span text)
{
    char buffer[TOOLBOX_NAMESPACE_SIZE];
    size_t at = 0;
    return next_name(text, toolbox_upstream_namespace(server, buffer), &at).length > 0;
}

bool toolbox_upstream_is_used(const struct upstreams *upstreams, struct span text)
{
    for (size_t i = 0; i < upstreams_count(upstreams); i++)
        if (text_names(upstreams_at(upstreams, i), text))
            return true;
    return false;
}

bool toolbox_upstream_is_wanted(const struct upstream_server *server,
                                const struct toolbox_query *query)
{
    for (size_t i = 0; i < query->text_count; i++)
        if (text_names(server, query->texts[i]))
            return true;
    return query->text_count == 0;
}

struct upstream_server *toolbox_upstream_find(const struct upstreams *upstreams, struct span name,
                                              struct span *ret_tool)
{
    const char *slash = memchr(name.data, '/', name.length);
    struct span namespace = {name.data, slash ? (size_t)(slash - name.data) : name.length};
    for (size_t i = 0; i < upstreams_count(upstreams); i++) {
        char buffer[TOOLBOX_NAMESPACE_SIZE];
        struct upstream_server *server = upstreams_at(upstreams, i);
        if (!span_equal(namespace, toolbox_upstream_namespace(server, buffer)))
            continue;
        *ret_tool =
            slash ? (struct span){slash + 1, name.length - namespace.length - 1} : (struct span){0};
        return server;
    }
    return NULL;
}

struct tool_facts toolbox_upstream_facts(const struct upstreams *upstreams, struct span name)
{
    struct tool_facts facts = {.name = name};
    struct span rest;
    struct upstream_server *server = toolbox_upstream_find(upstreams, name, &rest);
    const struct upstream_tool *tool =
        server ? upstream_catalog_find(upstream_catalog(server), rest) : NULL;
    facts.is_local = !server;
    if (!tool)
        return facts;
    facts.hints_read = tool->read_only;
    uint64_t mark = hash_bytes(tool->description, strlen(tool->description), 1);
    mark = hash_combine(mark, tool->schema_mark);
    facts.fingerprint = hash_combine(mark, tool->read_only) | 1;
    return facts;
}

// --- records -------------------------------------------------------------------------------------

// All tools of a server are allowed by its name, one by its own.
static bool is_allowed(value allowed, struct span namespace, struct span name)
{
    for (size_t i = 0; value_is_vector(allowed) && i < vector_count(allowed); i++) {
        struct span each = value_text(vector_at(allowed, i));
        if (span_equal(each, namespace) || span_equal(each, name))
            return true;
    }
    return !value_is_vector(allowed);
}

static value missing_tool(struct region *region, const struct upstream_server *server,
                          struct span name)
{
    const struct upstream_catalog *catalog = upstream_catalog(server);
    struct suggestion best = {0};
    for (size_t i = 0; i < catalog->count; i++)
        suggest_closer(&best, name, span_from(catalog->tools[i].program_name));
    const char *server_name = upstream_entry(server)->name;
    return best.name.length
               ? value_string_format(region, "the server %s has no such tool, did you mean %.*s?",
                                     server_name, (int)best.name.length, best.name.data)
               : value_string_format(region, "the server %s has no such tool", server_name);
}

static value tool_record(struct region *region, const struct upstream_server *server,
                         struct span tool_name)
{
    value record = map_new(region);
    if (!upstream_is_ready(server)) {
        const char *why = upstream_failure(server);
        return map_put_text(region, record, "error",
                            value_string_text(region, why ? why : "the server does not answer"));
    }
    const struct upstream_tool *tool = upstream_catalog_find(upstream_catalog(server), tool_name);
    if (!tool)
        return map_put_text(region, record, "error", missing_tool(region, server, tool_name));
    record = map_put_text(region, record, "remote", value_boolean(true));
    if (tool->signature)
        record =
            map_put_text(region, record, "signature", value_string_text(region, tool->signature));
    else
        record = map_put_text(region, record, "skip", value_boolean(true));
    return map_put_text(region, record, "description",
                        value_string_text(region, tool->description));
}

static value add_named(struct region *region, value tools, const struct upstream_server *server,
                       struct span namespace, struct span text, value allowed)
{
    struct span name;
    for (size_t at = 0; (name = next_name(text, namespace, &at)).length;) {
        struct span rest = {name.data + namespace.length + 1, name.length - namespace.length - 1};
        if (is_allowed(allowed, namespace, name))
            tools = map_put(region, tools, value_string(region, name),
                            tool_record(region, server, rest));
    }
    return tools;
}

static value add_all(struct region *region, value tools, const struct upstream_server *server,
                     struct span namespace, value allowed)
{
    const struct upstream_catalog *catalog = upstream_catalog(server);
    if (!upstream_is_ready(server))
        return tools;
    for (size_t i = 0; i < catalog->count; i++) {
        const char *tool = catalog->tools[i].program_name;
        value name =
            value_string_format(region, "%.*s/%s", (int)namespace.length, namespace.data, tool);
        if (is_allowed(allowed, namespace, value_text(name)))
            tools = map_put(region, tools, name, tool_record(region, server, span_from(tool)));
    }
    return tools;
}

// A line for a server whose tools nobody knows.
static value add_problem(struct region *region, value tools, const struct upstream_server *server,
                         struct span namespace)
{
    const char *why = upstream_failure(server);
    value record = map_put_text(region, map_new(region), "problem",
                                value_string_text(region, why ? why : "it does not answer"));
    return map_put(region, tools,
                   value_string_format(region, "%.*s/*", (int)namespace.length, namespace.data),
                   record);
}

value toolbox_upstream_add(struct region *region, value tools, const struct upstream_server *server,
                           const struct toolbox_query *query)
{
    char buffer[TOOLBOX_NAMESPACE_SIZE];
    struct span namespace = toolbox_upstream_namespace(server, buffer);
    for (size_t i = 0; i < query->text_count; i++)
        tools = add_named(region, tools, server, namespace, query->texts[i], query->allowed);
    if (query->text_count == 0)
        tools = add_all(region, tools, server, namespace, query->allowed);
    if (query->with_problems && !upstream_is_ready(server))
        tools = add_problem(region, tools, server, namespace);
    return tools;
}
