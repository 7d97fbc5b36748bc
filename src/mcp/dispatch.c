// From a message to its method: the choice of the protocol, the method table, requests,
// notifications and batches.
#include "base/array.h"
#include "mcp/mcp_internal.h"
#include "value/text/json.h"

const char *const version_names[VERSION_COUNT] = {
    "2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28",
};

bool version_find_2024(struct span name, enum version *ret_version)
{
    for (enum version v = 0; v <= VERSION_LAST_OF_2024; v++) {
        if (span_equal_text(name, version_names[v])) {
            *ret_version = v;
            return true;
        }
    }
    return false;
}

// --- methods -------------------------------------------------------------------------------------

static bool has_tools(const struct mcp_server *server)
{
    return !STAILQ_EMPTY(&server->tools);
}

static bool has_resources(const struct mcp_server *server)
{
    return !STAILQ_EMPTY(&server->resources) || !STAILQ_EMPTY(&server->templates);
}

static bool has_subscribe(const struct mcp_server *server)
{
    return has_resources(server) && server->info.subscribe;
}

static bool has_prompts(const struct mcp_server *server)
{
    return !STAILQ_EMPTY(&server->prompts);
}

static bool has_completers(const struct mcp_server *server)
{
    return !STAILQ_EMPTY(&server->completers);
}

static bool has_logging(const struct mcp_server *server)
{
    return server->info.logging;
}

static bool has_tasks(const struct mcp_server *server)
{
    return server->info.tasks;
}

enum { BOTH = METHOD_2024 | METHOD_2026, MINUTE_MS = 60000 };

static const struct method methods[] = {
    {"tools/call", BOTH, has_tools, method_tools_call, "name", -1, false, true},
    {"tools/list", BOTH, has_tools, method_tools_list, NULL, 5 * MINUTE_MS, true, false},
    {"resources/read", BOTH, has_resources, method_resources_read, "uri", 0, false, true},
    {"resources/list", BOTH, has_resources, method_resources_list, NULL, MINUTE_MS, false, false},
    {"resources/templates/list", BOTH, has_resources, method_templates_list, NULL, 5 * MINUTE_MS,
     true, false},
    {"prompts/get", BOTH, has_prompts, method_prompts_get, "name", -1, false, true},
    {"prompts/list", BOTH, has_prompts, method_prompts_list, NULL, 5 * MINUTE_MS, true, false},
    {"completion/complete", BOTH, has_completers, method_completion, NULL, -1, false, false},
    {"server/discover", METHOD_2026, NULL, method_discover, NULL, 60 * MINUTE_MS, true, false},
    {"subscriptions/listen", METHOD_2026, NULL, method_listen, NULL, -1, false, false},
    {"tasks/get", METHOD_2026, has_tasks, method_task_get, "taskId", -1, false, false},
    {"tasks/update", METHOD_2026, has_tasks, method_task_update, "taskId", -1, false, false},
    {"tasks/cancel", METHOD_2026, has_tasks, method_task_cancel, "taskId", -1, false, false},
    {"initialize", METHOD_2024, NULL, method_initialize, NULL, -1, false, false},
    {"ping", METHOD_2024, NULL, method_ping, NULL, -1, false, false},
    {"logging/setLevel", METHOD_2024, has_logging, method_set_level, NULL, -1, false, false},
    {"resources/subscribe", METHOD_2024, has_subscribe, method_subscribe, NULL, -1, false, false},
    {"resources/unsubscribe", METHOD_2024, has_subscribe, method_unsubscribe, NULL, -1, false,
     false},
};

const struct method *method_find(const struct mcp_server *server, struct span name,
                                 unsigned protocol)
{
    for (size_t i = 0; i < COUNT_OF(methods); i++) {
        const struct method *method = &methods[i];
        if (span_equal_text(name, method->name))
            return (method->protocols & protocol) &&
                           (!method->available || method->available(server))
                       ? method
                       : NULL;
    }
    return NULL;
}

static void refuse_unknown_method(struct mcp_call *call, struct span name)
{
    char message[160];
    int shown = name.length > 100 ? 100 : (int)name.length;
    snprintf(message, sizeof(message), "Method not found: %.*s", shown, name.data);
    call_finish_error(call, MCP_METHOD_NOT_FOUND, message, SPAN(""),
                      call_is_2026(call) ? 404 : 200);
}

// --- protocol ------------------------------------------------------------------------------------

static bool has_2026_envelope(const struct message *message)
{
    value ignored;
    if (!value_is_map(message->params))
        return false;
    value meta = map_get(message->params, "_meta");
    return value_is_map(meta) && map_find_text(meta, META_PREFIX "protocolVersion", &ignored);
}

enum protocol_choice protocol_choose(const struct message *message, const char *version_header)
{
    enum version ignored;
    bool is_2024_header = !version_header || version_find_2024(span_from(version_header), &ignored);
    if (message->kind == MESSAGE_RESPONSE)
        return is_2024_header ? PROTOCOL_2024 : PROTOCOL_2026;
    if (has_2026_envelope(message))
        return PROTOCOL_2026;
    if (message->kind == MESSAGE_REQUEST && span_equal_text(message->method, "initialize"))
        return is_2024_header ? PROTOCOL_2024 : PROTOCOL_HEADER_CONFLICT;
    return is_2024_header ? PROTOCOL_2024 : PROTOCOL_2026;
}

// --- single messages -----------------------------------------------------------------------------

void dispatch_refuse(struct exchange *exchange, int status, enum message_id_form form, value id,
                     int code, const char *text)
{
    CLEANUP_BUFFER struct buffer out, id_json;
    buffer_init(&out, MCP_OUTPUT_LIMIT);
    buffer_init(&id_json, MCP_OUTPUT_LIMIT);
    if (form == MESSAGE_ID_GIVEN)
        json_write(&id_json, id, 0, NULL);
    jsonrpc_write_error(&out, form, buffer_span(&id_json), code, span_from(text), SPAN(""));
    exchange_finish(exchange, buffer_span(&out), status);
}

static void refuse_invalid(struct exchange *exchange, const struct message *message, bool is_2026)
{
    enum message_id_form form = message->has_id ? MESSAGE_ID_GIVEN
                                : is_2026       ? MESSAGE_ID_ABSENT
                                                : MESSAGE_ID_NULL;
    dispatch_refuse(exchange, 400, form, message->id, MCP_INVALID_REQUEST, message->problem);
}

static void handle_cancelled(struct peer *peer, struct region *region,
                             const struct message *message)
{
    value id;
    if (!peer || !span_equal_text(message->method, "notifications/cancelled") ||
        !value_is_map(message->params) || !map_find_text(message->params, "requestId", &id))
        return;
    struct mcp_call *call = peer_find_call(peer, span_from(json_region_text(region, id)));
    if (call)
        call_cancel(call);
}

// False: refused. Ids are unique per channel, so they are checked only where there is a peer.
static bool check_id(struct exchange *exchange, struct peer *peer, struct region *region,
                     const struct message *message)
{
    if (!peer)
        return true;
    const char *problem = NULL;
    if (peer->call_count >= MCP_IN_FLIGHT_MAX)
        problem = "Too many requests in flight: wait for an answer first";
    else if (peer_find_call(peer, span_from(json_region_text(region, message->id))))
        problem = "Invalid Request: a request with this id is still in flight";
    if (problem)
        dispatch_refuse(exchange, 400, MESSAGE_ID_GIVEN, message->id, MCP_INVALID_REQUEST, problem);
    return !problem;
}

void dispatch_2026(struct mcp_server *server, struct exchange *exchange, struct peer *peer,
                   struct region *region, const struct message *message)
{
    if (message->kind == MESSAGE_RESPONSE) {
        struct message refused = *message;
        refused.problem = "Invalid Request: 2026-07-28 has no responses from clients";
        refuse_invalid(exchange, &refused, true);
    } else if (message->kind == MESSAGE_INVALID) {
        refuse_invalid(exchange, message, true);
    } else if (message->kind == MESSAGE_NOTIFICATION) {
        handle_cancelled(peer, region, message);
        exchange_finish(exchange, (struct span){NULL, 0}, 202);
    } else if (check_id(exchange, peer, region, message)) {
        struct mcp_call *call = call_new(server, exchange, peer, region, message);
        call->version = VERSION_2026_07_28;
        if (!protocol_2026_check(call, message->method))
            return;
        call->method = method_find(server, message->method, METHOD_2026);
        if (!call->method)
            refuse_unknown_method(call, message->method);
        else if (!call->method->may_ask || protocol_2026_read_input(call))
            call->method->run(call);
        return;
    }
    server_region_release(server, region);
}

static void start_2024_call(struct mcp_server *server, struct exchange *exchange, struct peer *peer,
                            struct region *region, const struct message *message)
{
    struct mcp_call *call = call_new(server, exchange, peer, region, message);
    call->version = peer->version;
    call->client_can = peer->client_can;
    call->structured = peer->structured;
    call->all_tools = peer->all_tools;
    call->log_level = (int)peer->log_level;
    call->method = method_find(server, message->method, METHOD_2024);
    bool before = call->method &&
                  (call->method->run == method_initialize || call->method->run == method_ping);
    if (!peer->initialized && !before)
        call_finish_error(
            call, MCP_INVALID_REQUEST,
            "Not initialized: send initialize first (or 2026-07-28 requests with params._meta)",
            SPAN(""), 400);
    else if (!call->method)
        refuse_unknown_method(call, message->method);
    else
        call->method->run(call);
}

void dispatch_2024(struct mcp_server *server, struct exchange *exchange, struct peer *peer,
                   struct region *region, const struct message *message)
{
    if (message->kind == MESSAGE_INVALID) {
        refuse_invalid(exchange, message, false);
    } else if (message->kind == MESSAGE_RESPONSE) {
        protocol_2024_handle_response(peer, message);
        exchange_finish(exchange, (struct span){NULL, 0}, 202);
    } else if (message->kind == MESSAGE_NOTIFICATION) {
        handle_cancelled(peer, region, message);
        exchange_finish(exchange, (struct span){NULL, 0}, 202);
    } else if (check_id(exchange, peer, region, message)) {
        start_2024_call(server, exchange, peer, region, message);
        return;
    }
    server_region_release(server, region);
}

// --- batches -------------------------------------------------------------------------------------

static const char *batch_problem(const struct peer *peer, value batch)
{
    if (!peer || !peer->initialized || peer->version > VERSION_2025_03_26)
        return "Invalid Request: batches exist only in the versions 2024-11-05 and 2025-03-26";
    size_t count = vector_count(batch);
    if (count < 1 || count > MCP_BATCH_MAX)
        return "Invalid Request: a batch holds 1 to 100 messages";
    for (size_t i = 0; i < count; i++) {
        struct message message = message_classify(vector_at(batch, i));
        if (message.kind == MESSAGE_INVALID)
            return "Invalid Request: the batch holds something that is not a message";
        if (message.kind == MESSAGE_REQUEST && span_equal_text(message.method, "initialize"))
            return "Invalid Request: initialize cannot be part of a batch";
        if (has_2026_envelope(&message))
            return "Invalid Request: 2026-07-28 has no batches";
    }
    return NULL;
}

void dispatch_batch(struct mcp_server *server, struct exchange *exchange, struct peer *peer,
                    struct region *region, value batch)
{
    const char *problem = batch_problem(peer, batch);
    if (problem) {
        dispatch_refuse(exchange, 400, MESSAGE_ID_NULL, value_nil(), MCP_INVALID_REQUEST, problem);
        server_region_release(server, region);
        return;
    }
    size_t count = vector_count(batch);
    exchange->is_batch = true;
    exchange->open = count + 1;  // + 1: the batch itself, until all messages are dispatched
    exchange->status = 202;
    for (size_t i = 0; i < count; i++) {
        struct region *own = server_region_acquire(server);
        struct message message = message_classify(value_copy(own, vector_at(batch, i)));
        region_set_limit(own, SIZE_MAX);
        if (message.kind == MESSAGE_REQUEST)
            exchange->status = 200;
        dispatch_2024(server, exchange, peer, own, &message);
    }
    server_region_release(server, region);
    exchange_finish(exchange, (struct span){NULL, 0}, 200);
}

// --- text ----------------------------------------------------------------------------------------

struct region *dispatch_read(struct mcp_server *server, struct exchange *exchange,
                             enum message_id_form refusal_id, struct span text, value *ret_whole)
{
    struct region *region = server_region_acquire(server);
    struct error error;
    if (jsonrpc_read(region, text, ret_whole, &error)) {
        region_set_limit(region, SIZE_MAX);  // the limit was for the client's input
        return region;
    }
    char problem[ERROR_MESSAGE_SIZE + 16];
    snprintf(problem, sizeof(problem), "Parse error: %s", error.message);
    server_region_release(server, region);
    dispatch_refuse(exchange, 400, refusal_id, value_nil(), MCP_PARSE_ERROR, problem);
    return NULL;
}

void dispatch_text(struct mcp_server *server, struct exchange *exchange, struct peer *peer,
                   struct span text)
{
    value whole;
    struct region *region = dispatch_read(server, exchange, MESSAGE_ID_NULL, text, &whole);
    if (!region)
        return;
    if (value_is_vector(whole)) {
        dispatch_batch(server, exchange, peer, region, whole);
        return;
    }
    struct message message = message_classify(whole);
    if (protocol_choose(&message, NULL) == PROTOCOL_2026)
        dispatch_2026(server, exchange, peer, region, &message);
    else
        dispatch_2024(server, exchange, peer, region, &message);
}
