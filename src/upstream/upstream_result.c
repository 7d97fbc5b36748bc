// What a tool returned becomes a program's value: structuredContent as it is; a text that is a JSON
// object or array is that value, another a string; several blocks a vector. Images and other data
// stay out of the program, unless the server's entry asks for them: it gets their kind and size.
#include "mcp/jsonrpc.h"
#include "upstream/upstream_internal.h"
#include "value/text/json.h"

enum { RESULT_DEPTH = 1000 };

static bool is_json_collection(struct span text)
{
    size_t at = 0;
    while (at < text.length &&
           (text.data[at] == ' ' || (text.data[at] >= '\t' && text.data[at] <= '\r')))
        at++;
    if (at == text.length || (text.data[at] != '{' && text.data[at] != '['))
        return false;
    struct region *region = region_new(SIZE_MAX);
    value v;
    struct error error;
    struct json_options options = {.max_depth = RESULT_DEPTH, .borrow = true};
    bool is_json = json_read(region, text, &options, &v, &error);
    region_free(region);
    return is_json;
}

static void write_text(struct buffer *out, struct span text)
{
    if (is_json_collection(text))
        buffer_append_span(out, text);
    else
        json_write_string(out, text);
}

struct writer {
    struct buffer *out;
    bool with_data;
};

// {"type":"image","mime_type":"image/png","bytes":1200}, and "data" in base64 where it is wanted
static void write_data(const struct writer *writer, struct span type, struct span mime_type,
                       struct span base64)
{
    struct buffer *out = writer->out;
    size_t bytes = base64.length / 4 * 3;
    for (size_t i = base64.length; i > 0 && base64.data[i - 1] == '='; i--)
        bytes--;
    buffer_append_byte(out, '{');
    json_put_span(out, "type", type);
    json_put_span(out, "mime_type", mime_type);
    json_put_integer(out, "bytes", (int64_t)bytes);
    if (writer->with_data)
        json_put_span(out, "data", base64);
    buffer_append_byte(out, '}');
}

static void write_resource(const struct writer *writer, value resource)
{
    value text = map_get(resource, "text");
    if (value_is_string(text))
        write_text(writer->out, value_text(text));
    else
        write_data(writer, SPAN("resource"), map_get_string(resource, "mimeType"),
                   map_get_string(resource, "blob"));
}

static void write_block(const struct writer *writer, value block)
{
    struct buffer *out = writer->out;
    struct span type = value_is_map(block) ? map_get_string(block, "type") : (struct span){0};
    if (span_equal_text(type, "text"))
        write_text(out, map_get_string(block, "text"));
    else if (span_equal_text(type, "image") || span_equal_text(type, "audio"))
        write_data(writer, type, map_get_string(block, "mimeType"), map_get_string(block, "data"));
    else if (span_equal_text(type, "resource") && value_is_map(map_get(block, "resource")))
        write_resource(writer, map_get(block, "resource"));
    else
        json_write(out, block, 0, NULL);
}

static void write_blocks(const struct writer *writer, value content)
{
    struct buffer *out = writer->out;
    size_t count = value_is_vector(content) ? vector_count(content) : 0;
    if (count == 0) {
        buffer_append_text(out, "null");
        return;
    }
    if (count == 1) {
        write_block(writer, vector_at(content, 0));
        return;
    }
    for (size_t i = 0; i < count; i++) {
        buffer_append_byte(out, i ? ',' : '[');
        write_block(writer, vector_at(content, i));
    }
    buffer_append_byte(out, ']');
}

// The texts of a failed call, as one line each.
static void write_failure(struct buffer *out, value content)
{
    for (size_t i = 0; value_is_vector(content) && i < vector_count(content); i++) {
        value block = vector_at(content, i);
        if (!value_is_map(block) || !value_is_string(map_get(block, "text")))
            continue;
        if (out->length)
            buffer_append_byte(out, ' ');
        buffer_append_span(out, map_get_string(block, "text"));
    }
    if (out->length == 0)
        buffer_append_text(out, "the tool failed without a text");
}

bool upstream_result_write(struct buffer *out, value result, bool with_data)
{
    if (!value_is_map(result)) {
        buffer_append_text(out, "its answer has neither result nor error");
        return false;
    }
    if (span_equal_text(map_get_string(result, "resultType"), "input_required")) {
        buffer_append_text(out, "it asks for input, which programs cannot give");
        return false;
    }
    value structured = map_get(result, "structuredContent");
    if (map_get_boolean(result, "isError")) {
        write_failure(out, map_get(result, "content"));
        return false;
    }
    if (value_is_nil(structured))
        write_blocks(&(struct writer){out, with_data}, map_get(result, "content"));
    else
        json_write(out, structured, 0, NULL);
    return true;
}
