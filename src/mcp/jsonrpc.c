#include "mcp/jsonrpc.h"

#include <math.h>

#include "base/utf8.h"
#include "mcp/mcp.h"
#include "value/text/json.h"

bool jsonrpc_read(struct region *region, struct span text, value *ret_value, struct error *error)
{
    const struct json_options options = {
        .max_depth = MCP_DEPTH_LIMIT,
        .reject_duplicate_names = true,
    };
    return json_read(region, text, &options, ret_value, error);
}

// Every response repeats the id, so the id must leave room for the rest.
enum { MESSAGE_ID_MAX = 4096 };

static bool is_short(value number)
{
    CLEANUP_BUFFER struct buffer text;
    buffer_init(&text, MESSAGE_ID_MAX);
    json_write(&text, number, 0, NULL);
    return !text.failed;
}

static bool is_valid_id(value id)
{
    switch (id.tag) {
    case VALUE_STRING: return value_text(id).length <= MESSAGE_ID_MAX;
    case VALUE_INTEGER: return true;
    case VALUE_BIGNUM: return is_short(id);
    case VALUE_FLOAT: return isfinite(id.number) && id.number == floor(id.number);
    default: return false;
    }
}

static struct message invalid(struct message message, const char *problem)
{
    message.kind = MESSAGE_INVALID;
    message.problem = problem;
    return message;
}

struct message message_classify(value whole)
{
    struct message message = {.kind = MESSAGE_INVALID, .whole = whole, .params = value_nil()};
    if (!value_is_map(whole))
        return invalid(message, "Invalid Request: not an object");

    value id, method, version;
    bool id_present = map_find_text(whole, "id", &id);
    if (id_present && is_valid_id(id)) {
        message.has_id = true;
        message.id = id;
    }
    if (!map_find_text(whole, "jsonrpc", &version) || !value_is_string(version) ||
        !span_equal_text(value_text(version), "2.0"))
        return invalid(message, "Invalid Request: jsonrpc must be \"2.0\"");
    if (map_find_text(whole, "method", &method)) {
        if (!value_is_string(method))
            return invalid(message, "Invalid Request: method must be a string");
        message.method = value_text(method);
        if (map_find_text(whole, "params", &message.params) && !value_is_map(message.params))
            return invalid(message, "Invalid Request: params must be an object");
        if (id_present && !message.has_id)
            return invalid(
                message,
                "Invalid Request: id must be a string or an integer of at most 4096 bytes");
        message.kind = id_present ? MESSAGE_REQUEST : MESSAGE_NOTIFICATION;
        return message;
    }
    value ignored;
    bool is_response =
        map_find_text(whole, "result", &ignored) || map_find_text(whole, "error", &ignored);
    if (!is_response)
        return invalid(message, "Invalid Request: method is missing");
    message.kind = MESSAGE_RESPONSE;
    return message;
}

void json_comma(struct buffer *out)
{
    if (out->length == 0)
        return;
    char last = out->data[out->length - 1];
    if (last != '{' && last != '[' && last != ':')
        buffer_append_byte(out, ',');
}

void json_name(struct buffer *out, const char *name)
{
    json_comma(out);
    json_write_string(out, span_from(name));
    buffer_append_byte(out, ':');
}

void json_put_raw(struct buffer *out, const char *name, struct span json)
{
    json_name(out, name);
    buffer_append_span(out, json);
}

void json_put_span(struct buffer *out, const char *name, struct span text)
{
    json_name(out, name);
    json_write_bytes(out, text);
}

void json_put_text(struct buffer *out, const char *name, const char *text)
{
    if (text)
        json_put_span(out, name, span_from(text));
}

void json_put_value(struct buffer *out, const char *name, value v)
{
    json_name(out, name);
    json_write(out, v, JSON_SHALLOW, NULL);
}

void json_put_boolean(struct buffer *out, const char *name, bool b)
{
    json_put_raw(out, name, b ? SPAN("true") : SPAN("false"));
}

void json_put_integer(struct buffer *out, const char *name, int64_t number)
{
    json_name(out, name);
    buffer_append_format(out, "%lld", (long long)number);
}

static void append_clean(struct buffer *out, struct span bytes)
{
    for (size_t i = 0; i < bytes.length;) {
        uint32_t code_point;
        char encoded[UTF8_MAX_BYTES];
        i += utf8_decode(bytes.data + i, bytes.length - i, &code_point);
        buffer_append(out, encoded, utf8_encode(code_point, encoded));
    }
}

void json_write_bytes(struct buffer *out, struct span bytes)
{
    if (utf8_is_valid(bytes.data, bytes.length)) {
        json_write_string(out, bytes);
        return;
    }
    CLEANUP_BUFFER struct buffer clean;
    buffer_init(&clean, out->limit);
    append_clean(&clean, bytes);
    if (clean.failed)
        out->failed = true;
    else
        json_write_string(out, buffer_span(&clean));
}

value json_bytes_value(struct region *region, struct span bytes)
{
    if (utf8_is_valid(bytes.data, bytes.length))
        return value_string(region, bytes);
    CLEANUP_BUFFER struct buffer clean;
    buffer_init(&clean, BUFFER_DEFAULT_LIMIT);
    append_clean(&clean, bytes);
    return value_string(region, buffer_span(&clean));
}

const char *json_region_text(struct region *region, value v)
{
    CLEANUP_BUFFER struct buffer text;
    buffer_init(&text, BUFFER_DEFAULT_LIMIT);
    json_write(&text, v, 0, NULL);
    char *copy = region_alloc(region, text.length + 1);
    memcpy(copy, buffer_text(&text), text.length + 1);
    return copy;
}

void jsonrpc_write_error(struct buffer *out, enum message_id_form form, struct span id_json,
                         int code, struct span text, struct span data_json)
{
    buffer_append_text(out, "{\"jsonrpc\":\"2.0\"");
    if (form == MESSAGE_ID_GIVEN)
        json_put_raw(out, "id", id_json);
    else if (form == MESSAGE_ID_NULL)
        json_put_raw(out, "id", SPAN("null"));
    buffer_append_text(out, ",\"error\":{");
    json_put_integer(out, "code", code);
    json_put_span(out, "message", text);
    if (data_json.length > 0)
        json_put_raw(out, "data", data_json);
    buffer_append_text(out, "}}");
}

void json_append_part(struct buffer *out, const struct buffer *part)
{
    buffer_append_span(out, buffer_span(part));
    out->failed |= part->failed;
}

void jsonrpc_write_call(struct buffer *out, const char *id, const char *method,
                        const struct buffer *params)
{
    buffer_append_text(out, "{\"jsonrpc\":\"2.0\"");
    json_put_text(out, "id", id);
    json_put_text(out, "method", method);
    if (params) {
        buffer_append_text(out, ",\"params\":{");
        json_append_part(out, params);
        buffer_append_byte(out, '}');
    }
    buffer_append_byte(out, '}');
}
