#include "tools/tool_call.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "tools/result/result_text.h"
#include "tools/tools.h"

// --- arguments -----------------------------------------------------------------------------------

// The call's region outlives every use of the text.
const char *tool_copy_text(struct mcp_call *call, struct span text)
{
    char *copy = region_alloc(mcp_call_region(call), text.length + 1);
    memcpy(copy, text.data, text.length);
    copy[text.length] = '\0';
    return copy;
}

const char *tool_text(struct mcp_call *call, const char *name)
{
    value v = mcp_call_argument(call, name);
    return value_is_string(v) ? tool_copy_text(call, value_text(v)) : NULL;
}

const char *tool_session_name(struct mcp_call *call)
{
    value v = mcp_call_argument(call, "session");
    if (!value_is_string(v))
        return "main";
    // A name with a NUL inside must not pass as the name before it: "" is no valid name.
    struct span name = value_text(v);
    return memchr(name.data, '\0', name.length) ? "" : tool_copy_text(call, name);
}

const char *tool_client_name(const struct tools *tools, struct mcp_call *call)
{
    const struct session_client *client = &tools->client;
    const char *name = client->name ? client->name : mcp_call_client_name(call);
    if (client->name || !client->process)
        return name;
    char text[160];
    int length =
        snprintf(text, sizeof(text), "%s (pid %d)", name ? name : "serve", client->process);
    return tool_copy_text(call, (struct span){text, (size_t)length});
}

bool tool_flag(struct mcp_call *call, const char *name)
{
    value v = mcp_call_argument(call, name);
    return v.tag == VALUE_BOOLEAN && v.boolean;
}

bool tool_integer(struct mcp_call *call, const char *name, int64_t fallback, int64_t low,
                  int64_t high, int64_t *ret_number)
{
    value v = mcp_call_argument(call, name);
    int64_t number = v.tag == VALUE_INTEGER ? v.integer : fallback;
    bool given = v.tag == VALUE_INTEGER || v.tag == VALUE_BIGNUM;
    if (given && v.tag == VALUE_INTEGER && number < 0 && low >= 0) {
        tool_refuse(call, "invalid-argument", "Value must be non-negative: %s = %lld", name,
                    (long long)number);
        return false;
    }
    if (given && (v.tag == VALUE_BIGNUM || number < low || number > high)) {
        struct span shown =
            v.tag == VALUE_INTEGER
                ? value_text(value_string_format(mcp_call_region(call), "%lld", (long long)number))
                : SPAN("(a number beyond 64 bits)");
        tool_refuse(call, "invalid-argument", "Value must be between %lld and %lld: %s = %.*s",
                    (long long)low, (long long)high, name, (int)shown.length, shown.data);
        return false;
    }
    *ret_number = number;
    return true;
}

// --- results -------------------------------------------------------------------------------------

void tool_reply(struct mcp_call *call, struct tool_result *result)
{
    mcp_call_reply(call, buffer_span(&result->text), result->structured, result->is_error);
    buffer_release(&result->text);
}

void tool_refuse(struct mcp_call *call, const char *code, const char *format, ...)
{
    char message[ERROR_MESSAGE_SIZE];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof(message), format, arguments);
    va_end(arguments);
    struct region *region = mcp_call_region(call);
    value error = map_new(region);
    error = map_put_text(region, error, "code", value_string_text(region, code));
    error = map_put_text(region, error, "message", value_string_format(region, "%s", message));
    struct tool_result result = {.is_error = true};
    buffer_init(&result.text, TOOL_TEXT_LIMIT);
    render_error_heading(&result.text, error);
    result.structured = map_put_text(region, map_new(region), "ok", value_boolean(false));
    result.structured = map_put_text(region, result.structured, "error", error);
    tool_reply(call, &result);
}
