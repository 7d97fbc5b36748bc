// The 2024 protocol (versions 2024-11-05 to 2025-11-25): the initialize handshake, state per
// client, requests to the client.
#include <sodium.h>

#include "base/assert.h"
#include "base/memory.h"
#include "base/utf8.h"
#include "mcp/mcp_internal.h"

enum { CLIENT_ANSWER_MS = 60000 };

unsigned client_capabilities_read(value capabilities, enum version version)
{
    unsigned bits = 0;
    value item, ignored;
    if (map_find_text(capabilities, "elicitation", &item) && value_is_map(item) &&
        (map_count(item) == 0 || map_find_text(item, "form", &ignored)) &&
        version >= VERSION_2025_06_18)
        bits |= CLIENT_ELICITATION;
    if (value_is_map(map_get(capabilities, "sampling")))
        bits |= CLIENT_SAMPLING;
    if (value_is_map(map_get(capabilities, "roots")))
        bits |= CLIENT_ROOTS;
    value extensions = map_get(capabilities, "extensions");
    if (version == VERSION_2026_07_28 && value_is_map(extensions) &&
        map_find_text(extensions, META_PREFIX "tasks", &ignored))
        bits |= CLIENT_TASKS;
    return bits;
}

void client_name_read(value info, char *text, size_t size)
{
    struct span name = map_get_string(info, "name");
    size_t length = name.length < size ? name.length : utf8_cut(name.data, size - 1);
    memcpy(text, name.data, length);
    text[length] = '\0';
    for (char *at = text; *at; at++)
        if ((unsigned char)*at < ' ' || *at == 0x7f)
            *at = ' ';
}

void method_initialize(struct mcp_call *call)
{
    struct peer *peer = call->peer;
    if (peer->initialized) {
        call_finish_error(call, MCP_INVALID_REQUEST, "Already initialized", SPAN(""), 400);
        return;
    }
    value version = map_get(call->params, "protocolVersion");
    value capabilities = map_get(call->params, "capabilities");
    if (!value_is_string(version) || !value_is_map(capabilities) ||
        !value_is_map(map_get(call->params, "clientInfo"))) {
        call_finish_params_error(call, "Invalid params: initialize needs protocolVersion (string), "
                                       "capabilities (object) and clientInfo (object)");
        return;
    }
    if (!call_read_results(call))
        return;
    peer->structured = call->structured;
    peer->all_tools = span_equal_text(map_get_string(call->meta, "cadre/tools"), "full");
    client_name_read(map_get(call->params, "clientInfo"), peer->name, sizeof(peer->name));
    peer->version = VERSION_LAST_OF_2024;
    version_find_2024(value_text(version), &peer->version);
    peer->client_can = client_capabilities_read(capabilities, peer->version);
    peer->initialized = true;
    call->version = peer->version;

    CLEANUP_BUFFER struct buffer members;
    buffer_init(&members, MCP_OUTPUT_LIMIT);
    json_put_text(&members, "protocolVersion", version_names[peer->version]);
    json_name(&members, "capabilities");
    server_write_capabilities(call->server, &members, false);
    json_name(&members, "serverInfo");
    server_write_info(call->server, &members);
    json_put_text(&members, "instructions", call->server->info.instructions);
    call_finish_result(call, &members);
}

void method_ping(struct mcp_call *call)
{
    call_finish_result(call, NULL);
}

void method_set_level(struct mcp_call *call)
{
    struct span level = call_param_text(call, "level");
    if (level.data && log_level_find(level, &call->peer->log_level))
        call_finish_result(call, NULL);
    else
        call_finish_params_error(call, "Invalid params: level must be one of debug, info, notice, "
                                       "warning, error, critical, alert, emergency");
}

// --- subscriptions -------------------------------------------------------------------------------

static bool check_subscription_uri(struct mcp_call *call, struct span uri)
{
    if (!uri.data) {
        call_finish_params_error(call, "Invalid params: uri must be a string");
        return false;
    }
    if (registry_knows_uri(call->server, call->region, uri))
        return true;
    call->target = call_copy_text(call, uri);
    mcp_call_reply_not_found(call);
    return false;
}

static size_t find_subscription(const struct peer *peer, struct span uri)
{
    size_t i = 0;
    while (i < peer->subscription_count && !span_equal_text(uri, peer->subscriptions[i]))
        i++;
    return i;
}

void method_subscribe(struct mcp_call *call)
{
    struct span uri = call_param_text(call, "uri");
    struct peer *peer = call->peer;
    if (!check_subscription_uri(call, uri))
        return;
    if (find_subscription(peer, uri) == peer->subscription_count) {
        if (peer->subscription_count == MCP_SUBSCRIPTIONS_MAX) {
            call_finish_params_error(call, "Invalid params: at most %d subscriptions",
                                     MCP_SUBSCRIPTIONS_MAX);
            return;
        }
        peer->subscriptions[peer->subscription_count++] = memory_copy_text(uri.data, uri.length);
    }
    call_finish_result(call, NULL);
}

void method_unsubscribe(struct mcp_call *call)
{
    struct span uri = call_param_text(call, "uri");
    struct peer *peer = call->peer;
    if (!check_subscription_uri(call, uri))
        return;
    size_t i = find_subscription(peer, uri);
    if (i < peer->subscription_count) {
        memory_free(peer->subscriptions[i]);
        peer->subscriptions[i] = peer->subscriptions[--peer->subscription_count];
    }
    call_finish_result(call, NULL);
}

// --- requests to the client ----------------------------------------------------------------------

static void fail_asking(struct mcp_call *call, const char *reason)
{
    protocol_2024_cancel_questions(call);
    call->state = CALL_RUNNING;  // as if the handler had replied
    if (call->tool)
        mcp_call_reply_failure(call, "no-answer", "%s", reason);
    else
        call_finish_error(call, MCP_INVALID_PARAMS, reason, SPAN(""), 200);
}

static void on_no_answer(evutil_socket_t fd, short what, void *data)
{
    (void)fd;
    (void)what;
    fail_asking(data, "The client did not answer within 60 seconds.");
}

void protocol_2024_cancel_questions(struct mcp_call *call)
{
    if (call->state != CALL_ASKING || !call->peer)
        return;
    struct client_request *request, *next;
    for (request = TAILQ_FIRST(&call->peer->requests); request; request = next) {
        next = TAILQ_NEXT(request, link);
        if (request->call == call) {
            TAILQ_REMOVE(&call->peer->requests, request, link);
            memory_free(request);
        }
    }
}

static void send_client_request(struct mcp_call *call, const char *key, value request)
{
    struct client_request *pending = memory_alloc_zero(sizeof(*pending));
    unsigned char random[12];
    char hex[sizeof(random) * 2 + 1];
    randombytes_buf(random, sizeof(random));
    sodium_bin2hex(hex, sizeof(hex), random, sizeof(random));
    snprintf(pending->id, sizeof(pending->id), "srv-%s", hex);
    pending->call = call;
    pending->key = key;
    TAILQ_INSERT_TAIL(&call->peer->requests, pending, link);

    CLEANUP_BUFFER struct buffer out;
    buffer_init(&out, MCP_OUTPUT_LIMIT);
    buffer_append_text(&out, "{\"jsonrpc\":\"2.0\"");
    json_put_text(&out, "id", pending->id);
    json_put_value(&out, "method", map_get(request, "method"));
    json_put_value(&out, "params", map_get(request, "params"));
    buffer_append_byte(&out, '}');
    call_notify(call, &out);
}

void protocol_2024_ask(struct mcp_call *call)
{
    if (!call->peer || !call->exchange) {
        fail_asking(call, "The client is gone.");
        return;
    }
    call->state = CALL_ASKING;
    call->turn++;
    call->unanswered = map_count(call->pending);
    call_set_timer(call, CLIENT_ANSWER_MS, on_no_answer);
    struct map_cursor cursor = map_iterate(call->pending);
    value key, request;
    while (map_next(&cursor, &key, &request))
        send_client_request(call, call_copy_text(call, value_text(key)), request);
}

void protocol_2024_handle_response(struct peer *peer, const struct message *message)
{
    if (!message->has_id || !value_is_string(message->id))
        return;
    struct client_request *request;
    TAILQ_FOREACH (request, &peer->requests, link)
        if (span_equal_text(value_text(message->id), request->id))
            break;
    if (!request)  // no call waits for it
        return;
    struct mcp_call *call = request->call;
    const char *key = request->key;
    TAILQ_REMOVE(&peer->requests, request, link);
    memory_free(request);

    value result = map_get(message->whole, "result");
    if (!value_is_map(result)) {
        fail_asking(call, "The client answered with an error.");
        return;
    }
    call->answers =
        map_put_text(call->region, call->answers, key, value_copy(call->region, result));
    if (--call->unanswered == 0) {
        event_free(call->timer);
        call->timer = NULL;
        call_run_handler(call);
    }
}
