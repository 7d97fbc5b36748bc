// Access checks: Host and Origin against DNS rebinding, the bearer token, the form of the request.
// All of them are made before the body is parsed.
#include <sodium.h>
#include <stdlib.h>
#include <strings.h>

#include "base/array.h"
#include "base/ascii.h"
#include "mcp/http/http.h"

const char *http_header(struct evhttp_request *request, const char *name, size_t *ret_count)
{
    const char *first = NULL;
    size_t count = 0;
    const struct evkeyvalq *headers = evhttp_request_get_input_headers(request);
    for (const struct evkeyval *h = headers->tqh_first; h; h = h->next.tqe_next) {
        if (strcasecmp(h->key, name) == 0 && count++ == 0)
            first = h->value;
    }
    if (ret_count)
        *ret_count = count;
    return first;
}

static bool refuse(struct refusal *refusal, int status, const char *message)
{
    *refusal = (struct refusal){.status = status, .message = message};
    return false;
}

void refusal_write(const struct refusal *refusal, struct buffer *out)
{
    jsonrpc_write_error(out, MESSAGE_ID_ABSENT, SPAN(""), MCP_INVALID_REQUEST,
                        span_from(refusal->message), SPAN(""));
}

static bool refuse_method(struct refusal *refusal, const char *allowed)
{
    *refusal = (struct refusal){405, "Method not allowed", "Allow", allowed};
    return false;
}

// --- names ---------------------------------------------------------------------------------------

static bool same_name(struct span name, const char *allowed)
{
    return name.length == strlen(allowed) && strncasecmp(name.data, allowed, name.length) == 0;
}

// host[:port] without its port; "[::1]" keeps the brackets. False: malformed.
static bool split_host(const char *text, struct span *ret_name)
{
    size_t length = text[0] == '[' ? strcspn(text, "]") + 1 : strcspn(text, ":");
    if (length == 0 || length > strlen(text))
        return false;
    const char *rest = text + length;
    if (*rest == ':' && rest[1 + strspn(rest + 1, "0123456789")] != '\0')
        return false;
    if (*rest != '\0' && *rest != ':')
        return false;
    *ret_name = (struct span){text, length};
    return true;
}

bool access_is_host_name(const char *text)
{
    struct span name;
    return text[strcspn(text, " \t/")] == '\0' && split_host(text, &name) &&
           name.length == strlen(text);
}

static bool is_allowed_host(const struct mcp_http *http, const char *text)
{
    struct span name;
    if (!split_host(text, &name))
        return false;
    if (same_name(name, "localhost") || same_name(name, "127.0.0.1") || same_name(name, "[::1]"))
        return true;
    char literal[64];
    bool is_v6 = strchr(http->address, ':') != NULL;
    snprintf(literal, sizeof(literal), is_v6 ? "[%s]" : "%s", http->address);
    if (same_name(name, literal))
        return true;
    for (char **host = http->allow_hosts; *host; host++)
        if (same_name(name, *host))
            return true;
    return false;
}

static bool is_allowed_origin(const struct mcp_http *http, const char *origin)
{
    for (char **allowed = http->allow_origins; *allowed; allowed++)
        if (strcasecmp(origin, *allowed) == 0)
            return true;
    if (strncasecmp(origin, "http://", 7) == 0)
        return is_allowed_host(http, origin + 7);
    if (strncasecmp(origin, "https://", 8) == 0)
        return is_allowed_host(http, origin + 8);
    return false;
}

static bool check_names(const struct mcp_http *http, struct evhttp_request *request,
                        struct refusal *refusal)
{
    size_t count;
    const char *host = http_header(request, "Host", &count);
    if (count != 1 || !is_allowed_host(http, host))
        return refuse(refusal, 403, "Forbidden: the Host header must name this server");
    const struct evhttp_uri *uri = evhttp_request_get_evhttp_uri(request);
    const char *authority = uri ? evhttp_uri_get_host(uri) : NULL;
    if (authority && !is_allowed_host(http, authority))
        return refuse(refusal, 403, "Forbidden: the request target names another host");
    const char *origin = http_header(request, "Origin", &count);
    if (origin && (count != 1 || !is_allowed_origin(http, origin)))
        return refuse(refusal, 403, "Forbidden: this Origin is not allowed");
    return true;
}

// --- the head, before evhttp has read it ---------------------------------------------------------

// The length of the head with the empty line that ends it; 0: it is not complete.
static size_t head_length(struct evbuffer *input)
{
    static const char *const ends[] = {"\n\r\n", "\n\n"};
    size_t length = 0;
    for (size_t i = 0; i < COUNT_OF(ends); i++) {
        size_t size = strlen(ends[i]);
        struct evbuffer_ptr at = evbuffer_search(input, ends[i], size, NULL);
        if (at.pos >= 0 && (length == 0 || (size_t)at.pos + size < length))
            length = (size_t)at.pos + size;
    }
    return length;
}

static bool announces_too_much(const char *head)
{
    static const char name[] = "content-length:";
    for (const char *line = head; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (strncasecmp(line, name, sizeof(name) - 1) != 0)
            continue;
        const char *number = line + sizeof(name) - 1;
        number += strspn(number, " \t");
        if (ascii_is_digit(*number) && strtoull(number, NULL, 10) > MCP_MESSAGE_LIMIT)
            return true;
    }
    return false;
}

enum head_check access_check_head(struct evbuffer *input, struct refusal *refusal)
{
    char head[HTTP_HEADER_BYTES + 1];
    size_t length = head_length(input);
    if (length == 0 && evbuffer_get_length(input) <= HTTP_HEADER_BYTES)
        return HEAD_PARTIAL;
    if (length == 0 || length > HTTP_HEADER_BYTES) {
        refuse(refusal, 431, "The headers are larger than 32 KiB");
        return HEAD_REFUSED;
    }
    evbuffer_copyout(input, head, length);
    head[length] = '\0';
    if (strlen(head) != length) {  // evhttp would treat the NUL as the end of the text
        refuse(refusal, 400, "Bad request: a NUL in the headers");
        return HEAD_REFUSED;
    }
    if (announces_too_much(head)) {
        refuse(refusal, 413, "The body is larger than 8 MiB");
        return HEAD_REFUSED;
    }
    return HEAD_GOOD;
}

// --- the rest ------------------------------------------------------------------------------------

// evhttp and a proxy in front of it must agree on where a request ends (request smuggling). An
// ambiguous request is refused and its connection closed.
static bool refuse_framing(struct refusal *refusal, const char *message)
{
    *refusal = (struct refusal){400, message, "Connection", "close"};
    return false;
}

static bool check_framing(struct evhttp_request *request, struct refusal *refusal)
{
    size_t lengths, encodings;
    const char *length = http_header(request, "Content-Length", &lengths);
    const char *encoding = http_header(request, "Transfer-Encoding", &encodings);
    if (length && (*length == '\0' || length[strspn(length, "0123456789")] != '\0'))
        return refuse_framing(refusal, "Bad request: Content-Length is not a number");
    if (lengths > 1 || encodings > 1 || (length && encoding))
        return refuse_framing(refusal, "Bad request: the length of the body is given twice");
    if (encoding && strcasecmp(encoding, "chunked") != 0)
        return refuse_framing(refusal, "Bad request: unknown Transfer-Encoding");
    // evhttp reads a body only for these methods; after others it would parse the body as the next
    // request.
    enum evhttp_cmd_type method = evhttp_request_get_command(request);
    bool reads_body =
        method == EVHTTP_REQ_POST || method == EVHTTP_REQ_PUT || method == EVHTTP_REQ_PATCH;
    if (!reads_body && (encoding || (length && strcmp(length, "0") != 0)))
        return refuse_framing(refusal, "Bad request: this method has no body");
    return true;
}

static bool check_shape(struct evhttp_request *request, struct refusal *refusal)
{
    size_t headers = 0;
    const struct evkeyvalq *list = evhttp_request_get_input_headers(request);
    for (const struct evkeyval *h = list->tqh_first; h; h = h->next.tqe_next) {
        headers++;
        // Servers disagree on how to parse "Name : value".
        if (h->key[strcspn(h->key, " \t")] != '\0')
            return refuse_framing(refusal, "Bad request: white space in a header name");
    }
    if (headers > HTTP_HEADER_COUNT)
        return refuse(refusal, 431, "At most 100 headers are allowed");
    return check_framing(request, refusal);
}

static bool check_token(const struct mcp_http *http, struct evhttp_request *request,
                        struct refusal *refusal)
{
    if (!http->has_token)
        return true;
    size_t count;
    const char *text = http_header(request, "Authorization", &count);
    unsigned char hash[crypto_hash_sha256_BYTES];
    if (text && count == 1 && strncasecmp(text, "Bearer ", 7) == 0) {
        const char *token = text + 7 + strspn(text + 7, " ");
        crypto_hash_sha256(hash, (const unsigned char *)token, strlen(token));
        if (sodium_memcmp(hash, http->token_hash, sizeof(hash)) == 0)
            return true;
    }
    *refusal = (struct refusal){401, "Unauthorized: a bearer token is required", "WWW-Authenticate",
                                "Bearer"};
    return false;
}

static const char *target_path(struct evhttp_request *request)
{
    const struct evhttp_uri *uri = evhttp_request_get_evhttp_uri(request);
    const char *path = uri ? evhttp_uri_get_path(uri) : NULL;
    return path ? path : "";
}

bool access_check(struct mcp_http *http, struct evhttp_request *request, struct refusal *refusal)
{
    if (!check_shape(request, refusal) || !check_names(http, request, refusal))
        return false;
    const char *path = target_path(request);
    bool is_endpoint = strcmp(path, "/mcp") == 0;
    if (!is_endpoint && strcmp(path, "/healthz") != 0 && strcmp(path, "/metrics") != 0)
        return refuse(refusal, 404, "Not found: the endpoint is /mcp");
    if (!check_token(http, request, refusal))
        return false;
    enum evhttp_cmd_type method = evhttp_request_get_command(request);
    if (is_endpoint)
        return method == EVHTTP_REQ_POST || method == EVHTTP_REQ_GET ||
               method == EVHTTP_REQ_DELETE || refuse_method(refusal, "POST, GET, DELETE");
    return method == EVHTTP_REQ_GET || refuse_method(refusal, "GET");
}

// True if one of the comma-separated media ranges is exactly this one; parameters are ignored.
static bool lists_type(const char *accept, const char *type)
{
    size_t length = strlen(type);
    for (const char *at = accept; *at;) {
        at += strspn(at, " \t,");
        size_t size = strcspn(at, " \t,;");
        if (size == length && strncasecmp(at, type, length) == 0)
            return true;
        at += strcspn(at, ",");
    }
    return false;
}

bool access_check_content(struct evhttp_request *request, bool is_post, struct refusal *refusal)
{
    const char *type = http_header(request, "Content-Type", NULL);
    if (is_post && (!type || strncasecmp(type, "application/json", 16) != 0 ||
                    (type[16] != '\0' && !strchr(" \t;", type[16]))))
        return refuse(refusal, 415,
                      "Unsupported media type: Content-Type must be application/json");
    const char *accept = http_header(request, "Accept", NULL);
    bool fits = !accept || lists_type(accept, "*/*") ||
                (lists_type(accept, "text/event-stream") &&
                 (!is_post || lists_type(accept, "application/json")));
    if (!fits)
        return refuse(refusal, 406,
                      is_post ? "Not acceptable: accept application/json and text/event-stream"
                              : "Not acceptable: accept text/event-stream");
    return true;
}
