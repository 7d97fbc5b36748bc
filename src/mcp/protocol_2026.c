// The 2026 protocol (version 2026-07-28): stateless, every request carries its own metadata. A
// question to the client is a result of type input_required; the client repeats the request with
// the answers.
#include "base/assert.h"
#include "mcp/http/http_headers.h"
#include "mcp/mcp_internal.h"

enum { STATE_LIMIT = 64 << 10 };

static bool read_log_level(struct mcp_call *call)
{
    value level;
    enum mcp_log_level found;
    if (!map_find_text(call->meta, META_PREFIX "logLevel", &level))
        return true;
    if (!value_is_string(level) || !log_level_find(value_text(level), &found)) {
        call_finish_params_error(call, "Invalid params: unknown " META_PREFIX "logLevel");
        return false;
    }
    call->log_level = (int)found;
    return true;
}

static bool check_required_meta(struct mcp_call *call)
{
    bool has_version = false, has_capabilities = false;
    value item;
    if (value_is_map(call->meta)) {
        has_version = map_find_text(call->meta, META_PREFIX "protocolVersion", &item) &&
                      value_is_string(item);
        has_capabilities = map_find_text(call->meta, META_PREFIX "clientCapabilities", &item) &&
                           value_is_map(item);
    }
    if (has_version && has_capabilities)
        return true;
    CLEANUP_BUFFER struct buffer data;
    buffer_init(&data, ERROR_MESSAGE_SIZE);
    buffer_append_text(&data, "{\"missing\":[");
    if (!has_version)
        buffer_append_text(&data, "\"" META_PREFIX "protocolVersion\"");
    if (!has_capabilities) {
        json_comma(&data);
        buffer_append_text(&data, "\"" META_PREFIX "clientCapabilities\"");
    }
    buffer_append_text(&data, "]}");
    call_finish_error(
        call, MCP_INVALID_PARAMS,
        "Invalid params: params._meta lacks a required key, or it is of the wrong type",
        buffer_span(&data), 400);
    return false;
}

static bool check_version(struct mcp_call *call, struct span version)
{
    if (span_equal_text(version, version_names[VERSION_2026_07_28]))
        return true;
    CLEANUP_BUFFER struct buffer data;
    buffer_init(&data, MCP_OUTPUT_LIMIT / 2);
    buffer_append_text(&data, "{\"supported\":[\"2026-07-28\"]");
    json_put_span(&data, "requested", version);
    buffer_append_byte(&data, '}');
    call_finish_error(call, MCP_UNSUPPORTED_VERSION, "Unsupported protocol version",
                      data.failed ? SPAN("") : buffer_span(&data), 400);
    return false;
}

bool protocol_2026_check(struct mcp_call *call, struct span method)
{
    if (!check_required_meta(call))
        return false;
    struct span version = value_text(map_get(call->meta, META_PREFIX "protocolVersion"));
    if (!headers_check_version(call, version) || !check_version(call, version) ||
        !headers_check(call, method))
        return false;
    call->client_can = client_capabilities_read(
        map_get(call->meta, META_PREFIX "clientCapabilities"), VERSION_2026_07_28);
    return read_log_level(call) && call_read_results(call);
}

// --- discovery -----------------------------------------------------------------------------------

void method_discover(struct mcp_call *call)
{
    CLEANUP_BUFFER struct buffer members;
    buffer_init(&members, MCP_OUTPUT_LIMIT);
    json_put_raw(&members, "supportedVersions", SPAN("[\"2026-07-28\"]"));
    json_name(&members, "capabilities");
    server_write_capabilities(call->server, &members, true);
    json_put_text(&members, "instructions", call->server->info.instructions);
    call_finish_result(call, &members);
}

// --- asking: multi round-trip requests -----------------------------------------------------------

static bool input_error(struct mcp_call *call, const char *message)
{
    call_finish_params_error(call, "%s", message);
    return false;
}

bool protocol_2026_read_input(struct mcp_call *call)
{
    value responses, state, key, answer;
    bool has_responses = map_find_text(call->params, "inputResponses", &responses);
    if (has_responses) {
        if (!value_is_map(responses))
            return input_error(call, "Invalid params: inputResponses must be an object");
        struct map_cursor cursor = map_iterate(responses);
        while (map_next(&cursor, &key, &answer))
            if (!value_is_map(answer))
                return input_error(call,
                                   "Invalid params: each of inputResponses must be an object");
    }
    if (map_find_text(call->params, "requestState", &state) &&
        (!value_is_string(state) || !request_state_verify(call, value_text(state))))
        return input_error(call, "Invalid requestState");
    if (!has_responses)
        return true;
    struct map_cursor cursor = map_iterate(responses);
    while (map_next(&cursor, &key, &answer))
        call->answers =
            map_put(call->region, call->answers, value_retain(key), value_retain(answer));
    return true;
}

void protocol_2026_ask(struct mcp_call *call)
{
    CLEANUP_BUFFER struct buffer members, state;
    buffer_init(&members, MCP_OUTPUT_LIMIT);
    buffer_init(&state, STATE_LIMIT);
    call->turn++;
    request_state_sign(call, &state);
    if (state.failed) {
        call_finish_error(call, MCP_RESULT_TOO_LARGE, "The answers given so far are too large",
                          SPAN(""), 200);
        return;
    }
    json_put_text(&members, "resultType", "input_required");
    json_put_value(&members, "inputRequests", call->pending);
    json_put_span(&members, "requestState", buffer_span(&state));
    call_finish_result(call, &members);
}
