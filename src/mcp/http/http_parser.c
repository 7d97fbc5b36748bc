#include "mcp/http/http_parser.h"

#include "base/ascii.h"
#include "base/memory.h"

void http_parser_init(struct http_parser *parser, size_t body_limit)
{
    *parser = (struct http_parser){.body_limit = body_limit};
    parser->request = http_request_new(body_limit);
    buffer_init(&parser->line, HTTP_CHUNK_LINE);
}

void http_parser_release(struct http_parser *parser)
{
    http_request_free(parser->request);
    buffer_release(&parser->line);
}

bool http_parser_is_empty(const struct http_parser *parser)
{
    return parser->part == PART_HEAD && parser->request->head.length == 0;
}

struct http_request *http_parser_take(struct http_parser *parser)
{
    struct http_request *request = parser->request;
    buffer_release(&parser->line);
    http_parser_init(parser, parser->body_limit);
    return request;
}

static enum http_progress refuse(struct http_parser *parser, int status, const char *message)
{
    if (message)
        parser->refusal = (struct refusal){.status = status, .message = message};
    parser->part = PART_REFUSED;
    return HTTP_REFUSED;
}

// Moves bytes up to the end of a line into the buffer; true when the line is complete.
static bool take_line(struct buffer *buffer, struct span bytes, size_t *used)
{
    const char *start = bytes.data + *used;
    const char *end = memchr(start, '\n', bytes.length - *used);
    size_t length = end ? (size_t)(end - start) + 1 : bytes.length - *used;
    buffer_append(buffer, start, length);
    *used += length;
    return end != NULL;
}

// --- the head ------------------------------------------------------------------------------------

static enum http_progress end_head(struct http_parser *parser)
{
    enum http_framing framing;
    struct http_request *request = parser->request;
    if (!http_request_parse_head(request, &parser->refusal) ||
        !http_request_find_framing(request, parser->body_limit, &framing, &parser->left,
                                   &parser->refusal))
        return refuse(parser, 0, NULL);
    if (framing == FRAMING_NONE) {
        parser->part = PART_WHOLE;
        return HTTP_WHOLE;
    }
    parser->part = framing == FRAMING_LENGTH ? PART_LENGTH : PART_CHUNK_LINE;
    return HTTP_HEAD_IN;
}

static enum http_progress feed_head(struct http_parser *parser, struct span bytes, size_t *used)
{
    struct buffer *head = &parser->request->head;
    bool complete = take_line(head, bytes, used);
    if (head->failed)
        return refuse(parser, 431, "The headers are larger than 32 KiB");
    if (!complete)
        return HTTP_MORE;
    struct span line = {head->data + parser->line_start, head->length - parser->line_start};
    if (!http_line_is_clean(line))
        return refuse(parser, 400, "Bad request: a line of the head is text that ends in CR LF");
    bool is_first = parser->line_start == 0;
    parser->line_start = head->length;
    if (line.length > 2)
        return HTTP_MORE;
    if (!is_first)
        return end_head(parser);
    if (parser->skipped_line)
        return refuse(parser, 400, "Bad request: empty lines before the request");
    parser->skipped_line = true;
    parser->line_start = 0;
    buffer_clear(head);
    return HTTP_MORE;
}

// --- chunks --------------------------------------------------------------------------------------

static size_t quoted_length(const char *text)
{
    size_t length = 1;
    while (text[length] && text[length] != '"')
        length += text[length] == '\\' && text[length + 1] ? 2 : 1;
    return text[length] == '"' ? length + 1 : 0;
}

// *( BWS ";" BWS token [ BWS "=" BWS ( token / quoted-string ) ] )
static bool is_extension_list(const char *at)
{
    while (*at) {
        at += strspn(at, " \t");
        if (*at != ';')
            return false;
        at++;
        at += strspn(at, " \t");
        size_t name = http_token_length(at);
        if (name == 0)
            return false;
        at += name;
        const char *sign = at + strspn(at, " \t");
        if (*sign != '=')
            continue;
        at = sign + 1 + strspn(sign + 1, " \t");
        size_t length = *at == '"' ? quoted_length(at) : http_token_length(at);
        if (length == 0)
            return false;
        at += length;
    }
    return true;
}

static enum http_progress begin_chunk(struct http_parser *parser)
{
    struct buffer *line = &parser->line;
    if (!http_line_is_clean(buffer_span(line)))
        return refuse(parser, 400, "Bad request: a chunk size is a line that ends in CR LF");
    buffer_truncate(line, line->length - 2);
    const char *at = line->data;
    size_t size = 0, room = parser->body_limit - parser->request->body.length;
    for (; ascii_hex_digit(*at) >= 0; at++)
        if (size <= room)
            size = size * 16 + (size_t)ascii_hex_digit(*at);
    if (at == line->data || !is_extension_list(at))
        return refuse(parser, 400, "Bad request: a chunk size is hexadecimal digits");
    if (size > room)
        return refuse(parser, 413, "The body is larger than 8 MiB");
    buffer_clear(line);
    parser->left = size;
    parser->part = size > 0 ? PART_CHUNK_DATA : PART_TRAILER;
    return HTTP_MORE;
}

static enum http_progress feed_chunk_line(struct http_parser *parser, struct span bytes,
                                          size_t *used)
{
    bool complete = take_line(&parser->line, bytes, used);
    if (parser->line.failed)
        return refuse(parser, 400, "Bad request: a chunk size with its extensions is too long");
    return complete ? begin_chunk(parser) : HTTP_MORE;
}

static enum http_progress feed_chunk_end(struct http_parser *parser, struct span bytes,
                                         size_t *used)
{
    for (; parser->left > 0 && *used < bytes.length; parser->left--, (*used)++)
        if (bytes.data[*used] != (parser->left == 2 ? '\r' : '\n'))
            return refuse(parser, 400, "Bad request: a chunk is not as long as it says");
    if (parser->left == 0)
        parser->part = PART_CHUNK_LINE;
    return HTTP_MORE;
}

// Headers after the last chunk: checked and forgotten.
static enum http_progress feed_trailer(struct http_parser *parser, struct span bytes, size_t *used)
{
    struct buffer *line = &parser->line;
    struct http_field field;
    line->limit = HTTP_HEADER_BYTES;
    size_t before = *used;
    bool complete = take_line(line, bytes, used);
    parser->trailer_bytes += *used - before;
    if (parser->trailer_bytes > HTTP_HEADER_BYTES)
        return refuse(parser, 431, "The headers are larger than 32 KiB");
    if (!complete)
        return HTTP_MORE;
    if (!http_line_is_clean(buffer_span(line)))
        return refuse(parser, 400, "Bad request: a trailer is text that ends in CR LF");
    buffer_truncate(line, line->length - 2);
    if (line->length == 0) {
        parser->part = PART_WHOLE;
        return HTTP_WHOLE;
    }
    if (!http_field_parse(line->data, &field))
        return refuse(parser, 400, "Bad request: a trailer is Name: text");
    buffer_clear(line);
    return HTTP_MORE;
}

// --- bodies --------------------------------------------------------------------------------------

static enum http_progress feed_data(struct http_parser *parser, struct span bytes, size_t *used)
{
    size_t available = bytes.length - *used;
    size_t length = available < parser->left ? available : parser->left;
    buffer_append(&parser->request->body, bytes.data + *used, length);
    if (parser->request->body.failed)
        return refuse(parser, 503, "The server is out of memory");
    *used += length;
    parser->left -= length;
    if (parser->left > 0)
        return HTTP_MORE;
    if (parser->part == PART_LENGTH) {
        parser->part = PART_WHOLE;
        return HTTP_WHOLE;
    }
    parser->part = PART_CHUNK_END;
    parser->left = 2;
    return HTTP_MORE;
}

static enum http_progress feed_part(struct http_parser *parser, struct span bytes, size_t *used)
{
    switch (parser->part) {
    case PART_HEAD: return feed_head(parser, bytes, used);
    case PART_LENGTH:
    case PART_CHUNK_DATA: return feed_data(parser, bytes, used);
    case PART_CHUNK_LINE: return feed_chunk_line(parser, bytes, used);
    case PART_CHUNK_END: return feed_chunk_end(parser, bytes, used);
    case PART_TRAILER: return feed_trailer(parser, bytes, used);
    case PART_WHOLE: return HTTP_WHOLE;
    case PART_REFUSED: break;
    }
    return HTTP_REFUSED;
}

enum http_progress http_parser_feed(struct http_parser *parser, struct span bytes, size_t *ret_used)
{
    size_t used = 0;
    enum http_progress progress = HTTP_MORE;
    while (used < bytes.length && progress == HTTP_MORE)
        progress = feed_part(parser, bytes, &used);
    *ret_used = used;
    return progress;
}
