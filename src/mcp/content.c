// Content blocks and the replies made of them. Blocks that the client's version does not know
// become text.
#include <sodium.h>
#include <stdarg.h>

#include "base/assert.h"
#include "base/log.h"
#include "base/memory.h"
#include "mcp/mcp_internal.h"
#include "mcp/schema/schema.h"
#include "value/text/json.h"

enum {
    COMPLETIONS_MAX = 100,
    ENVELOPE_MAX = 64 << 10,  // room for the message around a tool's result, also within a task
};

static value text_value(struct mcp_call *call, const char *text)
{
    return json_bytes_value(call->region, span_from(text));
}

static value block_new(struct mcp_call *call, const char *type)
{
    return map_put_text(call->region, map_new(call->region), "type", text_value(call, type));
}

static value block_put(struct mcp_call *call, value block, const char *name, const char *text)
{
    return text ? map_put_text(call->region, block, name, text_value(call, text)) : block;
}

static void block_add(struct mcp_call *call, value block)
{
    call->content = vector_push(call->region, call->content, block);
}

void mcp_call_add_text(struct mcp_call *call, struct span text)
{
    value block = block_new(call, "text");
    block_add(call,
              map_put_text(call->region, block, "text", json_bytes_value(call->region, text)));
}

static void add_media(struct mcp_call *call, const char *type, const char *mime_type,
                      struct span base64)
{
    if (base64.length > MCP_MEDIA_LIMIT - call->media_bytes) {
        mcp_call_add_text(call, SPAN("[media content, too large for one answer]"));
        return;
    }
    call->media_bytes += base64.length;
    value block = block_new(call, type);
    block = map_put_text(call->region, block, "data", json_bytes_value(call->region, base64));
    block_add(call, block_put(call, block, "mimeType", mime_type));
}

void mcp_call_add_image(struct mcp_call *call, const char *mime_type, struct span base64)
{
    add_media(call, "image", mime_type, base64);
}

void mcp_call_add_audio(struct mcp_call *call, const char *mime_type, struct span base64)
{
    if (call->version < VERSION_2025_03_26)
        mcp_call_add_text(call, SPAN("[audio content, which this protocol version cannot carry]"));
    else
        add_media(call, "audio", mime_type, base64);
}

void mcp_call_add_resource(struct mcp_call *call, const char *uri, const char *mime_type,
                           struct span text)
{
    value resource = block_put(call, map_new(call->region), "uri", uri);
    resource = block_put(call, resource, "mimeType", mime_type);
    resource = map_put_text(call->region, resource, "text", json_bytes_value(call->region, text));
    block_add(call, map_put_text(call->region, block_new(call, "resource"), "resource", resource));
}

void mcp_call_add_link(struct mcp_call *call, const char *uri, const char *name,
                       const char *mime_type)
{
    if (call->version < VERSION_2025_06_18) {
        mcp_call_add_text(call, span_from(uri));
        return;
    }
    value block = block_put(call, block_new(call, "resource_link"), "uri", uri);
    block = block_put(call, block, "name", name);
    block_add(call, block_put(call, block, "mimeType", mime_type));
}

void mcp_call_add_content(struct mcp_call *call, value content)
{
    for (size_t i = 0; value_is_vector(content) && i < vector_count(content); i++) {
        value block = value_copy(call->region, vector_at(content, i)),
              data = map_get(block, "data");
        call->media_bytes += value_is_string(data) ? value_text(data).length : 0;
        block_add(call, block);
    }
    CHECK(call->media_bytes <= MCP_MEDIA_LIMIT);
}

void mcp_call_add_completion(struct mcp_call *call, struct span text)
{
    block_add(call, json_bytes_value(call->region, text));
}

// --- tools ---------------------------------------------------------------------------------------

// Part of a result may come from a process that user code has corrupted.
static bool follows_schema(struct mcp_call *call, value structured, struct error *error)
{
    if (!call->tool->output_schema ||
        schema_check(call->tool->output_schema, structured, "structuredContent", error))
        return true;
    log_error("tool %s: %s", call->tool->tool.name, error->message);
    return false;
}

static void write_tool_result(struct mcp_call *call, struct buffer *out, struct span text,
                              value structured, bool is_error)
{
    buffer_append_text(out, "\"content\":[");
    if (text.data) {
        buffer_append_text(out, "{\"type\":\"text\",\"text\":");
        json_write_bytes(out, text);
        buffer_append_byte(out, '}');
    }
    for (size_t i = 0; i < vector_count(call->content); i++) {
        json_comma(out);
        json_write(out, vector_at(call->content, i), 0, NULL);
    }
    buffer_append_byte(out, ']');
    if (call->structured && !value_is_nil(structured))
        json_put_value(out, "structuredContent", structured);
    json_put_boolean(out, "isError", is_error);
}

// The client has its response already.
static void hand_over_result(struct mcp_call *call, struct span text, value structured,
                             bool is_error)
{
    metrics_count_call(call->server, call, is_error);
    call->on_result(call->on_result_data, text, call->content, structured, is_error);
    call_free(call);
}

static void reply_tool_result(struct mcp_call *call, struct span text, value structured,
                              bool is_error)
{
    if (call->on_result) {
        hand_over_result(call, text, structured, is_error);
        return;
    }
    CLEANUP_BUFFER struct buffer members;
    buffer_init(&members, MCP_OUTPUT_LIMIT - ENVELOPE_MAX + call->media_bytes);
    write_tool_result(call, &members, text, structured, is_error);
    if (members.failed) {
        mcp_call_reply_failure(call, "result-too-large",
                               "The result is larger than 4 MiB. Ask for less, or in parts.");
        return;
    }
    call_finish_result(call, &members);
}

void mcp_call_reply(struct mcp_call *call, struct span text, value structured, bool is_error)
{
    CHECK(call->state == CALL_RUNNING && call->tool);
    struct error error;
    if (follows_schema(call, structured, &error))
        reply_tool_result(call, text, structured, is_error);
    else
        mcp_call_reply_failure(call, "malformed-result",
                               "The result does not have the form that the tool promises: %s",
                               error.message);
}

void mcp_call_reply_early(struct mcp_call *call, struct span text, value structured,
                          mcp_result_fn *on_result, void *data)
{
    CHECK(call->state == CALL_RUNNING && call->tool && !call->task && !call->on_result);
    CLEANUP_BUFFER struct buffer members;
    buffer_init(&members, MCP_OUTPUT_LIMIT - ENVELOPE_MAX);
    write_tool_result(call, &members, text, structured, false);
    if (members.failed) {
        buffer_clear(&members);
        write_tool_result(call, &members, SPAN("[truncated: the output is larger than 4 MiB]"),
                          structured, false);
    }
    call->on_result = on_result;
    call->on_result_data = data;
    call_respond_early(call, &members);
}

void mcp_call_reply_failure(struct mcp_call *call, const char *code, const char *format, ...)
{
    char message[ERROR_MESSAGE_SIZE * 2];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof(message), format, arguments);
    va_end(arguments);
    value structured = value_nil();
    if (call->tool->output_schema) {
        value error = block_put(call, map_new(call->region), "code", code);
        error = block_put(call, error, "message", message);
        structured = map_put_text(call->region, map_new(call->region), "ok", value_boolean(false));
        structured = map_put_text(call->region, structured, "error", error);
    }
    CHECK(call->state == CALL_RUNNING && call->tool);
    call->content = vector_new(call->region, 0);
    call->media_bytes = 0;
    reply_tool_result(call, span_from(message), structured, true);
}

void mcp_call_reply_missing_capability(struct mcp_call *call, const char *capability)
{
    if (!call_is_2026(call)) {
        mcp_call_reply_failure(call, "missing-capability",
                               "This needs a client that declares the capability '%s'.",
                               capability);
        return;
    }
    char message[128], data[160];
    snprintf(message, sizeof(message), "Missing required client capability: %s", capability);
    const char *form = strcmp(capability, "tasks") == 0
                           ? "{\"requiredCapabilities\":{\"extensions\":{"
                             "\"io.modelcontextprotocol/tasks\":{}}}}"
                           : NULL;
    snprintf(data, sizeof(data), "{\"requiredCapabilities\":{\"%s\":{}}}", capability);
    call_finish_error(call, MCP_MISSING_CAPABILITY, message, span_from(form ? form : data), 400);
}

// --- resources -----------------------------------------------------------------------------------

static void reply_contents(struct mcp_call *call, const char *mime_type, const char *member,
                           struct span text)
{
    CHECK(call->state == CALL_RUNNING && call->resource);
    CLEANUP_BUFFER struct buffer members;
    buffer_init(&members, MCP_OUTPUT_LIMIT);
    buffer_append_text(&members, "\"contents\":[{");
    json_put_text(&members, "uri", call->target);
    json_put_text(&members, "mimeType", mime_type ? mime_type : call->resource->resource.mime_type);
    json_put_span(&members, member, text);
    buffer_append_text(&members, "}]");
    call_finish_result(call, &members);
}

void mcp_call_reply_text(struct mcp_call *call, const char *mime_type, struct span text)
{
    reply_contents(call, mime_type, "text", text);
}

void mcp_call_reply_blob(struct mcp_call *call, const char *mime_type, struct span bytes)
{
    const int variant = sodium_base64_VARIANT_ORIGINAL;
    size_t size = sodium_base64_ENCODED_LEN(bytes.length, variant);
    CLEANUP_FREE char *encoded = memory_alloc(size);
    sodium_bin2base64(encoded, size, (const unsigned char *)bytes.data, bytes.length, variant);
    reply_contents(call, mime_type, "blob", span_from(encoded));
}

void mcp_call_reply_not_found(struct mcp_call *call)
{
    CLEANUP_BUFFER struct buffer data, message;
    buffer_init(&data, MCP_OUTPUT_LIMIT);
    buffer_init(&message, ERROR_MESSAGE_SIZE);
    buffer_append_byte(&data, '{');
    json_put_text(&data, "uri", call->target);
    buffer_append_byte(&data, '}');
    buffer_append_format(&message, "Resource not found: %s", call->target);
    call_finish_error(call, call_is_2026(call) ? MCP_INVALID_PARAMS : MCP_RESOURCE_NOT_FOUND,
                      message.failed ? "Resource not found" : buffer_text(&message),
                      data.failed ? SPAN("") : buffer_span(&data), 200);
}

// --- prompts, completion, errors -----------------------------------------------------------------

void mcp_call_reply_prompt(struct mcp_call *call)
{
    CHECK(call->state == CALL_RUNNING);
    CLEANUP_BUFFER struct buffer members;
    buffer_init(&members, MCP_OUTPUT_LIMIT);
    const struct prompt_entry *entry = registry_find_prompt(call->server, span_from(call->target));
    json_put_text(&members, "description", entry->prompt.description);
    buffer_append_text(&members, ",\"messages\":[");
    for (size_t i = 0; i < vector_count(call->content); i++) {
        json_comma(&members);
        buffer_append_text(&members, "{\"role\":\"user\",\"content\":");
        json_write(&members, vector_at(call->content, i), 0, NULL);
        buffer_append_byte(&members, '}');
    }
    buffer_append_byte(&members, ']');
    call_finish_result(call, &members);
}

void mcp_call_reply_completion(struct mcp_call *call)
{
    CHECK(call->state == CALL_RUNNING);
    CLEANUP_BUFFER struct buffer members;
    buffer_init(&members, MCP_OUTPUT_LIMIT);
    size_t total = vector_count(call->content);
    size_t sent = total < COMPLETIONS_MAX ? total : COMPLETIONS_MAX;
    buffer_append_text(&members, "\"completion\":{\"values\":[");
    for (size_t i = 0; i < sent; i++) {
        json_comma(&members);
        json_write(&members, vector_at(call->content, i), 0, NULL);
    }
    buffer_append_byte(&members, ']');
    json_put_integer(&members, "total", (int64_t)total);
    json_put_boolean(&members, "hasMore", total > sent);
    buffer_append_byte(&members, '}');
    call_finish_result(call, &members);
}

void mcp_call_reply_error(struct mcp_call *call, int code, const char *message)
{
    CHECK(call->state == CALL_RUNNING);
    call_finish_error(call, code, message, SPAN(""), 200);
}
