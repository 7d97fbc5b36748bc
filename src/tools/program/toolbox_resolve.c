// What a program is told about the tools it may call. Lisp functions describe themselves:
// docstring, lambda list and declared type become description and signature, best effort; what the
// file says wins.
#include <string.h>

#include "base/array.h"
#include "base/ascii.h"
#include "base/buffer.h"
#include "base/clock.h"
#include "base/memory.h"
#include "tools/program/toolbox.h"
#include "tools/program/toolbox_upstream.h"

struct toolbox_resolution {
    const struct toolbox *toolbox;
    struct session_manager *sessions;
    struct region *region;  // like `query` not to be used once cancelled
    struct toolbox_query query;
    value tools;
    size_t next;
    size_t next_server;
    int64_t servers_until_ms;         // they are waited for, by those who list all
    uint64_t ticket;                  // what we wait for
    struct upstream_task *preparing;  // the same, when it is a server
    bool asking;                      // a server, right now
    bool loading;                     // the file of the current tool
    bool loaded;
    bool cancelled;
    // The session whose reply is being handled: it counts as working, but can be asked.
    const char *answering;
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

// --- signature from a Lisp function --------------------------------------------------------------

static const char *signature_type(struct span type)
{
    static const struct {
        const char *lisp, *signature;
    } types[] = {
        {"int", ":int"},   {"float", ":float"},     {"number", ":float"}, {"string", ":string"},
        {"bool", ":bool"}, {"keyword", ":keyword"}, {"list", "[:any]"},   {"map", ":map"},
    };
    for (size_t i = 0; i < COUNT_OF(types); i++)
        if (span_equal_text(type, types[i].lisp))
            return types[i].signature;
    return ":any";
}

// A parameter's name must be one of the signature grammar; otherwise there is no signature.
static bool is_field_name(struct span name)
{
    for (size_t i = 0; i < name.length; i++) {
        char c = name.data[i];
        bool letter = ascii_is_letter(c) || c == '_';
        if (!letter && (i == 0 || !(ascii_is_digit(c) || c == '-')))
            return false;
    }
    return name.length > 0;
}

// "(query :string, limit :int?) -> [:any]"; false when the lambda list cannot be expressed.
static bool write_signature(struct buffer *text, value description)
{
    buffer_append_byte(text, '(');
    bool first = true;
    for (size_t i = 0; i < map_get_count(description, "parameters"); i++) {
        value parameter = map_get_item(description, "parameters", i);
        struct span name = map_get_string(parameter, "name"),
                    kind = map_get_string(parameter, "kind");
        if (span_equal_text(kind, "rest"))
            continue;
        if (!is_field_name(name))
            return false;
        buffer_append_text(text, first ? "" : ", ");
        buffer_append_span(text, name);
        buffer_append_byte(text, ' ');
        buffer_append_text(text, signature_type(map_get_string(parameter, "type")));
        if (!span_equal_text(kind, "required"))
            buffer_append_byte(text, '?');
        first = false;
    }
    buffer_append_text(text, ") -> ");
    buffer_append_text(text, signature_type(map_get_string(description, "result_type")));
    return true;
}

// --- what is known of a function -----------------------------------------------------------------

// The state of a session. Whatever changes a function changes the evaluation or the process.
struct place {
    pid_t process;
    int64_t evaluation;
    bool working;
    bool queued;
};

static struct place session_place(struct session_manager *sessions, const char *name)
{
    static const char *const working[] = {"running", "interrupting", "stopping", "copy"};
    struct region *region = region_new(SIZE_MAX);
    value info = session_info(sessions, name, false, region);
    struct place place = {0};
    if (value_is_map(info)) {
        place.process = (pid_t)map_get_integer(info, "pid", 0);
        place.evaluation = map_get_integer(info, "evaluation", 0);
        place.queued = map_get_integer(info, "queued", 0) > 0;
        for (size_t i = 0; i < COUNT_OF(working); i++)
            place.working =
                place.working || span_equal_text(map_get_string(info, "state"), working[i]);
    }
    region_free(region);
    return place;
}

static char *copy_or_null(struct buffer *text)
{
    return text->length ? memory_copy_text(text->data, text->length) : NULL;
}

static void remember(const struct toolbox_tool *tool, struct place place, value answer)
{
    struct toolbox_cache *cache = tool->cache;
    bool found = map_get_boolean(answer, "found");
    CLEANUP_BUFFER struct buffer signature, description, problem;
    buffer_init(&signature, BUFFER_DEFAULT_LIMIT);
    buffer_init(&description, BUFFER_DEFAULT_LIMIT);
    buffer_init(&problem, BUFFER_DEFAULT_LIMIT);
    if (!found)
        toolbox_describe_missing(&problem, tool, answer);
    else if (!write_signature(&signature, answer))
        buffer_clear(&signature);
    buffer_append_span(&description, map_get_string(answer, "documentation"));
    toolbox_cache_release(cache);
    *cache = (struct toolbox_cache){
        .known = true,
        .process = place.process,
        .evaluation = place.evaluation,
        .signature = copy_or_null(&signature),
        .description = copy_or_null(&description),
        .problem = copy_or_null(&problem),
    };
}

// The function could not be asked, e.g. because its session did not start. A description from
// earlier stays.
static void remember_failure(const struct toolbox_tool *tool, value error)
{
    struct toolbox_cache *cache = tool->cache;
    if (cache->known)
        return;
    CLEANUP_BUFFER struct buffer problem;
    buffer_init(&problem, BUFFER_DEFAULT_LIMIT);
    toolbox_describe_missing(&problem, tool, error);
    memory_free(cache->problem);
    cache->problem = copy_or_null(&problem);
}

// --- one tool after the other --------------------------------------------------------------------

static value put_unless_null(struct region *region, value map, const char *name, const char *text)
{
    return text ? map_put_text(region, map, name, value_string_text(region, text)) : map;
}

// As the file describes it; what it does not say comes from the function.
static value remote_record(struct region *region, const struct toolbox_tool *tool)
{
    static const char *const members[] = {"signature", "description", "skip", "cache"};
    value map = map_put_text(region, map_new(region), "remote", value_boolean(true));
    for (size_t i = 0; i < COUNT_OF(members); i++) {
        value v;
        if (map_find_text(tool->record, members[i], &v))
            map = map_put_text(region, map, members[i], value_copy(region, v));
    }
    const struct toolbox_cache *cache = tool->cache;
    if (!cache)
        return map;
    if (value_is_nil(map_get(map, "description")))
        map = put_unless_null(region, map, "description", cache->description);
    if (value_is_nil(map_get(map, "signature")) && !map_get_boolean(map, "skip"))
        map = put_unless_null(region, map, "signature", cache->signature);
    return map;
}

static void add_tool(struct toolbox_resolution *resolution, const struct toolbox_tool *tool)
{
    struct region *region = resolution->region;
    value record = tool->kind == TOOLBOX_LOCAL ? value_copy(region, tool->record)
                                               : remote_record(region, tool);
    const struct toolbox_cache *cache = tool->cache;
    if (resolution->query.with_problems && cache)
        record = put_unless_null(region, record, "problem",
                                 cache->known || cache->problem
                                     ? cache->problem
                                     : "its session is busy; not described yet");
    resolution->tools = map_put_text(region, resolution->tools, tool->name, record);
}

static const struct toolbox_tool *current_tool(const struct toolbox_resolution *resolution)
{
    return toolbox_at(resolution->toolbox, resolution->next - 1);
}

static bool resolve_next(struct toolbox_resolution *resolution);
static void ask_function(struct toolbox_resolution *resolution);

// What went wrong in the file shows when the function is called; loading itself is no failure here.
static void on_loaded(void *data, const struct session_reply *reply)
{
    (void)reply;
    struct toolbox_resolution *resolution = data;
    if (resolution->cancelled) {
        memory_free(resolution);
        return;
    }
    resolution->loading = false;
    resolution->loaded = true;
    ask_function(resolution);
}

static void load_file(struct toolbox_resolution *resolution)
{
    const struct toolbox_tool *tool = current_tool(resolution);
    struct region *region = resolution->region;
    struct session_request request = {
        .session = tool->session,
        .kind = SESSION_EVALUATE,
        .create = true,
        .op = "load-tool-file",
        .params = put_unless_null(region, map_new(region), "path", tool->file),
        .label = tool->file,
        .timeout = -1,
        .reply = on_loaded,
        .data = resolution,
    };
    resolution->loading = true;
    resolution->ticket = session_submit(resolution->sessions, &request);
}

static void on_description(void *data, const struct session_reply *reply)
{
    struct toolbox_resolution *resolution = data;
    const struct toolbox_tool *tool = current_tool(resolution);
    if (reply->ok && map_get_boolean(reply->result, "load") && !resolution->loaded) {
        load_file(resolution);
        return;
    }
    if (reply->ok)
        remember(tool, session_place(resolution->sessions, tool->session), reply->result);
    else
        remember_failure(tool, reply->error);
    add_tool(resolution, tool);
    resolution->answering = tool->session;
    resolve_next(resolution);
}

value toolbox_function_params(struct region *region, const struct toolbox_tool *tool)
{
    value params = put_unless_null(region, map_new(region), "function", tool->function);
    return put_unless_null(region, params, "file", tool->file);
}

static void ask_function(struct toolbox_resolution *resolution)
{
    const struct toolbox_tool *tool = current_tool(resolution);
    struct session_request request = {
        .session = tool->session,
        .kind = SESSION_QUERY,
        .create = true,
        .op = "describe-function",
        .params = toolbox_function_params(resolution->region, tool),
        .timeout = -1,
        .reply = on_description,
        .data = resolution,
    };
    resolution->ticket = session_submit(resolution->sessions, &request);
}

// Does a text hold the tool's name at all? More than the program calls, never less.
static bool is_named(const struct toolbox_query *query, const char *name)
{
    for (size_t i = 0; i < query->text_count; i++)
        if (memmem(query->texts[i].data, query->texts[i].length, name, strlen(name)))
            return true;
    return query->text_count == 0;
}

bool toolbox_is_searched(struct span source)
{
    static const char *const names[] = {"tool/search", "tool/describe", "tool/call", "(doc ",
                                        "(apropos "};
    for (size_t i = 0; i < COUNT_OF(names); i++)
        if (memmem(source.data, source.length, names[i], strlen(names[i])))
            return true;
    return false;
}

// A function is asked when its answer is wanted and may have changed; one whose session is
// evaluating only if nothing is known and the query waits for busy sessions.
static bool must_ask(const struct toolbox_resolution *resolution, const struct toolbox_tool *tool)
{
    const struct toolbox_query *query = &resolution->query;
    bool described = !value_is_nil(map_get(tool->record, "signature")) &&
                     !value_is_nil(map_get(tool->record, "description"));
    bool wanted = tool->kind == TOOLBOX_LISP && is_named(query, tool->name) &&
                  (!described || tool->file || query->with_problems);
    if (!wanted)
        return false;
    const struct toolbox_cache *cache = tool->cache;
    struct place place = session_place(resolution->sessions, tool->session);
    bool ours = resolution->answering && strcmp(resolution->answering, tool->session) == 0;
    if (place.queued || (place.working && !ours))
        return !cache->known && query->wait_for_busy;
    return !cache->known || cache->process != place.process ||
           cache->evaluation != place.evaluation;
}

// --- one server after the other ------------------------------------------------------------------

static struct upstream_server *current_server(const struct toolbox_resolution *resolution)
{
    return upstreams_at(toolbox_upstreams(resolution->toolbox), resolution->next_server - 1);
}

static void add_server(struct toolbox_resolution *resolution)
{
    resolution->tools = toolbox_upstream_add(resolution->region, resolution->tools,
                                             current_server(resolution), &resolution->query);
}

static void on_prepared(void *data, const struct upstream_outcome *outcome)
{
    (void)outcome;  // a server that failed says why itself
    struct toolbox_resolution *resolution = data;
    resolution->preparing = NULL;
    if (resolution->asking)
        return;
    add_server(resolution);
    resolve_next(resolution);
}

// Programs wait as long as the server they name takes to start. A list of all is not kept waiting by a
// server that hangs.
static int64_t waiting_time_ms(const struct toolbox_resolution *resolution)
{
    if (!resolution->query.with_problems)
        return 0;
    int64_t left = resolution->servers_until_ms - clock_now_ms();
    return left > 0 ? left : 1;
}

// All at once, then one is waited for after the other.
static void begin_servers(struct toolbox_resolution *resolution)
{
    struct upstreams *upstreams = toolbox_upstreams(resolution->toolbox);
    resolution->servers_until_ms = clock_now_ms() + UPSTREAM_LISTING_MS;
    for (size_t i = 0; i < upstreams_count(upstreams); i++)
        if (toolbox_upstream_is_wanted(upstreams_at(upstreams, i), &resolution->query))
            upstream_begin(upstreams_at(upstreams, i));
}

// False: it has to start first.
static bool resolve_server(struct toolbox_resolution *resolution)
{
    struct upstream_server *server = current_server(resolution);
    if (!upstream_is_ready(server)) {
        resolution->asking = true;
        resolution->preparing =
            upstream_prepare(server, waiting_time_ms(resolution), on_prepared, resolution);
        resolution->asking = false;
        if (resolution->preparing)
            return false;
    }
    add_server(resolution);
    return true;
}

static bool resolve_servers(struct toolbox_resolution *resolution)
{
    struct upstreams *upstreams = toolbox_upstreams(resolution->toolbox);
    if (resolution->next_server == 0)
        begin_servers(resolution);
    while (resolution->next_server < upstreams_count(upstreams)) {
        struct upstream_server *server = upstreams_at(upstreams, resolution->next_server++);
        if (toolbox_upstream_is_wanted(server, &resolution->query) && !resolve_server(resolution))
            return false;
    }
    return true;
}

// True: all is resolved and answered, the resolution gone.
static bool resolve_next(struct toolbox_resolution *resolution)
{
    while (resolution->next < toolbox_count(resolution->toolbox)) {
        const struct toolbox_tool *tool = toolbox_at(resolution->toolbox, resolution->next++);
        if (!is_allowed(resolution->query.allowed, tool->name))
            continue;
        resolution->loaded = false;
        if (must_ask(resolution, tool)) {
            ask_function(resolution);
            return false;
        }
        add_tool(resolution, tool);
    }
    if (!resolve_servers(resolution))
        return false;
    toolbox_resolved_fn *done = resolution->done;
    void *data = resolution->data;
    value tools = resolution->tools;
    memory_free(resolution);
    done(data, tools);
    return true;
}

struct toolbox_resolution *toolbox_resolve_start(const struct toolbox *toolbox,
                                                 struct session_manager *sessions,
                                                 struct region *region,
                                                 const struct toolbox_query *query,
                                                 toolbox_resolved_fn *done, void *data)
{
    struct toolbox_resolution *resolution = memory_alloc_zero(sizeof(*resolution));
    *resolution = (struct toolbox_resolution){
        .toolbox = toolbox,
        .sessions = sessions,
        .region = region,
        .query = *query,
        .tools = map_new(region),
        .done = done,
        .data = data,
    };
    return resolve_next(resolution) ? NULL : resolution;
}

void toolbox_resolve_cancel(struct toolbox_resolution *resolution)
{
    resolution->cancelled = true;
    if (resolution->loading)
        return;  // loaded once, it serves the next run
    if (resolution->preparing)
        upstream_cancel(resolution->preparing);
    else
        session_cancel(resolution->sessions, resolution->ticket);
    memory_free(resolution);
}
