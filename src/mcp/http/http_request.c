// The head of an HTTP request: its first line, its headers, and what they say about the body.
#include <strings.h>

#include "base/array.h"
#include "base/ascii.h"
#include "base/assert.h"
#include "base/memory.h"
#include "mcp/http/http_parser.h"

struct http_request *http_request_new(size_t body_limit)
{
    struct http_request *request = memory_alloc_zero(sizeof(*request));
    buffer_init(&request->head, HTTP_HEADER_BYTES);
    buffer_init(&request->body, body_limit);
    return request;
}

void http_request_free(struct http_request *request)
{
    if (!request)
        return;
    buffer_release(&request->head);
    buffer_release(&request->body);
    memory_free(request);
}

const char *http_request_field(const struct http_request *request, const char *name,
                               size_t *ret_count)
{
    const char *first = NULL;
    size_t count = 0;
    for (size_t i = 0; i < request->field_count; i++)
        if (strcasecmp(request->fields[i].name, name) == 0 && count++ == 0)
            first = request->fields[i].text;
    if (ret_count)
        *ret_count = count;
    return first;
}

static bool refuse(struct refusal *refusal, int status, const char *message)
{
    *refusal = (struct refusal){.status = status, .message = message};
    return false;
}

// --- lines ---------------------------------------------------------------------------------------

bool http_line_is_clean(struct span line)
{
    if (line.length < 2 || memcmp(line.data + line.length - 2, "\r\n", 2) != 0)
        return false;
    for (size_t i = 0; i < line.length - 2; i++) {
        unsigned char byte = (unsigned char)line.data[i];
        if ((byte < ' ' && byte != '\t') || byte == 0x7f)
            return false;
    }
    return true;
}

size_t http_token_length(const char *text)
{
    size_t length = 0;
    while (ascii_is_letter(text[length]) || ascii_is_digit(text[length]) ||
           (text[length] && strchr("!#$%&'*+-.^_`|~", text[length])))
        length++;
    return length;
}

bool http_field_parse(char *line, struct http_field *ret_field)
{
    size_t length = http_token_length(line);
    if (length == 0 || line[length] != ':')
        return false;
    line[length] = '\0';
    char *text = line + length + 1;
    text += strspn(text, " \t");
    size_t end = strlen(text);
    while (end > 0 && (text[end - 1] == ' ' || text[end - 1] == '\t'))
        end--;
    text[end] = '\0';
    *ret_field = (struct http_field){line, text};
    return true;
}

// --- the first line ------------------------------------------------------------------------------

static enum http_method find_method(const char *name)
{
    static const char *const names[] = {
        [HTTP_GET] = "GET",   [HTTP_POST] = "POST", [HTTP_DELETE] = "DELETE",
        [HTTP_HEAD] = "HEAD", [HTTP_PUT] = "PUT",   [HTTP_PATCH] = "PATCH",
    };
    for (size_t i = 0; i < COUNT_OF(names); i++)
        if (strcmp(name, names[i]) == 0)
            return (enum http_method)i;
    return HTTP_OTHER;
}

static bool is_method(const char *name)
{
    return find_method(name) != HTTP_OTHER || strcmp(name, "OPTIONS") == 0 ||
           strcmp(name, "TRACE") == 0 || strcmp(name, "CONNECT") == 0;
}

// "/path?query" or "http://authority/path?query"; other forms have no path.
static bool parse_target(struct http_request *request, char *target)
{
    for (const char *at = target; *at; at++)
        if (*at <= ' ' || *at > '~' || *at == '#')
            return false;
    request->path = request->query = "";
    if (strncasecmp(target, "http://", 7) == 0) {
        // The authority moves to the front, so that a NUL fits between it and its path.
        size_t length = strcspn(target + 7, "/?");
        memmove(target, target + 7, length);
        request->authority = target;
        char *rest = target + 7 + length;
        target[length] = '\0';
        target = rest;
    }
    if (*target != '/')
        return true;
    request->path = target;
    char *mark = strchr(target, '?');
    if (mark) {
        *mark = '\0';
        request->query = mark + 1;
    }
    return true;
}

static bool parse_first_line(struct http_request *request, char *line, struct refusal *refusal)
{
    size_t method = http_token_length(line);
    char *target = line + method + 1;
    char *version = method > 0 && line[method] == ' ' ? strchr(target, ' ') : NULL;
    if (!version)
        return refuse(refusal, 400, "Bad request: the first line is METHOD TARGET HTTP/1.1");
    line[method] = '\0';
    *version++ = '\0';
    if (strlen(version) != 8 || strncmp(version, "HTTP/", 5) != 0 || !ascii_is_digit(version[5]) ||
        version[6] != '.' || !ascii_is_digit(version[7]))
        return refuse(refusal, 400, "Bad request: the first line is METHOD TARGET HTTP/1.1");
    if (version[5] != '1')
        return refuse(refusal, 505, "This server speaks HTTP/1.1");
    if (!is_method(line))
        return refuse(refusal, 501, "Not implemented: unknown method");
    request->method = find_method(line);
    request->minor = version[7] == '0' ? 0 : 1;
    return parse_target(request, target) ||
           refuse(refusal, 400, "Bad request: a character of the target is not allowed");
}

// --- headers -------------------------------------------------------------------------------------

static bool lists_word(const char *text, const char *word)
{
    size_t length = strlen(word);
    while (*text) {
        text += strspn(text, " \t,");
        size_t size = strcspn(text, " \t,");
        if (size == length && strncasecmp(text, word, length) == 0)
            return true;
        text += size;
    }
    return false;
}

static bool read_connection(struct http_request *request, struct refusal *refusal)
{
    request->wants_close = request->minor == 0;
    for (size_t i = 0; i < request->field_count; i++)
        if (strcasecmp(request->fields[i].name, "Connection") == 0 &&
            lists_word(request->fields[i].text, "close"))
            request->wants_close = true;
    const char *expect = http_request_field(request, "Expect", NULL);
    if (expect && strcasecmp(expect, "100-continue") != 0)
        return refuse(refusal, 417, "Expectation failed: only 100-continue is known");
    request->wants_go = expect && request->minor > 0;
    return true;
}

bool http_request_parse_head(struct http_request *request, struct refusal *refusal)
{
    char *line = request->head.data, *end;
    for (; (end = strstr(line, "\r\n")) != line; line = end + 2) {
        CHECK(end);
        *end = '\0';
        if (line == request->head.data) {
            if (!parse_first_line(request, line, refusal))
                return false;
            continue;
        }
        if (*line == ' ' || *line == '\t')
            return refuse(refusal, 400, "Bad request: a folded header");
        if (request->field_count == HTTP_HEADER_COUNT)
            return refuse(refusal, 431, "At most 100 headers are allowed");
        if (!http_field_parse(line, &request->fields[request->field_count]))
            return refuse(refusal, 400, "Bad request: a header is Name: text");
        request->field_count++;
    }
    return read_connection(request, refusal);
}

// --- the body ------------------------------------------------------------------------------------

static bool parse_length(const char *text, size_t limit, size_t *ret_length,
                         struct refusal *refusal)
{
    if (*text == '\0' || text[strspn(text, "0123456789")] != '\0')
        return refuse(refusal, 400, "Bad request: Content-Length is not a number");
    size_t length = 0;
    for (; *text && length <= limit; text++)
        length = length * 10 + (size_t)(*text - '0');
    *ret_length = length;
    return length <= limit || refuse(refusal, 413, "The body is larger than 8 MiB");
}

static bool check_body(const struct http_request *request, struct refusal *refusal)
{
    // Readers disagree on whether these have a body.
    if (request->method != HTTP_POST && request->method != HTTP_PUT &&
        request->method != HTTP_PATCH)
        return refuse(refusal, 400, "Bad request: this method has no body");
    for (size_t i = 0; i < request->field_count; i++) {
        const struct http_field *field = &request->fields[i];
        CHECK(field->name && field->text);
        if (strcasecmp(field->name, "Content-Encoding") == 0 &&
            strcasecmp(field->text, "identity") != 0)
            return refuse(refusal, 415, "Unsupported media type: Content-Encoding is not accepted");
    }
    return true;
}

bool http_request_find_framing(struct http_request *request, size_t body_limit,
                               enum http_framing *ret_framing, size_t *ret_length,
                               struct refusal *refusal)
{
    size_t lengths, encodings;
    const char *length = http_request_field(request, "Content-Length", &lengths);
    const char *encoding = http_request_field(request, "Transfer-Encoding", &encodings);
    *ret_framing = FRAMING_NONE;
    *ret_length = 0;
    if (lengths + encodings > 1)
        return refuse(refusal, 400, "Bad request: the length of the body is given twice");
    if (encoding && (strcasecmp(encoding, "chunked") != 0 || request->minor == 0))
        return refuse(refusal, 400, "Bad request: unknown Transfer-Encoding");
    if (length && !parse_length(length, body_limit, ret_length, refusal))
        return false;
    if (!encoding && *ret_length == 0)
        return true;
    *ret_framing = encoding ? FRAMING_CHUNKED : FRAMING_LENGTH;
    request->has_body = true;
    return check_body(request, refusal);
}
