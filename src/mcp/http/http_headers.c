// The headers that repeat parts of a request of the 2026 protocol, so that proxies need not read
// bodies. Each must be present once and agree with the body.
#include <sodium.h>
#include <stdarg.h>
#include <strings.h>

#include "base/utf8.h"
#include "mcp/http/http_headers.h"
#include "mcp/mcp_internal.h"

enum { HEADER_VALUE_MAX = 32 << 10 };

static bool mismatch(struct mcp_call *call, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static bool mismatch(struct mcp_call *call, const char *format, ...)
{
    char message[ERROR_MESSAGE_SIZE];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof(message), format, arguments);
    va_end(arguments);
    call_finish_error(call, MCP_HEADER_MISMATCH, message, SPAN(""), 400);
    return false;
}

bool header_decode(struct span raw, struct buffer *ret_text)
{
    const struct span prefix = SPAN("=?base64?"), suffix = SPAN("?=");
    bool encoded = raw.length >= prefix.length + suffix.length && span_starts_with(raw, prefix) &&
                   memcmp(raw.data + raw.length - suffix.length, suffix.data, suffix.length) == 0;
    if (!encoded) {
        buffer_append_span(ret_text, raw);
        return !ret_text->failed;
    }
    struct span inner = {raw.data + prefix.length, raw.length - prefix.length - suffix.length};
    if (!buffer_reserve(ret_text, inner.length + 1))
        return false;
    size_t length;
    // No character is ignored and padding is required, so each text has one encoded form.
    if (sodium_base642bin((unsigned char *)ret_text->data, inner.length + 1, inner.data,
                          inner.length, NULL, &length, NULL, sodium_base64_VARIANT_ORIGINAL) != 0)
        return false;
    ret_text->length = length;
    ret_text->data[length] = '\0';
    return utf8_is_valid(ret_text->data, length);
}

// Decodes one header into *ret_text. False: the call was finished with an error.
static bool read_header(struct mcp_call *call, const char *name, struct buffer *ret_text)
{
    size_t count;
    const char *raw = call->exchange->ops->header(call->exchange, name, &count);
    if (!raw)
        return mismatch(call, "Header mismatch: %s is missing", name);
    if (count > 1)
        return mismatch(call, "Header mismatch: %s is repeated", name);
    struct span text = span_from(raw);
    while (text.length > 0 && (text.data[0] == ' ' || text.data[0] == '\t'))
        text = (struct span){text.data + 1, text.length - 1};
    while (text.length > 0 &&
           (text.data[text.length - 1] == ' ' || text.data[text.length - 1] == '\t'))
        text.length--;
    bool literal =
        strcasecmp(name, "Mcp-Method") == 0 || strcasecmp(name, "MCP-Protocol-Version") == 0;
    if (literal)
        buffer_append_span(ret_text, text);
    else if (!header_decode(text, ret_text))
        return mismatch(call, "Header mismatch: %s is not valid base64 of UTF-8", name);
    return true;
}

static bool compare(struct mcp_call *call, const char *name, struct span body)
{
    CLEANUP_BUFFER struct buffer text;
    buffer_init(&text, HEADER_VALUE_MAX);
    if (!read_header(call, name, &text))
        return false;
    if (!span_equal(buffer_span(&text), body))
        return mismatch(call, "Header mismatch: %s '%.100s' does not match body '%.*s'", name,
                        buffer_text(&text), body.length > 100 ? 100 : (int)body.length, body.data);
    return true;
}

bool headers_check_version(struct mcp_call *call, struct span version)
{
    if (!call->exchange->ops->header)
        return true;
    return compare(call, "MCP-Protocol-Version", version);
}

// --- Mcp-Param-* ---------------------------------------------------------------------------------

static value argument_at(value arguments, const struct tool_header *header)
{
    value at = arguments;
    for (size_t i = 0; i < header->depth; i++) {
        if (!value_is_map(at))
            return value_nil();
        at = map_get(at, header->path[i]);
    }
    return at;
}

// Integers are compared as numbers: "+7", "07" and "7" are the same.
static bool same_integer(struct mcp_call *call, struct span text, value expected)
{
    size_t start = text.length > 0 && (text.data[0] == '-' || text.data[0] == '+');
    if (text.length == start || text.length > 400)
        return false;
    for (size_t i = start; i < text.length; i++)
        if (text.data[i] < '0' || text.data[i] > '9')
            return false;
    if (text.data[0] == '+')
        text = (struct span){text.data + 1, text.length - 1};
    return value_equal(value_integer_from_text(call->region, text), expected);
}

static bool check_parameter(struct mcp_call *call, const struct tool_header *header, value argument)
{
    size_t count;
    const char *raw = call->exchange->ops->header(call->exchange, header->name, &count);
    if (value_is_nil(argument)) {
        if (raw)
            return mismatch(call, "Header mismatch: %s given without its argument", header->name);
        return true;
    }
    CLEANUP_BUFFER struct buffer text;
    buffer_init(&text, HEADER_VALUE_MAX);
    if (!read_header(call, header->name, &text))
        return false;
    struct span given = buffer_span(&text);
    bool same;
    if (value_is_string(argument))
        same = span_equal(given, value_text(argument));
    else if (argument.tag == VALUE_BOOLEAN)
        same = span_equal_text(given, argument.boolean ? "true" : "false");
    else
        same = same_integer(call, given, argument);
    if (!same)
        return mismatch(call, "Header mismatch: %s '%.100s' does not match the argument",
                        header->name, buffer_text(&text));
    return true;
}

static bool check_parameters(struct mcp_call *call)
{
    const struct tool_entry *tool = registry_find_tool(call->server, call_param_text(call, "name"));
    if (!tool)
        return true;
    value arguments = map_get(call->params, "arguments");
    const struct tool_header *header;
    SLIST_FOREACH (header, &tool->headers, link)
        if (!check_parameter(call, header, argument_at(arguments, header)))
            return false;
    return true;
}

bool headers_check(struct mcp_call *call, struct span method)
{
    if (!call->exchange->ops->header)
        return true;
    if (!compare(call, "Mcp-Method", method))
        return false;
    const struct method *known = method_find(call->server, method, METHOD_2026);
    if (!known || !known->header_name)
        return true;
    struct span name = call_param_text(call, known->header_name);
    if (name.data && !compare(call, "Mcp-Name", name))
        return false;
    return known->run != method_tools_call || check_parameters(call);
}
