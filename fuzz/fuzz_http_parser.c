// The framing of HTTP requests. The same bytes give the same requests whether they come at once or
// one by one; the parser never takes more than it was given, and stops at a refusal.
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "fuzz.h"
#include "mcp/http/http_parser.h"

enum { LIMIT = 4096 };

// Appends what the parser made of the bytes: method, path, headers and body of each request.
static void describe(const struct http_request *request, struct buffer *out)
{
    buffer_append_format(out, "%d %u %s %s %s\n", (int)request->method, request->minor,
                         request->authority ? request->authority : "-", request->path,
                         request->query);
    for (size_t i = 0; i < request->field_count; i++) {
        CHECK(!strpbrk(request->fields[i].name, " \t\r\n:"));
        CHECK(!strpbrk(request->fields[i].text, "\r\n"));
        buffer_append_format(out, "%s:%s\n", request->fields[i].name, request->fields[i].text);
    }
    CHECK(request->body.length <= LIMIT);
    buffer_append_span(out, buffer_span(&request->body));
}

static void parse(const char *data, size_t size, size_t piece, struct buffer *out)
{
    struct http_parser parser;
    http_parser_init(&parser, LIMIT);
    for (size_t at = 0; at < size;) {
        size_t length = size - at < piece ? size - at : piece, used;
        enum http_progress progress =
            http_parser_feed(&parser, (struct span){data + at, length}, &used);
        CHECK(used <= length);
        at += used;
        if (progress == HTTP_WHOLE) {
            struct http_request *request = http_parser_take(&parser);
            describe(request, out);
            http_request_free(request);
        } else if (progress == HTTP_REFUSED) {
            CHECK(parser.refusal.status >= 400 && parser.refusal.message);
            buffer_append_format(out, "refused %d\n", parser.refusal.status);
            break;
        } else {
            CHECK(progress == HTTP_HEAD_IN || used == length);
        }
    }
    http_parser_release(&parser);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    CLEANUP_BUFFER struct buffer whole, bytes;
    buffer_init(&whole, BUFFER_DEFAULT_LIMIT);
    buffer_init(&bytes, BUFFER_DEFAULT_LIMIT);
    parse((const char *)data, size, SIZE_MAX, &whole);
    parse((const char *)data, size, 1, &bytes);
    CHECK(span_equal(buffer_span(&whole), buffer_span(&bytes)));
    return 0;
}
