// What a program is told about the tools it may call. Lisp functions describe themselves: docstring,
// lambda list and declared type become description and signature, best effort; what the file says wins.
#include <string.h>

#include "base/buffer.h"
#include "base/memory.h"
#include "tools/fields.h"
#include "tools/toolbox.h"

struct resolution {
    const struct toolbox *toolbox;
    struct session_manager *sessions;
    struct region *region;
    value allowed;
    value tools;
    size_t next;
    bool loaded;  // the file of the current tool
    toolbox_resolved_fn *done;
    void *data;
};

static bool is_allowed(value allowed, const char *name)
{
    if (!value_is_vector(allowed))
        return true;
    for (size_t i = 0; i < vector_count(allowed); i++)
        if (value_is_string(vector_at(allowed, i)) &&
            span_equal_text(value_text(vector_at(allowed, i)), name))
            return true;
    return false;
}

// --- signature from a Lisp function -------------------------------------------------------------

static const char *signature_type(struct span type)
{
    static const struct {
        const char *lisp, *signature;
    } types[] = {
        {"int", ":int"},   {"float", ":float"},     {"number", ":float"}, {"string", ":string"},
        {"bool", ":bool"}, {"keyword", ":keyword"}, {"list", "[:any]"},   {"map", ":map"},
    };
    for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++)
        if (span_equal_text(type, types[i].lisp))
            return types[i].signature;
    return ":any";
}

// A parameter's name must be one of the signature grammar; otherwise there is no signature.
static bool is_field_name(struct span name)
{
    for (size_t i = 0; i < name.length; i++) {
        char c = name.data[i];
        bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
        if (!letter && (i == 0 || !((c >= '0' && c <= '9') || c == '-')))
            return false;
    }
    return name.length > 0;
}

// "(query :string, limit :int?) -> [:any]"; false when the lambda list cannot be expressed.
static bool write_signature(struct buffer *text, value description)
{
    buffer_append_byte(text, '(');
    bool first = true;
    for (size_t i = 0; i < count_in(description, "parameters"); i++) {
        value parameter = item_in(description, "parameters", i);
        struct span name = text_in(parameter, "name"), kind = text_in(parameter, "kind");
        if (span_equal_text(kind, "rest"))
            continue;
        if (!is_field_name(name))
            return false;
        buffer_append_text(text, first ? "" : ", ");
        buffer_append_span(text, name);
        buffer_append_byte(text, ' ');
        buffer_append_text(text, signature_type(text_in(parameter, "type")));
        if (!span_equal_text(kind, "required"))
            buffer_append_byte(text, '?');
        first = false;
    }
    buffer_append_text(text, ") -> ");
    buffer_append_text(text, signature_type(text_in(description, "result_type")));
    return true;
}

// --- one tool after the other -------------------------------------------------------------------

static value remote_record(struct region *region, value record)
{
    static const char *const members[] = {"signature", "description", "skip", "cache"};
    value map = map_put_text(region, map_new(region), "remote", value_boolean(true));
    for (size_t i = 0; i < sizeof(members) / sizeof(*members); i++) {
        value v;
        if (map_find_text(record, members[i], &v))
            map = map_put_text(region, map, members[i], value_copy(region, v));
    }
    return map;
}

static void resolve_next(struct resolution *resolution);

static void add_tool(struct resolution *resolution, const struct toolbox_tool *tool, value record)
{
    resolution->tools = map_put_text(resolution->region, resolution->tools, tool->name, record);
}

static void ask_function(struct resolution *resolution, const struct toolbox_tool *tool);

// What went wrong in the file shows when the function is called; loading itself is no failure here.
static void on_loaded(void *data, const struct session_reply *reply)
{
    (void)reply;
    struct resolution *resolution = data;
    resolution->loaded = true;
    ask_function(resolution, toolbox_at(resolution->toolbox, resolution->next - 1));
}

static void load_file(struct resolution *resolution, const struct toolbox_tool *tool)
{
    struct region *region = resolution->region;
    struct session_request request = {
        .session = tool->session,
        .kind = SESSION_EVALUATE,
        .create = true,
        .op = "load-file",
        .params = map_put_text(region, map_new(region), "path",
                               value_string_format(region, "%s", tool->file)),
        .label = tool->file,
        .timeout = -1,
        .reply = on_loaded,
        .data = resolution,
    };
    session_submit(resolution->sessions, &request);
}

static void on_description(void *data, const struct session_reply *reply)
{
    struct resolution *resolution = data;
    struct region *region = resolution->region;
    const struct toolbox_tool *tool = toolbox_at(resolution->toolbox, resolution->next - 1);
    bool found = reply->ok && flag_in(reply->result, "found");
    if (!found && tool->file && !resolution->loaded) {
        load_file(resolution, tool);
        return;
    }
    value record = remote_record(region, tool->record);
    if (found) {
        struct span documentation = text_in(reply->result, "documentation");
        if (value_is_nil(map_get_text(record, "description")) && documentation.length)
            record =
                map_put_text(region, record, "description", value_string(region, documentation));
        CLEANUP_BUFFER struct buffer signature;
        buffer_init(&signature, BUFFER_DEFAULT_LIMIT);
        bool wanted = value_is_nil(map_get_text(record, "signature")) && !flag_in(record, "skip");
        if (wanted && write_signature(&signature, reply->result))
            record = map_put_text(region, record, "signature",
                                  value_string(region, buffer_span(&signature)));
    }
    add_tool(resolution, tool, record);
    resolve_next(resolution);
}

static void ask_function(struct resolution *resolution, const struct toolbox_tool *tool)
{
    struct region *region = resolution->region;
    value params = map_put_text(region, map_new(region), "function",
                                value_string_format(region, "%s", tool->function));
    struct session_request request = {
        .session = tool->session,
        .kind = SESSION_QUERY,
        .create = true,
        .op = "describe-function",
        .params = params,
        .timeout = -1,
        .reply = on_description,
        .data = resolution,
    };
    session_submit(resolution->sessions, &request);
}

static void resolve_next(struct resolution *resolution)
{
    struct region *region = resolution->region;
    while (resolution->next < toolbox_count(resolution->toolbox)) {
        const struct toolbox_tool *tool = toolbox_at(resolution->toolbox, resolution->next++);
        if (!is_allowed(resolution->allowed, tool->name))
            continue;
        bool described = !value_is_nil(map_get_text(tool->record, "signature")) &&
                         !value_is_nil(map_get_text(tool->record, "description"));
        resolution->loaded = false;
        if (tool->kind == TOOLBOX_LISP && (!described || tool->file)) {
            ask_function(resolution, tool);
            return;
        }
        add_tool(resolution, tool,
                 tool->kind == TOOLBOX_LOCAL ? value_copy(region, tool->record)
                                             : remote_record(region, tool->record));
    }
    toolbox_resolved_fn *done = resolution->done;
    void *data = resolution->data;
    value tools = resolution->tools;
    memory_free(resolution);
    done(data, tools);
}

void toolbox_resolve(const struct toolbox *toolbox, struct session_manager *sessions,
                     struct region *region, value allowed, toolbox_resolved_fn *done, void *data)
{
    struct resolution *resolution = memory_alloc_zero(sizeof(*resolution));
    *resolution = (struct resolution){
        .toolbox = toolbox,
        .sessions = sessions,
        .region = region,
        .allowed = allowed,
        .tools = map_new(region),
        .done = done,
        .data = data,
    };
    resolve_next(resolution);
}
