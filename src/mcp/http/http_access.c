// Access checks: Host and Origin against DNS rebinding, the bearer token, target and method. All of
// them are made before the body is read.
#include <sodium.h>
#include <strings.h>

#include "base/ascii.h"
#include "mcp/http/http.h"

static bool refuse(struct refusal *refusal, int status, const char *message)
{
    *refusal = (struct refusal){.status = status, .message = message};
    return false;
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
    bool is_v6 = http->address && strchr(http->address, ':');
    snprintf(literal, sizeof(literal), is_v6 ? "[%s]" : "%s", http->address ? http->address : "");
    if (*literal && same_name(name, literal))
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

static bool check_names(const struct mcp_http *http, const struct http_request *request,
                        struct refusal *refusal)
{
    size_t count;
    const char *host = http_request_field(request, "Host", &count);
    if (count != 1 || !is_allowed_host(http, host))
        return refuse(refusal, 403, "Forbidden: the Host header must name this server");
    if (request->authority && !is_allowed_host(http, request->authority))
        return refuse(refusal, 403, "Forbidden: the request target names another host");
    const char *origin = http_request_field(request, "Origin", &count);
    if (origin && (count != 1 || !is_allowed_origin(http, origin)))
        return refuse(refusal, 403, "Forbidden: this Origin is not allowed");
    return true;
}

// --- the rest ------------------------------------------------------------------------------------

// The token of an address as the server prints it: /mcp?token=TEXT. Empty: there is none.
static struct span token_in_query(const char *query, struct buffer *text)
{
    static const char name[] = "token=";
    for (; *query; query += strcspn(query, "&"), query += *query == '&') {
        if (strncmp(query, name, sizeof(name) - 1) != 0)
            continue;
        for (const char *at = query + sizeof(name) - 1; *at && *at != '&'; at++) {
            int high = *at == '%' ? ascii_hex_digit(at[1]) : -1;
            int low = high >= 0 ? ascii_hex_digit(at[2]) : -1;
            buffer_append_byte(text, low >= 0 ? (char)(high * 16 + low) : *at);
            at += low >= 0 ? 2 : 0;
        }
        break;
    }
    return buffer_span(text);
}

// All tokens are compared, each in constant time: how long it takes tells nothing.
static struct http_client *find_holder(struct mcp_http *http, struct span token)
{
    unsigned char hash[crypto_hash_sha256_BYTES];
    struct http_client *found = NULL;
    crypto_hash_sha256(hash, (const unsigned char *)token.data, token.length);
    for (size_t i = 0; i < http->holder_count; i++)
        if (sodium_memcmp(hash, http->clients[i].token_hash, sizeof(hash)) == 0 &&
            http->clients[i].has_token)
            found = &http->clients[i];
    return found;
}

static struct http_client *find_open(struct mcp_http *http)
{
    for (size_t i = 0; i < http->holder_count; i++)
        if (!http->clients[i].has_token)
            return &http->clients[i];
    return NULL;
}

// A token that is given must be right, also where none is asked for.
static bool check_token(struct mcp_http *http, const struct http_request *request,
                        struct http_client **ret_client, struct refusal *refusal)
{
    CLEANUP_BUFFER struct buffer text;
    buffer_init(&text, HTTP_HEADER_BYTES);
    size_t count;
    const char *field = http_request_field(request, "Authorization", &count);
    struct http_client *client = NULL, *open = find_open(http);
    bool is_feed = strcmp(request->path, "/events") == 0;  // which no client finds configured
    struct span in_query = is_feed ? SPAN("") : token_in_query(request->query, &text);
    bool has_named = http->holder_count > (open != NULL);
    if (count == 1 && strncasecmp(field, "Bearer ", 7) == 0)
        client = find_holder(http, span_from(field + 7 + strspn(field + 7, " ")));
    else if (count == 0 && in_query.length > 0)
        client = find_holder(http, in_query);
    bool gives_none = (count == 0 && in_query.length == 0) || !has_named;
    if (!client && gives_none)
        client = open;
    if (client)
        return http_client_choose(client, request, ret_client, refusal);
    *refusal = (struct refusal){401, "Unauthorized: a bearer token is required", "WWW-Authenticate",
                                "Bearer"};
    return false;
}

bool access_check(struct mcp_http *http, const struct http_request *request,
                  struct http_client **ret_client, struct refusal *refusal)
{
    if (!check_names(http, request, refusal))
        return false;
    const char *path = request->path;
    enum http_method method = request->method;
    bool is_endpoint = strcmp(path, "/mcp") == 0;
    if (http_page_find(http, path))
        return method == HTTP_GET || method == HTTP_HEAD || refuse_method(refusal, "GET, HEAD");
    if (!is_endpoint && strcmp(path, "/healthz") != 0 && strcmp(path, "/metrics") != 0 &&
        strcmp(path, "/events") != 0)
        return refuse(refusal, 404, "Not found: the endpoint is /mcp");
    if (!check_token(http, request, ret_client, refusal))
        return false;
    if (is_endpoint)
        return method == HTTP_POST || method == HTTP_GET || method == HTTP_DELETE ||
               refuse_method(refusal, "POST, GET, DELETE");
    return method == HTTP_GET || refuse_method(refusal, "GET");
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

bool access_check_content(const struct http_request *request, struct refusal *refusal)
{
    bool is_post = request->method == HTTP_POST;
    const char *type = http_request_field(request, "Content-Type", NULL);
    if (is_post && (!type || strncasecmp(type, "application/json", 16) != 0 ||
                    (type[16] != '\0' && !strchr(" \t;", type[16]))))
        return refuse(refusal, 415,
                      "Unsupported media type: Content-Type must be application/json");
    const char *accept = http_request_field(request, "Accept", NULL);
    bool fits = !accept || lists_type(accept, "*/*") ||
                (lists_type(accept, "text/event-stream") &&
                 (!is_post || lists_type(accept, "application/json")));
    if (!fits)
        return refuse(refusal, 406,
                      is_post ? "Not acceptable: accept application/json and text/event-stream"
                              : "Not acceptable: accept text/event-stream");
    return true;
}
