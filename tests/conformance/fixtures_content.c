// Tools that return content of every kind, progress, log messages and errors.
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "base/memory.h"
#include "fixtures.h"
#include "value/text/json.h"

static const char json_schema_2020_12[] =
    "{\"$schema\":\"https://json-schema.org/draft/2020-12/schema\",\"type\":\"object\","
    "\"$defs\":{\"address\":{\"$anchor\":\"addressDef\",\"type\":\"object\","
    "\"properties\":{\"street\":{\"type\":\"string\"},\"city\":{\"type\":\"string\"}}}},"
    "\"properties\":{\"name\":{\"type\":\"string\"},\"address\":{\"$ref\":\"#/$defs/address\"},"
    "\"contactMethod\":{\"type\":\"string\",\"enum\":[\"phone\",\"email\"]},"
    "\"phone\":{\"type\":\"string\"},\"email\":{\"type\":\"string\"}},"
    "\"allOf\":[{\"anyOf\":[{\"required\":[\"phone\"]},{\"required\":[\"email\"]}]}],"
    "\"if\":{\"properties\":{\"contactMethod\":{\"const\":\"phone\"}},"
    "\"required\":[\"contactMethod\"]},"
    "\"then\":{\"required\":[\"phone\"]},"
    "\"else\":{\"required\":[\"email\"]},"
    "\"additionalProperties\":false}";

// --- helpers -------------------------------------------------------------------------------------

void fixtures_add_tool(struct mcp_server *server, const char *name, const char *description,
                       const char *input_schema, unsigned flags, mcp_handler_fn *handler)
{
    mcp_server_add_tool(server, &(struct mcp_tool){
                                    .name = name,
                                    .description = description,
                                    .input_schema = input_schema,
                                    .flags = flags,
                                    .handler = handler,
                                });
}

void reply_text(struct mcp_call *call, const char *format, ...)
{
    char text[2048];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    mcp_call_reply(call, (struct span){text, strlen(text)}, value_nil(), false);
}

struct span argument_text(struct mcp_call *call, const char *name)
{
    value argument = mcp_call_argument(call, name);
    return value_is_string(argument) ? value_text(argument) : SPAN("");
}

const char *json_text(struct mcp_call *call, value v)
{
    CLEANUP_BUFFER struct buffer text;
    buffer_init(&text, BUFFER_DEFAULT_LIMIT);
    json_write(&text, v, 0, NULL);
    char *copy = region_alloc(mcp_call_region(call), text.length + 1);
    memcpy(copy, buffer_text(&text), text.length + 1);
    return copy;
}

static void reply_blocks(struct mcp_call *call)
{
    mcp_call_reply(call, (struct span){NULL, 0}, value_nil(), false);
}

// --- content -------------------------------------------------------------------------------------

static void simple_text(struct mcp_call *call, void *data)
{
    (void)data;
    reply_text(call, "This is a simple text response for testing.");
}

static void image_content(struct mcp_call *call, void *data)
{
    (void)data;
    mcp_call_add_image(call, "image/png", SPAN(PNG));
    reply_blocks(call);
}

static void audio_content(struct mcp_call *call, void *data)
{
    (void)data;
    mcp_call_add_audio(call, "audio/wav", SPAN(WAV));
    reply_blocks(call);
}

static void embedded_resource(struct mcp_call *call, void *data)
{
    (void)data;
    mcp_call_add_resource(call, "test://embedded-resource", "text/plain",
                          SPAN("This is an embedded resource content."));
    reply_blocks(call);
}

static void multiple_content_types(struct mcp_call *call, void *data)
{
    (void)data;
    mcp_call_add_image(call, "image/png", SPAN(PNG));
    mcp_call_add_resource(call, "test://mixed-content-resource", "application/json",
                          SPAN("{\"test\":\"data\",\"value\":123}"));
    reply_text(call, "Multiple content types test:");
}

static void error_handling(struct mcp_call *call, void *data)
{
    (void)data;
    mcp_call_reply_failure(call, "intended",
                           "This tool intentionally returns an error for testing");
}

static void json_schema(struct mcp_call *call, void *data)
{
    (void)data;
    reply_text(call, "JSON Schema 2020-12 tool called");
}

// --- progress and logging ------------------------------------------------------------------------

static void progress_step_3(struct mcp_call *call, void *data)
{
    (void)data;
    mcp_call_progress(call, 100, 100, NULL);
    reply_text(call, "Progress test completed");
}

static void progress_step_2(struct mcp_call *call, void *data)
{
    (void)data;
    mcp_call_progress(call, 50, 100, NULL);
    delay(call, 50, progress_step_3);
}

static void progress_step_1(struct mcp_call *call, void *data)
{
    (void)data;
    mcp_call_progress(call, 0, 100, NULL);
    delay(call, 50, progress_step_2);
}

static void log_text(struct mcp_call *call, const char *text)
{
    mcp_call_log(call, MCP_LOG_INFO, "conformance", value_string_text(mcp_call_region(call), text));
}

static void logging_step_3(struct mcp_call *call, void *data)
{
    (void)data;
    log_text(call, "Tool execution completed");
    reply_text(call, "Logging test completed");
}

static void logging_step_2(struct mcp_call *call, void *data)
{
    (void)data;
    log_text(call, "Tool processing data");
    delay(call, 50, logging_step_3);
}

static void logging_step_1(struct mcp_call *call, void *data)
{
    (void)data;
    log_text(call, "Tool execution started");
    delay(call, 50, logging_step_2);
}

// --- others --------------------------------------------------------------------------------------

static void reconnection_end(struct mcp_call *call, void *data)
{
    (void)data;
    reply_text(call, "Reconnection test completed successfully");
}

static void reconnection(struct mcp_call *call, void *data)
{
    (void)data;
    mcp_call_close_stream(call, 500);
    delay(call, 100, reconnection_end);
}

static void trigger_tool_change(struct mcp_call *call, void *data)
{
    (void)data;
    mcp_notify_list_changed(mcp_call_server(call), MCP_LIST_TOOLS);
    reply_text(call, "tools/list_changed sent");
}

static void trigger_prompt_change(struct mcp_call *call, void *data)
{
    (void)data;
    mcp_notify_list_changed(mcp_call_server(call), MCP_LIST_PROMPTS);
    reply_text(call, "prompts/list_changed sent");
}

// Not part of the suite; used by the tests of subscriptions.
static void touch_resource(struct mcp_call *call, void *data)
{
    (void)data;
    value times = mcp_call_argument(call, "times");
    for (int64_t i = times.tag == VALUE_INTEGER ? times.integer : 1; i > 0; i--)
        mcp_notify_resource_updated(mcp_call_server(call), "test://watched-resource");
    reply_text(call, "updated");
}

static void x_mcp_header(struct mcp_call *call, void *data)
{
    (void)data;
    struct span region = argument_text(call, "region");
    reply_text(call, "%.*s", (int)region.length, region.data);
}

static void greet(struct mcp_call *call, void *data)
{
    (void)data;
    struct span name = argument_text(call, "name");
    reply_text(call, "Hello, %.*s!", (int)name.length, name.data);
}

static const char touch_schema[] =
    "{\"type\":\"object\",\"additionalProperties\":false,"
    "\"properties\":{\"times\":{\"type\":\"integer\",\"minimum\":1,\"maximum\":100000}}}";

static const char header_schema[] =
    "{\"type\":\"object\",\"additionalProperties\":false,\"required\":[\"region\"],"
    "\"properties\":{\"region\":{\"type\":\"string\",\"x-mcp-header\":\"Region\"}}}";

static const char greet_schema[] =
    "{\"type\":\"object\",\"additionalProperties\":false,\"required\":[\"name\"],"
    "\"properties\":{\"name\":{\"type\":\"string\"}}}";

// test_simple_text is the first of all tools: one scenario calls the first tool it finds.
static const struct {
    const char *name;
    const char *description;
    const char *input_schema;
    mcp_handler_fn *handler;
} tools[] = {
    {"test_simple_text", "Returns a text", NO_ARGUMENTS, simple_text},
    {"test_image_content", "Returns an image", NO_ARGUMENTS, image_content},
    {"test_audio_content", "Returns a sound", NO_ARGUMENTS, audio_content},
    {"test_embedded_resource", "Returns an embedded resource", NO_ARGUMENTS, embedded_resource},
    {"test_multiple_content_types", "Returns text, image and resource", NO_ARGUMENTS,
     multiple_content_types},
    {"test_error_handling", "Returns an error result", NO_ARGUMENTS, error_handling},
    {"test_tool_with_progress", "Sends progress", NO_ARGUMENTS, progress_step_1},
    {"test_tool_with_logging", "Sends log messages", NO_ARGUMENTS, logging_step_1},
    {"test_logging_tool", "Sends log messages", NO_ARGUMENTS, logging_step_1},
    {"test_reconnection", "Closes its stream before it replies", NO_ARGUMENTS, reconnection},
    {"json_schema_2020_12_tool", "Has a schema with many keywords", json_schema_2020_12,
     json_schema},
    {"test_trigger_tool_change", "Announces a change of the tools", NO_ARGUMENTS,
     trigger_tool_change},
    {"test_trigger_prompt_change", "Announces a change of the prompts", NO_ARGUMENTS,
     trigger_prompt_change},
    {"touch_resource", "Announces changes of the watched resource", touch_schema, touch_resource},
    {"test_x_mcp_header", "Returns the region, which is also a header", header_schema,
     x_mcp_header},
    {"greet", "Greets", greet_schema, greet},
};

void fixtures_add_content(struct mcp_server *server)
{
    for (size_t i = 0; i < COUNT_OF(tools); i++) {
        unsigned flags = MCP_TOOL_READ_ONLY | MCP_TOOL_IDEMPOTENT;
        if (tools[i].handler == progress_step_1)
            flags |= MCP_TOOL_PROGRESS_AT_ONCE;
        fixtures_add_tool(server, tools[i].name, tools[i].description, tools[i].input_schema, flags,
                          tools[i].handler);
    }
}
