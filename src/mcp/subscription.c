// Change notifications: to clients of the 2026 protocol through the streams of
// subscriptions/listen, to those of the 2024 protocol through their channel or session.
#include "base/assert.h"
#include "mcp/mcp_internal.h"

enum { AGREED_MAX = 1 << 20 };  // bytes of the filter of one subscription

static const struct list_name {
    const char *filter;
    const char *notification;
} list_names[MCP_LIST_COUNT] = {
    [MCP_LIST_TOOLS] = {"toolsListChanged", "notifications/tools/list_changed"},
    [MCP_LIST_RESOURCES] = {"resourcesListChanged", "notifications/resources/list_changed"},
    [MCP_LIST_PROMPTS] = {"promptsListChanged", "notifications/prompts/list_changed"},
};

static bool list_can_change(const struct mcp_server *server, enum mcp_list list)
{
    switch (list) {
    case MCP_LIST_TOOLS: return server->info.tools_change;
    case MCP_LIST_RESOURCES: return server->info.resources_change;
    default: return server->info.prompts_change;
    }
}

// --- subscriptions/listen ------------------------------------------------------------------------

static void listener_send(struct mcp_call *call, const char *method, const struct buffer *members)
{
    CLEANUP_BUFFER struct buffer params, out;
    buffer_init(&params, MCP_RESPONSE_LIMIT);
    buffer_init(&out, MCP_RESPONSE_LIMIT);
    if (members)
        json_append_part(&params, members);
    json_name(&params, "_meta");
    buffer_append_byte(&params, '{');
    json_put_raw(&params, META_PREFIX "subscriptionId", span_from(call->id));
    buffer_append_byte(&params, '}');
    jsonrpc_write_call(&out, NULL, method, &params);
    call_notify(call, &out);
}

static bool is_any(struct mcp_call *call, struct span text)
{
    (void)call;
    (void)text;
    return true;
}

// Unknown resources cannot change and are left out of the agreed filter.
static bool is_resource(struct mcp_call *call, struct span uri)
{
    return registry_knows_uri(call->server, call->region, uri);
}

// The strings of an optional array that pass the test, nil when it is absent. False: not an array
// of strings.
static bool read_strings(struct mcp_call *call, value filter, const char *name,
                         bool (*passes)(struct mcp_call *call, struct span text),
                         value *ret_strings)
{
    value list = map_get(filter, name);
    *ret_strings = value_nil();
    if (value_is_nil(list))
        return true;
    if (!value_is_vector(list))
        return false;
    value strings = vector_new(call->region, vector_count(list));
    for (size_t i = 0; i < vector_count(list) && i < MCP_SUBSCRIPTIONS_MAX; i++) {
        value item = vector_at(list, i);
        if (!value_is_string(item))
            return false;
        if (passes(call, value_text(item)))
            strings = vector_push(call->region, strings, value_retain(item));
    }
    *ret_strings = strings;
    return true;
}

static void write_agreed(struct mcp_call *call, struct buffer *out)
{
    buffer_append_text(out, "\"notifications\":{");
    for (enum mcp_list list = 0; list < MCP_LIST_COUNT; list++)
        if (call->listen_lists & (1u << list))
            json_put_boolean(out, list_names[list].filter, true);
    if (value_is_vector(call->listen_uris))
        json_put_value(out, "resourceSubscriptions", call->listen_uris);
    if (value_is_vector(call->listen_tasks))
        json_put_value(out, "taskIds", call->listen_tasks);
    buffer_append_byte(out, '}');
}

// Stores the filter of a subscription in the call. False: the call was finished with an error.
static bool read_filter(struct mcp_call *call, value filter)
{
    struct mcp_server *server = call->server;
    for (enum mcp_list list = 0; list < MCP_LIST_COUNT; list++) {
        value wanted = map_get(filter, list_names[list].filter);
        if (!value_is_nil(wanted) && wanted.tag != VALUE_BOOLEAN) {
            call_finish_params_error(call, "Invalid params: %s must be a boolean",
                                     list_names[list].filter);
            return false;
        }
        if (wanted.tag == VALUE_BOOLEAN && wanted.boolean && list_can_change(server, list))
            call->listen_lists |= 1u << list;
    }
    value uris, tasks;
    if (!read_strings(call, filter, "resourceSubscriptions", is_resource, &uris) ||
        !read_strings(call, filter, "taskIds", is_any, &tasks)) {
        call_finish_params_error(
            call, "Invalid params: resourceSubscriptions and taskIds must be arrays of strings");
        return false;
    }
    if (server->info.subscribe)
        call->listen_uris = uris;
    if (server->info.tasks && (call->client_can & CLIENT_TASKS))
        call->listen_tasks = tasks;
    return true;
}

void method_listen(struct mcp_call *call)
{
    struct mcp_server *server = call->server;
    value filter = map_get(call->params, "notifications");
    if (!value_is_map(filter)) {
        call_finish_params_error(call, "Invalid params: notifications must be an object");
        return;
    }
    if (!read_filter(call, filter))
        return;
    CLEANUP_BUFFER struct buffer agreed;
    buffer_init(&agreed, AGREED_MAX);
    write_agreed(call, &agreed);
    if (agreed.failed) {
        call_finish_params_error(call, "Invalid params: the subscription request is too large");
        return;
    }
    call->state = CALL_LISTENING;
    TAILQ_REMOVE(&server->calls, call, link);
    server->call_count--;
    TAILQ_INSERT_TAIL(&server->listeners, call, link);
    listener_send(call, "notifications/subscriptions/acknowledged", &agreed);
}

void listener_end(struct mcp_call *call)
{
    if (call->peer) {  // stdio
        CLEANUP_BUFFER struct buffer params, out;
        buffer_init(&params, MCP_OUTPUT_LIMIT);
        buffer_init(&out, MCP_OUTPUT_LIMIT);
        json_put_raw(&params, "requestId", span_from(call->id));
        jsonrpc_write_call(&out, NULL, "notifications/cancelled", &params);
        call_notify(call, &out);
    }
    call_finish_result(call, NULL);
}

static bool has_string(value list, const char *text)
{
    if (!value_is_vector(list))
        return false;
    for (size_t i = 0; i < vector_count(list); i++)
        if (span_equal_text(value_text(vector_at(list, i)), text))
            return true;
    return false;
}

void listener_notify_task(struct mcp_server *server, const char *task_id,
                          const struct buffer *members)
{
    struct mcp_call *call, *next;
    for (call = TAILQ_FIRST(&server->listeners); call; call = next) {
        next = TAILQ_NEXT(call, link);
        if (has_string(call->listen_tasks, task_id))
            listener_send(call, "notifications/tasks", members);
    }
}

// --- to everybody --------------------------------------------------------------------------------

static void peer_notify(struct peer *peer, const char *method, const struct buffer *members)
{
    CLEANUP_BUFFER struct buffer out;
    buffer_init(&out, MCP_OUTPUT_LIMIT);
    jsonrpc_write_call(&out, NULL, method, members);
    if (!out.failed)
        peer->send(peer, buffer_span(&out));
}

void mcp_notify_list_changed(struct mcp_server *server, enum mcp_list list)
{
    CHECK(list < MCP_LIST_COUNT && list_can_change(server, list));
    server->generation[list]++;
    struct mcp_call *call, *next;
    for (call = TAILQ_FIRST(&server->listeners); call; call = next) {
        next = TAILQ_NEXT(call, link);
        if (call->listen_lists & (1u << list))
            listener_send(call, list_names[list].notification, NULL);
    }
    struct peer *peer;
    TAILQ_FOREACH (peer, &server->peers, link)
        if (peer->initialized)
            peer_notify(peer, list_names[list].notification, NULL);
}

void mcp_notify_resource_updated(struct mcp_server *server, const char *uri)
{
    CLEANUP_BUFFER struct buffer members;
    buffer_init(&members, MCP_OUTPUT_LIMIT);
    json_put_text(&members, "uri", uri);
    struct mcp_call *call, *next;
    for (call = TAILQ_FIRST(&server->listeners); call; call = next) {
        next = TAILQ_NEXT(call, link);
        if (has_string(call->listen_uris, uri))
            listener_send(call, "notifications/resources/updated", &members);
    }
    struct peer *peer;
    TAILQ_FOREACH (peer, &server->peers, link)
        for (size_t i = 0; i < peer->subscription_count; i++)
            if (strcmp(peer->subscriptions[i], uri) == 0)
                peer_notify(peer, "notifications/resources/updated", &members);
}

void mcp_server_visit_subscriptions(const struct mcp_server *server, mcp_subscription_fn *visit,
                                    void *data)
{
    const struct mcp_call *call;
    TAILQ_FOREACH (call, &server->listeners, link)
        for (size_t i = 0;
             value_is_vector(call->listen_uris) && i < vector_count(call->listen_uris); i++)
            visit(value_text(vector_at(call->listen_uris, i)), data);
    const struct peer *peer;
    TAILQ_FOREACH (peer, &server->peers, link)
        for (size_t i = 0; i < peer->subscription_count; i++)
            visit(span_from(peer->subscriptions[i]), data);
}
